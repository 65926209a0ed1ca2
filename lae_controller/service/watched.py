"""What the dashboard looks at: runs of this machine, and the server's own experiments."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from pathlib import Path
from typing import Protocol

from lae_controller import build, config
from lae_controller.children import Children
from lae_controller.errors import ConfigError
from lae_controller.ledger import Ledger
from lae_controller.lock import is_held
from lae_controller.parts import Core
from lae_controller.remarks import silent
from lae_controller.sandbox.launch import Lifelines
from lae_controller.service.book import SEED_ID, Book, Lease
from lae_controller.service.catalogue import Catalogue
from lae_controller.service.ground import prepared_of, settings_for
from lae_controller.service.registry import Served
from lae_controller.service.states import ExperimentState, ProgramState
from lae_controller.session import ask_to_stop
from lae_controller.state import RunState
from lae_controller.views.dashboard import moment
from lae_controller.views.inspect import before_children
from lae_controller.views.live.frame import Frame, Picture, SlotLine, Spend
from lae_controller.views.report import facts
from lae_controller.views.report.facts import Standing
from lae_controller.views.report.history import History
from lae_controller.views.text import usage_text


class Watched(Protocol):
    """Something that is looked at; nothing here changes it, but for ``stop``.

    Attributes:
        key: names it in addresses.
        kind: ``run`` or ``experiment``.
        by_clients: whether its programs are with clients, not in slots of this machine.
    """

    key: str
    kind: str
    by_clients: bool

    @property
    @abstractmethod
    def name(self) -> str:
        """How people know it."""

    @property
    @abstractmethod
    def where(self) -> str:
        """Where it lies, to tell it from others of the same name."""

    @abstractmethod
    def stamp(self) -> Hashable:
        """Return what changes whenever there is something new to show."""

    @abstractmethod
    def core(self) -> Core:
        """Return the run as it lies on the disk, its state still empty.

        Raises:
            LaeError: with the reason if there is nothing to show yet.
        """

    @abstractmethod
    def standing(self, history: History | None) -> Standing:
        """Return whether it goes on; the history is None as long as there is nothing to show."""

    @abstractmethod
    def frame(self, core: Core, seen: Picture | None) -> Frame:
        """Return what runs now."""

    @property
    @abstractmethod
    def can_stop(self) -> bool:
        """Whether asking it to stop does anything."""

    @abstractmethod
    def stop(self) -> Future[None]:
        """Ask it to stop; done once that is on the disk.

        Raises:
            LaeError, ApiError: if it does not run.
        """


class WatchedRun(Watched):
    """A run of ``lae run``, or of a host's own Mutators, in a sandbox of this machine.

    Args:
        path: what every command takes: loop.run.yaml, its directory, or a run's ``lae/``.
    """

    kind = "run"
    by_clients = False

    def __init__(self, key: str, path: Path) -> None:
        self.key = key
        settings = config.load(path)
        self._path = settings.path
        self._lae = settings.lae_dir
        self._root = settings.root

    @property
    def name(self) -> str:
        """The project's folder."""
        return self._root.name

    @property
    def where(self) -> str:
        """The path of its sandbox."""
        return str(self._lae)

    def stamp(self) -> Hashable:
        """Return the size and age of the journal, and whether a controller works on it."""
        return (_stamp(self._lae / "journal.jsonl"), is_held(self._lae))

    def core(self) -> Core:
        """Return the run; its settings are read anew, as a budget may have grown."""
        settings = config.load(self._path)
        if before_children(settings) is not None:
            raise ConfigError("The baseline is being measured; children come after it.")
        return build.unread(settings, silent)

    def standing(self, history: History | None) -> Standing:
        """Return where the run stands."""
        if history is None:
            word = "running" if is_held(self._lae) else "stopped"
            return Standing(word, f"{'Running' if word == 'running' else 'Not running'}.")
        return facts.standing(config.load(self._path), history)

    def frame(self, core: Core, seen: Picture | None) -> Frame:
        """Return what its files say of this moment."""
        return moment.frame(core, seen, time.time(), held=is_held(self._lae))

    @property
    def can_stop(self) -> bool:
        """Whether a controller works on it."""
        return is_held(self._lae)

    def stop(self) -> Future[None]:
        """Leave a note for the controller, as ``lae stop`` does."""
        ask_to_stop(config.load(self._path))
        done: Future[None] = Future()
        done.set_result(None)
        return done


class WatchedExperiment(Watched):
    """An experiment of this server.

    Args:
        now: the time, in seconds since the epoch.
    """

    kind = "experiment"
    by_clients = True

    def __init__(self, served: Served, catalogue: Catalogue, now: Callable[[], float]) -> None:
        self.key = served.folder.name
        self._served = served
        self._catalogue = catalogue
        self._now = now

    @property
    def _book(self) -> Book:
        return self._served.experiment.book

    @property
    def name(self) -> str:
        """Its title."""
        return self._book.config.title or self.key

    @property
    def where(self) -> str:
        """Its id."""
        return self.key

    def stamp(self) -> Hashable:
        """Return the size and age of the search's journal, and the state."""
        journal = self._served.folder / "lae" / "journal.jsonl"
        return (_stamp(journal), self._book.state, self._book.reason)

    def core(self) -> Core:
        """Return its search as it lies on the disk."""
        book = self._book
        settings = settings_for(book, self._served.folder, self._catalogue)
        ledger = Ledger(settings.lae_dir, silent)
        if not ledger.journal.exists():
            raise ConfigError("The search has not begun: it begins once the experiment is started.")
        prepared = prepared_of(book)
        state = RunState(build.search_for(settings))
        return Core(settings, prepared, state, ledger, Children(settings, prepared, Lifelines()))

    def standing(self, history: History | None) -> Standing:  # noqa: ARG002
        """Return its state in words."""
        word, sentence = _STANDINGS[self._book.state]
        reason = self._book.reason if self._book.state in _REASONED else ""
        return Standing(word, f"{sentence}: {reason}." if reason else f"{sentence}.")

    def frame(self, core: Core, seen: Picture | None) -> Frame:
        """Return which programs are with clients, and how far it has come."""
        with self._served.experiment.lock:
            programs = self._served.experiment.programs()
        now, book = self._now(), self._book
        waiting = [it for it in programs if it.state is ProgramState.EVALUATING]
        held = [it for it in waiting if it.lease is not None]
        made = sum(
            it.state in (ProgramState.INITIALIZED, ProgramState.GENERATING)
            for it in programs
            if it.id != SEED_ID
        )
        most = book.config.max_programs
        return Frame(
            title="",
            elapsed=book.clock.ran(now),
            slots=tuple(
                SlotLine(it.id, _holder(it.lease, now), max(0.0, now - it.lease.since), None)
                for it in held
                if it.lease is not None
            ),
            capacity=book.config.concurrency,
            proposing=made,
            ready=len(waiting) - len(held),
            picture=seen,
            spend=Spend(
                min(1.0, book.evaluated / most),
                f"{book.evaluated} of {most} programs are scored",
                None,
                usage_text(book.usage, core.settings.mutator.max_cost_usd),
            ),
        )

    @property
    def can_stop(self) -> bool:
        """Whether it runs."""
        return self._book.state is ExperimentState.RUNNING

    def stop(self) -> Future[None]:
        """Pause it, as ``:stop`` does."""
        return self._served.experiment.stop()


_STANDINGS = {
    ExperimentState.CREATED: ("stopped", "Created, and not started yet"),
    ExperimentState.RUNNING: ("running", "Running"),
    ExperimentState.PAUSED: ("stopped", "Paused; `lae experiment resume` goes on"),
    ExperimentState.COMPLETED: ("finished", "Completed"),
    ExperimentState.FAILED: ("interrupted", "Failed"),
}
_REASONED = frozenset({ExperimentState.PAUSED, ExperimentState.COMPLETED, ExperimentState.FAILED})


def _holder(lease: Lease, now: float) -> str:
    return "a client" if now < lease.until else "nobody: its lease ran out"


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns

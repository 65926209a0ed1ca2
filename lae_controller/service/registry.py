"""Every experiment of a server: found, created, run, deleted; each in a folder of its own.

    <root>/experiments/<id>/journal.jsonl    what callers did
    <root>/experiments/<id>/lae/             the search, as in any run

An id is made here and a name from a request only looked up, so no request can name a path.
"""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from lae_controller.errors import LaeError, LedgerError
from lae_controller.files import make_folder, remove_tree, sync_folder
from lae_controller.ledger import Event, Ledger
from lae_controller.remarks import Say, silent
from lae_controller.service import limits
from lae_controller.service.api_errors import ApiError, Code, invalid, not_found
from lae_controller.service.book import SEED_ID, Book, Created, Operation, created_event, open_book
from lae_controller.service.commits import CommitLog
from lae_controller.service.engine import Engine
from lae_controller.service.experiment import Durable, Experiment
from lae_controller.service.experiment_config import ExperimentConfig
from lae_controller.service.names import ANY, Child, Session, experiment_name
from lae_controller.service.runners import Runners
from lae_controller.service.sources import Sources
from lae_controller.service.states import ExperimentState, ProgramState


@dataclass(frozen=True, slots=True)
class Served:
    """One experiment with its sources and its folder."""

    experiment: Experiment
    sources: Sources
    folder: Path


class Registry:
    """The experiments below one folder. The holder of its lock alone may have one.

    Args:
        root: ``experiments/`` lies in it.
        lease: seconds for which a program is held by whoever acquired it.
        engine: makes the search of an experiment in a folder.
        now: the time, in seconds since the epoch.

    Raises:
        LedgerError: if a journal is damaged.
    """

    def __init__(
        self,
        root: Path,
        lease: float,
        engine: Callable[[Experiment, Path], Engine],
        now: Callable[[], float],
        say: Say,
    ) -> None:
        self._folder = root / "experiments"
        self._lease = lease
        self._now = now
        self._say = say
        self._lock = threading.RLock()
        self._disk = ThreadPoolExecutor(max_workers=8, thread_name_prefix="lae-disk")
        self._runners = Runners(engine, say)
        make_folder(self._folder)
        self._served: dict[str, Served] = {}
        for folder in sorted(self._folder.iterdir()):
            if folder.name.startswith("."):
                remove_tree(folder)  # deleted, or not yet created when the server died
            elif folder.is_dir():
                self._served[folder.name] = self._load(folder)
        for served in self._served.values():
            if served.experiment.state is ExperimentState.RUNNING or _is_behind(served):
                self._runners.begin(served.experiment, served.folder)

    # -- looking -----------------------------------------------------------------------------

    def get(self, name: Child) -> Served:
        """Return the experiment of a name.

        Raises:
            ApiError: NOT_FOUND.
        """
        served = self._served.get(name.experiment)
        if served is None or served.experiment.book.created.session != name.session:
            full = experiment_name(name.session, name.experiment)
            raise not_found(full, "experiment")
        return served

    def find(self, session: Session) -> list[Book]:
        """Return the experiments of a session; ``-`` stands for any segment of it."""
        with self._lock:
            books = [served.experiment.book for served in self._served.values()]
        return [book for book in books if session.covers(book.created.session)]

    def everything(self) -> list[Served]:
        """Return all experiments, the newest first."""
        with self._lock:
            served = list(self._served.values())
        return sorted(served, key=lambda it: -it.experiment.book.created.at)

    # -- changing ----------------------------------------------------------------------------

    def create(self, session: Session, config: ExperimentConfig) -> Book:
        """Create an experiment; it is durable when this returns.

        Raises:
            ApiError: INVALID_ARGUMENT if the session is no single one.
            PrerequisiteError: if it cannot be written.
        """
        if ANY in (session.project, session.location, session.session):
            raise invalid("parent", f"is {session}", "one session; - is for lists")
        child = f"{_slug(config.title)}-{secrets.token_hex(3)}"
        aside, folder = self._folder / f".{child}", self._folder / child
        make_folder(aside)
        created = Created(child, session, config, self._now())
        Ledger(aside, self._say).append([created_event(created)])
        aside.rename(folder)
        sync_folder(self._folder)
        served = self._load(folder)
        with self._lock:
            self._served[child] = served
        return served.experiment.book

    def start(self, served: Served) -> tuple[Operation, Durable]:
        """Begin a search, unless too many run.

        Raises:
            ApiError: FAILED_PRECONDITION or RESOURCE_EXHAUSTED.
        """
        return self._run(served, served.experiment.start)

    def resume(self, served: Served) -> tuple[Operation, Durable]:
        """Go on with a search, unless too many run.

        Raises:
            ApiError: FAILED_PRECONDITION or RESOURCE_EXHAUSTED.
        """
        return self._run(served, served.experiment.resume)

    def _run(
        self, served: Served, operate: Callable[[], tuple[Operation, Durable]]
    ) -> tuple[Operation, Durable]:
        with self._lock:
            self._check_active(served.experiment.book)
            operation, durable = operate()
        durable.add_done_callback(lambda done: self._begun(served, done))
        return operation, durable

    def _begun(self, served: Served, done: Durable) -> None:
        if done.exception() is None:
            self._runners.begin(served.experiment, served.folder)

    def _check_active(self, book: Book) -> None:
        """Check that one more may run, of those of its project and location."""
        mine = book.created.session
        active = sum(
            other.state is ExperimentState.RUNNING and other is not book
            for other in self.find(Session(mine.project, mine.location, ANY, ANY, ANY))
        )
        if active >= limits.ACTIVE_EXPERIMENTS and book.state is not ExperimentState.RUNNING:
            raise ApiError(
                Code.RESOURCE_EXHAUSTED,
                f"project {mine.project} has {active} running experiments in location "
                f"{mine.location}, and {limits.ACTIVE_EXPERIMENTS} is the most. Stop one, or wait "
                "until one is completed, before another is started or resumed",
            )

    def delete(self, served: Served) -> None:
        """Remove an experiment with all its programs.

        Raises:
            ApiError: FAILED_PRECONDITION unless it has ended or never began.
        """
        child = served.folder.name
        with self._lock:
            if self._served.get(child) is not served:
                raise not_found(served.experiment.book.name, "experiment")
            served.experiment.check_deletable()
            del self._served[child]
        self._runners.end(served.experiment)
        aside = served.folder.with_name(f".{child}")
        served.folder.rename(aside)
        sync_folder(self._folder)
        remove_tree(aside)

    def tick(self) -> None:
        """Let time pass for all; read anew what the disk could not take."""
        for child, served in list(self._served.items()):
            if served.experiment.broken:
                self._reload(child, served)
                continue
            served.experiment.tick()
            if served.experiment.came_late:
                self._runners.begin(served.experiment, served.folder)

    def _reload(self, child: str, served: Served) -> None:
        """Go back to what is on the disk, once it takes events again."""
        self._runners.end(served.experiment)
        try:
            fresh = self._load(served.folder)
        except LaeError as error:
            self._say(f"{served.folder}: still cannot be read: {error}")
            return
        with self._lock:
            if self._served.get(child) is served:
                self._served[child] = fresh
        if fresh.experiment.state is ExperimentState.RUNNING:
            self._runners.begin(fresh.experiment, fresh.folder)

    def close(self) -> None:
        """End all searches; everything that was answered is on the disk."""
        self._runners.close()
        self._disk.shutdown(wait=True)

    # -- loading -----------------------------------------------------------------------------

    def _load(self, folder: Path) -> Served:
        ledger = Ledger(folder, self._say)
        book = _opened(ledger)
        log = CommitLog(ledger.append, self._disk)
        experiment = Experiment(book, log, self._lease, self._now)
        return Served(experiment, Sources(book, folder), folder)


def _opened(ledger: Ledger) -> Book:
    """Return what a journal says; a torn last line is cut off.

    Raises:
        LedgerError: if it is damaged, or missing.
    """
    events: list[Event] = ledger.read_journal(mend=True) or []
    try:
        return open_book(events)
    except (KeyError, ValueError, TypeError, AttributeError, StopIteration, ApiError) as error:
        raise LedgerError(
            f"{ledger.journal}: cannot be followed ({type(error).__name__}: {error}); expected "
            "what a server of this version writes. Put it back from a copy, or move "
            f"{ledger.folder} away"
        ) from None


def _is_behind(served: Served) -> bool:
    """Say whether evaluations were taken that the search was not told of."""
    book = served.experiment.book
    if book.state is ExperimentState.FAILED:
        return False
    rows = Ledger(served.folder / "lae", silent).read_history(mend=False) or []
    told = {row.child_id for row in rows}
    return any(
        p.state is ProgramState.COMPLETED and p.id not in told
        for p in book.programs.values()
        if p.id != SEED_ID
    )


def _slug(title: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    return words[:40].strip("-") or "experiment"

"""``ask``: reserve tasks under a lease, and lay out what a host's Mutator needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lae_controller import build
from lae_controller.budget import Stop
from lae_controller.config import Settings
from lae_controller.errors import ConfigError
from lae_controller.evaluators.baseline import Prepared, load_prepared
from lae_controller.files import write_atomic
from lae_controller.hosted.text import task_text
from lae_controller.leases import Leases
from lae_controller.lock import ControllerLock
from lae_controller.loop import Controller
from lae_controller.remarks import Say
from lae_controller.sandbox.launch import Lifelines
from lae_controller.session import begin_session, observer, refuse_ineffective
from lae_controller.state import Asked

PATIENCE_S = 60.0
"""How long ``ask`` and ``tell`` wait for each other."""


@dataclass(frozen=True, slots=True)
class Handed:
    """One task that is held for whoever asked.

    Attributes:
        directory: the child's program, to be edited.
        task: TASK.md, for the Mutator to read.
        token: to be shown with ``evaluate`` and ``tell``.
        until: when the lease ends, in seconds since the epoch.
    """

    child_id: str
    parent_id: str
    directory: Path
    task: Path
    token: str
    until: float


@dataclass(frozen=True, slots=True)
class Asking:
    """What ``ask`` gives.

    Attributes:
        tasks: empty if the search has ended, or if others hold all there is at present.
        stop: why the search has ended; None if it has not.
    """

    tasks: tuple[Handed, ...]
    stop: Stop | None


@contextmanager
def controlling(settings: Settings, say: Say) -> Iterator[tuple[Controller, Prepared]]:
    """Hold the lock for a moment, with a controller that has taken in the ledgers.

    Raises:
        LockedError: if a controller works there for longer than a moment.
        ConfigError: if the baseline was not measured yet.
    """
    prepared = load_prepared(settings)
    if prepared is None:
        raise ConfigError(
            f"{settings.lae_dir}: the baseline was not measured yet; `lae check` does that, and "
            "what it costs is part of the run"
        )
    with ControllerLock(settings.lae_dir, PATIENCE_S):
        refuse_ineffective(settings, prepared)
        views = observer(settings, prepared, say)
        controller = Controller(build.parts(settings, prepared, Lifelines(), views, say))
        try:
            yield controller, prepared
        finally:
            controller.close()


def ask(settings: Settings, count: int | None, say: Say) -> Asking:
    """Reserve up to ``count`` tasks (as many as there are slots, if None).

    Raises:
        LockedError: if a controller runs there.
        ConfigError: if the baseline was not measured yet, or nothing more may be spent.
    """
    with controlling(settings, say) as (controller, _):
        if not controller.state.rows:
            begin_session(settings)
        tasks, stop = controller.hand_out(count, Leases(settings))
        return Asking(tuple(_lay_out(settings, controller, asked) for asked in tasks), stop)


def _lay_out(settings: Settings, controller: Controller, asked: Asked) -> Handed:
    """Build the child's directory and write its task beside it."""
    if asked.lease is None or asked.parent_id is None:
        raise ValueError(f"{asked.child_id} is not leased")
    children = controller.steps.children
    task = children.build(asked, controller.state)
    note = children.folder(asked.child_id) / "TASK.md"
    write_atomic(note, task_text(task, settings, asked.lease.token))
    return Handed(
        asked.child_id,
        asked.parent_id,
        children.directory(asked.child_id),
        note,
        asked.lease.token,
        asked.lease.until,
    )

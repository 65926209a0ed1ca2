"""What a controller is put together from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lae_controller.change.patch import unified
from lae_controller.children import Children
from lae_controller.config import Settings
from lae_controller.evaluators.baseline import Prepared
from lae_controller.executors import Executor
from lae_controller.ledger import Ledger
from lae_controller.remarks import Say
from lae_controller.sandbox.programs import added_paths
from lae_controller.state import RunState


@dataclass(frozen=True, slots=True)
class Core:
    """One run as it lies on disk: enough for everything but deciding what runs when."""

    settings: Settings
    prepared: Prepared
    state: RunState
    ledger: Ledger
    children: Children

    def diff(self, old: Path, new: Path, prefix: str = "") -> bytes:
        """Return the unified diff between two program directories, files that were added too.

        Args:
            prefix: put before every path.
        """
        snapshot = self.prepared.snapshot
        added = (*added_paths(old, snapshot), *added_paths(new, snapshot))
        return unified(old, new, {*self.prepared.baseline.editable, *added}, prefix)


@dataclass(frozen=True, slots=True)
class UnderWay:
    """What a controller is waiting for at one moment.

    Attributes:
        running: attempts that hold a slot (see ``Executor.running``).
        proposing, ready: how many children wait for their Mutator, and for a slot.
        elapsed: active seconds of the run, over all sessions.
    """

    running: tuple[str, ...]
    proposing: int
    ready: int
    elapsed: float


def unseen(_now: UnderWay) -> None:
    """Take no notice of what is under way."""


@dataclass(frozen=True, slots=True)
class Parts(Core):
    """The parts of one controller (see ``build``).

    Attributes:
        observe: called after every generation: leaderboard, status line.
        say: takes remarks for people.
        on_tick: called several times a second, in the controller's thread.
    """

    executor: Executor
    observe: Callable[[RunState], None]
    say: Say
    on_tick: Callable[[UnderWay], None] = unseen

"""What a controller is put together from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lae_controller.children import Children
from lae_controller.config import Settings
from lae_controller.evaluators.baseline import Prepared
from lae_controller.executors import Executor
from lae_controller.ledger import Ledger
from lae_controller.state import RunState


@dataclass(frozen=True, slots=True)
class Core:
    """One run as it lies on disk: enough for everything but deciding what runs when."""

    settings: Settings
    prepared: Prepared
    state: RunState
    ledger: Ledger
    children: Children


@dataclass(frozen=True, slots=True)
class Parts(Core):
    """The parts of one controller (see ``build``).

    Attributes:
        observe: called after every generation: leaderboard, status line.
        say: takes remarks for people.
    """

    executor: Executor
    observe: Callable[[RunState], None]
    say: Callable[[str], None]

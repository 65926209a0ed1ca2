"""The money for model calls: nothing is begun that could pass ``max_cost_usd``."""

from __future__ import annotations

from lae_controller.config import MutatorSettings
from lae_controller.mutators.prices import worst_cost
from lae_controller.state import RunState
from lae_controller.task import Task


class Purse:
    """What may still be spent, the most that proposals under way can cost taken off.

    An agent's command line says what it cost only afterwards; with such a backend no further
    proposal is begun once the limit is reached.

    Attributes:
        is_empty: whether a proposal had to be left, as it could have passed the limit.
    """

    def __init__(self, settings: MutatorSettings, state: RunState) -> None:
        self._settings = settings
        self._state = state
        self._committed: dict[str, float] = {}
        self._lost = 0.0
        self.is_empty = False

    def commit(self, task: Task) -> bool:
        """Set aside what a proposal can cost at most; returns whether there is enough."""
        limit = self._settings.max_cost_usd
        if limit is None:
            return True
        spent = (self._state.usage.cost_usd or 0.0) + self._lost
        held = sum(
            most
            for child, most in self._committed.items()
            if child != task.child_id and child in self._state.asked
        )
        most = worst_cost(task, self._settings)
        if spent + held + (most or 0.0) > limit or (most is None and spent >= limit):
            self.is_empty = True
            return False
        self._committed[task.child_id] = most or 0.0
        return True

    def lose(self, child_id: str) -> None:
        """Count all that was set aside as spent: the process was killed before it could say."""
        self._lost += self._committed.pop(child_id, 0.0)

    def settle(self, child_id: str, cost: float) -> None:
        """Set aside what a child really cost, which counts as spent once it is told."""
        self._committed[child_id] = cost

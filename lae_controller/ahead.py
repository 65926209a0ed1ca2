"""How many children to have under way, so that no slot waits for a Mutator."""

from __future__ import annotations

import math

from lae_controller.mutators import MENDING
from lae_controller.results import Result

_LEAST, _MOST = 1, 8
_WEIGHT = 0.2


class Ahead:
    """Learns from finished children how long proposing takes against evaluating.

    A child that is asked for early is chosen from what was known then, so no more are asked ahead
    than it takes: with a proposal of L seconds and an evaluation of T, slots stay busy if L / T
    proposals a slot are under way beside what runs (Little's law).
    """

    def __init__(self, backend: str) -> None:
        self._asks_a_model = backend in MENDING
        self._proposal: float | None = None
        self._evaluation: float | None = None

    def note(self, result: Result) -> None:
        """Take in one finished child."""
        if result.usage is not None and result.usage.calls:
            self._proposal = _blend(self._proposal, result.usage.seconds)
        if result.evaluation.seconds > 0:
            self._evaluation = _blend(self._evaluation, result.evaluation.seconds)

    def wanted(self, slots: int) -> int:
        """Return how many children should be under way, those in slots included."""
        if not self._asks_a_model or self._proposal is None or not self._evaluation:
            return slots + max(1, slots // 2)
        each = min(_MOST, max(_LEAST, self._proposal / self._evaluation))
        return slots + math.ceil(slots * each)

    def most(self, slots: int) -> int:
        """Return how many proposals can be under way at the same time at most."""
        return slots * (1 + _MOST)


def _blend(old: float | None, new: float) -> float:
    return new if old is None else old + _WEIGHT * (new - old)

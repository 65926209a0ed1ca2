"""The Pareto front over several metrics, kept while programs come in."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence


class Front:
    """The programs that no other is better than in every metric; all metrics are maximised.

    Of two programs with equal scores the earlier stays.

    Args:
        metrics: which count; a program that lacks one is never on the front.
    """

    def __init__(self, metrics: Sequence[str]) -> None:
        self.metrics = tuple(metrics)
        self._members: dict[str, tuple[float, ...]] = {}

    def add(self, child: str, scores: Mapping[str, float]) -> None:
        """Take in one scored program; it pushes out those that it dominates."""
        if any(metric not in scores for metric in self.metrics):
            return
        point = tuple(scores[metric] for metric in self.metrics)
        if any(_covers(other, point) for other in self._members.values()):
            return
        kept = {key: other for key, other in self._members.items() if not _covers(point, other)}
        self._members = {**kept, child: point}

    def members(self) -> tuple[str, ...]:
        """Return the ids on the front, in the order in which they came."""
        return tuple(self._members)

    def draw(self, probability: float, rng: random.Random) -> str | None:
        """Return a program of the front with a probability; else None.

        With a single metric the front is the best program alone, which the usual rule favours
        anyway, so that nothing is drawn.
        """
        if len(self.metrics) < 2 or not self._members or rng.random() >= probability:
            return None
        return rng.choice(list(self._members))


def _covers(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Say whether ``one`` is at least as good as ``other`` in every metric."""
    return all(mine >= theirs for mine, theirs in zip(one, other, strict=True))

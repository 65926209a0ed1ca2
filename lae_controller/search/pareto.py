"""The Pareto front over the metric and the further metrics of a run."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping

from lae_controller.program import Direction, Elite
from lae_controller.search.elites import rank_key, same_program

Point = tuple[float, ...]
"""Fitness in each metric, the main one first; larger is better in all."""


def dominates(one: Point, other: Point) -> bool:
    """Return whether ``one`` is at least as good in every metric and better in one."""
    return one != other and all(a >= b for a, b in zip(one, other, strict=True))


class ParetoFront:
    """The placed programs that no other placed program dominates.

    A program that lacks one of the further metrics, or has it not as a finite number, is no
    part of it. Of two programs that are equal in all metrics both are.

    Args:
        directions: of the further metrics, by name; without any the front stays empty.
        limit: most programs it holds. Above it the one with the nearest neighbours goes, never
            one that is best in some metric (crowding distance; Source: Deb et al. 2002, A fast
            and elitist multiobjective genetic algorithm: NSGA-II, section III-B).
    """

    def __init__(self, directions: Mapping[str, Direction], limit: int) -> None:
        self._directions = dict(directions)
        self._limit = limit
        self._members: dict[str, tuple[Point, Elite]] = {}

    def add(self, elite: Elite) -> None:
        """Take in one placed program."""
        point = self._point(elite)
        if point is None or any(
            dominates(held, point) or same_program(other.child_id, elite.child_id)
            for held, other in self._members.values()
        ):
            return
        beaten = [name for name, (held, _) in self._members.items() if dominates(point, held)]
        for name in beaten:
            del self._members[name]
        self._members[elite.child_id] = (point, elite)
        if len(self._members) > self._limit:
            self._drop_most_crowded()

    def revise(self, child_id: str, become: Callable[[Elite], Elite | None]) -> None:
        """Let a program of the front become another value, or leave it."""
        for elite in self.elites():
            if same_program(elite.child_id, child_id):
                del self._members[elite.child_id]
                changed = become(elite)
                if changed is not None:
                    self.add(changed)

    def elites(self) -> list[Elite]:
        """Return its programs, the best by the main metric first, ties by id."""
        return sorted((elite for _, elite in self._members.values()), key=rank_key)

    def draw(self, rng: random.Random, probability: float) -> Elite | None:
        """Return any of its programs alike with this probability; else, or if empty, None."""
        if not self._members or rng.random() >= probability:
            return None
        return rng.choice(self.elites())

    def _point(self, elite: Elite) -> Point | None:
        if not self._directions:
            return None
        values = [elite.metrics.get(name, math.nan) for name in self._directions]
        if not all(map(math.isfinite, values)):
            return None
        turned = (
            direction.fitness(value)
            for value, direction in zip(values, self._directions.values(), strict=True)
        )
        return (elite.fitness, *turned)

    def _drop_most_crowded(self) -> None:
        room = dict.fromkeys(self._members, 0.0)
        for axis in range(1 + len(self._directions)):
            order = sorted(self._members, key=lambda name: self._members[name][0][axis])
            values = [self._members[name][0][axis] for name in order]
            span = values[-1] - values[0] or 1.0
            room[order[0]] = room[order[-1]] = math.inf
            for index, name in enumerate(order[1:-1], start=1):
                room[name] += (values[index + 1] - values[index - 1]) / span
        worst = min(reversed(self.elites()), key=lambda elite: room[elite.child_id])
        del self._members[worst.child_id]

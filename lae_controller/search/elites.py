"""What both algorithms make of a record, and whom they show beside a parent."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from lae_controller.errors import ConfigError
from lae_controller.program import Direction, Elite, Record, Status, is_baseline, sort_key

RankKey = tuple[float, tuple[int, int, int]]
"""Orders programs from best to worst; of two equal ones the earlier id comes first."""


def rank_key(elite: Elite) -> RankKey:
    """Return the place of an elite among others."""
    return -elite.fitness, sort_key(elite.child_id)


def comes_first(elite: Elite, other: Elite) -> bool:
    """Say whether an elite is better; of two as good the one run on more seeds, then the earlier.

    What was run once is as good as a better program by chance, on the one seed that both know.
    """
    if elite.beats(other):
        return True
    if other.beats(elite):
        return False
    return _standing(elite) < _standing(other)


def _standing(elite: Elite) -> tuple[int, tuple[int, int, int]]:
    return -len(elite.runs), sort_key(elite.child_id)


def usable_metric(record: Record) -> float | None:
    """Return the metric of an evaluated child; None for any other, or if it is not finite."""
    if record.status is not Status.EVALUATED or record.metric is None:
        return None
    return record.metric if math.isfinite(record.metric) else None


def elite_of(record: Record, direction: Direction) -> Elite | None:
    """Return the elite a record could become; None for a child without a usable metric."""
    metric = usable_metric(record)
    if metric is None or record.measures is None:
        return None
    return Elite(
        record.child_id,
        record.parent_id,
        direction.fitness(metric),
        metric,
        record.measures,
        record.metrics,
        tuple(direction.fitness(run) for run in record.repeats),
    )


def revised(elite: Elite, metric: float, repeats: Iterable[float], direction: Direction) -> Elite:
    """Return an elite after further runs.

    Args:
        metric: the mean of all of them.
        repeats: the metric on each seed.
    """
    runs = tuple(direction.fitness(run) for run in repeats)
    return replace(elite, metric=metric, fitness=direction.fitness(metric), runs=runs)


def same_program(one: str, other: str) -> bool:
    """Return whether two ids mean one program; the baseline stands on every island."""
    return one == other or (is_baseline(one) and is_baseline(other))


def inspirations(
    ranked: Iterable[Elite], parent_id: str, num_top: int, num_diverse: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ids of the best elites and, of the rest, of the most diverse.

    None of them is the parent, or named twice.

    Args:
        ranked: whom to choose from, best first.
        parent_id: who is shown anyway.
        num_top: how many of the best.
        num_diverse: how many of the most diverse.
    """
    others = [elite for elite in ranked if not same_program(elite.child_id, parent_id)]
    top, rest = others[:num_top], others[num_top:]
    rest.sort(key=lambda elite: (-elite.measures.diversity, sort_key(elite.child_id)))
    return (
        tuple(elite.child_id for elite in top),
        tuple(elite.child_id for elite in rest[:num_diverse]),
    )


class Suspects:
    """Evaluated children that are held back until a person accepts them."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[Elite, Record]] = {}

    def hold(self, elite: Elite, record: Record) -> None:
        """Hold a child back."""
        self._held[elite.child_id] = (elite, record)

    def release(self, child_id: str) -> tuple[Elite, Record]:
        """Return a child that is held back, and hold it back no longer.

        Raises:
            ConfigError: if it is not held back.
        """
        if child_id not in self._held:
            held = ", ".join(sorted(self._held, key=sort_key)) or "none"
            raise ConfigError(
                f"accept: {child_id} is not held back as suspect; expected one of those that"
                f" are: {held}"
            )
        return self._held.pop(child_id)

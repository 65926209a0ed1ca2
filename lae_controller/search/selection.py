"""The parent rule: a fixed mixture that leans towards what has stalled."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from lae_controller.evolution import SelectionSettings
from lae_controller.program import Cell, Elite, Record, Status

Mode = Literal["balanced", "exploit", "explore"]

NOTICEABLE = 0.002
"""Share of all that was gained since the baseline below which a gain is no progress."""

MOST_TRIED = 4096
"""Parents whose children are counted; above it those that hold no cell any more are forgotten."""

NUM_LEADERS = 8
"""How many of the run's best elites may become parents while quality stalls."""


class Progress:
    """What the parent rule remembers of the children told so far.

    Attributes:
        tried: child id -> how many children were made from it, failed ones included; of a program
            that left all maps no longer than ``MOST_TRIED`` says.
        since_best: children that ran since the global best last got noticeably better.
        since_cell: children that ran since one filled an empty cell.
    """

    def __init__(self) -> None:
        self.tried: Counter[str] = Counter()
        self.since_best = 0
        self.since_cell = 0
        self._first: float | None = None
        self._mark = 0.0

    def told(self, record: Record) -> None:
        """Count one child, but not the baseline; a crash is no sign of a stall."""
        if record.parent_id is None:
            return
        self.tried[record.parent_id] += 1
        if record.status is not Status.CRASH:
            self.since_best += 1
            self.since_cell += 1

    def forget_all_but(self, living: Iterable[str]) -> None:
        """Count no longer for programs that cannot become parents again."""
        self.tried = Counter({child: self.tried[child] for child in living if child in self.tried})

    def placed(self, best: float, *, new_cell: bool) -> None:
        """Note a child that was kept, and the fitness of the global best after it."""
        if new_cell:
            self.since_cell = 0
        if self._first is None:
            self._first = self._mark = best
        if best - self._mark > NOTICEABLE * (best - self._first):
            self._mark = best
            self.since_best = 0

    def mode(self, settings: SelectionSettings) -> Mode:
        """Return what the selection leans to.

        When only coverage stalls it explores, when only quality stalls it exploits; when both
        do, they take turns, a stretch of ``quality_patience`` children each.
        """
        quality = self.since_best >= settings.quality_patience
        coverage = self.since_cell >= settings.coverage_patience
        if quality and coverage:
            odd = self.since_best // settings.quality_patience % 2
            return "exploit" if odd else "explore"
        if quality:
            return "exploit"
        return "explore" if coverage else "balanced"


@dataclass(frozen=True, slots=True)
class Choice:
    """Everything a parent is chosen from.

    Attributes:
        island: the elites of the child's island with their cells, best first.
        leaders: the best elites of all islands, best first; the first is the global best.
        tried: as in ``Progress``.
        num_bins: bins per axis.
    """

    island: Sequence[tuple[Cell, Elite]]
    leaders: Sequence[Elite]
    tried: Mapping[str, int]
    num_bins: int


def choose_parent(
    settings: SelectionSettings, mode: Mode, choice: Choice, rng: random.Random
) -> tuple[Elite, str]:
    """Return a parent and the name of the rule that picked it.

    While quality stalls it is one of ``leaders``, each by 1/rank: a best that was only lucky
    is left behind so. While coverage stalls a share of the children is ``near_empty``.
    """
    if mode == "exploit":
        return _by_rank(choice.leaders, rng), "leaders"
    if not choice.island:
        return choice.leaders[0], "global_best"
    if mode == "explore" and rng.random() < settings.near_empty:
        return _near_empty(choice, rng), "near_empty"
    return _from_mixture(settings, choice, rng)


def _from_mixture(
    settings: SelectionSettings, choice: Choice, rng: random.Random
) -> tuple[Elite, str]:
    shares = {
        "global_best": settings.global_best,
        "island_best": settings.island_best,
        "by_rank": settings.by_rank,
        "uniform": settings.uniform,
    }
    rule = rng.choices(list(shares), weights=list(shares.values()))[0]
    ranked = [elite for _, elite in choice.island]
    if rule == "global_best":
        return choice.leaders[0], rule
    if rule == "island_best":
        return ranked[0], rule
    return (_by_rank(ranked, rng) if rule == "by_rank" else rng.choice(ranked)), rule


def _by_rank(ranked: Sequence[Elite], rng: random.Random) -> Elite:
    weights = [1 / place for place in range(1, len(ranked) + 1)]
    return rng.choices(ranked, weights=weights)[0]


def _near_empty(choice: Choice, rng: random.Random) -> Elite:
    """Favour elites with empty cells around them that were seldom a parent."""
    held = {cell for cell, _ in choice.island}
    weights = [
        _empty_around(cell, held, choice.num_bins) / (1 + choice.tried.get(elite.child_id, 0))
        for cell, elite in choice.island
    ]
    elites = [elite for _, elite in choice.island]
    return rng.choices(elites, weights=weights)[0] if any(weights) else rng.choice(elites)


def _empty_around(cell: Cell, held: set[Cell], num_bins: int) -> int:
    """Return how many of the up to eight neighbours of a cell are empty."""
    rows = range(max(0, cell[0] - 1), min(num_bins, cell[0] + 2))
    columns = range(max(0, cell[1] - 1), min(num_bins, cell[1] + 2))
    return sum((row, column) not in held for row in rows for column in columns)

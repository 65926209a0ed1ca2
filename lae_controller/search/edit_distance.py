"""The Levenshtein distance of two long texts that are much alike, exactly, piece by piece.

The time that a distance takes goes by the length of the texts times their distance; of pieces, by
the length of each times its own. So the texts are cut wherever it can be proved that a cut changes
nothing.

Aligned line by line, the texts share *stretches* with *gaps* between them. Take any cheapest way to
edit one text into the other, as a path through the matrix of the two. If it meets the diagonal of a
stretch anywhere, it may as well follow it to both ends: the distance is the sum of that of the
parts before and after the stretch, and the stretch can be cut out. If it meets the diagonals of
none of some neighbouring stretches, it pays at least one edit for each *seed* in them: a few
characters that the child has nowhere else as near as the path can come, so that no other place
matches them. Going through these stretches and all gaps around them costs no more than the gaps
do. So a stretch is safe to cut out if, in every run of neighbours that holds it, seeds are at least
as many as the edits in the gaps.

A path cannot stray from a diagonal by more than the whole bound: that is how near other places may
be.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from rapidfuzz.distance import Levenshtein

_LARGE = 10_000_000
"""Product of the lengths of two texts above which their distance is not worth a good guess."""

_WORTH_CUTTING = 100_000_000
"""Length times bound above which looking for seeds takes less time than it saves."""

_SEED = 8
"""Characters of a seed: fewer are seldom unique, more are soon too few in number."""


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A run of equal lines: where it begins in both texts, and its length in characters."""

    theirs: int
    mine: int
    length: int


@dataclass(frozen=True, slots=True)
class _Gap:
    """What lies between two stretches.

    Attributes:
        theirs, mine: begin and end in both texts.
        cost: its edit distance, or more if it is large (see ``is_exact``).
    """

    theirs: tuple[int, int]
    mine: tuple[int, int]
    cost: int
    is_exact: bool


class Compared:
    """One text, to be compared with several others."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = text.splitlines(keepends=True)
        self._places = _places(self._lines)
        self._repeats: list[int] | None = None
        self._seeds: dict[int, list[int]] = {}

    def distance(self, other: str) -> int:
        """Return the least number of inserted, deleted and replaced characters."""
        lines = other.splitlines(keepends=True)
        places = _places(lines)
        stretches = [
            _Stretch(
                places[step.src_start],
                self._places[step.dest_start],
                places[step.src_end] - places[step.src_start],
            )
            for step in Levenshtein.opcodes(lines, self._lines)
            if step.tag == "equal"
        ]
        gaps = self._gaps(other, stretches)
        bound = sum(gap.cost for gap in gaps)
        if max(len(other), len(self.text)) * bound < _WORTH_CUTTING or not stretches:
            return Levenshtein.distance(other, self.text, score_hint=bound)
        safe = self._safe(stretches, gaps, bound)
        return self._in_pieces(other, gaps, safe)

    def _gaps(self, other: str, stretches: Sequence[_Stretch]) -> list[_Gap]:
        gaps = []
        theirs = mine = 0
        for stretch in (*stretches, _Stretch(len(other), len(self.text), 0)):
            ours, its = self.text[mine : stretch.mine], other[theirs : stretch.theirs]
            is_exact = len(ours) * len(its) < _LARGE
            cost = Levenshtein.distance(its, ours) if is_exact else max(len(its), len(ours))
            ends = (theirs, stretch.theirs), (mine, stretch.mine)
            gaps.append(_Gap(*ends, cost, is_exact))
            theirs, mine = stretch.theirs + stretch.length, stretch.mine + stretch.length
        return gaps

    def _safe(self, stretches: Sequence[_Stretch], gaps: Sequence[_Gap], bound: int) -> list[bool]:
        """Say of each stretch whether it can be cut out."""
        seeds = self._seeds_in(stretches, bound)
        costs = [gap.cost for gap in gaps]
        before = _worst_runs(costs[:-1], seeds)
        after = _worst_runs(costs[:0:-1], seeds[::-1])[::-1]
        pairs = zip(before, after, seeds, strict=True)
        return [left + right <= count for left, right, count in pairs]

    def _seeds_in(self, stretches: Sequence[_Stretch], bound: int) -> list[int]:
        """Return how many seeds each stretch holds."""
        reach = 1 << bound.bit_length()
        if reach not in self._seeds:
            self._seeds[reach] = self._find_seeds(reach)
        seeds = self._seeds[reach]
        return [
            max(
                0,
                bisect_left(seeds, each.mine + each.length - _SEED + 1)
                - bisect_left(seeds, each.mine),
            )
            for each in stretches
        ]

    def _find_seeds(self, reach: int) -> list[int]:
        """Return where seeds begin that do not overlap, unique as far as ``reach`` characters."""
        if self._repeats is None:
            self._repeats = _nearest_repeats(self.text)
        found, place = [], 0
        while place < len(self._repeats):
            if self._repeats[place] > reach:
                found.append(place)
                place += _SEED
            else:
                place += 1
        return found

    def _in_pieces(self, other: str, gaps: Sequence[_Gap], safe: Sequence[bool]) -> int:
        """Return the sum of the distances between the stretches that are cut out."""
        total, first = 0, 0
        for last, ends in enumerate((*safe, True)):
            if not ends:
                continue
            piece = gaps[first : last + 1]
            cost = sum(gap.cost for gap in piece)
            if len(piece) > 1 or not piece[0].is_exact:
                its = other[piece[0].theirs[0] : piece[-1].theirs[1]]
                ours = self.text[piece[0].mine[0] : piece[-1].mine[1]]
                cost = Levenshtein.distance(its, ours, score_hint=cost)
            total += cost
            first = last + 1
        return total


def _places(lines: Sequence[str]) -> list[int]:
    """Return where each line begins, and the end."""
    return list(accumulate(map(len, lines), initial=0))


def _worst_runs(costs: Sequence[int], seeds: Sequence[int]) -> list[int]:
    """Return, for each stretch, by how much the gaps before it can exceed the seeds among them.

    Args:
        costs: of the gap before each stretch.
        seeds: in each stretch.
    """
    found, worst = [], 0
    for cost, count in zip(costs, seeds, strict=True):
        worst += cost
        found.append(worst)
        worst = max(0, worst - count)
    return found


def _nearest_repeats(text: str) -> list[int]:
    """Return, for each place, how far the nearest other one is that begins with the same seed."""
    count = max(0, len(text) - _SEED + 1)
    nearest = [len(text)] * count
    latest: dict[str, int] = {}
    for place in range(count):
        seed = text[place : place + _SEED]
        before = latest.get(seed)
        if before is not None:
            away = place - before
            nearest[place] = away
            nearest[before] = min(nearest[before], away)
        latest[seed] = place
    return nearest

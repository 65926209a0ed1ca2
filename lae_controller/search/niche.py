"""Where a program lies on the two axes of the archive: running percentiles and bins."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, insort
from dataclasses import dataclass
from operator import itemgetter
from typing import Protocol

from lae_controller.program import Cell, Measures

LOW, HIGH = 0.05, 0.95
"""The quantiles that become the outer edges of an axis, so that one outlier cannot flatten it."""

_BLOCK = 512
"""Most values that are kept in one piece: what is put into it moves half of them."""

_LARGEST = itemgetter(-1)  # of a block, which is in order

_ROUNDING = 1e-9
"""Relative; many times what the few sums and products here can be out."""


class Ascending(Protocol):
    """Numbers in ascending order."""

    def __len__(self) -> int:
        """Return how many there are."""
        ...

    def __getitem__(self, index: int, /) -> float:
        """Return the one before which ``index`` others stand."""
        ...


def percentile(sorted_values: Ascending, q: float) -> float:
    """Return the quantile ``q`` in [0, 1] of ascending values, by linear interpolation.

    Source: Hyndman and Fan (1996), definition 7, the default of numpy and R.

    Raises:
        ValueError: if there is no value.
    """
    last = len(sorted_values) - 1
    if last < 0:
        raise ValueError("no values to take a percentile of; expected at least one")
    position = last * q
    below = int(position)
    found = sorted_values[below]
    if below == last:
        return found
    return found + (position - below) * (sorted_values[below + 1] - found)


@dataclass(frozen=True, slots=True)
class Edges:
    """The outer edges of an axis; equal when all values seen are equal, or none was seen."""

    low: float
    high: float


class RunningAxis:
    """The values of all evaluated programs of a run on one axis, kept in order."""

    def __init__(self) -> None:
        self._blocks = [array("d")]
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: int) -> float:
        """Return the value before which ``index`` others stand; those at the ends the soonest.

        Raises:
            IndexError: if there is none.
        """
        if not 0 <= index < self._size:
            raise IndexError(f"{index} of {self._size} values")
        after = self._size - index
        blocks = iter(self._blocks) if index < after else reversed(self._blocks)
        passed = index if index < after else after - 1
        for block in blocks:
            if passed < len(block):
                break
            passed -= len(block)
        return block[passed] if index < after else block[-1 - passed]

    def add(self, value: float) -> None:
        """Take in one more value.

        Raises:
            ValueError: if it is not finite; it would spoil the order of all others.
        """
        if not math.isfinite(value):
            raise ValueError(f"measure is {value}; expected a finite number")
        at = bisect_left(self._blocks, value, 0, len(self._blocks) - 1, key=_LARGEST)
        block = self._blocks[at]
        insort(block, value)
        self._size += 1
        if len(block) > _BLOCK:
            half = len(block) // 2
            self._blocks[at : at + 1] = (block[:half], block[half:])

    def edges(self) -> Edges:
        """Return the 5th and 95th percentile; minimum and maximum where those are equal."""
        if not self._size:
            return Edges(0.0, 0.0)
        low, high = percentile(self, LOW), percentile(self, HIGH)
        return Edges(low, high) if low < high else Edges(self[0], self[self._size - 1])


def bin_of(value: float, edges: Edges, num_bins: int) -> int:
    """Return the bin of a value, 0 to ``num_bins`` - 1; 0 if the edges are equal.

    The stretch between the edges is divided evenly; values outside it belong to the
    outermost bins. The bin never falls as ``value`` rises.
    """
    if value <= edges.low or edges.low == edges.high:
        return 0
    if value >= edges.high:
        return num_bins - 1
    index = int((value - edges.low) / (edges.high - edges.low) * num_bins)
    return index if index < num_bins else num_bins - 1


class Ends:
    """The smallest and the largest value that were put into each bin of an axis.

    They are the first to leave a bin when the edges move: while they stay, all others do.
    """

    def __init__(self) -> None:
        self._ends: dict[int, tuple[float, float]] = {}
        self._checked = Edges(0.0, 0.0)
        self._slack = -1.0

    def include(self, value: float, index: int) -> None:
        """Note that a value lies in the bin ``index``."""
        low, high = self._ends.get(index, (value, value))
        if value <= low or value >= high:
            self._ends[index] = (min(low, value), max(high, value))
            self._slack = -1.0

    def hold(self, edges: Edges, num_bins: int) -> bool:
        """Return whether every value noted is in the same bin under these edges.

        No border between bins moves further than the edges do. So nothing need be looked at while
        they have moved less than what the value nearest to a border had left.
        """
        moved = max(abs(edges.low - self._checked.low), abs(edges.high - self._checked.high))
        if moved < self._slack:
            return True
        if not self._all_in(edges, num_bins):
            return False
        self._checked, self._slack = edges, self._left(edges, num_bins)
        return True

    def _left(self, edges: Edges, num_bins: int) -> float:
        """Return how far every value is from the borders of its bin at least.

        Rounding is allowed for; nothing is left where the edges are equal.
        """
        span = edges.high - edges.low
        if not span:
            return -1.0
        least = span
        for index, (lowest, highest) in self._ends.items():
            if index > 0:
                least = min(least, lowest - (edges.low + span * index / num_bins))
            if index < num_bins - 1:
                least = min(least, edges.low + span * (index + 1) / num_bins - highest)
        return least - _ROUNDING * max(abs(edges.low), abs(edges.high), span)

    def _all_in(self, edges: Edges, num_bins: int) -> bool:
        first, span, last = edges.low, edges.high - edges.low, num_bins - 1
        for index, ends in self._ends.items():
            for value in ends:  # ``bin_of``, written out: this runs for every child ever told
                if value <= first or not span:
                    found = 0
                elif value >= edges.high:
                    found = last
                else:
                    found = int((value - first) / span * num_bins)
                    found = found if found < num_bins else last
                if found != index:
                    return False
        return True


class Grid:
    """The cells that all islands of a run share: log10 complexity by diversity."""

    def __init__(self, num_bins: int) -> None:
        self._num_bins = num_bins
        self._axes = (RunningAxis(), RunningAxis())
        self._known: tuple[Edges, Edges] | None = None
        self._ends = (Ends(), Ends())

    @property
    def _edges(self) -> tuple[Edges, Edges]:
        if self._known is None:
            self._known = (self._axes[0].edges(), self._axes[1].edges())
        return self._known

    def add(self, measures: Measures) -> None:
        """Let one evaluated program move the edges."""
        self._axes[0].add(measures.log_complexity)
        self._axes[1].add(measures.diversity)
        self._known = None

    def cell_of(self, measures: Measures) -> Cell:
        """Return the cell of a program under the present edges."""
        across, up = self._edges
        return (
            bin_of(measures.log_complexity, across, self._num_bins),
            bin_of(measures.diversity, up, self._num_bins),
        )

    def note(self, measures: Measures, cell: Cell) -> None:
        """Remember that an elite was placed in this cell."""
        self._ends[0].include(measures.log_complexity, cell[0])
        self._ends[1].include(measures.diversity, cell[1])

    def forget(self) -> None:
        """Forget what was placed, before everything is placed anew."""
        self._ends = (Ends(), Ends())

    def holds(self) -> bool:
        """Return whether all elites noted keep their cells under the present edges.

        An elite that has left its map since still counts, at worst for a re-binning that
        changes nothing.
        """
        return all(
            ends.hold(edges, self._num_bins)
            for ends, edges in zip(self._ends, self._edges, strict=True)
        )

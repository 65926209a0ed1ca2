"""The map of one island: each cell holds the best program found for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lae_controller.program import Cell, Elite, Measures
from lae_controller.search.elites import comes_first, rank_key, same_program


class Archive:
    """A MAP-Elites map of at most ``limit`` elites.

    Whatever happens, the best elite stays: a newcomer must beat what it replaces, of two
    elites that fall into one cell the better stays, and above the limit the worst goes.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._cells: dict[Cell, Elite] = {}
        self._ranked: tuple[tuple[Cell, Elite], ...] | None = ()
        self._worst: Cell | None = None

    def __len__(self) -> int:
        return len(self._cells)

    def __contains__(self, child_id: str) -> bool:
        return any(elite.child_id == child_id for elite in self._cells.values())

    def restore(self, cells: Iterable[tuple[Cell, Elite]]) -> None:
        """Hold exactly these cells, as they were written down; the best, if they are too many."""
        self._cells = dict(cells)
        self._changed()
        while len(self._cells) > self._limit:
            del self._cells[self._cell_of_worst()]
            self._changed()

    def get(self, cell: Cell) -> Elite | None:
        """Return the elite of a cell; None if it is empty."""
        return self._cells.get(cell)

    def items(self) -> list[tuple[Cell, Elite]]:
        """Return all cells that are held, in order, each with its elite."""
        return sorted(self._cells.items(), key=lambda item: item[0])

    def ranked(self) -> tuple[tuple[Cell, Elite], ...]:
        """Return all cells that are held, the best elite first, ties by id."""
        if self._ranked is None:
            self._ranked = tuple(sorted(self._cells.items(), key=lambda item: rank_key(item[1])))
        return self._ranked

    def add(self, cell: Cell, elite: Elite) -> bool:
        """Place an elite if its cell is empty or holds a worse one; return whether it stays.

        It does not stay either if it is the one that the limit costs its place.
        """
        holder = self._cells.get(cell)
        if holder is not None and not elite.beats(holder):
            return False
        if holder is None and len(self._cells) >= self._limit:
            worst = self._cell_of_worst()
            if rank_key(elite) > rank_key(self._cells[worst]):
                return False
            del self._cells[worst]
        self._cells[cell] = elite
        self._changed()
        return True

    def revise(self, child_id: str, become: Callable[[Elite], Elite | None]) -> None:
        """Let the elites of one program become another value, or none, where they stand."""
        self._changed()
        for cell, elite in list(self._cells.items()):
            if same_program(elite.child_id, child_id):
                changed = become(elite)
                if changed is None:
                    del self._cells[cell]
                else:
                    self._cells[cell] = changed

    def rebin(self, cell_of: Callable[[Measures], Cell]) -> None:
        """Move every elite to its cell under new edges; of two in one cell the better stays."""
        elites = list(self._cells.values())
        self._cells = {}
        self._changed()
        for elite in elites:
            cell = cell_of(elite.measures)
            holder = self._cells.get(cell)
            if holder is None or comes_first(elite, holder):
                self._cells[cell] = elite

    def _changed(self) -> None:
        self._ranked = self._worst = None

    def _cell_of_worst(self) -> Cell:
        if self._worst is None:
            least = min(elite.fitness for elite in self._cells.values())
            last = [(cell, elite) for cell, elite in self._cells.items() if elite.fitness == least]
            self._worst, _ = max(last, key=lambda held: rank_key(held[1]))
        return self._worst

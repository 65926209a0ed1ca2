"""Whom to change next: the Search seam of ask -> mutate -> evaluate -> tell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from lae_controller.evolution import SelectionSettings
from lae_controller.program import (
    Cell,
    Direction,
    Elite,
    Measures,
    Placement,
    Record,
    Selection,
)

SEARCHES = {
    "islands": "lae_controller.search.islands:Islands",
    "openevolve": "lae_controller.search.islands:Islands",
    "puct": "lae_controller.search.puct:Puct",
}
"""Algorithm name -> ``module:Class``, called with (SearchSettings, Direction)."""


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """What a Search needs to know; the defaults live in ``evolution.py``.

    Attributes:
        num_top: inspirations chosen by metric.
        num_diverse: inspirations chosen for their diversity.
        num_bins: bins on each of the two axes.
        migration_interval: generations from one migration to the next.
        pop_per_island: most elites an island may hold.
        seed: where every random stream starts.
        metrics: directions of the further metrics by name; empty if there are none.
        pareto_probability: how often a parent is drawn from the Pareto front, in [0, 1].
        c_puct, prior_exponent: of the tree, see ``Tree``; the islands have no use for them.
    """

    num_islands: int
    num_top: int
    num_diverse: int
    num_bins: int
    migration_interval: int
    pop_per_island: int
    seed: int
    selection: SelectionSettings
    metrics: Mapping[str, Direction]
    pareto_probability: float
    c_puct: float
    prior_exponent: float


@dataclass(frozen=True, slots=True)
class Move:
    """What became of one elite that migrated.

    Attributes:
        cell: the cell it fell into on the target island.
        kept: whether it entered the map there.
    """

    child_id: str
    source: int
    target: int
    cell: Cell
    kept: bool


class Search(Protocol):
    """Chooses parents and keeps what is good.

    The state is a fold over what it is told: the same calls of ``tell``, ``migrate`` and
    ``accept`` in the same order give the same state, live or replayed from the journal.
    Nothing else enters it: no clock, no file, no random stream that is not derived from the
    seed and a child id. Only the loop calls it, from one thread. It never raises for a child
    that failed: a failed child holds no cell and is never a parent.
    """

    def ask(self, child_id: str, island: int, in_flight: Iterable[str] = ()) -> Selection:
        """Choose parent and inspirations for a child; changes nothing.

        The same question gets the same answer until something new is told.

        Args:
            child_id: the child, whose own random streams are used.
            island: where it will live.
            in_flight: the parents of all children that were asked for and not yet told, one entry
                a child, among them those that were chosen just before for the same generation.

        Raises:
            ValueError: if no program was ever placed.
        """
        ...

    def tell(self, record: Record) -> Placement:
        """Take in one child, evaluated or not; called once for each, in the order of the run.

        The baseline is told once per island, with equal measures.
        """
        ...

    def replay(self, record: Record, placement: Placement) -> None:
        """Take in one child as ``tell`` did once, which leaves the same state.

        Args:
            placement: what ``tell`` returned; nothing of it has to be found out again.

        Raises:
            ValueError: if the record cannot have been placed so.
        """
        ...

    def accept(self, child_id: str) -> Placement:
        """Place a child that was told as suspect and held back.

        Raises:
            ConfigError: if no such child is held back.
        """
        ...

    def rivals(self, island: int, elite: Elite) -> list[Elite]:
        """Return the placed programs that a program not yet told would have to beat."""
        ...

    def revise(self, child_id: str, metric: float, repeats: Sequence[float]) -> None:
        """Take in further runs of a program; one that is placed nowhere any more is passed over.

        Args:
            metric: the mean over all its runs.
            repeats: the metric on each training seed, first seed first.
        """
        ...

    def withdraw(self, child_id: str) -> None:
        """Take a program out of the archives, as its metric turned out not to hold."""
        ...

    def migrates_after(self, gen: int) -> bool:
        """Return whether a migration is due once generation ``gen`` has been told."""
        ...

    def migrate(self) -> tuple[Move, ...]:
        """Let top elites move between islands; returns what moved, empty if nothing can."""
        ...

    def restore(
        self,
        archives: Sequence[Sequence[tuple[Cell | None, Elite]]],
        seen: Iterable[Measures],
        best: Elite | None,
        told: Iterable[Record] = (),
    ) -> None:
        """Start from what the TSV files hold, when there is no journal to replay.

        Args:
            archives: for each island its cells, as they stand in ``archive.tsv``.
            seen: measures of every evaluated program that are known, the baseline once.
            best: the best program ever evaluated; None: the best of the archives.
            told: every child as ``history.tsv`` holds it, in its order.
        """
        ...

    def island_of_ordinal(self, ordinal: int) -> int:
        """Return the island of the child with this number, counted from 0 over the run."""
        ...

    def global_best(self) -> Elite | None:
        """Return the best program ever placed, ties by id; None before the first."""
        ...

    def elites(self, island: int) -> Sequence[tuple[Cell | None, Elite]]:
        """Return what an island holds, in order of the cells; the cell is None with ``puct``."""
        ...

    def front(self) -> list[Elite]:
        """Return the placed programs that none other dominates over all metrics, best first.

        Empty while there are no further metrics.
        """
        ...

    def mode(self) -> str:
        """Return what the selection leans to at present, for the status line."""
        ...

"""Flat PUCT: every program stays a node of one tree, and the score says which to change next."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter

from lae_controller.program import (
    Cell,
    Direction,
    Elite,
    Measures,
    Placement,
    Reason,
    Record,
    Selection,
    rng_for,
    sort_key,
)
from lae_controller.search import Move, SearchSettings
from lae_controller.search.elites import (
    RankKey,
    Suspects,
    elite_of,
    inspirations,
    rank_key,
    revised,
    usable_metric,
)
from lae_controller.search.pareto import ParetoFront
from lae_controller.search.tree import Tree

EXPANSIONS_PER_WORKER = 4
_NOT_KEPT = Placement(kept=False, cell=None)


def too_few_expansions(expansions: int, workers: int) -> str | None:
    """Return why a tree is not worth growing with so few children; None if it is.

    Args:
        expansions: children that the budget pays for.
        workers: children under evaluation at a time.
    """
    least = EXPANSIONS_PER_WORKER * workers
    if expansions >= least:
        return None
    return (
        f"algorithm puct gets {expansions} expansions for {workers} workers; expected at least "
        f"{EXPANSIONS_PER_WORKER} x {workers} = {least}, or the first sweep forks the baseline "
        "alone and the tree stays flat: raise total_budget, lower concurrency, or use islands"
    )


class Puct:
    """The Search of algorithm ``puct`` (see ``Search`` for its contract, ``Tree`` for the score).

    There is one island, 0, and there are no cells. Every evaluated child becomes a node, which
    may be expanded for the rest of the run; so does a suspect once it is accepted. A child that
    failed becomes none, but it was a visit to its parent. The archive, which is what ``elites``
    gives and ``kept`` speaks of, holds the best nodes, ``pop_per_island`` of them.
    """

    def __init__(self, settings: SearchSettings, direction: Direction) -> None:
        self._settings = settings
        self._direction = direction
        self._tree = Tree(settings.c_puct, settings.prior_exponent)
        self._archive: list[tuple[RankKey, Elite]] = []
        self._front = ParetoFront(settings.metrics, settings.pop_per_island)
        self._suspects = Suspects()

    def ask(
        self,
        child_id: str,
        island: int,  # noqa: ARG002 - there is one
        in_flight: Iterable[str] = (),
    ) -> Selection:
        """Choose the node with the highest score or, by chance, one of the Pareto front."""
        settings = self._settings
        rng = rng_for(settings.seed, child_id, "pareto")
        drawn = self._front.draw(rng, settings.pareto_probability)
        parent_id = self._tree.best(Counter(in_flight)) if drawn is None else drawn.child_id
        shown = (elite for _, elite in self._archive)
        top, diverse = inspirations(shown, parent_id, settings.num_top, settings.num_diverse)
        return Selection(parent_id, "puct" if drawn is None else "pareto", top, diverse)

    def tell(self, record: Record) -> Placement:
        """Take in one child: a visit to its parent and, if it has a metric, a new node."""
        if record.parent_id is not None:
            self._tree.visit(record.parent_id)
        elite = elite_of(record, self._direction)
        if elite is None:
            return _NOT_KEPT
        if record.reason is Reason.SUSPECT:
            self._suspects.hold(elite, record)
            return _NOT_KEPT
        return self._place(elite, record.promise)

    def replay(self, record: Record, placement: Placement) -> None:  # noqa: ARG002
        """Take in one child again; there are no borders of cells that had to be found."""
        self.tell(record)

    def accept(self, child_id: str) -> Placement:
        """Make a node of a child that was held back."""
        elite, record = self._suspects.release(child_id)
        return self._place(elite, record.promise)

    def rivals(self, island: int, elite: Elite) -> list[Elite]:  # noqa: ARG002
        """Return the best node: every other only gains a neighbour."""
        best = self.global_best()
        return [best] if best is not None else []

    def revise(self, child_id: str, metric: float, repeats: Sequence[float]) -> None:
        """Take in further runs of a node, whether or not the archive holds it."""
        if child_id not in self._tree:
            return
        fitness = self._direction.fitness(metric)
        self._tree.revise(child_id, (-fitness, sort_key(child_id)))
        self._change(child_id, lambda old: revised(old, metric, repeats, self._direction))

    def withdraw(self, child_id: str) -> None:
        """Take a node out; it is expanded no more."""
        if child_id in self._tree:
            self._tree.withdraw(child_id)
            self._change(child_id, lambda _: None)

    def _change(self, child_id: str, become: Callable[[Elite], Elite | None]) -> None:
        """Change what the archive and the front hold of a program."""
        for place, (_, elite) in enumerate(self._archive):
            if elite.child_id == child_id:
                del self._archive[place]
                changed = become(elite)
                if changed is not None:
                    insort(self._archive, (rank_key(changed), changed), key=itemgetter(0))
                break
        self._front.revise(child_id, become)

    def migrates_after(self, gen: int) -> bool:  # noqa: ARG002
        """Return False: there is nowhere to migrate to."""
        return False

    def migrate(self) -> tuple[Move, ...]:
        """Move nothing."""
        return ()

    def restore(
        self,
        archives: Sequence[Sequence[tuple[Cell | None, Elite]]],
        seen: Iterable[Measures],  # noqa: ARG002 - there are no axes
        best: Elite | None,
        told: Iterable[Record] = (),
    ) -> None:
        """Start from what the TSV files hold: nodes and visits are those of the children told.

        A child that was told but has left the archive is a node again by its metric when told.
        """
        known = {elite.child_id: elite for cells in archives for _, elite in cells}
        if best is not None:
            known[best.child_id] = best
        for record in told:
            if record.parent_id is not None:
                self._tree.visit(record.parent_id)
            self._restore_node(record, known.pop(record.child_id, None))
        for elite in known.values():
            self._place(elite, None)

    def _restore_node(self, record: Record, elite: Elite | None) -> None:
        metric = usable_metric(record)
        if elite is not None:
            self._place(elite, record.promise)
        elif metric is not None and record.reason is not Reason.SUSPECT:
            key = (-self._direction.fitness(metric), sort_key(record.child_id))
            self._tree.add(record.child_id, key, record.promise)

    def island_of_ordinal(self, ordinal: int) -> int:  # noqa: ARG002
        """Return 0, the only island."""
        return 0

    def global_best(self) -> Elite | None:
        """Return the best node; None before the first."""
        return self._archive[0][1] if self._archive else None

    def elites(self, island: int) -> list[tuple[None, Elite]]:  # noqa: ARG002
        """Return the best nodes, best first, at most ``pop_per_island``; none has a cell."""
        return [(None, elite) for _, elite in self._archive]

    def front(self) -> list[Elite]:
        """Return the Pareto front, the best by the main metric first."""
        return self._front.elites()

    def mode(self) -> str:
        """Return the word for the status line: the rule does not change."""
        return "puct"

    def _place(self, elite: Elite, promise: float | None) -> Placement:
        key = rank_key(elite)
        self._tree.add(elite.child_id, key, promise)
        self._front.add(elite)
        insort(self._archive, (key, elite), key=itemgetter(0))
        if len(self._archive) <= self._settings.pop_per_island:
            return Placement(kept=True, cell=None)
        dropped, _ = self._archive.pop()
        return Placement(kept=dropped != key, cell=None)

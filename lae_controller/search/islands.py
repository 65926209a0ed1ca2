"""MAP-Elites on several islands that share one grid, with ring migration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from lae_controller.program import (
    Cell,
    Direction,
    Elite,
    Measures,
    Placement,
    Reason,
    Record,
    Selection,
    is_baseline,
    rng_for,
)
from lae_controller.search import Move, SearchSettings
from lae_controller.search.archive import Archive
from lae_controller.search.elites import (
    Suspects,
    comes_first,
    elite_of,
    inspirations,
    rank_key,
    revised,
    same_program,
)
from lae_controller.search.niche import Grid
from lae_controller.search.pareto import ParetoFront
from lae_controller.search.selection import (
    MOST_TRIED,
    NUM_LEADERS,
    Choice,
    Mode,
    Progress,
    choose_parent,
)


class Islands:
    """The default Search (see ``Search`` for its contract).

    What ``tell`` does for an evaluated child, in this order:

    1. both axes take in its measures (the baseline, though told on every island, once);
    2. if that changes the bin of any elite of any island, all islands are re-binned;
    3. the child's cell is found under the new edges;
    4. it enters the map of its island if the cell is empty or holds a worse elite;
    5. above ``pop_per_island`` the worst elite of the island goes, and if that is the child
       itself, it was not kept.

    A suspect child goes through 1 to 3 and is held back until ``accept``. A child that was
    not evaluated changes no map. Migration changes neither axis.
    """

    def __init__(self, settings: SearchSettings, direction: Direction) -> None:
        self._settings = settings
        self._direction = direction
        self._grid = Grid(settings.num_bins)
        self._islands = [Archive(settings.pop_per_island) for _ in range(settings.num_islands)]
        self._progress = Progress()
        self._best: Elite | None = None
        self._suspects = Suspects()
        elites = settings.num_islands * settings.pop_per_island
        self._front = ParetoFront(settings.metrics, elites)
        self._baseline_seen = False

    def ask(
        self,
        child_id: str,
        island: int,
        in_flight: Iterable[str] = (),  # noqa: ARG002 - what is under way holds no cell yet
    ) -> Selection:
        """Choose parent and inspirations; none of these is the parent, or named twice."""
        settings = self._settings
        choice = self._choice(island)
        drawn = self._front.draw(
            rng_for(settings.seed, child_id, "pareto"), settings.pareto_probability
        )
        if drawn is None:
            rng = rng_for(settings.seed, child_id, "parent")
            parent, rule = choose_parent(settings.selection, self._mode(), choice, rng)
        else:
            parent, rule = drawn, "pareto"
        shown = (elite for _, elite in choice.island)
        top, diverse = inspirations(shown, parent.child_id, settings.num_top, settings.num_diverse)
        return Selection(parent.child_id, rule, top, diverse)

    def tell(self, record: Record) -> Placement:
        """Take in one child; the class says in which order what happens."""
        self._count(record)
        elite = elite_of(record, self._direction)
        if elite is None:
            return Placement(kept=False, cell=None)
        self._observe(elite.child_id, elite.measures)
        rebinned = not self._grid.holds()
        if rebinned:
            self._rebin()
        cell = self._grid.cell_of(elite.measures)
        return Placement(self._settle(record, cell, elite), cell, rebinned)

    def replay(self, record: Record, placement: Placement) -> None:
        """Take in one child again; an older journal may not say whether it re-binned."""
        if placement.rebinned is None:
            self.tell(record)
            return
        self._count(record)
        if placement.cell is None:
            if elite_of(record, self._direction) is not None:
                raise ValueError(f"{record.child_id} has a metric and no cell")
            return
        if record.measures is None:
            raise ValueError(f"{record.child_id} has the cell {placement.cell} and no measures")
        self._observe(record.child_id, record.measures)
        if placement.rebinned:
            self._rebin()
        suspect = record.reason is Reason.SUSPECT
        if not (suspect or placement.kept or self._settings.metrics):
            return  # neither a map nor the front is any different
        elite = elite_of(record, self._direction)
        if elite is None:
            raise ValueError(f"{record.child_id} has the cell {placement.cell} and no metric")
        self._settle(record, placement.cell, elite)

    def accept(self, child_id: str) -> Placement:
        """Place a suspect on its island, under the present edges and by the usual rule."""
        elite, record = self._suspects.release(child_id)
        cell = self._grid.cell_of(elite.measures)
        return Placement(self._place(record.island, cell, elite), cell)

    def rivals(self, island: int, elite: Elite) -> list[Elite]:
        """Return whom a program would displace: the holder of its cell, and the global best."""
        holder = self._islands[island].get(self._grid.cell_of(elite.measures))
        rivals = [holder] if holder is not None else []
        if self._best is not None and all(rival != self._best for rival in rivals):
            rivals.append(self._best)
        return rivals

    def revise(self, child_id: str, metric: float, repeats: Sequence[float]) -> None:
        """Take in further runs of a placed program, on whatever islands it stands."""
        self._change(child_id, lambda old: revised(old, metric, repeats, self._direction))

    def withdraw(self, child_id: str) -> None:
        """Take a placed program out of all maps."""
        self._change(child_id, lambda _: None)

    def _change(self, child_id: str, become: Callable[[Elite], Elite | None]) -> None:
        for archive in self._islands:
            archive.revise(child_id, become)
        best, self._best = self._best, None
        if best is not None:
            kept = become(best) if same_program(best.child_id, child_id) else best
            self._best = _champion(self._everyone(), kept)
        self._front.revise(child_id, become)

    def _everyone(self) -> list[Elite]:
        return [elite for archive in self._islands for _, elite in archive.items()]

    def migrates_after(self, gen: int) -> bool:
        """Return whether a migration is due once generation ``gen`` has been told."""
        return gen > 0 and gen % self._settings.migration_interval == 0

    def migrate(self) -> tuple[Move, ...]:
        """Send the top tenth of every island, at least one elite, to the next on the ring.

        Who moves is settled before anything does. An elite that the target holds already
        is skipped; the others keep their measures and are placed by the usual rule.
        """
        count = len(self._islands)
        if count == 1:
            return ()
        leaving = [archive.ranked()[: max(1, len(archive) // 10)] for archive in self._islands]
        return tuple(
            self._move(elite, source, (source + 1) % count)
            for source, elites in enumerate(leaving)
            for _, elite in elites
            if elite.child_id not in self._islands[(source + 1) % count]
        )

    def restore(
        self,
        archives: Sequence[Sequence[tuple[Cell | None, Elite]]],
        seen: Iterable[Measures],
        best: Elite | None,
        told: Iterable[Record] = (),  # noqa: ARG002 - the maps are all that islands need
    ) -> None:
        """Start from what the TSV files hold; what they lack (suspects, stalls) starts anew.

        The cells are taken as they stand; the first child told afterwards re-bins them if
        the edges of what was ``seen`` say otherwise.
        """
        for measures in seen:
            self._grid.add(measures)
            self._baseline_seen = True
        for archive, cells in zip(self._islands, archives, strict=True):
            placed = [(cell, elite) for cell, elite in cells if cell is not None]
            archive.restore(placed)
            for cell, elite in placed:
                self._grid.note(elite.measures, cell)
                self._front.add(elite)
        known = [elite for cells in archives for _, elite in cells]
        self._best = min(known if best is None else [*known, best], key=rank_key, default=None)

    def island_of_ordinal(self, ordinal: int) -> int:
        """Return the island of the child with this number: round robin."""
        return ordinal % len(self._islands)

    def global_best(self) -> Elite | None:
        """Return the best program ever placed; it stays so whatever the maps drop."""
        return self._best

    def elites(self, island: int) -> list[tuple[Cell, Elite]]:
        """Return the cells that an island holds, in order."""
        return self._islands[island].items()

    def front(self) -> list[Elite]:
        """Return the Pareto front, the best by the main metric first."""
        return self._front.elites()

    def mode(self) -> str:
        """Return what the selection leans to at present, for the status line."""
        return self._mode()

    def _mode(self) -> Mode:
        return self._progress.mode(self._settings.selection)

    def _choice(self, island: int) -> Choice:
        if self._best is None:
            raise ValueError("no program was placed yet; expected the baseline to be told first")
        heads = [elite for archive in self._islands for _, elite in archive.ranked()[:NUM_LEADERS]]
        leaders = {elite.child_id: elite for elite in [self._best, *heads]}
        return Choice(
            island=self._islands[island].ranked(),
            leaders=sorted(leaders.values(), key=rank_key)[:NUM_LEADERS],
            tried=self._progress.tried,
            num_bins=self._settings.num_bins,
        )

    def _living(self) -> Iterator[Elite]:
        """Yield every elite of every island, and the best of the run."""
        if self._best is not None:
            yield self._best
        for archive in self._islands:
            yield from (elite for _, elite in archive.ranked())

    def _count(self, record: Record) -> None:
        self._progress.told(record)
        if len(self._progress.tried) > MOST_TRIED:
            self._progress.forget_all_but(elite.child_id for elite in self._living())

    def _observe(self, child_id: str, measures: Measures) -> None:
        """Let the axes take in one program."""
        if is_baseline(child_id):
            if self._baseline_seen:
                return
            self._baseline_seen = True
        self._grid.add(measures)

    def _rebin(self) -> None:
        for archive in self._islands:
            archive.rebin(self._grid.cell_of)
        self._grid.forget()
        for archive in self._islands:
            for cell, elite in archive.items():
                self._grid.note(elite.measures, cell)

    def _settle(self, record: Record, cell: Cell, elite: Elite) -> bool:
        """Hold a suspect back, or place what is none; return whether it was kept."""
        if record.reason is Reason.SUSPECT:
            self._suspects.hold(elite, record)
            return False
        return self._place(record.island, cell, elite)

    def _place(self, island: int, cell: Cell, elite: Elite) -> bool:
        self._front.add(elite)
        empty = self._islands[island].get(cell) is None
        kept = self._enter(island, cell, elite)
        if kept:
            if self._best is None or comes_first(elite, self._best):
                self._best = elite
            self._progress.placed(self._best.fitness, new_cell=empty)
        return kept

    def _move(self, elite: Elite, source: int, target: int) -> Move:
        cell = self._grid.cell_of(elite.measures)
        return Move(elite.child_id, source, target, cell, self._enter(target, cell, elite))

    def _enter(self, island: int, cell: Cell, elite: Elite) -> bool:
        kept = self._islands[island].add(cell, elite)
        if kept:
            self._grid.note(elite.measures, cell)
        return kept


def _champion(elites: list[Elite], best: Elite | None) -> Elite | None:
    """Return who is best when each is compared, best mean first, on the seeds both know."""
    for elite in sorted(elites, key=rank_key):
        if best is None or comes_first(elite, best):
            best = elite
    return best

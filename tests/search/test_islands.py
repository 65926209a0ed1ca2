from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import pytest
from made import made_record

from lae_controller.errors import ConfigError
from lae_controller.evolution import SelectionSettings
from lae_controller.program import (
    Cell,
    Direction,
    Elite,
    Measures,
    Placement,
    Reason,
    Record,
    Status,
    child_id,
)
from lae_controller.search import SEARCHES, Search, SearchSettings
from lae_controller.search.elites import rank_key
from lae_controller.search.islands import Islands
from lae_controller.search.niche import RunningAxis, bin_of

SELECTION = SelectionSettings(0.5, 0.2, 0.2, 0.1, 0.5, 8, 8)
SETTINGS = SearchSettings(
    num_islands=3,
    num_top=2,
    num_diverse=2,
    num_bins=6,
    migration_interval=4,
    pop_per_island=10,
    seed=7,
    selection=SELECTION,
    metrics={},
    pareto_probability=0.0,
    c_puct=1.0,
    prior_exponent=0.0,
)


def told(
    name: str,
    metric: float | None = 1.0,
    complexity: float = 1000.0,
    diversity: float = 0.5,
    status: Status = Status.EVALUATED,
    reason: Reason | None = None,
) -> Record:
    measures = Measures(complexity, "params", diversity) if status is Status.EVALUATED else None
    return made_record(name, status=status, metric=metric, reason=reason, measures=measures)


def suspect(name: str, metric: float) -> Record:
    return told(name, metric, diversity=0.9, reason=Reason.SUSPECT)


def islands(
    count: int = 3, direction: Direction = Direction.MAXIMIZE, limit: int = 10, bins: int = 6
) -> Islands:
    """Return a search to which the baseline was told on every island, with metric 0."""
    settings = replace(SETTINGS, num_islands=count, pop_per_island=limit, num_bins=bins)
    search = Islands(settings, direction)
    for island in range(count):
        search.tell(told(child_id(0, island, 0), 0.0, 100.0, 0.0))
    return search


def spread(search: Islands) -> None:
    """Let both axes reach from end to end, far enough for what follows not to move them."""
    for slot in range(40):
        corner = (100.0, 0.0) if slot % 2 else (10_000.0, 1.0)
        record = told(child_id(0, 0, slot + 1), -9.0, *corner, reason=Reason.SUSPECT)
        search.tell(record)


def placed(search: Islands, island: int) -> dict[str, Cell]:
    return {elite.child_id: cell for cell, elite in search.elites(island)}


def random_history(seed: int, count: int = 250, num_islands: int = 3) -> list[Record]:
    rng = random.Random(seed)
    records = [told(child_id(0, k, 0), 0.0, 1000.0, 0.0) for k in range(num_islands)]
    for number in range(count):
        name = child_id(1 + number // 4, number % num_islands, number % 4)
        status = rng.choices(list(Status), weights=[8, 1, 1])[0]
        metric = round(rng.gauss(0, 1), 1) if status is Status.EVALUATED else None
        complexity = rng.choice([1000.0, 1000.0, 10 ** rng.uniform(2, 5)])
        reason = Reason.SUSPECT if metric is not None and rng.random() < 0.1 else None
        records.append(told(name, metric, complexity, rng.random(), status, reason))
    return records


def state(search: Islands) -> object:
    count = len({search.island_of_ordinal(n) for n in range(50)})
    asked = [search.ask(child_id(999, k, slot), k) for k in range(count) for slot in range(5)]
    maps = [search.elites(k) for k in range(count)]
    return maps, search.global_best(), search.mode(), asked


def replayed(records: Iterable[Record]) -> Islands:
    search = Islands(SETTINGS, Direction.MAXIMIZE)
    for number, record in enumerate(records):
        search.tell(record)
        if number % 16 == 15:
            search.migrate()
        if number % 20 == 19 and record.reason is Reason.SUSPECT:
            search.accept(record.child_id)
    return search


class Reference:
    """The contract written down once more, slowly: everything is recomputed every time."""

    def __init__(self) -> None:
        self.axes = (RunningAxis(), RunningAxis())
        self.maps: list[dict[Cell, Elite]] = [{} for _ in range(SETTINGS.num_islands)]

    def cell(self, measures: Measures) -> Cell:
        complexity, diversity = (axis.edges() for axis in self.axes)
        return (
            bin_of(measures.log_complexity, complexity, SETTINGS.num_bins),
            bin_of(measures.diversity, diversity, SETTINGS.num_bins),
        )

    def tell(self, record: Record) -> None:
        if record.metric is None or record.measures is None:
            return
        if record.gen > 0 or record.island == 0:
            self.axes[0].add(record.measures.log_complexity)
            self.axes[1].add(record.measures.diversity)
        for index, held in enumerate(self.maps):
            moved: dict[Cell, Elite] = {}
            for elite in sorted(held.values(), key=rank_key):
                moved.setdefault(self.cell(elite.measures), elite)
            self.maps[index] = moved
        if record.reason is Reason.SUSPECT:
            return
        self.place(record, record.measures)

    def place(self, record: Record, measures: Measures) -> None:
        metric = record.metric or 0.0
        held = self.maps[record.island]
        cell = self.cell(measures)
        if cell not in held or metric > held[cell].fitness:
            held[cell] = Elite(record.child_id, record.parent_id, metric, metric, measures)
        if len(held) > SETTINGS.pop_per_island:
            del held[max(held, key=lambda at: rank_key(held[at]))]


def test_the_default_algorithm_goes_by_two_names() -> None:
    assert SEARCHES["islands"] == SEARCHES["openevolve"]
    module, _, name = SEARCHES["islands"].partition(":")
    assert (module, name) == (Islands.__module__, Islands.__name__)


def test_islands_is_a_search() -> None:
    search: Search = islands()
    assert search.mode() == "balanced"


@pytest.mark.parametrize("seed", range(4))
def test_maps_are_what_the_contract_says_after_every_tell(seed: int) -> None:
    search, reference = Islands(SETTINGS, Direction.MAXIMIZE), Reference()
    for record in random_history(seed):
        search.tell(record)
        reference.tell(record)
        assert [dict(search.elites(k)) for k in range(3)] == reference.maps


def test_replay_gives_the_same_state() -> None:
    records = random_history(21)
    assert state(replayed(records)) == state(replayed(records))


def test_a_replayed_search_goes_on_as_the_live_one_does() -> None:
    records, live = random_history(22), Islands(SETTINGS, Direction.MAXIMIZE)
    for number, record in enumerate(records):
        if record.gen > 0:
            live.ask(record.child_id, record.island)
            live.ask("g777-i0-a0", 0)
        live.tell(record)
        if number % 16 == 15:
            live.migrate()
        if number % 20 == 19 and record.reason is Reason.SUSPECT:
            live.accept(record.child_id)
    assert state(live) == state(replayed(records))


def test_who_is_not_kept_displaces_nobody_after_a_restore_of_too_many() -> None:
    near, far = Measures(1.0, "loc", 0.0), Measures(100.0, "loc", 1.0)
    elites = [
        ((0, 0), Elite("g1-i0-a0", None, 5.0, 5.0, near, runs=(5.0,))),
        ((1, 1), Elite("g1-i0-a1", None, 1.0, 1.0, far, runs=(1.0,))),
    ]
    settings = replace(SETTINGS, num_islands=1, pop_per_island=1, num_bins=2)
    live, again = (Islands(settings, Direction.MAXIMIZE) for _ in range(2))
    for search in (live, again):
        search.restore([elites], [near, far], None)
    lucky = replace(random_history(23)[0], child_id="g2-i0-a0", island=0, parent_id="g1-i0-a0")
    lucky = replace(lucky, measures=far, metric=0.5, repeats=(2.0, -1.0))
    placement = live.tell(lucky)
    again.replay(lucky, placement)
    assert not placement.kept
    assert live.elites(0) == again.elites(0) == elites[:1]


def test_a_cell_without_measures_or_metric_was_never_written() -> None:
    search, record = islands(), random_history(23)[0]
    with pytest.raises(ValueError, match="and no measures"):
        search.replay(replace(record, measures=None), Placement(True, (0, 0)))
    with pytest.raises(ValueError, match="and no metric"):
        search.replay(replace(record, metric=None), Placement(True, (0, 0)))
    with pytest.raises(ValueError, match="a metric and no cell"):
        search.replay(record, Placement(False, None))


@pytest.mark.parametrize("seed", range(3))
def test_the_best_program_is_never_lost(seed: int) -> None:
    search = Islands(replace(SETTINGS, pop_per_island=3, num_bins=2), Direction.MAXIMIZE)
    best = float("-inf")
    for number, record in enumerate(random_history(seed + 50)):
        search.tell(record)
        if record.metric is not None and record.reason is None:
            best = max(best, record.metric)
        if number % 9 == 8:
            search.migrate()
        found = search.global_best()
        assert found is not None
        assert found.metric == best
        assert best == max(elite.metric for k in range(3) for _, elite in search.elites(k))


def test_the_best_stays_best_while_worse_ones_come_and_edges_move() -> None:
    search = islands(count=1)
    search.tell(told("g1-i0-a0", -0.71, 5000.0, 0.30))
    search.tell(told("g1-i0-a1", 0.64, 5000.0, 0.31))
    for slot, (metric, complexity, diversity) in enumerate(
        [(-1.9, 90_000.0, 0.9), (0.2, 5100.0, 0.32), (-3.0, 1e8, 1.0)]
    ):
        search.tell(told(f"g2-i0-a{slot}", metric, complexity, diversity))
        best = search.global_best()
        assert best is not None
        assert best.child_id == "g1-i0-a1"
        assert "g1-i0-a1" in placed(search, 0)


@pytest.mark.parametrize(
    ("direction", "best", "fitness"),
    [(Direction.MAXIMIZE, "g1-i1-a0", 5.0), (Direction.MINIMIZE, "g1-i2-a1", 3.0)],
)
def test_better_means_what_the_direction_says(
    direction: Direction, best: str, fitness: float
) -> None:
    search = islands(direction=direction)
    for record in (told("g1-i1-a0", 5.0), told("g1-i2-a1", -3.0)):
        search.tell(record)
    found = search.global_best()
    assert found is not None
    assert (found.child_id, found.fitness) == (best, fitness)


def test_a_lower_loss_takes_the_cell() -> None:
    search = islands(count=1, direction=Direction.MINIMIZE)
    search.tell(told("g1-i0-a0", 0.9))
    assert not search.tell(told("g1-i0-a1", 0.9)).kept
    assert search.tell(told("g1-i0-a2", 0.8)).kept
    assert set(placed(search, 0)) == {"g0-i0-a0", "g1-i0-a2"}


def test_of_equally_good_programs_the_earlier_is_the_best() -> None:
    search = islands()
    search.tell(told("g3-i1-a1", 2.0))
    search.tell(told("g3-i2-a0", 2.0))
    search.tell(told("g4-i0-a0", 2.0))
    best = search.global_best()
    assert best is not None
    assert best.child_id == "g3-i2-a0"


def test_one_run_that_was_as_good_displaces_no_program_that_was_run_more_often() -> None:
    search = islands()
    runs = {
        "g40-i2-a0": (0.93, 0.93, 0.9275),
        "g43-i0-a0": (0.93,),
        "g45-i1-a0": (0.93, 0.94, 0.93),
        "g46-i2-a0": (0.925,),
    }
    for place, (name, repeats) in enumerate(runs.items()):
        record = told(name, sum(repeats) / len(repeats), diversity=place / 4)
        search.tell(replace(record, repeats=repeats))
    for repeats in ((0.925, 0.9325), (0.925, 0.9325, 0.9225)):
        search.revise("g46-i2-a0", sum(repeats) / len(repeats), repeats)
        best = search.global_best()
        assert best is not None
        assert best.child_id == "g45-i1-a0"


def test_the_baseline_is_counted_once_on_the_axes() -> None:
    search = islands(count=3, bins=10)
    # One baseline and one child: the edges are 0.05 and 0.95 of the way between the two.
    search.tell(told("g1-i0-a0", 1.0, 100.0, 1.0))
    assert search.tell(told("g1-i0-a1", 1.0, 100.0, 0.5)).cell == (0, 5)
    # Values 0, 0.5, 0.5, 1.0 by now; with the baseline counted thrice the bin would be 6.
    assert search.tell(told("g1-i0-a2", 1.0, 100.0, 0.6)).cell == (0, 6)
    assert search.tell(told("g1-i1-a3", 1.0, 100.0, 0.2)).cell == (0, 1)


def test_variants_of_generation_zero_are_programs_like_any_other() -> None:
    search = islands(count=1)
    search.tell(told("g0-i0-a1", 0.5, 100.0, 1.0))
    assert placed(search, 0) == {"g0-i0-a0": (0, 0), "g0-i0-a1": (0, 5)}


def test_a_child_is_placed_under_the_edges_that_it_moved() -> None:
    search = islands(count=1)
    assert search.tell(told("g1-i0-a0", 1.0, 100.0, 0.2)).cell == (0, 5)
    assert search.tell(told("g1-i0-a1", 1.0, 100.0, 0.8)).cell == (0, 5)
    assert placed(search, 0)["g1-i0-a0"] == (0, 1)


def test_edges_moved_from_one_island_rebin_all_islands() -> None:
    search = islands()
    search.tell(told("g1-i1-a0", 1.0, 100.0, 0.2))
    assert placed(search, 1)["g1-i1-a0"] == (0, 5)
    search.tell(told("g1-i2-a1", 1.0, 100.0, 0.9))
    assert placed(search, 1)["g1-i1-a0"] == (0, 1)


def test_rebinning_drops_the_worse_of_two_that_fall_together() -> None:
    search = islands(count=1)
    search.tell(told("g1-i0-a0", 1.0, 100.0, 0.10))
    search.tell(told("g1-i0-a1", 3.0, 100.0, 0.15))
    assert len(placed(search, 0)) == 3
    for slot in range(3):
        search.tell(told(f"g2-i0-a{slot}", 2.0, 100.0, 1.0))
    assert "g1-i0-a0" not in placed(search, 0)
    assert "g1-i0-a1" in placed(search, 0)


@pytest.mark.parametrize(
    "record",
    [
        told("g1-i0-a0", None, status=Status.CRASH, reason=Reason.EXIT),
        told("g1-i0-a0", None, status=Status.CRASH, reason=Reason.TIMEOUT),
        told("g1-i0-a0", None, status=Status.SMOKE_DROPPED),
        replace(told("g1-i0-a0", 99.0), status=Status.CRASH),
        told("g1-i0-a0", float("nan")),
        told("g1-i0-a0", float("inf")),
        told("g1-i0-a0", None),
    ],
    ids=["exit", "timeout", "dropped", "crash-with-number", "nan", "inf", "no-metric"],
)
@pytest.mark.parametrize("direction", list(Direction))
def test_a_failed_child_holds_no_cell_and_is_never_a_parent(
    record: Record, direction: Direction
) -> None:
    search = islands(direction=direction)
    before = [search.elites(k) for k in range(3)]
    assert search.tell(record) == Placement(kept=False, cell=None)
    assert [search.elites(k) for k in range(3)] == before
    parents = {search.ask(f"g2-i0-a{slot}", 0).parent_id for slot in range(60)}
    assert parents <= {f"g0-i{k}-a0" for k in range(3)}


def test_a_suspect_is_held_back_until_it_is_accepted() -> None:
    search = islands()
    held = search.tell(suspect("g1-i1-a0", 7.0))
    assert held == Placement(kept=False, cell=(5, 5))
    assert "g1-i1-a0" not in placed(search, 1)
    best = search.global_best()
    assert best is not None
    assert best.metric == 0.0
    assert search.accept("g1-i1-a0") == Placement(kept=True, cell=(5, 5))
    assert placed(search, 1)["g1-i1-a0"] == (5, 5)
    best = search.global_best()
    assert best is not None
    assert best.child_id == "g1-i1-a0"


def test_an_accepted_suspect_must_beat_what_came_meanwhile() -> None:
    search = islands()
    search.tell(suspect("g1-i1-a0", 7.0))
    search.tell(told("g1-i1-a1", 8.0, diversity=0.9))
    assert not search.accept("g1-i1-a0").kept


def test_accepting_what_is_not_held_back_says_what_is() -> None:
    search = islands()
    with pytest.raises(ConfigError, match="g1-i0-a0 is not held back as suspect.*none"):
        search.accept("g1-i0-a0")
    search.tell(suspect("g1-i1-a2", 7.0))
    with pytest.raises(ConfigError, match="expected one of those that are: g1-i1-a2"):
        search.accept("g1-i0-a0")
    search.accept("g1-i1-a2")
    with pytest.raises(ConfigError, match="g1-i1-a2 is not held back"):
        search.accept("g1-i1-a2")


def test_an_island_never_outgrows_its_limit() -> None:
    search = islands(count=2, limit=4)
    spread(search)
    for slot in range(12):
        metric, diversity = 1.0 + slot % 5, slot / 12
        search.tell(told(child_id(1, 0, slot), metric, 100.0, diversity))
        assert len(search.elites(0)) <= 4
    poor = search.tell(told("g2-i0-a0", 0.5, 10_000.0, 0.5))
    assert poor == Placement(kept=False, cell=(5, 3))


def test_the_child_goes_where_its_task_said_whatever_its_parents_home() -> None:
    search = islands()
    counts: Counter[int] = Counter()
    for ordinal in range(30):
        island = search.island_of_ordinal(ordinal)
        name = child_id(1 + ordinal // 5, island, ordinal % 5)
        chosen = search.ask(name, island)
        record = told(name, 1.0 + ordinal, diversity=ordinal / 30)
        assert search.tell(replace(record, parent_id=chosen.parent_id)).kept
        assert name in placed(search, island)
        counts[island] += 1
    assert counts == {0: 10, 1: 10, 2: 10}


def test_asking_before_anything_is_told_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="expected the baseline to be told first"):
        Islands(SETTINGS, Direction.MAXIMIZE).ask("g1-i0-a0", 0)


def test_parents_hang_on_the_child_id_and_the_seed() -> None:
    def parents(seed: int) -> list[str]:
        search = Islands(replace(SETTINGS, seed=seed), Direction.MAXIMIZE)
        for record in random_history(3, 60):
            search.tell(record)
        return [search.ask(f"g90-i0-a{slot}", 0).parent_id for slot in range(40)]

    assert parents(1) == parents(1)
    assert parents(1) != parents(2)
    assert len(set(parents(1))) > 2


def test_inspirations_are_the_best_and_then_the_most_diverse_of_the_rest() -> None:
    best_only = replace(SETTINGS, selection=SelectionSettings(1.0, 0, 0, 0, 0, 99, 99))
    search = Islands(replace(best_only, num_bins=20), Direction.MAXIMIZE)
    for record in (
        told("g0-i0-a0", 0.0, diversity=0.0),
        told("g1-i0-a0", 9.0, diversity=0.55),
        told("g1-i0-a1", 8.0, diversity=0.95),
        told("g1-i0-a2", 7.0, diversity=0.15),
        told("g1-i0-a3", 1.0, diversity=0.75),
        told("g2-i0-a0", 2.0, diversity=0.85),
        told("g2-i0-a1", 3.0, diversity=0.25),
    ):
        assert search.tell(record).kept
    chosen = search.ask("g3-i0-a0", 0)
    assert (chosen.parent_id, chosen.rule) == ("g1-i0-a0", "global_best")
    assert chosen.top == ("g1-i0-a1", "g1-i0-a2")
    assert chosen.diverse == ("g2-i0-a0", "g1-i0-a3")


def test_no_inspiration_is_the_parent_or_named_twice() -> None:
    search = replayed(random_history(9))
    for slot in range(80):
        chosen = search.ask(f"g99-i1-a{slot}", 1)
        shown = [chosen.parent_id, *chosen.top, *chosen.diverse]
        assert len(shown) == len(set(shown))
        assert len(chosen.top) == 2
        assert len(chosen.diverse) == 2


def test_a_lone_baseline_has_no_inspiration_not_even_its_copy_on_another_island() -> None:
    search = islands()
    for island in range(3):
        chosen = search.ask(child_id(1, island, 0), island)
        assert (chosen.top, chosen.diverse) == ((), ())


def test_migration_sends_the_best_of_each_island_round_the_ring() -> None:
    search = islands()
    spread(search)
    for island in range(3):
        search.tell(told(child_id(1, island, 0), 1.0 + island, 100.0 * 10**island, 0.9))
    moves = search.migrate()
    assert [(m.child_id, m.source, m.target, m.kept) for m in moves] == [
        ("g1-i0-a0", 0, 1, True),
        ("g1-i1-a0", 1, 2, True),
        ("g1-i2-a0", 2, 0, True),
    ]
    assert set(placed(search, 0)) == {"g0-i0-a0", "g1-i0-a0", "g1-i2-a0"}
    assert placed(search, 1)["g1-i0-a0"] == placed(search, 0)["g1-i0-a0"] == moves[0].cell


def test_a_migrant_does_not_travel_twice_in_one_migration() -> None:
    search = islands()
    search.tell(told("g1-i0-a0", 5.0))
    search.migrate()
    assert "g1-i0-a0" in placed(search, 1)
    assert "g1-i0-a0" not in placed(search, 2)


def test_a_migrant_that_is_there_already_is_skipped() -> None:
    search = islands(count=2)
    search.tell(told("g1-i0-a0", 5.0))
    assert [move.child_id for move in search.migrate()] == ["g1-i0-a0", "g0-i1-a0"]
    assert search.migrate() == ()


def test_a_migrant_must_beat_the_holder_of_its_cell() -> None:
    search = islands(count=2)
    search.tell(told("g1-i0-a0", 5.0))
    search.tell(told("g1-i1-a1", 6.0))
    kept = {move.child_id: move.kept for move in search.migrate()}
    assert kept == {"g1-i0-a0": False, "g1-i1-a1": True}
    assert set(placed(search, 0)) == {"g0-i0-a0", "g1-i1-a1"}


def test_a_tenth_of_a_large_island_migrates() -> None:
    search = islands(count=2, limit=40, bins=30)
    spread(search)
    for slot in range(25):
        search.tell(told(child_id(1, 0, slot), 1.0 + slot, 100.0, slot / 25))
    assert len(search.elites(0)) == 25
    moved = [move.child_id for move in search.migrate() if move.source == 0]
    assert moved == ["g1-i0-a24", "g1-i0-a23"]


def test_migration_moves_no_edges_and_makes_no_new_program() -> None:
    search = replayed(random_history(5, 90))
    before = {elite.child_id: elite for k in range(3) for _, elite in search.elites(k)}
    search.migrate()
    for island in range(3):
        for _, elite in search.elites(island):
            assert before[elite.child_id] == elite


def test_one_island_has_nowhere_to_migrate_to() -> None:
    assert islands(count=1).migrate() == ()


def test_migration_is_due_every_interval() -> None:
    search = islands()
    assert [gen for gen in range(13) if search.migrates_after(gen)] == [4, 8, 12]


def test_the_mode_shows_a_stall_and_its_end() -> None:
    search = islands(count=1)
    search.tell(told("g1-i0-a0", 1.0))
    for slot in range(8):
        search.tell(told(f"g2-i0-a{slot}", 0.5))
    assert search.mode() == "exploit"
    search.tell(told("g3-i0-a0", 1.5))
    assert search.mode() == "explore"
    search.tell(told("g3-i0-a1", 1.0, diversity=0.9))
    assert search.mode() == "balanced"


def test_a_restored_search_holds_what_the_files_held() -> None:
    source = replayed(random_history(31))
    archives = [source.elites(k) for k in range(3)]
    seen = [elite.measures for cells in archives for _, elite in cells]
    search = Islands(SETTINGS, Direction.MAXIMIZE)
    search.restore(archives, seen, source.global_best())
    assert [search.elites(k) for k in range(3)] == archives
    assert search.global_best() == source.global_best()
    assert search.ask("g99-i0-a0", 0).parent_id


@pytest.mark.parametrize("given", [True, False])
def test_a_restored_search_knows_its_best(given: bool) -> None:
    held = Elite("g1-i0-a0", "g0-i0-a0", 3.0, 3.0, Measures(10.0, "loc", 0.1))
    lost = Elite("g2-i0-a0", "g0-i0-a0", 4.0, 4.0, Measures(10.0, "loc", 0.1))
    search = Islands(replace(SETTINGS, num_islands=1), Direction.MAXIMIZE)
    search.restore([[((0, 0), held)]], [held.measures], lost if given else None)
    assert search.global_best() == (lost if given else held)


def test_a_restored_island_without_elites_still_has_a_parent() -> None:
    held = Elite("g1-i0-a0", "g0-i0-a0", 3.0, 3.0, Measures(10.0, "loc", 0.1))
    search = Islands(replace(SETTINGS, num_islands=2), Direction.MAXIMIZE)
    search.restore([[((0, 0), held)], []], [held.measures], None)
    assert search.ask("g2-i1-a0", 1).parent_id == "g1-i0-a0"


def test_a_restored_search_rebins_when_the_edges_say_so() -> None:
    near = Elite("g1-i0-a0", "g0-i0-a0", 3.0, 3.0, Measures(100.0, "loc", 0.2))
    search = Islands(replace(SETTINGS, num_islands=1), Direction.MAXIMIZE)
    search.restore([[((0, 5), near)]], [Measures(100.0, "loc", 0.0), near.measures], None)
    search.tell(told("g2-i0-a0", 1.0, 100.0, 1.0))
    assert placed(search, 0) == {"g1-i0-a0": (0, 1), "g2-i0-a0": (0, 5)}

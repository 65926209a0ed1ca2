from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest
from made import made_record

from lae_controller.evolution import SelectionSettings
from lae_controller.program import Cell, Elite, Measures, Record, Status
from lae_controller.search.selection import (
    Choice,
    Mode,
    Progress,
    choose_parent,
)

SETTINGS = SelectionSettings(
    global_best=4.0,
    island_best=3.0,
    by_rank=2.0,
    uniform=1.0,
    near_empty=0.5,
    quality_patience=6,
    coverage_patience=10,
)
ONLY_ONE = {
    "global_best": SelectionSettings(1.0, 0.0, 0.0, 0.0, 0.0, 6, 10),
    "island_best": SelectionSettings(0.0, 1.0, 0.0, 0.0, 0.0, 6, 10),
    "by_rank": SelectionSettings(0.0, 0.0, 1.0, 0.0, 0.0, 6, 10),
    "uniform": SelectionSettings(0.0, 0.0, 0.0, 1.0, 0.0, 6, 10),
}


def elite(child_id: str, fitness: float) -> Elite:
    return Elite(child_id, "g0-i0-a0", fitness, fitness, Measures(10.0, "loc", 0.5))


LEADERS = [elite("g5-i1-a1", 9.0), elite("g4-i0-a0", 4.0), elite("g3-i1-a3", 3.5)]
ISLAND: list[tuple[Cell, Elite]] = [
    ((0, 0), LEADERS[1]),
    ((1, 1), elite("g2-i0-a2", 2.0)),
    ((9, 9), elite("g1-i0-a0", 1.0)),
]


def choice(
    island: list[tuple[Cell, Elite]] = ISLAND, tried: Mapping[str, int] | None = None
) -> Choice:
    return Choice(island, LEADERS, tried or {}, num_bins=10)


def drawn(
    settings: SelectionSettings, mode: Mode, given: Choice, times: int = 4000
) -> Counter[str]:
    rng = random.Random(17)
    return Counter(choose_parent(settings, mode, given, rng)[0].child_id for _ in range(times))


def rules(settings: SelectionSettings, mode: Mode, times: int = 4000) -> Counter[str]:
    rng = random.Random(17)
    return Counter(choose_parent(settings, mode, choice(), rng)[1] for _ in range(times))


def child(status: Status = Status.EVALUATED, parent: str | None = "g0-i0-a0") -> Record:
    return made_record("g1-i0-a0", parent_id=parent, status=status, charge=0.0, seconds=0.0)


def after(children: int, new_cell_at: int | None = None) -> Progress:
    progress = Progress()
    progress.placed(1.0, new_cell=True)
    for number in range(1, children + 1):
        progress.told(child())
        if number == new_cell_at:
            progress.placed(1.0, new_cell=True)
    return progress


def test_the_mixture_keeps_its_shares() -> None:
    found = rules(SETTINGS, "balanced")
    for rule, share in [
        ("global_best", 0.4),
        ("island_best", 0.3),
        ("by_rank", 0.2),
        ("uniform", 0.1),
    ]:
        assert found[rule] / 4000 == pytest.approx(share, abs=0.03)


def test_shares_are_relative() -> None:
    tenth = replace(SETTINGS, global_best=0.4, island_best=0.3, by_rank=0.2, uniform=0.1)
    assert rules(tenth, "balanced") == rules(SETTINGS, "balanced")


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("global_best", {"g5-i1-a1": 1.0}),
        ("island_best", {"g4-i0-a0": 1.0}),
        ("by_rank", {"g4-i0-a0": 6 / 11, "g2-i0-a2": 3 / 11, "g1-i0-a0": 2 / 11}),
        ("uniform", {"g4-i0-a0": 1 / 3, "g2-i0-a2": 1 / 3, "g1-i0-a0": 1 / 3}),
    ],
)
def test_whom_each_rule_picks(rule: str, expected: dict[str, float]) -> None:
    found = drawn(ONLY_ONE[rule], "balanced", choice())
    assert set(found) == set(expected)
    for name, share in expected.items():
        assert found[name] / 4000 == pytest.approx(share, abs=0.03)


def test_while_quality_stalls_the_leaders_of_all_islands_are_parents_by_rank() -> None:
    found = drawn(SETTINGS, "exploit", choice())
    for leader, share in zip(LEADERS, (6 / 11, 3 / 11, 2 / 11), strict=True):
        assert found[leader.child_id] / 4000 == pytest.approx(share, abs=0.03)
    assert set(rules(SETTINGS, "exploit")) == {"leaders"}


def test_while_coverage_stalls_a_share_is_taken_beside_empty_cells() -> None:
    found = rules(SETTINGS, "explore")
    assert found["near_empty"] / 4000 == pytest.approx(0.5, abs=0.03)
    assert found["global_best"] / 4000 == pytest.approx(0.2, abs=0.03)
    assert "near_empty" not in rules(replace(SETTINGS, near_empty=0.0), "explore")


def test_elites_with_more_empty_cells_around_them_are_favoured() -> None:
    walled: list[tuple[Cell, Elite]] = [
        ((4, 4), elite("g2-i0-a0", 1.0)),
        *(
            ((row, column), elite(f"g1-i0-a{3 * row + column}", 0.5))
            for row in (3, 4, 5)
            for column in (3, 4, 5)
            if (row, column) != (4, 4)
        ),
    ]
    found = drawn(replace(SETTINGS, near_empty=1.0), "explore", choice(walled))
    assert "g2-i0-a0" not in found
    # A corner of the block of nine touches five empty cells, the middle of a side three.
    assert found["g1-i0-a12"] / found["g1-i0-a13"] == pytest.approx(5 / 3, rel=0.2)


@pytest.mark.parametrize("corner", [(0, 0), (0, 9), (9, 0), (9, 9)])
def test_beyond_the_map_there_are_no_cells(corner: Cell) -> None:
    pair: list[tuple[Cell, Elite]] = [
        (corner, elite("g1-i0-a0", 1.0)),
        ((5, 4), elite("g1-i0-a1", 1.0)),
    ]
    found = drawn(replace(SETTINGS, near_empty=1.0), "explore", choice(pair))
    assert found["g1-i0-a1"] / found["g1-i0-a0"] == pytest.approx(8 / 3, rel=0.15)


def test_elites_that_were_seldom_tried_are_favoured() -> None:
    pair: list[tuple[Cell, Elite]] = [
        ((2, 2), elite("g1-i0-a0", 1.0)),
        ((7, 7), elite("g1-i0-a1", 1.0)),
    ]
    found = drawn(replace(SETTINGS, near_empty=1.0), "explore", choice(pair, {"g1-i0-a0": 3}))
    assert found["g1-i0-a1"] / found["g1-i0-a0"] == pytest.approx(4.0, rel=0.15)


def test_a_full_map_without_empty_cells_still_has_parents() -> None:
    full = Choice([((0, 0), LEADERS[1])], LEADERS, {}, num_bins=1)
    settings = replace(SETTINGS, near_empty=1.0)
    assert choose_parent(settings, "explore", full, random.Random(1))[0] == LEADERS[1]


@pytest.mark.parametrize("mode", ["balanced", "explore"])
def test_an_empty_island_borrows_the_best_of_the_run(mode: Mode) -> None:
    parent, _ = choose_parent(ONLY_ONE["uniform"], mode, choice([]), random.Random(1))
    assert parent == LEADERS[0]


@pytest.mark.parametrize(
    ("children", "new_cell_at", "mode"),
    [
        (0, None, "balanced"),
        (5, None, "balanced"),
        (6, None, "exploit"),
        (9, None, "exploit"),
        (10, None, "exploit"),
        (11, None, "exploit"),
        (12, None, "explore"),
        (17, None, "explore"),
        (18, None, "exploit"),
        (12, 3, "exploit"),
        (13, 3, "explore"),
    ],
)
def test_what_the_selection_leans_to(children: int, new_cell_at: int | None, mode: Mode) -> None:
    assert after(children, new_cell_at).mode(SETTINGS) == mode


def test_coverage_alone_may_stall() -> None:
    progress = after(9)
    progress.placed(2.0, new_cell=False)
    progress.told(child())
    assert progress.mode(SETTINGS) == "explore"


def test_crashes_are_no_sign_of_a_stall_but_smoke_drops_are() -> None:
    progress = after(5)
    for _ in range(30):
        progress.told(child(Status.CRASH))
    assert progress.mode(SETTINGS) == "balanced"
    progress.told(child(Status.SMOKE_DROPPED))
    assert progress.mode(SETTINGS) == "exploit"


def test_the_baseline_counts_for_nothing() -> None:
    progress = Progress()
    for _ in range(30):
        progress.told(child(parent=None))
    assert progress.mode(SETTINGS) == "balanced"
    assert not progress.tried


def test_children_are_counted_for_their_parent_whatever_became_of_them() -> None:
    progress = Progress()
    for status in Status:
        progress.told(child(status, parent="g2-i1-a0"))
    assert progress.tried == {"g2-i1-a0": 3}


def test_a_gain_too_small_to_notice_does_not_end_a_stall_but_many_do() -> None:
    progress = after(0)
    progress.placed(101.0, new_cell=False)
    for _ in range(6):
        progress.told(child())
    progress.placed(101.15, new_cell=False)
    assert progress.mode(SETTINGS) == "exploit"
    progress.placed(101.3, new_cell=False)
    assert progress.mode(SETTINGS) == "balanced"

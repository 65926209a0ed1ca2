from __future__ import annotations

import random
from dataclasses import replace

import pytest

from lae_controller.program import Elite, Measures
from lae_controller.search.archive import Archive
from lae_controller.search.elites import rank_key


def elite(child_id: str, fitness: float, diversity: float = 0.5) -> Elite:
    return Elite(child_id, "g0-i0-a0", fitness, fitness, Measures(1000.0, "params", diversity))


def by_tenths(measures: Measures) -> tuple[int, int]:
    return 0, int(measures.diversity * 10)


def ids(archive: Archive) -> list[str]:
    return [held.child_id for _, held in archive.items()]


def test_an_empty_map() -> None:
    archive = Archive(5)
    assert len(archive) == 0
    assert archive.get((0, 0)) is None
    assert archive.items() == []


@pytest.mark.parametrize(
    ("fitness", "kept"), [(0.4, False), (0.5, False), (0.5000001, True)], ids=str
)
def test_a_newcomer_must_beat_the_holder_of_its_cell(fitness: float, kept: bool) -> None:
    archive = Archive(5)
    archive.add((1, 1), elite("g1-i0-a0", 0.5))
    assert archive.add((1, 1), elite("g2-i0-a0", fitness)) is kept
    assert ids(archive) == ["g2-i0-a0" if kept else "g1-i0-a0"]


def test_an_empty_cell_takes_even_a_poor_one() -> None:
    archive = Archive(5)
    archive.add((0, 0), elite("g1-i0-a0", 0.5))
    assert archive.add((2, 0), elite("g1-i0-a1", -80.0))
    assert "g1-i0-a1" in archive


def test_cells_are_listed_in_order_and_elites_by_rank() -> None:
    archive = Archive(9)
    for cell, child, fitness in [
        ((2, 0), "g1-i0-a0", 1.0),
        ((0, 3), "g1-i0-a1", 3.0),
        ((0, 1), "g1-i0-a2", 2.0),
    ]:
        archive.add(cell, elite(child, fitness))
    assert [cell for cell, _ in archive.items()] == [(0, 1), (0, 3), (2, 0)]
    assert [held.fitness for _, held in archive.ranked()] == [3.0, 2.0, 1.0]


def test_equal_elites_rank_by_generation_then_slot() -> None:
    held = [elite(name, 1.0) for name in ("g10-i0-a0", "g2-i3-a1", "g2-i0-a10", "g2-i1-a1")]
    ranked = [e.child_id for e in sorted(held, key=rank_key)]
    assert ranked == ["g2-i1-a1", "g2-i3-a1", "g2-i0-a10", "g10-i0-a0"]


def test_above_the_limit_the_worst_goes() -> None:
    archive = Archive(2)
    archive.add((0, 0), elite("g1-i0-a0", 1.0))
    archive.add((0, 1), elite("g1-i0-a1", 3.0))
    assert archive.add((0, 2), elite("g1-i0-a2", 2.0))
    assert ids(archive) == ["g1-i0-a1", "g1-i0-a2"]


def test_a_newcomer_that_goes_at_once_was_not_kept() -> None:
    archive = Archive(2)
    archive.add((0, 0), elite("g1-i0-a0", 1.0))
    archive.add((0, 1), elite("g1-i0-a1", 3.0))
    assert not archive.add((0, 2), elite("g1-i0-a2", 0.5))
    assert ids(archive) == ["g1-i0-a0", "g1-i0-a1"]


def test_of_two_equally_bad_ones_the_later_goes() -> None:
    archive = Archive(2)
    archive.add((0, 0), elite("g3-i0-a0", 1.0))
    archive.add((0, 1), elite("g2-i0-a0", 1.0))
    archive.add((0, 2), elite("g4-i0-a0", 5.0))
    assert ids(archive) == ["g2-i0-a0", "g4-i0-a0"]


def test_replacing_within_a_cell_is_no_growth() -> None:
    archive = Archive(1)
    archive.add((0, 0), elite("g1-i0-a0", 1.0))
    assert archive.add((0, 0), elite("g1-i0-a1", 2.0))
    assert ids(archive) == ["g1-i0-a1"]


def test_the_best_survives_the_smallest_limit() -> None:
    archive = Archive(1)
    for slot, fitness in enumerate([1.0, 5.0, 3.0, 4.0]):
        archive.add((0, slot), elite(f"g1-i0-a{slot}", fitness))
    assert ids(archive) == ["g1-i0-a1"]


def test_rebinning_moves_everything() -> None:
    archive = Archive(9)
    archive.add((5, 5), elite("g1-i0-a0", 1.0, diversity=0.15))
    archive.add((5, 6), elite("g1-i0-a1", 2.0, diversity=0.75))
    archive.rebin(by_tenths)
    assert [cell for cell, _ in archive.items()] == [(0, 1), (0, 7)]


@pytest.mark.parametrize("first_is_better", [True, False])
def test_rebinning_keeps_the_better_of_two_in_one_cell(first_is_better: bool) -> None:
    archive = Archive(9)
    fitnesses = (2.0, 1.0) if first_is_better else (1.0, 2.0)
    archive.add((0, 4), elite("g1-i0-a0", fitnesses[0], diversity=0.31))
    archive.add((0, 5), elite("g1-i0-a1", fitnesses[1], diversity=0.34))
    archive.rebin(by_tenths)
    assert ids(archive) == ["g1-i0-a0" if first_is_better else "g1-i0-a1"]


def test_rebinning_keeps_the_earlier_of_two_equal_ones() -> None:
    archive = Archive(9)
    archive.add((0, 4), elite("g7-i0-a0", 2.0, diversity=0.31))
    archive.add((0, 5), elite("g6-i0-a9", 2.0, diversity=0.34))
    archive.rebin(by_tenths)
    assert ids(archive) == ["g6-i0-a9"]


@pytest.mark.parametrize("seed", range(6))
def test_what_stays_in_a_full_map(seed: int) -> None:
    rng = random.Random(seed)
    archive, held = Archive(5), dict[tuple[int, int], Elite]()
    for number in range(400):
        cell, newcomer = (rng.randrange(9), 0), elite(f"g1-i0-a{number}", rng.randrange(30) / 10)
        if cell not in held or newcomer.beats(held[cell]):
            held[cell] = newcomer
        if len(held) > 5:
            del held[max(held, key=lambda at: rank_key(held[at]))]
        assert archive.add(cell, newcomer) is (held.get(cell) is newcomer)
        if number % 40 == 39:
            best = max(held, key=lambda at: held[at].fitness)
            worse = replace(held[best], fitness=0.0)
            archive.revise(worse.child_id, lambda _, worse=worse: worse)
            held[best] = worse
        assert archive.items() == sorted(held.items())


def test_what_was_written_down_beyond_the_limit_is_not_held() -> None:
    archive = Archive(2)
    archive.restore([((at, 0), elite(f"g1-i0-a{at}", float(at))) for at in range(4)])
    assert ids(archive) == ["g1-i0-a2", "g1-i0-a3"]

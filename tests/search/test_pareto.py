from __future__ import annotations

import random
from itertools import pairwise

import pytest

from lae_controller.program import Direction, Elite, Measures
from lae_controller.search.pareto import ParetoFront, dominates

SIZE = {"size": Direction.MINIMIZE}


def elite(name: str, fitness: float, **metrics: float) -> Elite:
    return Elite(name, "g0-i0-a0", fitness, fitness, Measures(10.0, "loc", 0.5), metrics)


def names(front: ParetoFront) -> list[str]:
    return [it.child_id for it in front.elites()]


@pytest.mark.parametrize(
    ("one", "other", "verdict"),
    [
        ((1.0, 2.0), (1.0, 1.0), True),
        ((1.0, 1.0), (1.0, 1.0), False),
        ((2.0, 0.0), (1.0, 1.0), False),
        ((2.0, 2.0, 3.0), (1.0, 1.0, 3.0), True),
    ],
)
def test_dominance(one: tuple[float, ...], other: tuple[float, ...], verdict: bool) -> None:
    assert dominates(one, other) is verdict


def test_the_front_holds_what_nothing_dominates_best_first() -> None:
    front = ParetoFront(SIZE, 99)
    for it in (
        elite("g1-i0-a0", 1.0, size=5.0),
        elite("g1-i0-a1", 2.0, size=9.0),
        elite("g1-i0-a2", 0.5, size=6.0),
        elite("g1-i0-a3", 0.4, size=1.0),
    ):
        front.add(it)
    assert names(front) == ["g1-i0-a1", "g1-i0-a0", "g1-i0-a3"]
    front.add(elite("g2-i0-a0", 2.0, size=4.0))
    assert names(front) == ["g2-i0-a0", "g1-i0-a3"]


@pytest.mark.parametrize("seed", range(3))
def test_it_is_what_comparing_all_with_all_gives(seed: int) -> None:
    rng = random.Random(seed)
    directions = {"size": Direction.MINIMIZE, "speed": Direction.MAXIMIZE}
    front, everyone = ParetoFront(directions, 10**6), []
    for number in range(200):
        values = {"size": float(rng.randrange(12)), "speed": float(rng.randrange(12))}
        everyone.append(elite(f"g1-i0-a{number}", float(rng.randrange(12)), **values))
        front.add(everyone[-1])
    points = {
        it.child_id: (it.fitness, -it.metrics["size"], it.metrics["speed"]) for it in everyone
    }
    best = {n for n, p in points.items() if not any(dominates(q, p) for q in points.values())}
    assert set(names(front)) == best


@pytest.mark.parametrize("metrics", [{}, {"size": float("nan")}, {"size": float("inf")}])
def test_what_lacks_a_metric_is_left_out(metrics: dict[str, float]) -> None:
    front = ParetoFront(SIZE, 99)
    front.add(elite("g1-i0-a0", 99.0, **metrics))
    assert names(front) == []


def test_without_further_metrics_it_stays_empty() -> None:
    front = ParetoFront({}, 99)
    front.add(elite("g1-i0-a0", 1.0, size=1.0))
    assert names(front) == []


def test_equal_programs_are_both_in_it_but_the_baseline_once() -> None:
    front = ParetoFront(SIZE, 99)
    for name in ("g0-i0-a0", "g0-i1-a0", "g1-i0-a0"):
        front.add(elite(name, 1.0, size=1.0))
    assert names(front) == ["g0-i0-a0", "g1-i0-a0"]


def test_above_the_limit_the_most_crowded_goes_never_an_end() -> None:
    front = ParetoFront(SIZE, 5)
    for number, fitness in enumerate([0.0, 10.0, 4.0, 5.0, 7.0, 5.2]):
        front.add(elite(f"g1-i0-a{number}", fitness, size=fitness))
    assert names(front) == ["g1-i0-a1", "g1-i0-a4", "g1-i0-a5", "g1-i0-a2", "g1-i0-a0"]


def test_a_full_front_stays_spread_out() -> None:
    rng, front = random.Random(4), ParetoFront(SIZE, 11)
    for number in range(500):
        fitness = rng.random()
        front.add(elite(f"g1-i0-a{number}", fitness, size=fitness))
    gaps = [one.fitness - other.fitness for one, other in pairwise(front.elites())]
    assert len(gaps) == 10
    assert max(gaps) < 0.25


def test_a_limit_of_one_keeps_the_best() -> None:
    front = ParetoFront(SIZE, 1)
    for number in range(5):
        front.add(elite(f"g1-i0-a{number}", float(number), size=float(number)))
    assert names(front) == ["g1-i0-a4"]


@pytest.mark.parametrize(("probability", "share"), [(0.0, 0.0), (0.25, 0.25), (1.0, 1.0)])
def test_how_often_a_parent_is_drawn(probability: float, share: float) -> None:
    front = ParetoFront(SIZE, 9)
    rng = random.Random(1)
    assert front.draw(rng, 1.0) is None
    front.add(elite("g1-i0-a0", 1.0, size=1.0))
    drawn = [front.draw(rng, probability) for _ in range(2000)]
    assert sum(it is not None for it in drawn) / 2000 == pytest.approx(share, abs=0.03)

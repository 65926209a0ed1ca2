from __future__ import annotations

import random

import numpy as np
import pytest

from lae_controller.program import Measures
from lae_controller.search.niche import Edges, Ends, Grid, RunningAxis, bin_of, percentile


def axis_of(values: list[float]) -> RunningAxis:
    axis = RunningAxis()
    for value in values:
        axis.add(value)
    return axis


def bins(values: list[float], num_bins: int) -> list[int]:
    edges = axis_of(values).edges()
    return [bin_of(value, edges, num_bins) for value in values]


@pytest.mark.parametrize(
    ("values", "q", "expected"),
    [
        ([7.0], 0.05, 7.0),
        ([7.0], 0.95, 7.0),
        ([0.0, 10.0], 0.05, 0.5),
        ([0.0, 10.0], 0.95, 9.5),
        ([1.0, 2.0, 4.0, 8.0], 0.5, 3.0),
        ([1.0, 2.0, 4.0, 8.0], 0.75, 5.0),
        ([1.0, 2.0, 4.0], 0.0, 1.0),
        ([1.0, 2.0, 4.0], 1.0, 4.0),
        ([float(i) for i in range(21)], 0.05, 1.0),
        ([float(i) for i in range(21)], 0.95, 19.0),
    ],
)
def test_percentile_by_hand(values: list[float], q: float, expected: float) -> None:
    assert percentile(values, q) == pytest.approx(expected, rel=1e-12)


def test_percentile_agrees_with_numpy_on_random_lists() -> None:
    rng = random.Random(3)
    for size in range(1, 120):
        values = sorted(rng.choice([rng.gauss(0, 5), float(rng.randrange(4))]) for _ in range(size))
        for q in (0.05, 0.3, 0.95, rng.random()):
            assert percentile(values, q) == pytest.approx(np.percentile(values, 100 * q), abs=1e-9)


def test_percentile_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="expected at least one"):
        percentile([], 0.5)


def test_axis_does_not_depend_on_the_order_of_its_values() -> None:
    values = [random.Random(5).random() for _ in range(40)]
    assert axis_of(values).edges() == axis_of(values[::-1]).edges()


@pytest.mark.parametrize("seed", range(4))
def test_an_axis_is_a_sorted_list(seed: int) -> None:
    rng = random.Random(seed)
    axis, values = RunningAxis(), list[float]()
    for step in range(6000):
        values.append(rng.choice([rng.gauss(step / 1000, 1), 0.5, -step / 3000]))
        axis.add(values[-1])
        if step % 250 == 7:
            values.sort()
            assert [axis[index] for index in range(len(axis))] == values
            assert axis.edges() == Edges(percentile(values, 0.05), percentile(values, 0.95))
    for index in (-1, 6000):
        with pytest.raises(IndexError, match=f"{index} of 6000 values"):
            axis[index]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], Edges(0.0, 0.0)),
        ([2.5], Edges(2.5, 2.5)),
        ([4.0, 4.0, 4.0], Edges(4.0, 4.0)),
        # Both percentiles are 2, so the ends stand in for them.
        ([2.0] * 40 + [9.0], Edges(2.0, 9.0)),
    ],
)
def test_edges_of_values_that_hardly_differ(values: list[float], expected: Edges) -> None:
    assert axis_of(values).edges() == expected


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_axis_refuses_what_is_not_finite(value: float) -> None:
    with pytest.raises(ValueError, match="expected a finite number"):
        RunningAxis().add(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(-5.0, 0), (1.0, 0), (1.99, 0), (2.0, 1), (10.9, 9), (11.0, 9), (400.0, 9)],
)
def test_bins_divide_the_stretch_between_the_edges_evenly(value: float, expected: int) -> None:
    assert bin_of(value, Edges(1.0, 11.0), 10) == expected


def test_equal_edges_mean_bin_zero() -> None:
    assert [bin_of(v, Edges(3.0, 3.0), 6) for v in (-1.0, 3.0, 8.0)] == [0, 0, 0]


def test_a_value_just_below_the_upper_edge_has_no_bin_of_its_own() -> None:
    assert bin_of(np.nextafter(0.3, 0), Edges(0.1, 0.3), 7) == 6


def test_bins_never_fall_as_values_rise() -> None:
    rng = random.Random(11)
    for _ in range(300):
        edges = Edges(*sorted((rng.gauss(0, 3), rng.gauss(0, 3))))
        found = [bin_of(v, edges, 9) for v in sorted(rng.gauss(0, 4) for _ in range(30))]
        assert found == sorted(found)
        assert min(found) >= 0
        assert max(found) <= 8


@pytest.mark.parametrize(
    ("values", "num_bins"), [([], 5), ([1.5], 5), ([0.25] * 6, 5), ([0.25] * 6, 1)]
)
def test_one_value_none_or_equal_ones_share_bin_zero(values: list[float], num_bins: int) -> None:
    assert bins(values, num_bins) == [0] * len(values)


def test_values_that_most_programs_share_are_told_from_the_rest() -> None:
    found = bins([2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 8.0, 8.0], 4)
    assert found[:6] == [0] * 6
    assert found[6:] == [3, 3]


def test_large_programs_of_like_size_spread_over_the_axis() -> None:
    sizes = [41_000.0, 43_500.0, 51_000.0, 54_000.0, 61_000.0, 66_000.0, 77_000.0, 83_000.0]
    grid = Grid(4)
    measured = [Measures(size, "params", 0.5) for size in sizes]
    for measures in measured:
        grid.add(measures)
    assert [grid.cell_of(measures) for measures in measured] == [
        (index, 0) for index in (0, 0, 1, 1, 2, 2, 3, 3)
    ]


def test_one_outlier_does_not_flatten_the_axis() -> None:
    found = bins([*(float(v) for v in range(60)), 1e9], 10)
    assert len(set(found[:60])) == 10


def test_complexity_is_binned_by_its_logarithm() -> None:
    grid = Grid(2)
    for size in (10.0, 100.0, 1000.0, 10_000.0):
        grid.add(Measures(size, "loc", 0.0))
    found = [grid.cell_of(Measures(size, "loc", 0.0))[0] for size in (300.0, 330.0)]
    assert found == [0, 1]


def test_ends_notice_the_first_value_that_leaves_its_bin() -> None:
    ends = Ends()
    for value in (1.1, 1.9, 1.5, 2.5):
        ends.include(value, int(value))
    assert ends.hold(Edges(0.0, 4.0), 4)
    assert not ends.hold(Edges(0.0, 3.7), 4)
    assert not ends.hold(Edges(0.2, 4.2), 4)


def test_a_grid_forgets_what_was_placed_before() -> None:
    grid, middle = Grid(4), Measures(100.0, "loc", 0.5)
    grid.add(Measures(100.0, "loc", 0.0))
    grid.add(middle)
    grid.note(middle, grid.cell_of(middle))
    assert grid.holds()
    grid.add(Measures(100.0, "loc", 1.0))
    assert not grid.holds()
    grid.forget()
    grid.note(middle, grid.cell_of(middle))
    assert grid.holds()


@pytest.mark.parametrize("seed", range(20))
def test_ends_say_what_looking_at_every_value_says(seed: int) -> None:
    rng = random.Random(seed)
    axis, ends, num_bins = RunningAxis(), Ends(), rng.choice([1, 2, 5, 10])
    noted: list[tuple[float, int]] = []
    left = 0
    for step in range(1500):
        value = rng.choice([rng.gauss(step / 100, 1), rng.random(), 0.25])
        axis.add(value)
        edges = axis.edges()
        expected = all(bin_of(known, edges, num_bins) == index for known, index in noted)
        assert ends.hold(edges, num_bins) == expected
        if not expected:
            left += 1
            noted, ends = [], Ends()
        if rng.random() < 0.2:
            index = bin_of(value, edges, num_bins)
            noted.append((value, index))
            ends.include(value, index)
    assert num_bins == 1 or left > 0

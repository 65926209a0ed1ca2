from __future__ import annotations

import math
import random
import re

import pytest

from lae_controller.mutators.literals import NEAR, move, spell, toward, typical
from lae_controller.mutators.names import Role

YAML_1_1_FLOAT = re.compile(r"[-+]?[0-9]+\.[0-9]*(?:[eE][-+][0-9]+)?")


def moved(
    name: str, role: Role, value: float, times: int = 300, reach: float | None = None
) -> list[float]:
    found = [move(name, role, value, random.Random(n), reach) for n in range(times)]
    return [value for value in found if value is not None]


def test_rates_cross_an_order_of_magnitude_both_ways() -> None:
    factors = [value / 0.02 for value in moved("lr", Role.RATE, 0.02)]
    assert 0.09 < min(factors) < 0.2
    assert 5 < max(factors) < 11
    near = sum(1 / 3.2 < factor < 3.2 for factor in factors)
    assert near > len(factors) * 0.6


def test_reach_bounds_a_move() -> None:
    factors = [value / 0.02 for value in moved("lr", Role.RATE, 0.02, reach=NEAR)]
    assert 0.49 < min(factors) < 0.6
    assert 1.6 < max(factors) < 2.1


def test_momentum_moves_by_its_distance_to_one() -> None:
    values = moved("momentum", Role.FRACTION, 0.99)
    assert all(0.9 < value < 0.9995 for value in values)
    assert {round(1 - value, 3) for value in values} > {0.004, 0.02}


def test_dropout_stays_below_nine_tenths_and_can_go() -> None:
    values = moved("dropout", Role.FRACTION, 0.6)
    assert max(values) == 0.9
    assert min(values) == 0.0
    assert 0.0 not in moved("lr", Role.RATE, 0.6)


def test_sizes_step_by_powers_of_two() -> None:
    assert set(moved("width", Role.SIZE, 32)) == {8, 16, 64, 128}
    assert set(moved("width", Role.SIZE, 48)) == {24, 32, 64, 72, 96}


def test_counts_step_by_one() -> None:
    assert set(moved("depth", Role.COUNT, 3)) == {2, 4, 6}
    assert set(moved("depth", Role.COUNT, 1)) == {2}
    assert set(moved("kernel_size", Role.COUNT, 3)) == {1, 5}


def test_types_stay() -> None:
    assert all(isinstance(value, int) for value in moved("things", Role.PLAIN, 7))
    assert all(isinstance(value, float) for value in moved("things", Role.PLAIN, 7.0))


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_no_move_of_what_is_no_number(value: float) -> None:
    assert move("lr", Role.RATE, value, random.Random(0)) is None


def test_what_is_off_gets_a_usual_value() -> None:
    assert set(moved("dropout", Role.FRACTION, 0.0)) == {0.05, 0.1, 0.2}
    assert typical("total", random.Random(0)) is None
    assert move("offset", Role.PLAIN, 0, random.Random(0)) is None


@pytest.mark.parametrize(
    ("value", "like", "text"),
    [
        (5e-5, "0.0001", "5.0e-5"),
        (1.25e-7, "1e-7", "1.25e-7"),
        (5e-4, "0.001", "0.0005"),
        (5e-4, "1e-3", "5.0e-4"),
        (2e6, "1000000.0", "2.0e+6"),
        (3.0, "1.0", "3.0"),
        (-0.5, "-0.1", "-0.5"),
        (0.0, "1e-4", "0.0"),
        (64, "32", "64"),
    ],
)
def test_spelling(value: float, like: str, text: str) -> None:
    assert spell(value, like) == text
    assert float(text) == value


def test_every_float_is_a_number_in_old_yaml_too() -> None:
    rng = random.Random(1)
    for _ in range(300):
        text = spell(float(f"{10 ** rng.uniform(-9, 8):.2g}"), rng.choice(["0.1", "1e-3"]))
        assert YAML_1_1_FLOAT.fullmatch(text), text


def test_toward_goes_on_beyond() -> None:
    assert toward(Role.RATE, 0.01, 0.1, 1.5) == 0.32
    assert toward(Role.SIZE, 16, 32, 2.0) == 64
    assert 0.95 < toward(Role.FRACTION, 0.5, 0.9, 1.5) < 1
    assert 0.9 < toward(Role.FRACTION, 0.0, 0.9, 1.3) < 1
    assert toward(Role.RATE, 0.0, 0.1, 1.5) == 0.15

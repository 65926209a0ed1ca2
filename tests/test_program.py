from __future__ import annotations

import pytest

from lae_controller.program import (
    Direction,
    Measures,
    child_id,
    one_line,
    parse_child_id,
    rng_for,
    sort_key,
)


def test_ids_are_made_and_read() -> None:
    assert child_id(4, 0, 1) == "g4-i0-a1"
    assert parse_child_id("g12-i3-a0") == (12, 3, 0)


@pytest.mark.parametrize("text", ["", "g1-i2", "c7", "g1-i2-a3x", "g-1-i0-a0"])
def test_what_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a child id"):
        parse_child_id(text)


def test_ids_sort_by_generation_then_slot() -> None:
    ids = ["g10-i0-a0", "g2-i1-a1", "g2-i3-a0"]
    assert sorted(ids, key=sort_key) == ["g2-i3-a0", "g2-i1-a1", "g10-i0-a0"]


def test_streams_depend_on_seed_child_and_purpose_only() -> None:
    draws = {rng_for(*key).random() for key in [(1, "a", "x"), (2, "a", "x"), (1, "b", "x")]}
    assert len(draws) == 3
    assert rng_for(1, "a", "x").random() == rng_for(1, "a", "x").random()
    assert rng_for(42, "g1-i0-a0", "parent").random() == 0.7557053403552173


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("raised:\n\tValueError: x\r\nsee log", "raised: ValueError: x see log"),
        ("a, b", "a; b"),
        ("a\\nb", "a\\nb"),
        ("", ""),
    ],
)
def test_free_text_is_folded_for_the_ledgers(text: str, folded: str) -> None:
    assert one_line(text) == folded


def test_a_long_text_is_cut() -> None:
    assert len(one_line("x" * 500)) == 200


def test_fitness_turns_a_loss() -> None:
    assert Direction.MINIMIZE.fitness(2.0) == -2.0
    assert Direction.MAXIMIZE.fitness(2.0) == 2.0


def test_complexity_is_binned_by_its_logarithm() -> None:
    assert Measures(1000.0, "params", 0.0).log_complexity == 3.0
    assert Measures(0.0, "params", 0.0).log_complexity == 0.0

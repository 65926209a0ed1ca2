from __future__ import annotations

import random

import pytest
from rapidfuzz.distance import Levenshtein

from lae_controller.program import rng_for
from lae_controller.search.diversity import choose_references, concatenate, mean_distance

ELITES = [f"g{gen}-i0-a{slot}" for gen in range(1, 5) for slot in range(3)]


def test_files_are_joined_in_path_order() -> None:
    files = {"pkg/net.py": "NET\n", "config.yaml": "lr: 1\n", "pkg/data.py": "DATA\n"}
    assert concatenate(files) == "lr: 1\nDATA\nNET\n"


@pytest.mark.parametrize(
    ("code", "references", "expected"),
    [
        ("width = 64", ["width = 64"], 0.0),
        ("abcd", ["wxyz"], 1.0),
        ("abcd", ["abxd"], 0.25),
        ("abcd", ["abcd", "abxd", "wxyz"], 1.25 / 3),
        ("abc", ["abcdef"], 0.5),
        ("", [""], 0.0),
        ("", ["xy"], 1.0),
        ("naïve", ["naive"], 0.2),
    ],
)
def test_mean_distance_by_hand(code: str, references: list[str], expected: float) -> None:
    assert mean_distance(code, references) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("length", [1, 200, 4000])
def test_the_quick_way_changes_no_distance(length: int) -> None:
    rng = random.Random(8)
    for _ in range(60):
        one = "".join(rng.choices("abc \n", k=rng.randrange(length)))
        other = list(one)
        for _ in range(rng.choice([0, 1, 3, 40, length])):
            other.insert(rng.randrange(len(other) + 1), rng.choice("abcx\n"))
        if rng.random() < 0.2:
            other.reverse()
        exact = Levenshtein.distance(one, "".join(other)) / max(len(one), len(other), 1)
        assert mean_distance(one, ["".join(other)]) == pytest.approx(exact, abs=1e-12)


def test_no_reference_is_refused() -> None:
    with pytest.raises(ValueError, match="at least the baseline"):
        mean_distance("x = 1", [])


@pytest.mark.parametrize("held", [[], ["g3-i0-a1"]])
def test_fewer_than_two_elites_leave_it_to_the_baseline(held: list[str]) -> None:
    assert choose_references(held, 10, random.Random(0)) == []


def test_references_are_distinct_elites_and_no_more_than_asked() -> None:
    drawn = choose_references(ELITES, 5, random.Random(0))
    assert len(set(drawn)) == 5
    assert set(drawn) <= set(ELITES)


def test_a_small_island_gives_all_it_has() -> None:
    assert sorted(choose_references(ELITES[:3], 10, random.Random(0))) == sorted(ELITES[:3])


def test_the_draw_hangs_on_the_child_alone_not_on_the_order_of_the_elites() -> None:
    def draw(child: str, ids: list[str]) -> list[str]:
        return choose_references(ids, 4, rng_for(42, child, "diversity"))

    assert draw("g9-i0-a0", ELITES) == draw("g9-i0-a0", ELITES[::-1])
    assert len({tuple(draw(f"g9-i0-a{slot}", ELITES)) for slot in range(20)}) > 10

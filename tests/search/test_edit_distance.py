from __future__ import annotations

import random

import pytest
from rapidfuzz.distance import Levenshtein

from lae_controller.search import edit_distance
from lae_controller.search.edit_distance import Compared


def made(rng: random.Random, alphabet: str, lines: int) -> list[str]:
    return ["".join(rng.choices(alphabet, k=rng.randrange(1, 30))) + "\n" for _ in range(lines)]


def mutated(lines: list[str], rng: random.Random, changes: int) -> list[str]:
    """Return lines of which some were moved, repeated, left out or changed."""
    new = list(lines)
    for _ in range(changes):
        place = rng.randrange(len(new))
        kind = rng.randrange(5)
        if kind == 0:
            del new[place : place + rng.randrange(1, 4)]
            new = new or [""]
        elif kind == 1:
            new[place:place] = new[rng.randrange(len(new)) :][: rng.randrange(1, 6)]
        elif kind == 2:
            new[place] = new[place].replace("a", "bb", 1)
        elif kind == 3:
            new.insert(place, "x" * rng.randrange(40) + "\n")
        else:
            new[place], new[-place] = new[-place], new[place]
    return new


@pytest.mark.parametrize("seed_length", [1, 2, 8])
@pytest.mark.parametrize("alphabet", ["a", "ab", "abcdefgh ", "".join(map(chr, range(32, 120)))])
def test_cutting_changes_no_distance(
    alphabet: str, seed_length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edit_distance, "_WORTH_CUTTING", 0)
    monkeypatch.setattr(edit_distance, "_SEED", seed_length)
    rng = random.Random(f"{alphabet} {seed_length}")
    for size in range(1, 41):
        base = made(rng, alphabet, 2 * size)
        child = Compared("".join(mutated(base, rng, rng.randrange(size))))
        for _ in range(5):
            other = "".join(mutated(base, rng, rng.randrange(size)))
            assert child.distance(other) == Levenshtein.distance(child.text, other)


def test_large_gaps_are_measured_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edit_distance, "_WORTH_CUTTING", 0)
    monkeypatch.setattr(edit_distance, "_LARGE", 50)
    rng = random.Random(3)
    base = made(rng, "abcdefgh", 60)
    child = Compared("".join(mutated(base, rng, 6)))
    other = "".join(mutated(base, rng, 6))
    assert child.distance(other) == Levenshtein.distance(child.text, other)


def test_texts_that_are_alike_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(4)
    lines = made(rng, "".join(map(chr, range(32, 120))), 400)
    child, other = "".join(lines), "".join(mutated(lines, rng, 8))
    monkeypatch.setattr(edit_distance, "_WORTH_CUTTING", 0)
    longest = 0
    plain = Levenshtein.distance

    def watched(first: str, second: str, **more: int) -> int:
        nonlocal longest
        longest = max(longest, len(first), len(second))
        return int(plain(first, second, **more))

    monkeypatch.setattr(edit_distance.Levenshtein, "distance", watched)
    assert Compared(child).distance(other) == plain(child, other)
    assert longest < len(child) / 2

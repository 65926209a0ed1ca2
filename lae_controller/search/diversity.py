"""How far a program's code lies from others: the second axis of the archive."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from rapidfuzz.distance import Levenshtein

from lae_controller.program import Files, sort_key

_LARGE = 10_000_000
"""Product of the lengths of two texts above which their distance is not worth a good guess."""


def concatenate(files: Files) -> str:
    """Join the texts of a program in the order of their paths."""
    return "".join(files[path] for path in sorted(files))


def choose_references(ids: Iterable[str], size: int, rng: random.Random) -> list[str]:
    """Draw up to ``size`` distinct programs to measure a child against.

    Args:
        ids: the elites that the child's island holds when it is told, in any order.
        size: ``diversity_reference_size``, at least 1.
        rng: the child's own stream, ``rng_for(seed, child_id, "diversity")``.

    Returns:
        Their ids; empty if there are fewer than two elites, and then the baseline is meant.
    """
    pool = sorted(ids, key=sort_key)
    return rng.sample(pool, min(size, len(pool))) if len(pool) > 1 else []


def mean_distance(code: str, references: Sequence[str]) -> float:
    """Return the mean normalised Levenshtein distance to the references, in [0, 1].

    The distance of two texts is the least number of inserted, deleted and replaced
    characters over the length of the longer one.

    Raises:
        ValueError: if there is no reference.
    """
    if not references:
        raise ValueError("no reference to compare with; expected at least the baseline")
    lines = code.splitlines(keepends=True)
    return sum(_distance(code, lines, other) for other in references) / len(references)


def _distance(code: str, lines: Sequence[str], other: str) -> float:
    """Return the normalised distance of two texts.

    The time goes by the length times the distance that is looked for first, so a good guess saves
    much: of 200 kB that differ by 1 % five sixths. It changes nothing of the result.
    """
    longer = max(len(code), len(other), 1)
    guess = min(1.0, _at_most(lines, other.splitlines(keepends=True)) / longer)
    return Levenshtein.normalized_distance(code, other, score_hint=guess)


def _at_most(lines: Sequence[str], others: Sequence[str]) -> int:
    """Return a bound of the distance of two texts: that of aligning them line by line."""
    bound = 0
    for step in Levenshtein.opcodes(lines, others):
        if step.tag != "equal":
            mine = "".join(lines[step.src_start : step.src_end])
            theirs = "".join(others[step.dest_start : step.dest_end])
            small = len(mine) * len(theirs) < _LARGE
            bound += Levenshtein.distance(mine, theirs) if small else max(len(mine), len(theirs))
    return bound

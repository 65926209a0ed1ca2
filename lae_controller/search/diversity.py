"""How far a program's code lies from others: the second axis of the archive."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from lae_controller.program import Files, sort_key
from lae_controller.search.edit_distance import Compared


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
    compared = Compared(code)
    known = {other: compared.distance(other) for other in set(references)}
    lengths = {other: max(len(code), len(other), 1) for other in known}
    return sum(known[other] / lengths[other] for other in references) / len(references)

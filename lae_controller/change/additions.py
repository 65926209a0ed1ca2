"""What a text has more often than another: each occurrence counts, wherever it stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator


def additions(
    before: Iterable[tuple[int, str]], after: Iterable[tuple[int, str]]
) -> Iterator[tuple[int, str]]:
    """Yield each (line, what) of ``after`` for which ``before`` has no ``what`` left."""
    left = Counter(what for _, what in before)
    for line, what in after:
        left[what] -= 1
        if left[what] < 0:
            yield line, what

"""Lines whose values were changed and nothing came of it that a run shows.

An option of a model that is not chosen, a limit that is never reached: others are better worth a
training. What is written anew may do the same in other words, so only a change of values counts.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction

from lae_controller.change.diff_match import opcodes
from lae_controller.program import Evaluation, Files
from lae_controller.task import inert_line

_NUMBER = (
    r"""(?<![\w.])-?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])"""
    r"""|\b(?:True|False|None|true|false|null)\b"""
)
_NUMBERS = re.compile(_NUMBER)
_VALUE = re.compile(rf"""{_NUMBER}|'[^']*'|"[^"]*\"""")
"""A number, a truth value or a text in a line of Python, YAML or JSON; the former without texts."""

_COMMENT = re.compile(r"""('[^']*'|"[^"]*")|#.*""")
"""A comment of Python or YAML, or else (group 1) a text that may hold its mark."""

_LONGEST = 200
"""Characters of a line; a longer one is no place that could be named."""

_MOST_CHANGED = 24
"""Lines that one child may have changed in vain; of more, nobody would read each."""

_TELLING = 7.0
"""Digits that the values of a curve tell together before it is taken for no other's.

One of accuracies on 20 to 1000 examples that was met by chance told up to 5; four losses of four
digits, or two of eight, mostly tell more.
"""

_MOST_KEPT = 400
"""Lines that are remembered, the latest."""


def equal_on_each_seed(mine: Evaluation, parents: Iterable[float]) -> bool:
    """Say whether a program that ran has its parent's metric on every seed that both were run on.

    Where it failed later, or did not run its own code, nothing is known of its change.
    """
    pairs = list(zip(mine.repeats, parents, strict=False))
    return mine.reason is None and bool(pairs) and all(one == other for one, other in pairs)


def without_effect(mine: Evaluation, parents: Evaluation) -> bool:
    """Say whether a run shows exactly what its parent's first run on the same seed did.

    A metric alone can be equal by chance, and so can a curve of shares of few examples; that one of
    many digits is, to the last of them, cannot.
    """
    curve = mine.artifacts.curve
    return (
        curve == parents.artifacts.curve
        and math.fsum(map(_digits, {value for _, value in curve})) >= _TELLING
        and mine.repeats[:1] == parents.repeats[:1]
        and mine.smoke_metric == parents.smoke_metric
        and mine.params == parents.params
        and mine.artifacts.per_class == parents.artifacts.per_class
    )


def _digits(value: float) -> float:
    """Return how many digits a number tells: two for 0.7333, which is 11 of 15 as it is written."""
    if not math.isfinite(value):
        return 0.0
    written = abs(Fraction(repr(value)))
    place = int(Decimal(repr(value)).normalize().as_tuple().exponent)
    last = max(Fraction(10) ** place, written / 10**14)  # what of the last digits is rounding
    simple = _simplest(max(written - last, Fraction(0)), written + last)
    return math.log10(max(simple.numerator, simple.denominator))


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """Return the ratio of the smallest whole numbers from ``low`` to ``high``, at least 0."""
    whole = math.ceil(low)
    if whole <= high:
        return Fraction(whole)
    return whole - 1 + 1 / _simplest(1 / (high - whole + 1), 1 / (low - whole + 1))


def lines_of(before: Files, after: Files) -> tuple[str, ...]:
    """Return the lines of which a change replaced values, as they were and as they are.

    None if it did anything else, or if it is a large change. Left out are lines of which a file has
    another but for its numbers (``rate: 0.1`` in two sections) or, if a text was changed, but for
    its texts; and those whose values are still the same (``1e-1`` for ``0.1``, or a comment).
    """
    if before.keys() != after.keys():
        return ()
    found: dict[str, None] = {}
    for path in sorted(path for path in before if before[path] != after[path]):
        texts = before[path].splitlines()
        single, strictly = _single(texts), _single(texts, _VALUE)
        for old, new in _replaced(before[path], after[path]):
            if _shape(old) != _shape(new):
                return ()
            only = single if _shape(old, _NUMBERS) == _shape(new, _NUMBERS) else strictly
            if old.strip() in only and _values(old) != _values(new):
                found[inert_line(path, old)] = found[inert_line(path, new)] = None
    if len(found) > _MOST_CHANGED or any(len(line) > _LONGEST for line in found):
        return ()
    return tuple(found)


def _single(lines: Sequence[str], values: re.Pattern[str] = _NUMBERS) -> set[str]:
    """Return the lines that no other is like but for its values, without outer blanks."""
    bare = [line.strip() for line in lines]
    shapes = [_shape(line, values) for line in bare]
    count = Counter(shapes)
    return {line for line, shape in zip(bare, shapes, strict=True) if count[shape] == 1}


def _shape(line: str, values: re.Pattern[str] = _VALUE) -> str:
    """Return a line without its values; one too long to be named as it is."""
    return line if len(line) > _LONGEST else values.sub("?", line)


def _values(line: str) -> list[float | str]:
    """Return the values of a line, its comment left out, however they are spelt."""
    code = _COMMENT.sub(lambda found: found[1] or "", line)
    return [_value(text) for text in _VALUE.findall(code)]


def _value(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text.strip("'\"")


def _replaced(before: str, after: str) -> Iterator[tuple[str, str]]:
    """Yield each line that a change replaced, and what it put there; empty for a lack of either."""
    old, new = before.splitlines(), after.splitlines()
    for tag, i1, i2, j1, j2 in opcodes(old, new):
        if tag != "equal":
            more = max(i2 - i1, j2 - j1)
            gone, come = old[i1:i2] + [""] * more, new[j1:j2] + [""] * more
            yield from list(zip(gone, come, strict=False))[:more]


class Inert:
    """A fold over told children: the lines that were changed in vain, latest last."""

    def __init__(self) -> None:
        self._lines: dict[str, None] = {}

    def tell(self, lines: Iterable[str]) -> None:
        """Take in what one child changed in vain."""
        for line in lines:
            self._lines.pop(line, None)
            self._lines[line] = None
        while len(self._lines) > _MOST_KEPT:
            del self._lines[next(iter(self._lines))]

    def among(self, files: Files) -> tuple[str, ...]:
        """Return those of the lines that a program has in one place alone, latest last."""
        there: set[str] = set()
        for path, text in files.items() if self._lines else ():
            lines = text.splitlines()
            if any(inert_line(path, line) in self._lines for line in lines):
                there |= {inert_line(path, line) for line in _single(lines)}
        return tuple(line for line in self._lines if line in there)

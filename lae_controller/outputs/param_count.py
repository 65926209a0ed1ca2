"""The number of trainable parameters in what a training run printed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lae_controller.outputs.lines import clean_lines
from lae_controller.outputs.metric import compile_metric_pattern, matches_near_end

# Unlike a metric, a count may have thousands marks and a suffix for its magnitude.
_COUNT = re.compile(
    r"""(?<![\w.-])(?<![0-9],)
    (?P<digits> [0-9]{1,3}(?:[,_'][0-9]{3})+
              | [0-9]{1,30}(?:\.[0-9]{0,30})?(?:[eE]\+?[0-9]{1,2})? )
    (?: (?P<suffix>[kKmMbBgG])(?!\w) | [ ](?P<apart>[KMBG])(?!\w) )?
    (?!\w | [.,/:'][0-9] | [ ]?[KMGT]i?B\b)""",
    re.VERBOSE,
)
_MAGNITUDE = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "g": 10**9}
_LARGEST = 10**15  # more than that is not a number of parameters

_LABEL = re.compile(r"(?<![a-z])param(?:eter)?s?(?![a-z])", re.IGNORECASE)
_BEFORE = re.compile(r"[a-z#_ \t-]*$", re.IGNORECASE)
_WORD = re.compile(r"[a-z]+|#")
_TO_VALUE = re.compile(
    r"""(?:[ _]count)? (?:[ ]in[ ](?:the[ ])?\w{1,20})?
    (?:[ _]?\(?(?P<unit>[KMBG])\)?(?![\w)]))?
    ["'`*]{0,3} (?:[ \t]*[:=|│]["'`*]{0,3}[ \t]* | [ \t]+) ["'`*]{0,3}""",
    re.VERBOSE,
)
_FROM_VALUE = re.compile(r"[ \t]+(?:(?:total|model|trainable|learnable)[ \t]+)*", re.IGNORECASE)

_TRAINABLE = frozenset(("trainable", "learnable"))
_TOTAL = frozenset(("total", "number", "num", "n", "nb", "no", "count", "#"))
# These parameters are not, or not all, the ones that are trained.
_OTHERS = frozenset(
    """non not nontrainable untrainable frozen fixed optimizer optimiser decayed nondecayed
    embedding buffer hyper""".split()
)


def find_params(raw: bytes, pattern: str | None) -> int | None:
    """Return the number of trainable parameters that a run printed; None if it printed none.

    Thousands marks (``1,234,567``, ``12_345``) and suffixes (``0.80M``, ``7.9 K``) are read.
    A line that says ``trainable`` goes before a total, a total before a plain ``params``, and
    a label before its number goes before one behind it; of equals the last counts.

    Args:
        raw: the bytes that were printed.
        pattern: a regular expression whose one group begins at the number; the last match
            counts. None: the labels of usual libraries are looked for.

    Raises:
        ConfigError: if ``pattern`` is no regular expression with exactly one group.
    """
    lines = clean_lines(raw)
    if pattern is not None:
        counts = list(_matched(lines, compile_metric_pattern(pattern, key="params_pattern")))
        return counts[-1] if counts else None
    best: tuple[int, int] | None = None
    for line in lines:
        if "param" in line.lower():
            for rank, count in _labelled(line):
                best = (rank, count) if best is None or rank <= best[0] else best
    return best[1] if best is not None else None


def _matched(lines: Sequence[str], pattern: re.Pattern[str]) -> Iterator[int]:
    for line in lines:
        for match in matches_near_end(line, pattern):
            count = _count_at(line, match.start(1)) if match[1] else None
            if count is not None:
                yield count


def _labelled(line: str) -> Iterator[tuple[int, int]]:
    """Yield (rank, count) of every labelled count; the lowest rank is the surest."""
    for label in matches_near_end(line, _LABEL):
        left = line[max(0, label.start() - 60) : label.start()]
        before = _BEFORE.search(left)
        words = _WORD.findall(before[0].lower()) if before is not None else []
        if not _OTHERS.intersection(words):
            yield from _beside(line, label, left, words)


def _beside(
    line: str, label: re.Match[str], left: str, words: Sequence[str]
) -> Iterator[tuple[int, int]]:
    """Yield the count behind a label, else the one in front of it."""
    trainable = not _TRAINABLE.isdisjoint(words)
    to_value = _TO_VALUE.match(line, label.end())
    count = _count_at(line, to_value.end(), to_value["unit"] or "") if to_value else None
    if count is not None:
        yield (0 if trainable else 2 if not _TOTAL.isdisjoint(words) else 3), count
        return
    for number in _COUNT.finditer(left):
        gap = _FROM_VALUE.fullmatch(left, number.end())
        count = _value(number, "")
        if gap is not None and count is not None:
            yield (1 if trainable else 4), count


def _count_at(line: str, at: int, unit: str = "") -> int | None:
    number = _COUNT.match(line, at)
    return None if number is None else _value(number, unit)


def _value(number: re.Match[str], unit: str) -> int | None:
    """Return the count; None if it is too large, or a fraction that nothing magnifies."""
    suffix = number["suffix"] or number["apart"] or unit
    value = float(re.sub(r"[,_']", "", number["digits"])) * _MAGNITUDE[suffix.lower()]
    if value > _LARGEST or (not suffix and value != int(value)):
        return None
    return round(value)

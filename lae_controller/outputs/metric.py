"""The metric in what a training run printed.

By default it is the last place in stdout or stderr where the whole name of the metric is
followed by ``:``, ``=`` or blank and a number. A value that is there but not finite, or that
only looks like a number, is never passed over for an older one.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lae_controller.errors import ConfigError
from lae_controller.outputs.lines import clean_lines, excerpt
from lae_controller.outputs.named_values import Occurrence, find_column, find_occurrences, preferred
from lae_controller.outputs.numbers_grammar import Number, cuts_number, parse_number
from lae_controller.program import Reason

PATTERN_WINDOW = 4000
"""How many characters of a line a pattern is searched in: `.*` takes time by their square."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What was found where a metric was looked for.

    Attributes:
        value: the metric; None unless a finite number was read.
        reason: None with a value, else NO_METRIC or NON_FINITE.
        detail: a sentence that quotes what was read, and where; at most 240 characters for
            printed output, 300 for a file.
        count: how many lines (or records of a file) hold the metric.
        line: the line that was read, at most 200 characters of it; empty if there is none.
    """

    value: float | None
    reason: Reason | None
    detail: str
    count: int = 0
    line: str = ""


def find_metric(raw: bytes, name: str, *, pattern: str | None = None) -> Reading:
    """Read the metric called ``name`` from a run's stdout and stderr.

    Without ``pattern``, the last occurrence of the name counts (see ``find_occurrences``).
    ``loss`` is found in ``val loss 0.3`` or as ``Loss`` only if it never stands plain and as
    written. If it is nowhere before a number, it is looked for in the header row of a table.

    Args:
        raw: the bytes that were printed.
        name: the metric's name; it may hold blanks.
        pattern: a regular expression with one group, searched in each line in place of the
            name; of a line of more than 4,000 characters the last 4,000 are searched. The
            last match counts.

    Raises:
        ConfigError: if ``pattern`` is not such an expression.
    """
    lines = clean_lines(raw)
    if pattern is not None:
        what = f"the group of metric_pattern '{pattern}'"
        found = _matches(lines, compile_metric_pattern(pattern))
        missing = f"no line of the output matches metric_pattern '{pattern}'"
    else:
        what = repr(name)
        found = preferred(_named(lines, name))
        missing = "" if found else _not_found(lines, name)
    return _reading(lines, found, what) if found else Reading(None, Reason.NO_METRIC, missing)


def compile_metric_pattern(text: str, *, key: str = "metric_pattern") -> re.Pattern[str]:
    """Compile a setting that must be a regular expression with exactly one group.

    Raises:
        ConfigError: if it is not; ``key`` names the setting.
    """
    try:
        pattern = re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise ConfigError(
            f"{key} is '{text}'; not a regular expression: {error}; "
            "expected one whose only group holds the number, such as 'score: (\\S+)'"
        ) from error
    if pattern.groups != 1:
        raise ConfigError(
            f"{key} is '{text}', which has {pattern.groups} groups; expected exactly one, around "
            "the number: write (?:...) for the others"
        )
    return pattern


def matches_near_end(line: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Yield the matches of a user's pattern in the last PATTERN_WINDOW characters of a line."""
    return pattern.finditer(line, max(0, len(line) - PATTERN_WINDOW))


def _named(lines: Sequence[str], name: str) -> list[Occurrence]:
    """Return the occurrences of ``name``, else the cells below it in a table's header."""
    found = find_occurrences(lines, name)
    if all(occurrence.qualifier for occurrence in found):
        return find_column(lines, name) or found
    return found


def _matches(lines: Sequence[str], pattern: re.Pattern[str]) -> list[Occurrence]:
    """Return the last match of ``pattern`` in each line that has one."""
    found = []
    for index, line in enumerate(lines):
        matches = deque(matches_near_end(line, pattern), maxlen=1)
        found += [Occurrence(index, it.start(), _group_number(it)) for it in matches]
    return found


def _group_number(match: re.Match[str]) -> Number:
    text = match[1] or ""
    if cuts_number(match):
        return Number(None, text)
    return Number(parse_number(text), text)


def _reading(lines: Sequence[str], found: Sequence[Occurrence], what: str) -> Reading:
    """Turn the last of ``found`` into a Reading."""
    last = found[-1]
    line = lines[last.line]
    verdict, reason = _verdict(last.number)
    if last.qualifier:
        what += f", read from '{last.qualifier} {what.strip(chr(39))}',"
    detail = f"{what[:80]} {verdict} in line {last.line + 1}: '{excerpt(line, last.at, 80)}'"
    value = last.number.value if reason is None else None
    count = len({occurrence.line for occurrence in found})
    return Reading(value, reason, detail, count, excerpt(line, last.at, 200))


def _verdict(number: Number) -> tuple[str, Reason | None]:
    if number.value is None:
        return f"is '{number.text[:40]}', not a plain number,", Reason.NO_METRIC
    if not math.isfinite(number.value):
        return f"is {number.text[:40]}, not finite,", Reason.NON_FINITE
    return f"is {number.text[:40]}", None


def _not_found(lines: Sequence[str], name: str) -> str:
    """Say that a name was not found, with the last line that holds something like it."""
    sentence = f"no line of the output holds {name!r} followed by ':', '=' or blank and a number"
    words = map(re.escape, re.findall(r"[^\W_]+", name) or [name])
    alike = re.compile(r"[\W_]{0,3}".join(words), re.IGNORECASE)
    for index in range(len(lines) - 1, -1, -1):
        match = alike.search(lines[index])
        if match is not None:
            near = excerpt(lines[index], match.start(), 80)
            return f"{sentence}; the nearest is line {index + 1}: '{near}'"
    return sentence

"""The grammar of a printed number: what counts as one, and what only looks like one.

A number is an optional sign, digits with an optional decimal point, an optional exponent and
an optional ``%``; or ``nan``, ``inf``, ``infinity`` in any letter case. ``97.5%`` is read as
97.5: the number that its reader sees, the same in every run of one program.

A decimal comma or thousands mark (``0,95``, ``2,115.88``, ``1_204``), a fraction (``3/10``), a
version (``1.2.3``), a clock time, a range, a number with letters on it (``3k``, ``8ms``,
``0x1f``) and several numbers in one bracket are not numbers. They are never cut down to the
digits in front: such a value is *unreadable*, which is not the same as absent.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

DECIMAL = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
"""Regex fragment: one finite number, without ``%``."""

_MAX_DIGITS = 400  # no float has more places that matter

_FIRST = frozenset("0123456789.+-")

_WHOLE = re.compile(rf"({DECIMAL})[ \t]?%?")
_DECIMAL = re.compile(DECIMAL)
_NON_FINITE = re.compile(r"([+-]?(?:nan|inf(?:inity)?))(?![\w-])", re.IGNORECASE)
_ABSENT = re.compile(r"(?:none|null|n/a|undefined)(?!\w)", re.IGNORECASE)

# What a program may put around a scalar: quotes and markdown, an array or tensor, a bracket.
_OPENING = re.compile(
    r"""["'`*]{0,3}
    (?P<wrapper>
        <tf\.Tensor:[^>]{0,80}?numpy=
      | (?:[a-z]{1,8}\.){0,2}
        (?:[tT]ensor|[aA]rray|DeviceArray|Decimal|Variable|b?float[0-9]{0,3}|u?int[0-9]{0,2})\(
    )?
    (?P<bracket>[\[(]{0,3})
    ["'`]?""",
    re.VERBOSE,
)

# Directly behind the digits, these make them part of something else.
_GLUED = re.compile(
    r"""\w
    | [,.:;/+\-^'\u2019\u00b7\u066b\u066c@\\*=#][+-]?\.?[0-9]
    | [#-]\w
    | [ ]{0,3}/[ ]{0,3}\.?[0-9]
    | [\u00a0\u2009\u202f][0-9]{3}(?![0-9])
    """,
    re.VERBOSE,
)
_ANOTHER = re.compile(r"\s*(?:,\s*)?[+-]?(?:\.?[0-9]|nan\b|inf\b)", re.IGNORECASE)
_APPROXIMATE = re.compile(r"[~\u2248<>\u2264\u2265$\u20ac\u00a3\u2212\u2013]{1,2} ?\.?[0-9]")
_DIGIT_BEFORE = re.compile(r"(?<=[0-9])|(?<=[0-9]\.)")
_MARK_BEFORE = re.compile(r"(?<=[0-9][,'\u2019_])")
_MORE = re.compile(r"[,'\u2019_][0-9]|[eE][+-]?$")
_TOKEN = re.compile(r"\S{1,40}")


@dataclass(frozen=True, slots=True)
class Number:
    """One value as it was printed.

    Attributes:
        value: the number; nan or an infinity if that was printed; None if unreadable.
        text: the characters that were read, cut at 40.
    """

    value: float | None
    text: str

    @property
    def finite(self) -> bool:
        """Return whether a finite number was read."""
        return self.value is not None and math.isfinite(self.value)


def parse_number(text: str) -> float | None:
    """Return the number that ``text`` is, blanks around it aside; None if it is none.

    The result is nan or an infinity where the text says so or is too large for a float.
    """
    text = text.strip()
    if len(text) > _MAX_DIGITS:
        return None
    whole = _WHOLE.fullmatch(text)
    if whole is not None:
        return float(whole[1])
    word = _NON_FINITE.fullmatch(text.removesuffix("%"))
    return float(word[1]) if word is not None else None


def read_number(line: str, start: int, *, labelled: bool) -> Number | None:
    """Read the value that begins at ``start`` of ``line``.

    Args:
        line: one line of output.
        start: where the value begins, behind a name and its separator.
        labelled: whether the separator was explicit (``:``, ``=``, a table's bar). Only then
            do a bare bracket, ``None`` or ``<0.5`` stand for the value; after a mere blank
            they are prose.

    Returns:
        None if nothing there looks like a number at all.
    """
    if line[start : start + 1] in _FIRST:  # as nearly always
        return _read_bare(line, start, bracketed=False)
    opening = _OPENING.match(line, start)
    assert opening is not None  # every part of it is optional
    bracketed = bool(opening["bracket"])
    if bracketed and not opening["wrapper"] and not labelled:
        return None
    found = _read_bare(line, opening.end(), bracketed=bracketed)
    if found is None and labelled and _stands_for_value(line, opening.end()):
        return Number(None, _token(line, start))
    return found


def cuts_number(match: re.Match[str]) -> bool:
    """Return whether the first group of a match holds only a piece of a number.

    So it is for ``4.2`` in ``4.2e-06``, and for ``0`` or ``95`` in ``0,95`` unless the
    expression itself consumed the comma, as one for a line of a CSV file does.
    """
    line = match.string
    start, end = match.span(1)
    longer = _DECIMAL.match(line, start)
    return (
        (longer is not None and longer.end() > end)
        or _DIGIT_BEFORE.match(line, start) is not None
        or (start == match.start() and _MARK_BEFORE.match(line, start) is not None)
        or (end == match.end() and _MORE.match(line, end) is not None)
    )


def _read_bare(line: str, start: int, *, bracketed: bool) -> Number | None:
    """Read digits or a non-finite word at ``start``, looking at what follows them."""
    digits = _DECIMAL.match(line, start)
    if digits is None:
        word = _NON_FINITE.match(line, start)
        return None if word is None else Number(float(word[1]), word[1])
    end = digits.end() + line.startswith("%", digits.end())
    spoilt = (
        end - start > _MAX_DIGITS
        or _GLUED.match(line, end)
        or (bracketed and _ANOTHER.match(line, end))
    )
    if spoilt:
        return Number(None, _token(line, start))
    return Number(float(digits[0]), line[start : min(end, start + 40)])


def _stands_for_value(line: str, start: int) -> bool:
    return bool(_ABSENT.match(line, start) or _APPROXIMATE.match(line, start))


def _token(line: str, start: int) -> str:
    token = _TOKEN.match(line, start)
    return token[0] if token is not None else ""

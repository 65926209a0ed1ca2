r"""Where a SEARCH lies in a file, and what the file is once it is replaced.

Lines are compared whole and without their ends. A place counts if it is the only one. When
nothing matches exactly, one slip of the copyist is forgiven, if just one place fits so:

- all lines are shifted by the same indentation, tabs typed as blanks or the reverse included;
- only the first line lost its indentation;
- line numbers of the form ``12 | `` stand before every line of SEARCH and of REPLACE;

each with or without a difference in trailing blanks. The replacement is shifted alike, in
the file's own kind of indentation. Lines that SEARCH and REPLACE share stay the file's own,
byte for byte.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import gcd

from rapidfuzz import fuzz, process
from rapidfuzz.distance import Indel

from lae_controller.change.source import BOM, split_lines

_BLANKS = " \t"
_NUMBERED = re.compile(r"[ \t]*(\d+) ?[|→] ?(.*)")
_USUAL_STEP = 4  # columns of one indentation level, where nothing else tells
_WIDEST_STEP = 8
_ALIKE = 50  # per cent of their characters that two lines share, in order
_TELLING = 12  # of the longest lines of SEARCH decide where it would lie
_SHOWN = 9  # lines of the file where SEARCH fits nowhere

Pair = tuple[str, str]
"""Indentation of one line in SEARCH and in the file."""


@dataclass(frozen=True, slots=True)
class Lines:
    """A text as lines and their ends, byte order mark set aside.

    Attributes:
        texts: the lines without ends.
        bare: the lines without outer blanks.
        ends: the end of each; the last may be empty.
    """

    bom: str
    texts: tuple[str, ...]
    bare: tuple[str, ...]
    ends: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Lines:
        """Return the lines of ``text``."""
        bom = BOM if text.startswith(BOM) else ""
        lines = split_lines(text.removeprefix(BOM))
        texts = tuple(line.rstrip("\r\n") for line in lines)
        ends = tuple(line[len(bare) :] for line, bare in zip(lines, texts, strict=True))
        return cls(bom, texts, tuple(text.strip(_BLANKS) for text in texts), ends)

    @property
    def newline(self) -> str:
        r"""The end that most lines have; ``\n`` where there is none."""
        ends = [end for end in self.ends if end]
        return max(dict.fromkeys(ends), key=ends.count) if ends else "\n"


@dataclass(frozen=True, slots=True)
class Edit:
    """A SEARCH that was found in one place.

    Attributes:
        start: position of its first line in the file, from 0.
        search: SEARCH as it was written, line numbers taken off.
        replace: REPLACE in the same form.
        shifted: REPLACE as it goes into the file, line by line.
        repaired: whether the match was not exact.
    """

    start: int
    search: tuple[str, ...]
    replace: tuple[str, ...]
    shifted: tuple[str, ...]
    repaired: bool


def find(search: Sequence[str], replace: Sequence[str], lines: Lines) -> list[Edit]:
    """Return every place where ``search`` fits; the change is sound if there is just one.

    Inexact places are returned only if there is no exact one.
    """
    return (
        _exact(search, replace, lines)
        or _unnumbered(search, replace, lines)
        or _forgiven(search, replace, lines)
    )


def splice(lines: Lines, edit: Edit) -> str:
    """Return the whole text with the edit made.

    A new line gets the end of the line in whose place it comes; a text without a final
    newline stays without.
    """
    old = list(zip(lines.texts, lines.ends, strict=True))
    start, stop = edit.start, edit.start + len(edit.search)
    new = old[:start]
    for tag, i1, i2, j1, j2 in opcodes(edit.search, edit.replace):
        if tag == "equal":
            new += old[start + i1 : start + i2]
        else:
            near = lines.ends[start + i1 : start + max(i2, i1 + 1)]
            end = next((end for end in near if end), lines.newline)
            new += [(text, end) for text in edit.shifted[j1:j2]]
    new += old[stop:]
    return lines.bom + _joined(new, lines)


def _joined(new: list[tuple[str, str]], old: Lines) -> str:
    whole = "".join(text + (end or old.newline) for text, end in new[:-1])
    if not new:
        return whole
    text, end = new[-1]
    unfinished = bool(old.ends) and not old.ends[-1]
    return whole + text + ("" if unfinished else end or old.newline)


def opcodes(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    """Return (tag, i1, i2, j1, j2) runs that turn ``old`` into ``new``, as difflib does.

    The tag is ``equal`` or ``replace``, where either side of a ``replace`` may be empty.
    """
    # Numbered, so that equality is exact where the library would compare hashes.
    known: dict[str, int] = {}
    codes = Indel.opcodes(
        [known.setdefault(line, len(known)) for line in old],
        [known.setdefault(line, len(known)) for line in new],
    )
    runs: list[tuple[str, int, int, int, int]] = []
    for code in codes:
        tag = "equal" if code.tag == "equal" else "replace"
        run = (tag, code.src_start, code.src_end, code.dest_start, code.dest_end)
        if runs and runs[-1][0] == tag:
            run = (tag, runs[-1][1], run[2], runs[-1][3], run[4])
            runs.pop()
        runs.append(run)
    return runs


def occurrences(needle: Sequence[str], hay: Sequence[str]) -> list[int]:
    """Return where ``needle`` lies in ``hay``, overlaps included; nowhere if it is empty."""
    if not needle:
        return []
    # No line holds a newline, so a search in the joined text finds whole lines, and fast.
    wanted, text = "\n".join(["", *needle, ""]), "\n".join(["", *hay, ""])
    found: list[int] = []
    at, line = text.find(wanted), 0
    last = 0
    while at >= 0:
        line += text.count("\n", last, at)
        found.append(line)
        last, at = at, text.find(wanted, at + 1)
    return found


def _exact(search: Sequence[str], replace: Sequence[str], lines: Lines) -> list[Edit]:
    old, new = tuple(search), tuple(replace)
    return [Edit(at, old, new, new, False) for at in occurrences(old, lines.texts)]


def _unnumbered(search: Sequence[str], replace: Sequence[str], lines: Lines) -> list[Edit]:
    bare = without_numbers(search, replace)
    if bare is None:
        return []
    found = _exact(*bare, lines) or _forgiven(*bare, lines)
    return [Edit(edit.start, edit.search, edit.replace, edit.shifted, True) for edit in found]


def without_numbers(
    search: Sequence[str], replace: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return both halves without the line numbers copied from a prompt.

    None unless every line of both carries one and those of SEARCH (of REPLACE, if SEARCH is
    empty) count up by one: a table may hold lines of the same look.
    """
    old = [_NUMBERED.fullmatch(line) for line in search]
    new = [_NUMBERED.fullmatch(line) for line in replace]
    numbers = [int(match[1]) for match in old or new if match]
    if None in old or None in new or not numbers:
        return None
    if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return None
    return tuple(m[2] for m in old if m), tuple(m[2] for m in new if m)


def is_numbered(line: str) -> bool:
    """Return whether ``line`` starts like one of a numbered listing."""
    return _NUMBERED.fullmatch(line) is not None


def _forgiven(search: Sequence[str], replace: Sequence[str], lines: Lines) -> list[Edit]:
    found = []
    bare = [text.strip(_BLANKS) for text in search]
    for at in occurrences(bare, lines.bare):
        shifted = _shifted(search, replace, lines.texts[at : at + len(bare)], lines.texts)
        if shifted is not None:
            found.append(Edit(at, tuple(search), tuple(replace), tuple(shifted), True))
    return found


def _shifted(
    search: Sequence[str], replace: Sequence[str], place: Sequence[str], texts: Sequence[str]
) -> list[str] | None:
    """Return REPLACE moved the way ``place`` lies to SEARCH, or None if no one way fits."""
    pairs = [
        (indent(old), indent(here))
        for old, here in zip(search, place, strict=True)
        if old.strip(_BLANKS)
    ]
    if all(old == here for old, here in pairs):
        return list(replace)
    move = _by_columns(pairs, replace, texts) or _by_prefix(pairs)
    if move is not None:
        return _moved(replace, move)
    return _first_line(pairs, replace)


def _moved(replace: Sequence[str], move: Callable[[str], str | None]) -> list[str] | None:
    new = []
    for line in replace:
        body = line.strip(_BLANKS)
        space = move(indent(line)) if body else ""
        if space is None:
            return None
        new.append(space + line.lstrip(_BLANKS) if body else line)
    return new


def _by_columns(
    pairs: Sequence[Pair], replace: Sequence[str], texts: Sequence[str]
) -> Callable[[str], str | None] | None:
    """Fit ``columns in the file = first + slope · (columns in the reply - first)``.

    The slope is 1 where both indent with the same character, else blanks per tab or its
    inverse. None if indentation is mixed or the pairs do not lie on one line.
    """
    wanted = [indent(line) for line in replace if line.strip(_BLANKS)]
    there = _kind([old for old, _ in pairs] + wanted)
    here = _kind([found for _, found in pairs])
    if there is None or here is None:
        return None
    there, here = there or here, here or (_file_kind(texts) if there else "")
    points = [(len(old), len(found)) for old, found in pairs]
    slope = _slope(points, [len(space) for space in wanted], there, here, texts)
    first_old, first_found = points[0]
    if any(found - first_found != slope * (old - first_old) for old, found in points):
        return None

    def move(space: str) -> str | None:
        columns = first_found + slope * (len(space) - first_old)
        return (here or " ") * int(columns) if columns >= 0 and columns.denominator == 1 else None

    return move


def _slope(
    points: Sequence[tuple[int, int]],
    wanted: Sequence[int],
    there: str,
    here: str,
    texts: Sequence[str],
) -> Fraction:
    if there == here:
        return Fraction(1)
    old, found = points[0]
    for other, place in points:
        if (other - old) * (place - found) > 0:
            return Fraction(place - found, other - old)
    # SEARCH lies on one level, so the width of a level must come from elsewhere.
    if here == "\t":
        step = gcd(*(width - old for width in wanted))
        return Fraction(1, step if 0 < step <= _WIDEST_STEP else _USUAL_STEP)
    return Fraction(_file_step(texts))


def _by_prefix(pairs: Sequence[Pair]) -> Callable[[str], str | None] | None:
    """Fit a place indented with tabs and blanks: the same text put in front, or taken off.

    None for a place of one kind: literal blanks in front of tabs would mix the two.
    """
    if _kind([found for _, found in pairs]) is not None:
        return None
    old, found = pairs[0]
    front = found[: len(found) - len(old)]
    if found.endswith(old) and all(here == front + there for there, here in pairs):
        return lambda space: front + space
    extra = old[: len(old) - len(found)]
    if old.endswith(found) and all(there == extra + here for there, here in pairs):
        return lambda space: space[len(extra) :] if space.startswith(extra) else None
    return None


def _first_line(pairs: Sequence[Pair], replace: Sequence[str]) -> list[str] | None:
    """Give the first line back the indentation that only it has lost."""
    (lost, full), rest = pairs[0], pairs[1:]
    if not rest or len(lost) >= len(full) or any(old != found for old, found in rest):
        return None
    new = list(replace)
    first = next((at for at, line in enumerate(new) if line.strip(_BLANKS)), None)
    if first is not None and indent(new[first]) == lost:
        new[first] = full + new[first].lstrip(_BLANKS)
    elif first is not None and not indent(new[first]).startswith(full):
        return None
    return new


def indent(line: str) -> str:
    """Return the blanks and tabs that ``line`` starts with."""
    return line[: len(line) - len(line.lstrip(_BLANKS))]


def _kind(spaces: Sequence[str]) -> str | None:
    """Return the one character that all indentation is made of; None if it is mixed."""
    kinds = {character for space in spaces for character in space}
    return None if len(kinds) > 1 else "".join(kinds)


def _file_kind(texts: Sequence[str]) -> str:
    firsts = [text[0] for text in texts if text[:1] in (" ", "\t")]
    return "\t" if firsts.count("\t") > len(firsts) / 2 else " "


def _file_step(texts: Sequence[str]) -> int:
    """Return by how many columns lines of the file most often go deeper than the one above."""
    widths = [len(indent(text)) for text in texts if text.strip(_BLANKS)]
    steps = Counter(deep - flat for flat, deep in pairwise(widths) if deep > flat)
    return steps.most_common(1)[0][0] if steps else _USUAL_STEP


def nearest(search: Sequence[str], texts: tuple[str, ...]) -> str:
    """Return the numbered lines of the file that are most like ``search``; "" if none is.

    Where SEARCH is long, the nine lines about the first difference are given.
    """
    best = _likeliest(search, texts)
    if best is None:
        return ""
    differs = next(
        (at for at, line in enumerate(search, start=best) if texts[at : at + 1] != (line,)), best
    )
    first = min(max(differs - _SHOWN // 3, best, 0), len(texts) - 1)
    last = min(first + _SHOWN, len(texts))
    width = len(str(last))
    return "\n".join(f"{at + 1:>{width}} | {texts[at][:160]}" for at in range(first, last))


def _likeliest(search: Sequence[str], texts: Sequence[str]) -> int | None:
    """Return the position at which SEARCH would lie best; below 0 if it overhangs the start."""
    telling = sorted(enumerate(search), key=lambda item: -len(item[1].strip()))[:_TELLING]
    bare = [text.strip() for text in texts]
    likeness: defaultdict[int, float] = defaultdict(float)
    for at, text in telling:
        if text.strip():
            for _, score, line in process.extract(
                text.strip(), bare, scorer=fuzz.ratio, score_cutoff=_ALIKE, limit=None
            ):
                likeness[line - at] += score
    return max(sorted(likeness), key=likeness.__getitem__) if likeness else None

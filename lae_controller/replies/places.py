"""Where a SEARCH lies that matches nothing as it is written, and what then becomes of REPLACE.

Beyond the tolerance of ``change.diff_match`` these slips are forgiven, where just one place of the
file is left that fits:

- blank lines that were left out or put in;
- comments at the end of a line that were left out;
- indentation that was lost unevenly: of some lines, or of some levels;
- numbers that differ from the file's, as in the program before an earlier change, unless REPLACE
  would put one of them back.

Lines that SEARCH and REPLACE share stay the file's own. New lines are indented as the lines of the
same indentation in the reply are in the file, or as the line whose place they take.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice

from lae_controller.change.diff_match import Lines, indent, occurrences, opcodes

_REMARK = re.compile(r"\s+#.*")
_NUMBER = re.compile(r"(?<![\w.])\d[\d_]*(?:\.\d*)?(?:[eE][+-]?\d+)?(?![\w.])")
_NUMBERED = re.compile(r"[ \t]*\d+ ?[|→:] ?")


def place_loosely(search: Sequence[str], replace: Sequence[str], text: str) -> str | None:
    """Return ``text`` with the edit made; None if it fits nowhere, or in several places."""
    return _placed(search, replace, text, str.strip)


def place_by_numbers(search: Sequence[str], replace: Sequence[str], text: str) -> str | None:
    """Return ``text`` with the edit made where SEARCH fits but for its numbers.

    None if it fits nowhere so, or in several places, or changes nothing that it found.
    """
    if _key(search) == _key(replace) or not any(map(_NUMBER.search, search)):
        return None
    return _placed(search, replace, text, _numberless)


def _numberless(line: str) -> str:
    return _NUMBER.sub("0", line.strip())


def _placed(
    search: Sequence[str], replace: Sequence[str], text: str, key: Callable[[str], str]
) -> str | None:
    """Return ``text`` with the edit made in the one place whose lines have the same keys."""
    lines = Lines.of(text)
    found = _find([key(line) for line in search], [key(line) for line in lines.texts])
    if len(found) != 1:
        return None
    first, last = found[0]
    place = lines.texts[first : last + 1]
    new = None if _puts_back(search, replace, place) else _refitted(search, replace, place)
    return None if new is None else _spliced(lines, first, last + 1, new)


def replace_part(search: Sequence[str], replace: Sequence[str], text: str) -> str | None:
    """Return ``text`` with a part of one line replaced; None unless it stands there just once.

    The beginning of a line does not count: what follows there may have been meant to go.
    """
    if len(search) != 1 or len(replace) != 1:
        return None
    old, new = search[0].strip(), replace[0].strip()
    found = list(re.finditer(rf"(?<![\w.]){re.escape(old)}(?![\w.])", text)) if old and new else []
    if len(found) != 1:
        return None
    start, end = found[0].span()
    first = text[:start].rpartition("\n")[2]
    return text[:start] + new + text[end:] if first.strip() else None


def without_some_numbers(
    search: Sequence[str], replace: Sequence[str]
) -> tuple[list[str], list[str]] | None:
    """Return both halves without line numbers, where new lines in REPLACE have none."""
    if not search or not all(_NUMBERED.match(line) for line in search):
        return None
    old = [_NUMBERED.sub("", line, count=1) for line in search]
    return old, [_NUMBERED.sub("", line, count=1) for line in replace]


def _find(search: Sequence[str], texts: Sequence[str]) -> list[tuple[int, int]]:
    """Return (first, last) line of the places, two at most; blank lines do not count."""
    filled = [at for at, text in enumerate(texts) if text]
    wanted = [line for line in search if line]
    if not wanted:
        return []
    # Lines that are alike have one head, and whole runs of those are found fast.
    starts = occurrences(list(map(_head, wanted)), [_head(texts[at]) for at in filled])
    places = (
        (filled[at], filled[at + len(wanted) - 1])
        for at in starts
        if all(_alike(line, texts[filled[at + step]]) for step, line in enumerate(wanted))
    )
    return list(islice(places, 2))


def _head(line: str) -> str:
    return line.partition("#")[0].rstrip()


def _alike(line: str, text: str) -> bool:
    """Return whether a line of SEARCH is a line of the file, or is but for its comment."""
    return text.startswith(line) and (
        line == text or _REMARK.fullmatch(text, len(line)) is not None
    )


def _puts_back(search: Sequence[str], replace: Sequence[str], place: Sequence[str]) -> bool:
    """Return whether REPLACE holds a number of SEARCH where the file has another by now.

    It may be a setting that an earlier change has improved, or the index of another place.
    """
    own = _own_lines(search, place)
    for tag, i1, i2, j1, j2 in opcodes(_key(search), _key(replace)):
        if tag == "equal":
            continue
        pairs = [
            pair
            for at in range(i1, i2)
            for pair in zip(_numbers(search[at]), _numbers(own.get(at, "")), strict=False)
        ]
        new = Counter(number for line in replace[j1:j2] for number in _numbers(line))
        new.subtract(old for old, now in pairs if old == now)
        if any(new[old] > 0 for old, now in pairs if old != now):
            return True
    return False


def _numbers(line: str) -> list[str]:
    return _NUMBER.findall(line)


def _refitted(
    search: Sequence[str], replace: Sequence[str], place: Sequence[str]
) -> list[str] | None:
    """Return REPLACE as it goes into the file, or None if a line's indentation is not certain."""
    own = _own_lines(search, place)
    levels = _levels(search, own)
    new: list[str] = []
    for tag, i1, i2, j1, j2 in opcodes(_key(search), _key(replace)):
        if tag == "equal":
            new += [own.get(at, "") for at in range(i1, i2)]
            continue
        for at, line in enumerate(replace[j1:j2]):
            space = _space(line, levels)
            if space is None and i2 - i1 == j2 - j1:
                space = indent(own.get(i1 + at, ""))
            if space is None and line.strip():
                return None
            new.append((space or "") + line.strip() if line.strip() else "")
    return new


def _key(lines: Sequence[str]) -> list[str]:
    return [line.strip() for line in lines]


def _own_lines(search: Sequence[str], place: Sequence[str]) -> dict[int, str]:
    """Return position in SEARCH -> the file's own line."""
    at = [number for number, line in enumerate(search) if line.strip()]
    return dict(zip(at, (line for line in place if line.strip()), strict=True))


def _levels(search: Sequence[str], own: dict[int, str]) -> dict[str, str | None]:
    """Return indentation in the reply -> in the file; None where it stands for several."""
    levels: dict[str, str | None] = {}
    for at, line in own.items():
        there = indent(search[at])
        if levels.setdefault(there, indent(line)) != indent(line):
            levels[there] = None
    return levels


def _space(line: str, levels: dict[str, str | None]) -> str | None:
    """Return the indentation of a new line, as far as the levels tell."""
    there = indent(line)
    if there in levels:
        return levels[there]
    known = [(old, new) for old, new in levels.items() if new is not None and there.startswith(old)]
    if not known:
        return None
    old, new = max(known, key=lambda pair: len(pair[0]))
    return new + there[len(old) :]


def _spliced(lines: Lines, start: int, stop: int, new: Sequence[str]) -> str:
    old = [text + end for text, end in zip(lines.texts, lines.ends, strict=True)]
    last = lines.ends[stop - 1]
    middle = [f"{line}{lines.newline}" for line in new]
    if middle and stop == len(old):
        middle[-1] = new[-1] + last
    return lines.bom + "".join([*old[:start], *middle, *old[stop:]])

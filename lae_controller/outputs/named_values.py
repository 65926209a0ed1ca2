"""Where a name stands before a value in the lines of a run's output."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from lae_controller.outputs.numbers_grammar import Number, parse_number, read_number

Item = TypeVar("Item")

# Characters that make a name part of a longer one: ``train/loss``, ``z-loss``, ``opt.loss``.
_LEFT_EDGE = r"(?<![\w/-])(?<!\w\.)"
_SEPARATOR = re.compile(
    r"""["'`*]{0,3}(?:\s*(?P<label>(?:=>|[:=\uff1a]{1,2}|[|│┃║])["'`*]{0,3})|(?=\s))\s*"""
)

# A word directly before a name that makes it another quantity: ``best loss`` is not ``loss``.
_QUALIFIERS = frozenset(
    """train training val valid validation dev test testing eval evaluation holdout heldout
    aux auxiliary avg average mean median ema running smoothed best worst lowest highest
    min minimum max maximum prev previous initial baseline target""".split()
)

_BARS = re.compile(r"[|│┃║]")
_RULE = re.compile(r"[-+=:|─━┼╇│┃║ \t]*")  # the line under a table's header
_CLOCK = re.compile(r"[0-9]+(?::[0-9]{2})+(?:\.[0-9]+)?")
_NO_CELL = frozenset(("", "-", "--", "none", "n/a", "null"))


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One place where a name stands before a value.

    Attributes:
        line: index of the line, from 0.
        at: position of the name, or of the cell, in it.
        exact: whether the name is written in the letter case that was asked for.
        qualifier: the words before it that make it another quantity, such as ``best val``.
    """

    line: int
    at: int
    number: Number
    exact: bool = True
    qualifier: str = ""


def find_occurrences(
    lines: Sequence[str], name: str, *, most_lines: int | None = None
) -> list[Occurrence]:
    """Return every place where ``name`` is followed by ``:``, ``=`` or blank and a value.

    The name counts whole and in any letter case; a run of blanks in it stands for any other.
    Between name and value may be quotes, markdown marks and a table's bar.

    Args:
        lines: what was printed.
        name: what is looked for; not blank.
        most_lines: if more lines than this hold the name, an even selection of them is read,
            the first and the last among them.
    """
    words = name.split()
    hint = words[0].lower()
    pattern = re.compile(_LEFT_EDGE + r"\s+".join(map(re.escape, words)), re.IGNORECASE)
    holding = [index for index, line in enumerate(lines) if hint in line.lower()]
    found: list[Occurrence] = []
    for index in evenly(holding, most_lines or len(holding)):
        found += _occurrences(index, lines[index], pattern, words)
    return found


def evenly(items: Sequence[Item], most: int) -> Sequence[Item]:
    """Return at most ``most`` (at least 2) items, evenly chosen, first and last among them."""
    if len(items) <= most:
        return items
    stride = (len(items) - 1) / (most - 1)
    return [items[round(i * stride)] for i in range(most)]


def preferred(occurrences: Sequence[Occurrence]) -> list[Occurrence]:
    """Keep those that are most surely meant.

    A name without a qualifier before it goes before one with, then the letter case that was
    asked for before another. What is left is in order of appearance.
    """
    if not occurrences:
        return []
    rank = min(_rank(occurrence) for occurrence in occurrences)
    return [occurrence for occurrence in occurrences if _rank(occurrence) == rank]


def find_column(lines: Sequence[str], name: str) -> list[Occurrence]:
    """Return the cells of the column headed ``name`` in tables whose names are in a header row.

    A table is a header and, directly below it, rows of as many cells, all of them numbers,
    clock times or placeholders; cells are parted by bars, else commas, else blanks.
    """
    found: list[Occurrence] = []
    header: list[str] = []
    hint = name.lower()
    for index, line in enumerate(lines):
        if hint in line.lower():
            cells = split_cells(line)
            header = cells if len(cells) > 1 and hint in map(str.lower, cells) else []
        elif header and not _RULE.fullmatch(line):
            row = split_cells(line)
            header = header if is_row(row, len(header)) else []
            if header:
                found += _cell(index, header, row, name)
    return found


def split_cells(line: str) -> list[str]:
    """Split a line of a table at bars, else at commas, else at blanks."""
    if _BARS.search(line):
        return [cell.strip() for cell in _BARS.split(line.strip().strip("|│┃║"))]
    return [cell.strip() for cell in line.split(",")] if "," in line else line.split()


def is_row(cells: Sequence[str], width: int) -> bool:
    """Return whether ``cells`` can be a row of numbers under a header of ``width`` names."""
    return (
        len(cells) == width
        and any(parse_number(cell) is not None for cell in cells)
        and all(
            parse_number(cell) is not None or _CLOCK.fullmatch(cell) or cell.lower() in _NO_CELL
            for cell in cells
        )
    )


def _occurrences(
    index: int, line: str, pattern: re.Pattern[str], words: list[str]
) -> Iterator[Occurrence]:
    """Yield what stands in one line; ``pattern`` matches the name where it begins."""
    lowered = line.lower()
    if len(lowered) != len(line):  # a rare letter grows, and positions would be wrong
        lowered = line
    hint = words[0].lower()
    at = lowered.find(hint)
    while at >= 0:
        name = pattern.match(line, at)
        separator = _SEPARATOR.match(line, name.end()) if name is not None else None
        if name is not None and separator is not None:
            labelled = separator["label"] is not None
            number = read_number(line, separator.end(), labelled=labelled)
            if number is not None:
                exact = name[0].split() == words
                yield Occurrence(index, at, number, exact, _qualifier(line, at))
        at = lowered.find(hint, at + len(hint))


def _qualifier(line: str, at: int) -> str:
    """Return the qualifying words that directly precede position ``at``."""
    if at < 2 or not line[at - 1].isspace() or line[at - 2] in ":,;|=-])}":
        return ""  # at once, as for most
    kept: list[str] = []
    for word in reversed(line[max(0, at - 60) : at].split()):
        bare = word.lstrip("|([{\"'*`").removesuffix(".")
        if bare.lower() not in _QUALIFIERS:
            break
        kept.insert(0, bare)
    return " ".join(kept)


def _rank(occurrence: Occurrence) -> tuple[bool, bool]:
    return occurrence.qualifier != "", not occurrence.exact


def _cell(index: int, header: Sequence[str], row: Sequence[str], name: str) -> list[Occurrence]:
    exact = name in header
    column = header.index(name) if exact else [cell.lower() for cell in header].index(name.lower())
    value = parse_number(row[column])
    return [] if value is None else [Occurrence(index, 0, Number(value, row[column]), exact)]

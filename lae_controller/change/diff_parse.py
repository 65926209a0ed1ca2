"""A model's reply, taken apart into SEARCH/REPLACE blocks.

Spellings that are understood, each alone on its line::

    opening     <<<<<<< SEARCH   or  ------- SEARCH
    separator   =======
    closing     >>>>>>> REPLACE  or  +++++++ REPLACE

with 5 to 9 of the marker characters, the word in any case, the blank before it optional, a
run of ``<`` or ``>`` after it, up to three blanks in front and any behind. Every other line
that looks like a marker is an error which quotes it: nothing is applied by halves.

The path stands on the nearest line above the opening marker, blank lines and Markdown fences
not counted; it may be wrapped in backticks or asterisks, end in a colon, be a heading, a list
item or a comment, or stand behind the language of a fence. A block without one belongs to
the path of the block before it.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from lae_controller.change.source import BOM, split_lines
from lae_controller.errors import DiffError

FORMAT = """\
path/to/file.py
<<<<<<< SEARCH
exact lines of the file
=======
their replacement
>>>>>>> REPLACE"""
"""The one form that is asked for."""

# Matched against lines without trailing blanks, so that no two runs of blanks can meet.
_OPENING = re.compile(r" {0,3}(?:<{5,9}|-{5,9})[ \t]*SEARCH(?:[ \t]*[<>]{1,9})?", re.IGNORECASE)
_CLOSING = re.compile(r" {0,3}(?:>{5,9}|\+{5,9})[ \t]*REPLACE(?:[ \t]*[<>]{1,9})?", re.IGNORECASE)
_SEPARATOR = re.compile(r" {0,3}={5,9}")
_MARKER_LIKE = re.compile(
    r"[ \t]*(?:<{4,}.*|>{4,}.*|[-+]{3,}[ \t]*(?:SEARCH|REPLACE)\b.*)", re.IGNORECASE
)
# Consulted only when a reply holds no block at all: a heading may well be called "Replace".
_MARKER_WORD = re.compile(r"\W{1,12}(?:SEARCH|REPLACE)\W{0,12}", re.IGNORECASE)

_FENCE = re.compile(r"[ \t]*(?:`{3,}|~{3,})(?P<info>[^`]*)")
_DECORATION = re.compile(
    r"[ \t]*(?:(?:#{1,6}|//|[-*+]|\d+[.)])[ \t]+)?(?:(?:file|path)[ \t]*:[ \t]*)?", re.IGNORECASE
)
_QUOTED = re.compile(r"`([^`]+)`")
_BARE_PATH = re.compile(r"[^\s<>\"|?*()\[\]{}=,;`]+")
_SUFFIX = re.compile(r"\.[A-Za-z]\w*$")


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a reply.

    Attributes:
        number: position in the reply, from 1.
        path: as the reply wrote it; None if no path line stands above it or an earlier block.
        line: line of the reply that holds the opening marker, from 1.
        body: the lines between opening and closing marker, without line ends.
    """

    number: int
    path: str | None
    line: int
    body: tuple[str, ...]

    @property
    def separators(self) -> tuple[int, ...]:
        """Positions in ``body`` of every line that may be the separator; at least one."""
        return tuple(at for at, line in enumerate(self.body) if is_separator(line))


def is_separator(line: str) -> bool:
    """Return whether ``line`` can part SEARCH from REPLACE."""
    return _matches(_SEPARATOR, line)


def _matches(marker: re.Pattern[str], line: str) -> bool:
    return marker.fullmatch(line.rstrip(" \t")) is not None


def looks_like_marker(line: str) -> bool:
    """Return whether ``line`` is a marker or an attempt at one, separators aside."""
    return _MARKER_LIKE.fullmatch(line) is not None


def not_understood(line: str, number: int) -> DiffError:
    """Return the error for a line of the reply that resembles a marker but is none."""
    return DiffError(
        f"markers not understood: line {number} of the reply is {line.strip()!r}; "
        f"write every block as\n{FORMAT}"
    )


def parse(change: str, known: Container[str]) -> tuple[Block, ...]:
    """Return the blocks of a reply in their order; at least one.

    Args:
        change: the reply.
        known: paths that count as a path line however odd they look.

    Raises:
        DiffError: if there is no block, or a marker is unpaired or misspelt.
    """
    lines = [line.rstrip("\r\n") for line in split_lines(change.removeprefix(BOM))]
    blocks = tuple(_blocks(lines, known))
    if not blocks:
        raise _no_block(lines)
    return blocks


def _blocks(lines: Sequence[str], known: Container[str]) -> Iterator[Block]:
    path: str | None = None
    number = at = free = 0
    while at < len(lines):
        if not _matches(_OPENING, lines[at]):
            _refuse_stray(lines[at], at + 1)
            at += 1
            continue
        number += 1
        end = _closing(lines, at, number)
        path = _path_above(lines[free:at], known) or path
        yield Block(number, path, at + 1, tuple(lines[at + 1 : end]))
        at = free = end + 1


def _refuse_stray(line: str, number: int) -> None:
    if _matches(_CLOSING, line) or is_separator(line):
        raise DiffError(
            f"unpaired markers: line {number} of the reply is {line.strip()!r}, but no block is "
            f"open there; write every block as\n{FORMAT}"
        )
    if looks_like_marker(line):
        raise not_understood(line, number)


def _closing(lines: Sequence[str], opening: int, number: int) -> int:
    """Return the position of the closing marker that belongs to ``opening``."""
    for at in range(opening + 1, len(lines)):
        if _matches(_OPENING, lines[at]):
            raise _unclosed(lines[opening + 1 : at], opening, number)
        if _matches(_CLOSING, lines[at]):
            if not any(is_separator(line) for line in lines[opening + 1 : at]):
                raise DiffError(
                    f"markers not understood: block {number} (line {opening + 1} of the reply) "
                    f"has no ======= line; write every block as\n{FORMAT}"
                )
            return at
    raise _unclosed(lines[opening + 1 :], opening, number)


def _unclosed(body: Sequence[str], opening: int, number: int) -> DiffError:
    for at, line in enumerate(body, start=opening + 2):
        if looks_like_marker(line):
            return not_understood(line, at)
    return DiffError(
        f"unpaired markers: block {number} opens in line {opening + 1} of the reply and is never "
        f"closed; was the reply cut off? Write every block as\n{FORMAT}"
    )


def _no_block(lines: Sequence[str]) -> DiffError:
    for number, line in enumerate(lines, start=1):
        if _MARKER_WORD.fullmatch(line):
            return not_understood(line, number)
    return DiffError(
        "no SEARCH/REPLACE block found in the reply; prose and whole files are not applied; "
        f"write every change as\n{FORMAT}"
    )


def _path_above(lines: Sequence[str], known: Container[str]) -> str | None:
    for line in reversed(lines):
        if not line.strip():
            continue
        fence = _FENCE.fullmatch(line)
        if fence is None:
            return _path_in(line, known)
        path = _path_in(re.split(r"[\s:=]", fence["info"])[-1], known)
        if path is not None:
            return path
    return None


def _path_in(line: str, known: Container[str]) -> str | None:
    """Return the path that a whole line spells, or None if the line is something else."""
    line = line.strip()
    if line in known:
        return line
    bare = _DECORATION.sub("", line, count=1)
    quoted = _QUOTED.fullmatch(bare.strip(" \t*:"))
    if quoted is not None:
        return quoted[1]
    bare = bare.strip(" \t*`\"':")
    if bare in known:
        return bare
    named = "/" in bare or "\\" in bare or _SUFFIX.search(bare)
    return bare if named and _BARE_PATH.fullmatch(bare) else None

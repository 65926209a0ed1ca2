"""Evolve blocks: the parts of a file between two marker lines, outside which nothing changes.

A marker is ``EVOLVE-BLOCK-START`` or ``EVOLVE-BLOCK-END`` alone on its line, behind whatever
begins a comment in the language of the file::

    # EVOLVE-BLOCK-START          // EVOLVE-BLOCK-END
    /* EVOLVE-BLOCK-START */      <!-- EVOLVE-BLOCK-END -->

What counts as a comment inside a block is read off its own START line, so no list of
languages is needed. A file without markers may change anywhere.

Source: the AlphaEvolve Cloud API's rules for initial programs.
"""

from __future__ import annotations

import io
import re
import textwrap
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lae_controller.change.source import BOM, is_python, split_lines
from lae_controller.errors import ConfigError

START = "EVOLVE-BLOCK-START"
END = "EVOLVE-BLOCK-END"

_MARKER = re.compile(f"{START}|{END}")
# Punctuation, or a word that begins a comment by itself (BASIC, batch files, m4).
_LEAD = r"(?P<lead>[^\w\s]{1,4}|REM|rem|dnl|)[ \t]*"
_ALONE = re.compile(rf"{_LEAD}(?:{START}|{END})(?:[ \t]*(?:\*+/|--+>|\*\)|-\}}|[#%]\}}|\]\]))?")
_ALMOST = re.compile(rf"{_LEAD}EVOLVE[-_ ]?BLOCK[-_ ]?(?:START|BEGIN|END|STOP)\W*", re.IGNORECASE)
_BRACKETED = {"/*": "*/", "<!--": "-->", "(*": "*)", "{-": "-}", "{#": "#}"}
_SPACING = frozenset(
    {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENCODING,
        tokenize.ENDMARKER,
    }
)


@dataclass(frozen=True, slots=True)
class Block:
    """One evolve block.

    Attributes:
        start: line of the START marker, from 1.
        end: line of the END marker; the lines strictly between may change.
    """

    start: int
    end: int


def find_blocks(path: str, text: str) -> tuple[Block, ...]:
    """Return the blocks of a file in their order; empty if it has no markers.

    Raises:
        ConfigError: naming path and line, if a marker shares its line, is misspelt, is
            nested or has no partner, or if a block holds no code that could change.
    """
    lines = _lines(text)
    blocks = _paired(path, lines)
    for block in blocks:
        if not _has_code(path, lines[block.start - 1], lines[block.start : block.end - 1]):
            raise _malformed(
                path, block.start, "begins a block of blanks and comments only", "code to change"
            )
    return blocks


def outside_changed(path: str, before: str, after: str) -> str | None:
    """Return a sentence that names the first change outside the blocks, or None if all is well.

    Marker lines count as outside. None too if ``before`` has no markers.

    Raises:
        ConfigError: if the markers of ``before`` are malformed.
    """
    if not find_blocks(path, before):
        return None
    try:
        kept = _outside(path, after)
    except ConfigError as exc:
        return f"the change breaks the evolve blocks: {exc}"
    old = _outside(path, before)
    for (number, line), (_, new) in zip(old, kept, strict=False):
        if line != new:
            return (
                f"{path}:{number}: {line.strip()!r} lies outside the evolve blocks and became "
                f"{new.strip()!r}; change only lines between {START} and {END}"
            )
    if len(old) == len(kept):
        return None
    number, line = max(old, kept, key=len)[min(len(old), len(kept))]
    verb = "removed" if len(old) > len(kept) else "added"
    return (
        f"{path}:{number}: {line.strip()!r} was {verb} outside the evolve blocks; "
        f"change only lines between {START} and {END}"
    )


def blocks_only(text: str) -> str:
    """Return the lines inside the blocks, a line of dots where something is left out between.

    A text without markers comes back whole.

    Raises:
        ConfigError: if the markers are malformed.
    """
    blocks = find_blocks("program", text)
    if not blocks:
        return text
    raw = split_lines(text)
    return "...\n".join("".join(raw[block.start : block.end - 1]) for block in blocks)


def _lines(text: str) -> list[str]:
    return [line.rstrip("\r\n") for line in split_lines(text.removeprefix(BOM))]


def _outside(path: str, text: str) -> list[tuple[int, str]]:
    """Return (number, line with its end) of every line that no block holds."""
    raw = split_lines(text)
    inside = {
        number
        for block in _paired(path, _lines(text))
        for number in range(block.start + 1, block.end)
    }
    return [(number, line) for number, line in enumerate(raw, start=1) if number not in inside]


def _paired(path: str, lines: Sequence[str]) -> tuple[Block, ...]:
    blocks: list[Block] = []
    start = None
    for number, marker in _markers(path, lines):
        if marker == START and start is not None:
            what = f"opens a block inside the one of line {start}"
            raise _malformed(path, number, what, f"{END} before it; blocks do not nest")
        if marker == END and start is None:
            raise _malformed(path, number, "closes a block that was never opened", f"{START} first")
        if marker == START:
            start = number
        elif start is not None:
            blocks.append(Block(start, number))
            start = None
    if start is not None:
        what = "opens a block that is never closed"
        raise _malformed(path, start, what, f"{END} on a line of its own below it")
    return tuple(blocks)


def _markers(path: str, lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield (line number, marker) of every marker line."""
    for number, line in enumerate(lines, start=1):
        found = _MARKER.findall(line)
        if len(set(found)) > 1:
            raise _malformed(path, number, "holds both evolve markers", "each on its own line")
        if found and not _ALONE.fullmatch(line.strip()):
            what = f"holds more than {found[0]} and the comment sign before it"
            raise _malformed(path, number, what, "the marker alone on its line")
        if not found and _ALMOST.fullmatch(line.strip()):
            what = f"reads {line.strip()!r}, which is not quite a marker"
            raise _malformed(path, number, what, f"{START} or {END} in exactly this spelling")
        if found:
            yield number, found[0]


def _malformed(path: str, number: int, what: str, expected: str) -> ConfigError:
    return ConfigError(f"{path}:{number}: the line {what}; expected {expected}")


def _has_code(path: str, marker: str, body: Sequence[str]) -> bool:
    text = "\n".join(body)
    if is_python(path):
        return _has_python(text)
    match = _ALONE.fullmatch(marker.strip())
    lead = match["lead"] if match else ""
    for opening, closing in _BRACKETED.items():
        # C has both kinds of comment, so the bracketed one is not bound to the marker's.
        if opening == lead or (opening == "/*" and lead == "//"):
            text = re.sub(f"{re.escape(opening)}.*?{re.escape(closing)}", "", text, flags=re.DOTALL)
    remark = _remark(lead)
    return any(
        line.strip() and not (remark and line.strip().startswith(remark))
        for line in text.split("\n")
    )


def _remark(lead: str) -> str:
    """Return the shortest sign that makes a line a comment, given one that did; "" if none."""
    if lead in _BRACKETED:
        return ""
    if lead.isalpha():
        return lead
    return lead[:1] if lead[:1] in {*"#;%!'"} else lead[:2]


def _has_python(text: str) -> bool:
    """Return whether a fragment holds more than comments, blanks and docstrings."""
    tokens = tokenize.generate_tokens(io.StringIO(textwrap.dedent(text) + "\n").readline)
    try:
        return any(token.type not in _SPACING | {tokenize.STRING} for token in tokens)
    except (tokenize.TokenError, SyntaxError):
        return True  # a fragment that breaks off inside a bracket or a string is code

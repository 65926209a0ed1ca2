"""The lines of a run's output, as a person at the terminal would have read them."""

from __future__ import annotations

import re

# A lone final byte of a sequence is optional: output that was cut off must not leave the
# sequence's own digits behind as if they had been printed.
_ESCAPE = re.compile(
    r"""\x1b\][^\x07\x1b\r\n]*(?:\x07|\x1b\\)?        # OSC: window title, hyperlink
    | \x1b[PX^_][^\x1b\r\n]*(?:\x1b\\)?               # DCS, SOS, PM, APC
    | (?:\x1b\[|\x9b)[0-?]*[ -/]*(?P<final>[@-~])?    # CSI: colour, cursor, erase
    | \x1b[ -/]*[0-~]?                                # the short ones: character set, reset
    """,
    re.VERBOSE,
)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")  # by far the most frequent
_CONTROL = re.compile(r"[\x00-\x07\x0e-\x1f\x7f-\x9f]")  # all but \b \t and the breaks
_BACKSPACES = re.compile(r"\x08+")
_MOVES_ELSEWHERE = frozenset("ABEFGHdf")  # up, down, a column, a row: another line begins


def clean_lines(raw: bytes) -> list[str]:
    r"""Split output into lines without line ends.

    Bytes that are not UTF-8 become U+FFFD. ``\r`` ends a line just as ``\n`` does, so that a
    progress bar gives one line an update; ``\r\n`` ends one line. ANSI escape sequences and
    control characters are removed (a cursor movement ends a line), backspaces are applied.
    """
    text = raw.decode("utf-8", errors="replace").replace("\r\n", "\n")
    text = _ESCAPE.sub(_replacement, _COLOUR.sub("", text))
    for line_break in "\r\v\f":
        text = text.replace(line_break, "\n")
    text = _CONTROL.sub("", text)
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [_erased(line) if "\b" in line else line for line in lines]


def excerpt(line: str, at: int = 0, width: int = 120) -> str:
    """Return the ``width`` characters of ``line`` around position ``at``, blanks trimmed."""
    line_start = max(0, min(at - width // 3, len(line) - width))
    return line[line_start : line_start + width].strip()


def _replacement(escape: re.Match[str]) -> str:
    final = escape["final"] or ""
    if final in _MOVES_ELSEWHERE:
        return "\n"
    return " " if final == "C" else ""  # C steps over columns


def _erased(line: str) -> str:
    """Apply backspaces; those that end a line only rewind a progress bar before it is redrawn."""
    kept: list[str] = []
    position = 0
    line = line.rstrip("\b")
    for run in _BACKSPACES.finditer(line):
        kept.extend(line[position : run.start()])
        del kept[max(0, len(kept) - len(run[0])) :]
        position = run.end()
    return "".join(kept) + line[position:]

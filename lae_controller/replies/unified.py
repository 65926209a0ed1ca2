"""Unified diffs, written down as SEARCH/REPLACE blocks.

Line numbers are not looked at: models count badly, and the lines themselves tell the place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_OLD = re.compile(r"---[ \t]+(?P<path>\S.*?)(?:\t.*)?[ \t]*")
_NEW = re.compile(r"\+\+\+[ \t]+(?P<path>\S.*?)(?:\t.*)?[ \t]*")
_HUNK = re.compile(r"@@.*")
_FENCE = re.compile(r"[ \t]*(?:`{3,}|~{3,})(\w*)[ \t]*")
_NOTHING = "/dev/null"


def as_blocks(text: str) -> str | None:
    """Return the unified diff in a reply as SEARCH/REPLACE text; None if there is none."""
    reader = _Reader()
    for line in text.splitlines():
        reader.take(line)
    reader.end_hunk()
    return "".join(reader.blocks) or None


class _Reader:
    """Goes through a reply line by line.

    Attributes:
        blocks: what was read so far.
    """

    def __init__(self) -> None:
        self.blocks: list[str] = []
        self._path: str | None = None
        self._last = ""
        self._hunk: list[str] | None = None
        self._in_fence = False

    def take(self, line: str) -> None:
        """Read one line."""
        fence = _FENCE.fullmatch(line)
        if fence:
            self.end_hunk()
            self._in_fence = not self._in_fence
            # A fence that says so holds a diff even without any header.
            self._hunk = [] if fence[1] in ("diff", "patch") else None
        elif _HUNK.fullmatch(line):
            self.end_hunk()
            self._hunk = []
        elif (new := _NEW.fullmatch(line)) and (old := _OLD.fullmatch(self._last)):
            if self._hunk:
                self._hunk.pop()  # the header's first line, taken for one that goes
            self.end_hunk()
            named = old["path"] if new["path"] == _NOTHING else new["path"]
            self._path = re.sub(r"^[ab]/", "", named)
            self._hunk = [] if self._in_fence else None  # where models leave out the @@ line
        elif line.startswith("diff --git ") or self._is_prose(line):
            self.end_hunk()
        elif self._hunk is not None:
            self._hunk.append(line)
        self._last = line

    def _is_prose(self, line: str) -> bool:
        return not self._in_fence and bool(line) and line[0] not in " +-\\"

    def end_hunk(self) -> None:
        """Make a block of the lines since the last ``@@``, if they change anything."""
        lines = [line for line in self._hunk or () if not line.startswith("\\")]
        self._hunk = None
        while lines and not lines[-1].strip():
            lines.pop()
        if any(line[:1] in ("+", "-") for line in lines):
            self.blocks.append(_block(self._path, lines))


def _block(path: str | None, hunk: Sequence[str]) -> str:
    title = [] if path is None else [f"`{path}`"]
    old, new = _side(hunk, "+"), _side(hunk, "-")
    lines = [*title, "<<<<<<< SEARCH", *old, "=======", *new, ">>>>>>> REPLACE"]
    return "".join(f"{line}\n" for line in lines)


def _side(hunk: Sequence[str], other: str) -> Iterator[str]:
    """Yield the lines of one side, without the sign in front."""
    for line in hunk:
        if not line.startswith(other):
            yield line[1:] if line[:1] in ("+", "-", " ") else line

"""Blocks whose markers are misspelt or missing, written down as they were meant.

Understood beside the form that is asked for, with any number of marker characters::

    <<<<<<< ORIGINAL … >>>>>>> UPDATED          other words for the two halves
    <<<<<<< SEARCH … >>>>>>> REPLACE …          no separator: the second half ends at the next
                                                marker, at the end of a code fence or of the reply
    <<<<<<< SEARCH … >>>>>>> SEARCH
    <<<<<<< REPLACE … >>>>>>> REPLACE           each half between markers of its own
    <<<<<<< SEARCH … ======= … ```              the fence that holds the block closes it
    SEARCH … REPLACE …                          words alone, in capitals

A half that is wrapped in a code fence of its own loses it. A reply whose last block is open at
its end although it has a separator is not mended: it may have been cut off.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum, auto

_OLD = r"(?:SEARCH|ORIGINAL|OLD|BEFORE|FIND|CURRENT|HEAD)"
_NEW = r"(?:REPLACE|REPLACEMENT|UPDATED|NEW|AFTER|MODIFIED)"
_BORDER = r"[`*#]{0,4}[ \t]{0,4}"
_FENCE = re.compile(r"(?:`{3,}|~{3,})[\w.+/-]*")


class Mark(Enum):
    """What a line is."""

    TEXT = auto()
    FENCE = auto()
    OPEN_OLD = auto()
    CLOSE_OLD = auto()
    MIDDLE = auto()
    OPEN_NEW = auto()
    CLOSE_NEW = auto()


_PATTERNS = tuple(
    (mark, re.compile(rf"{_BORDER}(?:{pattern})\W{{0,12}}", re.IGNORECASE))
    for mark, pattern in (
        (Mark.OPEN_OLD, rf"(?:<{{2,12}}|-{{5,9}})[ \t]*{_OLD}\b"),
        (Mark.OPEN_NEW, rf"<{{2,12}}[ \t]*{_NEW}\b"),
        (Mark.CLOSE_OLD, rf">{{2,12}}[ \t]*{_OLD}\b"),
        (Mark.CLOSE_NEW, rf"(?:>{{2,12}}|\+{{5,9}})[ \t]*{_NEW}\b|>{{5,12}}"),
        (Mark.MIDDLE, rf"={{5,12}}(?:[ \t]*{_NEW}\b)?"),
    )
)


_BARE = {
    "SEARCH": Mark.OPEN_OLD,
    "SEARCH:": Mark.OPEN_OLD,
    "REPLACE": Mark.OPEN_NEW,
    "REPLACE:": Mark.OPEN_NEW,
}


def mark_of(line: str) -> Mark:
    """Return what one line of a reply is."""
    line = line.strip()
    if _FENCE.fullmatch(line):
        return Mark.FENCE
    if line in _BARE:
        return _BARE[line]
    return next((mark for mark, pattern in _PATTERNS if pattern.fullmatch(line)), Mark.TEXT)


def holds_markers(text: str) -> bool:
    """Say whether a reply holds a marker of a block, however it is spelt; separators aside."""
    plain = (Mark.TEXT, Mark.FENCE, Mark.MIDDLE)
    return any(mark_of(line) not in plain for line in text.splitlines())


class _State(Enum):
    """Where in a block the reader is."""

    OUTSIDE = auto()
    OLD = auto()
    BETWEEN = auto()
    NEW = auto()


class _UnsureError(Exception):
    """It is not certain what was meant."""


def mend_markers(text: str) -> str | None:
    """Return the reply with its blocks in the form that is asked for; None if that is not sure."""
    reader = _Reader()
    try:
        for line in text.splitlines():
            reader.take(line)
        reader.end()
    except _UnsureError:
        return None
    return "".join(f"{line}\n" for line in reader.out)


class _Reader:
    """Goes through a reply line by line.

    Attributes:
        out: the reply as it should have been written.
    """

    def __init__(self) -> None:
        self.out: list[str] = []
        self._state = _State.OUTSIDE
        self._old: list[str] = []
        self._new: list[str] = []
        self._parted = False  # the halves were told apart by a separator or by four markers
        self._in_fence = False  # a code fence is open around the blocks

    def take(self, line: str) -> None:
        """Read one line."""
        steps = {
            _State.OUTSIDE: self._outside,
            _State.OLD: self._in_old,
            _State.BETWEEN: self._between,
            _State.NEW: self._in_new,
        }
        steps[self._state](mark_of(line), line)

    def end(self) -> None:
        """Read the end of the reply."""
        if self._state is _State.NEW and not self._parted:
            self._finish()
        if self._state is not _State.OUTSIDE:
            raise _UnsureError

    def _outside(self, mark: Mark, line: str) -> None:
        if mark is Mark.OPEN_OLD:
            self._begin()
            return
        if mark is Mark.FENCE:
            self._in_fence = not self._in_fence
        if mark is not Mark.MIDDLE:  # the line under a heading
            self.out.append(line)

    def _begin(self) -> None:
        self._state = _State.OLD
        self._old, self._new, self._parted = [], [], False

    def _in_old(self, mark: Mark, line: str) -> None:
        if mark is Mark.MIDDLE:
            self._state, self._parted = _State.NEW, True
        elif mark in (Mark.CLOSE_NEW, Mark.OPEN_NEW):
            self._state = _State.NEW
        elif mark is Mark.CLOSE_OLD:
            self._state = _State.BETWEEN
        elif mark is Mark.OPEN_OLD:
            raise _UnsureError
        else:
            self._old.append(line)

    def _between(self, mark: Mark, line: str) -> None:
        if mark in (Mark.OPEN_NEW, Mark.MIDDLE):
            self._state, self._parted = _State.NEW, True
        elif line.strip() and mark is not Mark.FENCE:
            raise _UnsureError

    def _in_new(self, mark: Mark, line: str) -> None:
        empty = not any(line.strip() for line in self._new)
        if mark in (Mark.CLOSE_NEW, Mark.CLOSE_OLD):
            self._finish()
        elif mark is Mark.OPEN_OLD:
            if self._parted:
                raise _UnsureError
            self._finish()
            self._begin()
        elif mark in (Mark.OPEN_NEW, Mark.MIDDLE) and empty:
            self._parted = True
        elif mark is Mark.FENCE and self._in_fence and not self._wrapped():
            self._finish()
            self._outside(mark, line)
        else:
            self._new.append(line)

    def _wrapped(self) -> bool:
        """Say whether the second half began with a code fence of its own that is still open."""
        return sum(mark_of(line) is Mark.FENCE for line in self._new) % 2 == 1

    def _finish(self) -> None:
        old, new = _unfenced(self._old), _unfenced(self._new)
        if not self._parted and not new:
            raise _UnsureError  # or lines would go because nothing was written in their place
        self.out += ["<<<<<<< SEARCH", *old, "=======", *new, ">>>>>>> REPLACE"]
        self._state = _State.OUTSIDE


def _unfenced(half: Sequence[str]) -> Sequence[str]:
    """Return a half without the code fence around it and the blank lines at its ends."""
    filled = [at for at, line in enumerate(half) if line.strip()]
    if not filled:
        return ()
    first, last = filled[0], filled[-1]
    if first < last and mark_of(half[first]) is mark_of(half[last]) is Mark.FENCE:
        return half[first + 1 : last]
    return half[first : last + 1]

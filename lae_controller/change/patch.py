"""Unified diffs between programs, byte for byte what ``git apply`` takes."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from pathlib import Path

_NO_NEWLINE = "\\ No newline at end of file\n"


def unified(old: Path, new: Path, paths: Iterable[str], prefix: str = "") -> bytes:
    """Return the diff that turns the files of ``old`` into those of ``new``.

    Args:
        paths: files to compare; one that ``old`` lacks is a new file.
        prefix: put before every path, such as ``models/`` for a project inside a repository.
    """
    parts = [_one(old / path, new / path, _as_bytes(prefix + path)) for path in sorted(paths)]
    return "".join(parts).encode("latin-1")


def _as_bytes(name: str) -> str:
    """Return a name as its UTF-8 bytes, one character each, like the contents."""
    return name.encode("utf-8", "surrogateescape").decode("latin-1")


def _one(old: Path, new: Path, name: str) -> str:
    before, after = _text(old), _text(new)
    if before == after:
        return ""
    head = f"diff --git a/{name} b/{name}\n"
    source = f"a/{name}"
    if before is None:
        head += "new file mode 100644\n"
        source = "/dev/null"
    target = f"b/{name}"
    if after is None:
        head += "deleted file mode 100644\n"
        target = "/dev/null"
    lines = difflib.unified_diff(_lines(before), _lines(after), source, target, n=3)
    return head + "".join(
        line if line.endswith("\n") else line + "\n" + _NO_NEWLINE for line in lines
    )


def _text(path: Path) -> str | None:
    """Read bytes as they are: latin-1 gives every byte a character and back."""
    return path.read_bytes().decode("latin-1") if path.is_file() else None


def _lines(text: str | None) -> list[str]:
    lines = (text or "").split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def repository_prefix(root: Path) -> str:
    """Return where ``root`` lies in its git repository (``models/``); empty at the top or outside.

    ``git apply`` takes paths from the top of the repository, wherever it is called.
    """
    root = root.resolve()
    for folder in (root, *root.parents):
        if (folder / ".git").exists():
            inside = os.path.relpath(root, folder)
            return "" if inside == "." else Path(inside).as_posix() + "/"
    return ""

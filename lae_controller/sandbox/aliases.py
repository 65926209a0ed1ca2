"""Other paths under which Python would find the project itself, such as a second mount of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path


def other_paths(root: Path, python: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the real paths, other than ``root``, that are the project's own directory.

    An editable install writes down the path by which it was made. Links to the root need nothing:
    they lead to wherever the child is shown. Another mount of the same directory does not.

    Args:
        root: the project root, resolved.
        python: the interpreter that trains; its ``.pth`` files are read.
        environ: of the training command; its ``PYTHONPATH`` is read.
    """
    found: dict[Path, None] = {}
    for entry in (*_of_path_files(python), *environ.get("PYTHONPATH", "").split(os.pathsep)):
        if Path(entry).is_absolute():
            for place in (Path(entry), *Path(entry).parents):
                real = place.resolve()
                if real != root and _is_same(real, root):
                    found[real] = None
    return tuple(found)


def _of_path_files(python: Path) -> Iterator[str]:
    """Yield the directories that the interpreter's ``.pth`` files add."""
    for library in (python.parent.parent / "lib").glob("python3*/site-packages"):
        for path in sorted(library.glob("*.pth")):
            yield from _lines(path)


def _lines(path: Path) -> Iterable[str]:
    try:
        return [line.strip() for line in path.read_text("utf-8", "replace").splitlines()]
    except OSError:
        return []


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False

"""The snapshot ``base/``: harness and baseline as they were when the run began.

Sources are real copies, never links: Python resolves a linked script to its original folder,
and the child's own modules would be ignored. Only large read-only data is linked.
"""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from lae_controller.errors import ConfigError
from lae_controller.files import copy_file, make_folder, remove_tree, sha256_of

LARGE_BYTES = 8 << 20
"""A file above this that is not code is data: linked, not copied."""

CROWD = 1000
"""A directory with more files than this, none of them code, is data too."""

LIMIT_BYTES = 1 << 30
"""More than this in real copies per program is refused: a thousand children would fill a disk."""

_SKIPPED_NAMES = frozenset(
    ".git .hg .svn .bzr __pycache__ .mypy_cache .pytest_cache .ruff_cache .ipynb_checkpoints "
    "node_modules .tox .nox .eggs .hypothesis .DS_Store "
    ".claude .agents .codex .gemini .opencode .cursor".split()  # of coding agents, this skill's too
)
_CODE_SUFFIXES = frozenset(
    ".py .pyi .pyx .pxd .ipynb .c .cc .cpp .cxx .cu .cuh .h .hpp .sh .rs .go .js .ts .jl .lua .r "
    ".java .yaml .yml .toml .cfg .ini".split()
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One path of the snapshot.

    Attributes:
        path: relative to the project root, POSIX.
        kind: ``copy``; ``link`` to data outside the program; ``inner`` link within it.
        target: where a link points; empty for copies.
        size: bytes of a copy, 0 for links.
        sha256: content of a copy, empty for links.
    """

    path: str
    kind: str
    target: str = ""
    size: int = 0
    sha256: str = ""

    @property
    def is_environment(self) -> bool:
        """Whether it leads to a Python environment, which belongs to one machine and is no data."""
        return self.kind == "link" and _is_environment(Path(self.target))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a program directory is made of.

    Attributes:
        entries: in path order.
        notes: what was left out or linked, and why; shown to the user once.
    """

    entries: tuple[Entry, ...]
    notes: tuple[str, ...]

    def copies(self) -> dict[str, Entry]:
        """Return the entries that are real files, by path."""
        return {entry.path: entry for entry in self.entries if entry.kind == "copy"}

    def to_json(self) -> dict[str, Any]:
        """Return plain data for ``base.json``."""
        return {"entries": [asdict(entry) for entry in self.entries], "notes": list(self.notes)}

    @staticmethod
    def from_json(value: dict[str, Any]) -> Snapshot:
        """Read what ``to_json`` wrote."""
        entries = tuple(Entry(**entry) for entry in value["entries"])
        return Snapshot(entries, tuple(value["notes"]))


def survey(
    root: Path,
    *,
    data_paths: Iterable[str] = (),
    leave_out: Iterable[str] = (),
    skip: Iterable[Path] = (),
) -> Snapshot:
    """List what a program of the project at ``root`` consists of, without writing anything.

    Args:
        root: the project.
        data_paths: paths or globs to link instead of copying.
        leave_out: paths or globs that belong to no program (outputs, excludes).
        skip: directories that are passed over silently (the sandbox).

    Raises:
        ConfigError: if the copies of one program would be larger than ``LIMIT_BYTES``.
    """
    walk = _Walk(root.resolve(), tuple(data_paths), tuple(leave_out), {p.resolve() for p in skip})
    entries = sorted(walk.folder(root.resolve()), key=lambda entry: entry.path)
    total = sum(entry.size for entry in entries)
    if total > LIMIT_BYTES:
        largest = max(entries, key=lambda entry: entry.size)
        raise ConfigError(
            f"{root}: one program would copy {total >> 20} MiB (largest: {largest.path}); expected "
            f"at most {LIMIT_BYTES >> 20} MiB. Name data in data_paths, run products in exclude"
        )
    return Snapshot(tuple(entries), tuple(walk.notes))


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Say whether ``path`` is one of ``patterns``, lies below one, or fits a glob."""
    parts = PurePosixPath(path).parts
    heads = ["/".join(parts[: n + 1]) for n in range(len(parts))]
    for pattern in patterns:
        plain = pattern.rstrip("/").removeprefix("./")
        if any(head == plain or fnmatch.fnmatchcase(head, plain) for head in heads):
            return True
        if "/" not in plain and any(fnmatch.fnmatchcase(part, plain) for part in parts):
            return True
        if plain.startswith("**/") and fnmatch.fnmatchcase(path, plain[3:]):
            return True
    return False


class _Walk:
    """One pass over the project; collects notes on the way."""

    def __init__(
        self, root: Path, data: tuple[str, ...], leave_out: tuple[str, ...], skip: set[Path]
    ) -> None:
        self.root = root
        self.data = data
        self.leave_out = leave_out
        self.skip = skip
        self.notes: list[str] = []

    def folder(self, folder: Path) -> Iterator[Entry]:
        """Yield the entries below ``folder``."""
        for item in sorted(os.scandir(folder), key=lambda found: found.name):
            path = Path(item.path)
            name = path.relative_to(self.root).as_posix()
            if item.name in _SKIPPED_NAMES or path in self.skip or matches(name, self.leave_out):
                continue
            if matches(name, self.data):
                yield Entry(name, "link", str(path.resolve()))
            elif item.is_symlink():
                yield from self._link(path, name)
            elif item.is_dir():
                yield from self._subfolder(path, name)
            elif item.is_file():
                yield self._file(path, name)
            else:
                self.notes.append(f"{name}: not a plain file; left out")

    def _subfolder(self, path: Path, name: str) -> Iterator[Entry]:
        if _is_environment(path):
            yield Entry(name, "link", str(path))
        elif _is_crowd(path):
            self.notes.append(f"{name}/: more than {CROWD} files and no code; linked as data")
            yield Entry(name, "link", str(path))
        else:
            yield from self.folder(path)

    def _file(self, path: Path, name: str) -> Entry:
        size = path.stat().st_size
        if size > LARGE_BYTES and path.suffix.lower() not in _CODE_SUFFIXES:
            self.notes.append(f"{name}: {size >> 20} MiB and not code; linked as data")
            return Entry(name, "link", str(path))
        return Entry(name, "copy", size=size, sha256=sha256_of(path))

    def _link(self, path: Path, name: str) -> Iterator[Entry]:
        target = path.resolve()
        if not target.exists():
            self.notes.append(f"{name}: a link to {path.readlink()} that leads nowhere; left out")
        elif target.is_relative_to(self.root):
            inner = os.path.relpath(target, path.parent.resolve())
            yield Entry(name, "inner", inner)
        elif target.is_file():
            entry = self._file(target, name) if _regular(target) else None
            if entry is not None:
                yield replace(entry, target=str(target)) if entry.kind == "link" else entry
        else:
            self.notes.append(f"{name}/: a link out of the project; linked as data")
            yield Entry(name, "link", str(target))


def _regular(path: Path) -> bool:
    return stat.S_ISREG(path.stat().st_mode)


def _is_crowd(folder: Path) -> bool:
    count = 0
    for _, _, names in os.walk(folder):
        if any(Path(name).suffix.lower() in _CODE_SUFFIXES for name in names):
            return False
        count += len(names)
        if count > CROWD:
            return True
    return False


def take(root: Path, snapshot: Snapshot, base: Path) -> None:
    """Write the copies of ``snapshot`` below ``base``, whole or not at all."""
    aside = base.with_name(base.name + ".new")
    remove_tree(aside)
    make_folder(aside)
    for entry in snapshot.entries:
        if entry.kind == "copy":
            target = aside / entry.path
            make_folder(target.parent)
            copy_file((root / entry.path).resolve(), target)
    remove_tree(base)
    aside.rename(base)


def _is_environment(folder: Path) -> bool:
    return (folder / "pyvenv.cfg").exists()

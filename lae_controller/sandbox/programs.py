"""Program directories: self-contained, runnable copies of one version of the code."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from lae_controller.change.diff import is_editable
from lae_controller.change.source import read_source, write_source
from lae_controller.errors import ChildError, ConfigError
from lae_controller.files import copy_file, make_folder, remove_tree
from lae_controller.program import Files, Reason
from lae_controller.sandbox.snapshot import Snapshot

_NEVER_ADDED = frozenset(["__pycache__", ".git"])
_ADDED_BYTES = 4 << 20


def build(snapshot: Snapshot, base: Path, directory: Path, files: Files | None = None) -> None:
    """Make ``directory`` a fresh program: the snapshot with ``files`` laid over it.

    Args:
        files: editable and added files; None for the baseline's own.
    """
    remove_tree(directory)
    make_folder(directory)
    made = {directory}
    for entry in snapshot.entries:
        place = directory / entry.path
        if place.parent not in made:
            make_folder(place.parent)
            made.add(place.parent)
        if entry.kind == "copy":
            copy_file(base / entry.path, place)
        else:
            place.symlink_to(entry.target)
    for path, text in sorted((files or {}).items()):
        make_folder((directory / path).parent)
        write_source(directory / path, text)


def clone(program: Path, directory: Path) -> None:
    """Copy a program directory as it is (links stay links): the throw-away copy that is run."""
    remove_tree(directory)
    make_folder(directory)
    for folder, subfolders, names in os.walk(program):
        here = directory / Path(folder).relative_to(program)
        for name in subfolders:
            _clone_folder(Path(folder) / name, here / name)
        for name in names:
            source = Path(folder) / name
            if source.is_symlink():
                (here / name).symlink_to(source.readlink())
            else:
                copy_file(source, here / name)


def _clone_folder(source: Path, target: Path) -> None:
    if source.is_symlink():
        target.symlink_to(source.readlink())
    else:
        target.mkdir()


def editable_paths(snapshot: Snapshot, patterns: Iterable[str]) -> list[str]:
    """Return the snapshot's files that may be changed, in path order.

    Raises:
        ConfigError: if a pattern fits nothing, or something that is only linked.
    """
    copies = snapshot.copies()
    chosen: set[str] = set()
    for pattern in patterns:
        found = [path for path in copies if _is_meant(path, pattern)]
        if not found:
            raise ConfigError(_unmatched(snapshot, pattern))
        chosen.update(found)
    return sorted(chosen)


def _is_meant(path: str, pattern: str) -> bool:
    """Say whether an entry of ``editable_files`` means this path: a glob, or a whole folder."""
    folder = pattern.removeprefix("./").rstrip("/")
    return is_editable(path, [folder]) or is_editable(path, [f"{folder}/**"])


def _unmatched(snapshot: Snapshot, pattern: str) -> str:
    if any(_is_meant(entry.path, pattern) for entry in snapshot.entries):
        return (
            f"loop.run.yaml: editable_files holds {pattern!r}, which is linked as data; expected "
            "source files. Take it out of data_paths, or choose another file"
        )
    return (
        f"loop.run.yaml: editable_files holds {pattern!r}, but the project has no such file; "
        "expected a path or glob relative to the project root"
    )


def read_program(directory: Path, snapshot: Snapshot, editable: Iterable[str]) -> Files:
    """Return the program's own texts: its editable files and those that were added to it.

    Raises:
        ChildError: OUT_OF_BOUNDS if one of them is no text.
    """
    paths = set(editable) | set(added_paths(directory, snapshot))
    try:
        return {path: read_source(directory / path) for path in sorted(paths)}
    except ConfigError as error:
        raise ChildError(Reason.OUT_OF_BOUNDS, str(error)) from None


def added_paths(directory: Path, snapshot: Snapshot) -> list[str]:
    """Return the files and links of a program directory that the snapshot does not have."""
    known = {entry.path for entry in snapshot.entries}
    added: list[str] = []
    for folder, subfolders, names in os.walk(directory):
        here = Path(folder)
        links = [name for name in subfolders if (here / name).is_symlink()]
        subfolders[:] = [name for name in subfolders if name not in {*links, *_NEVER_ADDED}]
        for name in [*names, *links]:
            path = (here / name).relative_to(directory).as_posix()
            if path not in known:
                added.append(path)
    return sorted(added)


def check_bounds(directory: Path, snapshot: Snapshot, base: Path, editable: Iterable[str]) -> None:
    """Check that a program differs from the snapshot in editable and added files only.

    Raises:
        ChildError: HARNESS_CHANGED if a file of the harness was changed, removed or replaced by a
            link; OUT_OF_BOUNDS if a data link was changed, or something was added that is no
            plain file of a size that source code has.
    """
    allowed = set(editable)
    for entry in snapshot.entries:
        place = directory / entry.path
        if entry.kind != "copy":
            if not place.is_symlink() or str(place.readlink()) != entry.target:
                raise ChildError(Reason.OUT_OF_BOUNDS, f"{entry.path}: the link was changed")
        elif place.is_symlink() or not place.is_file():
            raise ChildError(Reason.HARNESS_CHANGED, f"{entry.path}: no longer a plain file")
        elif entry.path not in allowed and place.read_bytes() != (base / entry.path).read_bytes():
            raise ChildError(
                Reason.HARNESS_CHANGED,
                f"{entry.path}: not an editable file, but its content changed",
            )
    for path in added_paths(directory, snapshot):
        place = directory / path
        if place.is_symlink():
            raise ChildError(Reason.OUT_OF_BOUNDS, f"{path}: a link was added; expected a file")
        if not place.is_file():  # to open a pipe would wait for ever
            raise ChildError(Reason.OUT_OF_BOUNDS, f"{path}: was added but is no plain file")
        if place.stat().st_size > _ADDED_BYTES:
            size = place.stat().st_size >> 20
            raise ChildError(
                Reason.OUT_OF_BOUNDS,
                f"{path}: a file of {size} MiB was added; expected source code, at most "
                f"{_ADDED_BYTES >> 20} MiB",
            )

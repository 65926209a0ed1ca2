"""Files as one value that can travel: relative paths, permission bits, content."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from lae_controller.errors import PrerequisiteError
from lae_controller.files import make_folder, remove_tree


@dataclass(frozen=True, slots=True)
class Packed:
    """One plain file.

    Attributes:
        path: relative, POSIX.
        mode: permission bits.
    """

    path: str
    mode: int
    data: bytes


Pack = tuple[Packed, ...]


def pack(root: Path, paths: Iterable[str]) -> Pack:
    """Return the plain files at ``paths`` below ``root``; links and all else are left out."""
    packed = []
    for path in paths:
        place = root / path
        if place.is_file() and not place.is_symlink():
            packed.append(Packed(path, place.stat().st_mode & 0o777, place.read_bytes()))
    return tuple(packed)


def files_below(root: Path) -> list[str]:
    """Return the paths of all files below ``root``, in order; linked folders are not entered."""
    found = []
    for folder, _, names in os.walk(root):
        found += [Path(folder, name).relative_to(root).as_posix() for name in names]
    return sorted(found)


def digest_of(packed: Pack) -> str:
    """Return what tells one pack from another: paths, modes and content."""
    whole = hashlib.sha256()
    for each in packed:
        whole.update(f"{each.path}\0{each.mode}\0{len(each.data)}\0".encode())
        whole.update(each.data)
    return whole.hexdigest()


def unpack(packed: Pack, target: Path) -> None:
    """Write the files below ``target``, over what is there.

    Raises:
        PrerequisiteError: if a path leads out of ``target``; nothing after it is written.
    """
    for each in packed:
        place = target / inside(each.path)
        make_folder(place.parent)
        place.unlink(missing_ok=True)
        place.write_bytes(each.data)
        place.chmod(each.mode)


def inside(path: str) -> PurePosixPath:
    """Return a path that another machine named, checked to stay inside its folder.

    Raises:
        PrerequisiteError: if it does not.
    """
    found = PurePosixPath(path)
    if found.is_absolute() or ".." in found.parts:
        raise PrerequisiteError(
            f"{path}: a file that came from another machine names a path outside of its folder; "
            "expected a relative one. Was that machine tampered with?"
        )
    return found


def unpack_once(packed: Pack, target: Path) -> None:
    """Make ``target`` hold the pack, whole or not at all, whoever else does the same now."""
    aside = target.with_name(f".{target.name}.{os.getpid()}.new")
    remove_tree(aside)
    make_folder(aside)
    unpack(packed, aside)
    try:
        aside.rename(target)
    except OSError:  # another process was first, with the same content
        remove_tree(aside)
        if not target.is_dir():
            raise


def write_pieces(target: Path, mode: int, pieces: Iterable[bytes]) -> None:
    """Write a file that comes in pieces; if they break off, it is not there at all."""
    make_folder(target.parent)
    part = target.with_name(f".{target.name}.part")
    try:
        with part.open("wb") as stream:
            stream.writelines(pieces)
        part.chmod(mode)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)

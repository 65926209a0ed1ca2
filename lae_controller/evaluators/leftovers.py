"""What a training run leaves in its copy, and what of the project is such a leftover itself."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_CHECKPOINTS = frozenset(".pt .pth .ckpt .pkl .h5 .keras .safetensors .msgpack .joblib".split())


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What a run wrote, by path.

    Attributes:
        created: files that the program did not have.
        stale: files of the program that the run wrote over, or would resume from: products of
            earlier runs. A child that was given them would be scored on its parent's training.
    """

    created: tuple[str, ...]
    stale: tuple[str, ...]


def find_leftovers(work: Path, program: Path, exempt: Collection[str]) -> Leftovers:
    """Compare the copy in which a run was made with the program it was made from.

    Args:
        exempt: files that differ for another reason: edited ones, those that take the budget.
    """
    created, changed = _written(work, program)
    stale = [path for path in changed if path not in exempt]
    for path in [*created, *stale]:
        folder, suffix = program / PurePosixPath(path).parent, PurePosixPath(path).suffix
        if suffix in _CHECKPOINTS and folder.is_dir():
            siblings = folder.glob(f"*{suffix}")
            stale += [item.relative_to(program).as_posix() for item in siblings]
    return Leftovers(tuple(created), tuple(sorted(set(stale))))


def _written(work: Path, program: Path) -> tuple[list[str], list[str]]:
    """Return the files a run created, and those of the program that it changed."""
    created, changed = [], []
    for folder, subfolders, names in os.walk(work):
        subfolders[:] = [name for name in subfolders if name != "__pycache__"]
        for name in names:
            path = Path(folder, name)
            relative = path.relative_to(work).as_posix()
            original = program / relative
            if path.is_symlink() or original.is_symlink():
                continue  # data: linked in the program, a mount point in the copy that ran
            if not original.exists():
                created.append(relative)
            elif path.suffix != ".py" and path.read_bytes() != original.read_bytes():
                changed.append(relative)
    return sorted(created), sorted(changed)

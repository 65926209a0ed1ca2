"""What every node must know of a run to evaluate its children, as one value."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lae_controller.config import Settings
from lae_controller.evaluators import Evaluator
from lae_controller.sandbox.snapshot import Snapshot

PACKAGE = Path(__file__).resolve().parent.parent

Evaluators = Callable[..., Evaluator]
"""Makes an Evaluator on the machine where it is called (see ``build.evaluator_for``)."""


@dataclass(frozen=True, slots=True)
class Data:
    """Linked data that every node must have.

    Attributes:
        path: in the program.
        target: where it lies on the controller's machine.
        signature: names and sizes of its files, see ``signature``.
    """

    path: str
    target: str
    signature: str


@dataclass(frozen=True, slots=True)
class Recipe:
    """A run as nodes need it; the same for all its children.

    Attributes:
        key: what tells it from other recipes, and this session from others.
        settings: with the paths of the controller's machine.
        evaluators: makes the Evaluator there.
        threads: environment that bounds the threads of one child.
        base, scoring, withheld: digests of the packs of the harness, of what the scoring mode
            keeps, and of what no program may hold; empty if there is nothing.
        code: of this package, which must be the same everywhere.
        lae_dir: the sandbox on the controller's machine; hidden from runs where it can be seen.
        silence: seconds without a sign of the controller after which work ends.
    """

    key: str
    settings: Settings
    snapshot: Snapshot
    editable: tuple[str, ...]
    evaluators: Evaluators
    threads: Mapping[str, str]
    base: str
    scoring: str
    withheld: str
    data: tuple[Data, ...]
    code: str
    lae_dir: Path
    silence: float


def data_of(snapshot: Snapshot) -> tuple[Data, ...]:
    """Return the linked data of a snapshot, Python environments left out."""
    return tuple(
        Data(entry.path, entry.target, signature(Path(entry.target)))
        for entry in snapshot.entries
        if entry.kind == "link" and not entry.is_environment
    )


def signature(path: Path) -> str:
    """Return a digest of the names and sizes of all files at ``path``; empty if it is not there.

    Content is not read: data may be large, and a node with another data set of equal names and
    sizes is not what this has to find.
    """
    if path.is_file():
        return f"file {path.stat().st_size}"
    if not path.is_dir():
        return ""
    whole = hashlib.sha256()
    for folder, subfolders, names in os.walk(path):
        subfolders.sort()
        for name in sorted(names):
            place = Path(folder, name)
            size = place.stat().st_size if place.is_file() else -1
            whole.update(f"{place.relative_to(path).as_posix()}\0{size}\0".encode())
    return whole.hexdigest()


def code_digest() -> str:
    """Return a digest of this package's own code."""
    whole = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        whole.update(f"{path.relative_to(PACKAGE).as_posix()}\0".encode())
        whole.update(path.read_bytes())
    return whole.hexdigest()

"""What the operators see of a task: the parent and its inspirations, parsed once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from lae_controller.mutators.python_scalars import python_scalars
from lae_controller.mutators.scalar import Scalar
from lae_controller.mutators.sources import (
    PYTHON,
    Source,
    editable_sources,
    reference_sources,
)
from lae_controller.mutators.yaml_scalars import yaml_scalars
from lae_controller.task import Inspiration, Task


@dataclass(frozen=True, slots=True)
class Other:
    """An inspiration, parsed.

    Attributes:
        sources: its files by path.
        scalars: its literals by (path, key).
    """

    inspiration: Inspiration
    sources: dict[str, Source]
    scalars: dict[tuple[str, tuple[str, ...]], Scalar]


@dataclass(frozen=True)  # no slots: what only some operators ask for is parsed when they do
class View:
    """One task as the operators see it.

    Attributes:
        sources: files that may be edited.
        scalars: literals in them that may change.
    """

    task: Task
    sources: tuple[Source, ...]
    scalars: tuple[Scalar, ...]

    @cached_property
    def program(self) -> tuple[Source, ...]:
        """Every file of the parent that can be read, to learn names from."""
        return reference_sources(self.task.files)

    @cached_property
    def others(self) -> tuple[Other, ...]:
        """The inspirations."""
        return tuple(_other(inspiration) for inspiration in self.task.inspirations)


def view_of(task: Task) -> View:
    """Parse the parent of a task."""
    sources = editable_sources(task)
    return View(task, sources, open_scalars(sources, task.protected))


def open_scalars(sources: Iterable[Source], protected: tuple[str, ...]) -> tuple[Scalar, ...]:
    """Return the literals that may change, in order."""
    return tuple(
        scalar
        for source in sources
        for scalar in scalars_of(source)
        if source.is_open(scalar.start, scalar.end) and not _is_protected(scalar.key, protected)
    )


def scalars_of(source: Source) -> list[Scalar]:
    """Return the literals of one file, in order."""
    return python_scalars(source) if source.path.endswith(PYTHON) else yaml_scalars(source)


def _is_protected(key: tuple[str, ...], entries: tuple[str, ...]) -> bool:
    """Say whether an entry names this key path or one that holds it, as ``seed`` does a list."""
    parts = (tuple(entry.split(".")) for entry in entries)
    return any(
        key[at : at + len(part)] == part for part in parts for at in range(len(key) - len(part) + 1)
    )


def _other(inspiration: Inspiration) -> Other:
    sources = reference_sources(inspiration.files)
    scalars = [scalar for source in sources for scalar in scalars_of(source)]
    return Other(
        inspiration,
        {source.path: source for source in sources},
        {(scalar.path, scalar.key): scalar for scalar in scalars},
    )

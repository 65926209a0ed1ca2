"""Textual edits: what an operator proposes and how it is put into the files."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lae_controller.program import Files, Intervention


@dataclass(frozen=True, slots=True)
class Splice:
    """Replacement of ``text[start:end]`` of one file, counted in characters."""

    path: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Edit:
    """One proposed change; its splices do not overlap."""

    splices: tuple[Splice, ...]
    summary: str
    intervention: Intervention


@dataclass(frozen=True, slots=True)
class Site:
    """A place where an operator can act.

    Attributes:
        weight: how often it is drawn, relative to the operator's other sites.
        draw: proposes one edit there; None if this draw leads to nothing.
    """

    weight: float
    intervention: Intervention
    draw: Callable[[random.Random], Edit | None]


def splice(files: Files, splices: Iterable[Splice]) -> dict[str, str]:
    """Return all ``files`` with the splices made; offsets are those of the given texts."""
    after = dict(files)
    for part in sorted(splices, key=lambda part: (part.path, part.start), reverse=True):
        text = after[part.path]
        after[part.path] = text[: part.start] + part.text + text[part.end :]
    return after

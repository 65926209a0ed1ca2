"""What a tracker is given: one entry per child, as plain names, numbers and texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Run:
    """What all entries of one search have in common.

    Attributes:
        key: tells this run from every other; the same after it was resumed.
        name: of the project.
        params: the settings that decide what was compared; no secrets.
    """

    key: str
    name: str
    metric: str
    params: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Entry:
    """One child.

    Attributes:
        order: 0 for the baseline, then counted in the order in which children were told.
        revision: how many later events changed it: further runs, an acceptance.
        failed: whether it crashed.
        params: how it was made.
        tags: where it stands and what became of it.
        metrics: numbers by name; ``<metric>`` is the mean of its full runs.
        curve_name: of ``curve``; empty if it left none.
        curve: (step, value) pairs of its full run.
        summary: what it changed, in a line.
        diff: the same as a unified diff against its parent; empty for the baseline.
    """

    child_id: str
    order: int
    revision: int
    failed: bool
    params: Mapping[str, str]
    tags: Mapping[str, str]
    metrics: Mapping[str, float]
    curve_name: str
    curve: tuple[tuple[float, float], ...]
    summary: str
    diff: str

    @property
    def steps(self) -> tuple[tuple[int, float], ...]:
        """The curve with whole steps: its own if they are whole, else counted from 1."""
        if all(step == int(step) for step, _ in self.curve):
            return tuple((int(step), value) for step, value in self.curve)
        return tuple((number, value) for number, (_, value) in enumerate(self.curve, start=1))

"""What the journal tells of each child, event by event: the source of all entries."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lae_controller.codec import decode
from lae_controller.ledger import Event
from lae_controller.noise import mean_of
from lae_controller.program import Direction, Record, is_baseline, parse_child_id
from lae_controller.rows import cell_text


@dataclass(slots=True)
class Chapter:
    """One child so far.

    Attributes:
        order: see ``Entry.order``.
        cell: as in ``history.tsv``.
        runs: its metric on each training seed; empty if it has none.
        best: the best metric of all children up to this one, when it was told.
        revision: see ``Entry.revision``.
        standing: what became of it after it was told: ``accepted``, ``withdrawn``; else empty.
    """

    record: Record
    order: int
    kept: bool
    cell: str
    runs: tuple[float, ...]
    best: float | None
    revision: int = 0
    standing: str = ""

    @property
    def metric(self) -> float | None:
        """The mean over its runs; None without any."""
        return mean_of(self.runs) if self.runs else None


@dataclass(slots=True)
class Story:
    """All children in the order in which they were told; the baseline once."""

    direction: Direction
    chapters: dict[str, Chapter] = field(default_factory=dict)

    def take(self, events: Iterable[Event]) -> list[str]:
        """Take in events; return the ids of the children that are new or changed, in order."""
        touched: dict[str, None] = {}
        for event in events:
            touched.update(dict.fromkeys(self._one(event)))
        return sorted(touched, key=lambda child: self.chapters[child].order)

    def _one(self, event: Event) -> Iterator[str]:
        kind = event["event"]
        if kind == "told":
            yield from self._told(event)
        elif kind == "restored":
            for child in event["children"]:
                yield from self._told(child)
        elif kind == "rerun" and event["child_id"] in self.chapters:
            runs = tuple(event["repeats"])
            standing = "" if runs else "withdrawn"
            yield self._revise(event["child_id"], runs, standing)
        elif kind == "accept" and event["child_id"] in self.chapters:
            chapter = self.chapters[event["child_id"]]
            yield self._revise(event["child_id"], chapter.runs, "accepted")

    def _told(self, event: Event) -> Iterator[str]:
        record = decode(Record, event["record"])
        child = record.child_id
        if (is_baseline(child) and parse_child_id(child)[1] > 0) or child in self.chapters:
            return
        runs = record.repeats or ((record.metric,) if record.metric is not None else ())
        order = len(self.chapters)
        cell = cell_text(tuple(event["cell"]) if event["cell"] is not None else None)
        best = self._best(record)
        self.chapters[child] = Chapter(record, order, event["kept"], cell, runs, best)
        yield child

    def _best(self, record: Record) -> float | None:
        """Return the best metric with this child; one that was held back does not count."""
        last = next(reversed(self.chapters.values())).best if self.chapters else None
        if record.metric is None or record.reason is not None:
            return last
        if last is None:
            return record.metric
        return max(record.metric, last, key=self.direction.fitness)

    def _revise(self, child: str, runs: tuple[float, ...], standing: str) -> str:
        chapter = self.chapters[child]
        chapter.runs = runs
        chapter.standing = standing or chapter.standing
        chapter.revision += 1
        return child


class Tail:
    """Reads a journal as it grows, whole lines only."""

    def __init__(self, journal: Path) -> None:
        self._journal = journal
        self._read = 0

    def new(self) -> list[Event]:
        """Return the events that came since the last call.

        Raises:
            ValueError: if a line is no JSON.
        """
        try:
            with self._journal.open("rb") as stream:
                stream.seek(self._read)
                found = stream.read()
        except FileNotFoundError:
            return []
        end = found.rfind(b"\n") + 1
        self._read += end
        return [json.loads(line) for line in found[:end].splitlines()]

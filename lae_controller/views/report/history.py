"""The journal of a run, read once more: every child told, and who was best when, at what cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any

from lae_controller.codec import decode
from lae_controller.errors import ConfigError, LedgerError
from lae_controller.ledger import Event
from lae_controller.parts import Core
from lae_controller.program import Cell, Direction, Record, Status, Usage, added
from lae_controller.state import RunState


@dataclass(frozen=True, slots=True)
class Cost:
    """What something took.

    Attributes:
        runs: full runs, as they are charged.
        seconds: wall-clock of training.
        calls: of models.
        tokens_in: prompt tokens that were neither read from nor written to a cache.
        tokens_cached: the other prompt tokens.
        tokens_out: thinking included.
        usd: of the calls whose price is known.
        unpriced: how many calls it is not known of.
    """

    runs: float = 0.0
    seconds: float = 0.0
    calls: float = 0.0
    tokens_in: float = 0.0
    tokens_cached: float = 0.0
    tokens_out: float = 0.0
    usd: float = 0.0
    unpriced: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        """Return both together."""
        return Cost(*(a + b for a, b in zip(_all(self), _all(other), strict=True)))

    def __sub__(self, other: Cost) -> Cost:
        """Return what this took beyond an earlier sum."""
        return Cost(*(a - b for a, b in zip(_all(self), _all(other), strict=True)))

    def per(self, count: int) -> Cost | None:
        """Return the share of one of ``count``; None if there are none."""
        return Cost(*(value / count for value in _all(self))) if count else None


_all = attrgetter(*(entry.name for entry in fields(Cost)))  # astuple copies deeply, and slowly


def cost_of(record: Record) -> Cost:
    """Return what one child took, its further runs before it was told included."""
    return _cost(record.charge, record.seconds, added(record.usage, record.grading))


def _cost_of_run(event: Mapping[str, Any]) -> Cost:
    """Return what a further run took, by its event; older ledgers hold less of it."""
    paid = event.get("grading")
    usage = decode(Usage, paid) if paid is not None else None
    return _cost(event.get("charge", 0.0), event.get("seconds", 0.0), usage)


def _cost(charge: float, seconds: float, usage: Usage | None) -> Cost:
    if usage is None:
        return Cost(charge, seconds)
    return Cost(
        charge,
        seconds,
        usage.calls,
        usage.input_tokens,
        usage.cache_read_tokens + usage.cache_write_tokens,
        usage.output_tokens,
        usage.cost_usd or 0.0,
        usage.calls if usage.cost_usd is None else 0,
    )


@dataclass(frozen=True, slots=True)
class Child:
    """One child as it was told.

    Attributes:
        number: counted from 1 in the order of the telling; 0 for the baseline.
        spent: by the whole run, once it was told.
        elapsed: active seconds of the run by then.
    """

    record: Record
    kept: bool
    cell: Cell | None
    number: int
    spent: Cost
    elapsed: float


@dataclass(frozen=True, slots=True)
class Best:
    """Who was the best program from some moment on.

    Attributes:
        number: of the child told last by then.
        runs: on how many seeds the metric is the mean.
        gain: by how much fitness rose over the best before; below 0 when further runs lowered it.
        accepted: whether a child took the lead by being told (or accepted), not by further runs.
    """

    number: int
    child_id: str
    metric: float
    runs: int
    gain: float
    accepted: bool
    spent: Cost
    elapsed: float


@dataclass
class History:
    """What the journal holds, as far as the report shows it.

    Attributes:
        state: the fold of all events.
        children: in the order in which they were told, the baseline first.
        bests: in the order of time, the first from the baseline on.
        baseline: what all runs of it took before the search.
        further: what further runs of told programs took, and how many they were.
        claims: the same of runs on fresh seeds.
        tests: the same of the held-out test, which no budget of runs pays for.
        withdrawn: programs that failed in a further run and left the archive.
        begun: when the first child was asked for, as it was written down; empty if it was not.
        latest: the same of the last child asked for.
        ended: why the last session ended; None if nothing says so: it runs, or was cut off.
    """

    state: RunState
    children: list[Child] = field(default_factory=list)
    bests: list[Best] = field(default_factory=list)
    baseline: Cost = Cost()
    further: Cost = Cost()
    further_runs: int = 0
    claims: Cost = Cost()
    claim_runs: int = 0
    tests: Cost = Cost()
    test_runs: int = 0
    withdrawn: list[str] = field(default_factory=list)
    concurrency: list[tuple[int, str]] = field(default_factory=list)
    begun: str = ""
    latest: str = ""
    ended: str | None = None
    spent: Cost = Cost()
    elapsed: float = 0.0

    @property
    def tried(self) -> list[Child]:
        """The children without the baseline."""
        return [child for child in self.children if child.number]

    @property
    def by_id(self) -> Mapping[str, Child]:
        """The children by their ids."""
        return {child.record.child_id: child for child in self.children}


def read_history(core: Core) -> History:
    """Return what the journal of a run holds; safe while a controller writes to it.

    Args:
        core: the run, its state still empty (see ``build.unread``); it takes in all events.

    Raises:
        ConfigError: if there is no journal.
        LedgerError: if the journal is damaged.
    """
    events = core.ledger.read_journal(mend=False)
    if not events:
        raise ConfigError(
            f"{core.ledger.journal}: not there, or empty; expected the journal of a run. `lae run` "
            "makes it, from history.tsv and archive.tsv if these are what is left"
        )
    baseline = core.prepared.baseline
    measured = _cost(baseline.charge, baseline.seconds, baseline.grading)
    history = History(core.state, baseline=measured)
    reader = _Reader(history, core.settings.direction)
    for number, event in enumerate(events, start=1):
        try:
            reader.take(event)
        except (KeyError, ValueError, TypeError, IndexError) as error:
            raise LedgerError(
                f"{core.ledger.journal}:{number}: the event {event.get('event')!r} cannot be read "
                f"({type(error).__name__}: {error}); was it written by another version?"
            ) from error
    return reader.history


class _Reader:
    """Folds events, and notes what the fold itself forgets."""

    def __init__(self, history: History, direction: Direction) -> None:
        self.history = history
        self._direction = direction

    def take(self, event: Event) -> None:
        """Take in one event."""
        history, kind = self.history, event["event"]
        history.ended = event["reason"] if kind == "stop" else None
        for child in _told(event):
            self._tell(*child)
        if kind == "ask":
            history.begun = history.begun or event["at"]
            history.latest = event["at"]
        elif kind == "rerun":
            self._further(event)
        elif kind == "claim":
            cost = _cost_of_run(event)
            history.claims += cost
            history.claim_runs += 2
            history.spent += cost
        elif kind == "test":
            history.tests += _cost_of_run(event)
            history.test_runs += 1
            history.spent += _cost_of_run(event)
        elif kind == "concurrency":
            history.concurrency.append((int(event["to"]), str(event.get("reason", ""))))
        history.state.apply(event)
        history.elapsed = max(history.elapsed, history.state.elapsed)
        self._note_best(accepted=kind in ("told", "restored", "accept"))

    def _tell(self, record: Record, kept: bool, cell: Cell | None) -> None:
        history = self.history
        if record.parent_id is not None:
            cost, number = cost_of(record), self._number + 1
        else:  # on every island, measured once
            cost, number = Cost() if history.children else history.baseline, 0
        history.spent += cost
        history.elapsed = max(history.elapsed, record.elapsed)
        spent, elapsed = history.spent, history.elapsed
        history.children.append(Child(record, kept, cell, number, spent, elapsed))

    @property
    def _number(self) -> int:
        return self.history.children[-1].number if self.history.children else 0

    def _further(self, event: Event) -> None:
        cost = _cost_of_run(event)
        self.history.further += cost
        self.history.further_runs += 1
        self.history.spent += cost
        if not event["repeats"]:
            self.history.withdrawn.append(event["child_id"])

    def _note_best(self, *, accepted: bool) -> None:
        best = self.history.state.search.global_best()
        known = self.history.bests[-1] if self.history.bests else None
        if best is None or (
            known and (known.child_id, known.metric) == (best.child_id, best.metric)
        ):
            return
        before = best.metric if known is None else known.metric
        gain = self._direction.fitness(best.metric) - self._direction.fitness(before)
        took_over = accepted and known is not None and known.child_id != best.child_id
        self.history.bests.append(
            Best(
                self._number,
                best.child_id,
                best.metric,
                max(1, len(best.runs)),
                gain,
                took_over,
                self.history.spent,
                self.history.elapsed,
            )
        )


def _told(event: dict[str, Any]) -> Iterator[tuple[Record, bool, Cell | None]]:
    """Yield the children that an event tells, each with its placement."""
    if event["event"] == "told":
        yield decode(Record, event["record"]), event["kept"], _cell(event["cell"])
    elif event["event"] == "restored":
        for item in event["children"]:
            yield decode(Record, item["record"]), item["kept"], _cell(item["cell"])


def _cell(value: Any) -> Cell | None:
    return None if value is None else (int(value[0]), int(value[1]))


def is_finished(record: Record) -> bool:
    """Say whether a child has a metric that counts, suspects included."""
    return record.status is Status.EVALUATED and record.metric is not None

"""The state of a run: a fold over the journal's events, and nothing else.

Live, the loop makes an event, applies it here and appends it to the journal. On resume the same
events go through the same ``apply``, which is why there is no other checkpoint format.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lae_controller.codec import decode, encode
from lae_controller.ledger import Event
from lae_controller.mutators.credit import Credits
from lae_controller.mutators.inert import Inert
from lae_controller.mutators.mending import Mending
from lae_controller.noise import Claim, Noise, claim, mean_of, pooled
from lae_controller.program import (
    BROKEN,
    CUT_SHORT,
    MENDABLE,
    Cell,
    Elite,
    Evaluation,
    Measures,
    Placement,
    Reason,
    Record,
    Status,
    Usage,
    child_id,
    is_baseline,
    parse_child_id,
)
from lae_controller.rows import HistoryRow
from lae_controller.search import Search
from lae_controller.task import Credit, Tried
from lae_controller.told import Told, cost_of_run, row_of

TRIED_KEPT = 40
"""How many earlier children of a parent are remembered for the next Mutator."""


@dataclass(frozen=True, slots=True)
class Lease:
    """For whom a task is held while a host's own Mutator works on it.

    Attributes:
        token: whoever shows it is the one it was given to.
        until: seconds since the epoch; afterwards the task may be given to another.
    """

    token: str
    until: float


@dataclass(frozen=True, slots=True)
class Asked:
    """A child that was asked for and not yet told.

    Attributes:
        attempt: 0 the first time, one more after each interruption.
        size: how many children its generation has.
        parent_id: None for the baseline.
        lease: None while it is the controller's own.
    """

    child_id: str
    attempt: int
    size: int
    parent_id: str | None
    rule: str
    top: tuple[str, ...] = ()
    diverse: tuple[str, ...] = ()
    lease: Lease | None = None


class RunState:
    """What is known after some events; see the module for how it comes about."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self.asked: dict[str, Asked] = {}
        self.rows: list[HistoryRow] = []
        self.known: dict[str, str] = {}
        self.gen = 0
        self.gen_size = 0
        self.gen_asked = 0
        self.gen_told = 0
        self.finished_gen = 0
        self._sizes: deque[tuple[int, int]] = deque()
        self._told_since = 0
        self.migrated_after = -1
        self.ordinal = 0
        self.spent = 0.0
        self.elapsed = 0.0
        self.children = 0
        self.kept = 0
        self.cut = 0
        self.statuses: Counter[str] = Counter()
        self.tiers: Counter[str] = Counter()
        self.never_ran = 0
        self.latest_reason = ""
        self.reasons: Counter[str] = Counter()
        self.concurrency: int | None = None
        self.configured: int | None = None
        self.last_stop: str | None = None
        self.suspects: dict[str, Record] = {}
        self.told: dict[str, Told] = {}
        self.repeats: dict[str, tuple[float, ...]] = {}
        self.varies = False
        self.claims: dict[str, list[tuple[float, float]]] = {}
        self.tests: dict[str, tuple[float | None, str]] = {}
        self._tried: dict[str, deque[Tried]] = {}
        self._credits = Credits()
        self._kinds = Credits()
        self.mending = Mending()
        self.inert = Inert()
        self.usage = Usage(cost_usd=0.0)
        self._handlers: dict[str, Callable[[Event], None]] = {
            "ask": self._on_ask,
            "told": self._on_told,
            "migrate": self._on_migrate,
            "concurrency": self._on_concurrency,
            "accept": self._on_accept,
            "rerun": self._on_rerun,
            "claim": self._on_claim,
            "test": self._on_test,
            "stop": self._on_stop,
            "restored": self._on_restored,
        }

    def apply(self, event: Event) -> None:
        """Take in one event of the journal.

        Raises:
            KeyError, ValueError, TypeError: if the event is not one this version writes.
        """
        self._handlers[event["event"]](event)

    # -- events: made here, so that what is written is what is applied ---------------------------

    def tell(self, record: Record) -> tuple[Event, Placement]:
        """Apply a told record; return its event and where it was placed."""
        self._hold(record)
        placement = self.search.tell(record)
        self._note(record, placement)
        event = {"event": "told", "record": encode(record), **encode(placement)}
        return event, placement

    def migrate(self) -> Event:
        """Apply a migration and return its event."""
        moves = self.search.migrate()
        self.migrated_after = self.finished_gen
        return {"event": "migrate", "gen": self.finished_gen, "moves": encode(moves)}

    def accept(self, child_id: str) -> tuple[Placement, Event]:
        """Place a suspect and return its event."""
        placement = self.search.accept(child_id)
        self.suspects.pop(child_id, None)
        return placement, {"event": "accept", "child_id": child_id}

    def rerun(self, child_id: str, repeats: Sequence[float], cost: Evaluation) -> Event:
        """Take in a further run of a told program and return its event; see ``Steps.rerun``."""
        event = {
            "event": "rerun",
            "child_id": child_id,
            "repeats": list(repeats),
            **cost_of_run(cost),
        }
        self._on_rerun(event)
        return event

    def claim(self, child_id: str, pair: tuple[float, float], cost: Evaluation) -> Event:
        """Take in the metric of a program and of the baseline on a fresh seed.

        Args:
            cost: of both runs.
        """
        event = {"event": "claim", "child_id": child_id, "pair": list(pair), **cost_of_run(cost)}
        self._on_claim(event)
        return event

    def test(self, child_id: str, found: Evaluation) -> Event:
        """Take in what the held-out test gave, or why it gave nothing; it is charged nothing."""
        event = {
            "event": "test",
            "child_id": child_id,
            "metric": found.metric,
            "detail": found.detail[:500],
            **cost_of_run(replace(found, charge=0.0)),
        }
        self._on_test(event)
        return event

    # -- what the loop asks ------------------------------------------------------------------

    @property
    def generation_done(self) -> bool:
        """Whether all children of the current generation have been told."""
        return self.gen_told >= self.gen_size and not self.asked

    @property
    def migration_due(self) -> bool:
        """Whether the finished generation is followed by a migration that has not happened.

        A generation is finished when as many children have been told as it has, whichever they
        are: with the ``async`` schedule they overtake each other.
        """
        return self.migrated_after < self.finished_gen and self.search.migrates_after(
            self.finished_gen
        )

    def next_ids(self, size: int) -> list[str]:
        """Name the children that the current generation lacks, or those of a new one.

        Args:
            size: of a new generation, if one begins here.
        """
        gen, first, end = self.gen, self.gen_asked, self.gen_size
        if first >= end:
            gen, first, end = gen + 1, 0, size
        return [
            child_id(gen, self.search.island_of_ordinal(self.ordinal + slot - first), slot)
            for slot in range(first, end)
        ]

    @property
    def noise(self) -> Noise:
        """How much runs of one program differ, pooled over all that were run more than once."""
        groups = (
            repeats
            for child, repeats in self.repeats.items()
            if not is_baseline(child) or parse_child_id(child)[1] == 0
        )
        return pooled(groups, varies=self.varies)

    def claimed(self, child: str, sign: float) -> Claim | None:
        """Return what fresh seeds say of a program; None if it was not run on any.

        Args:
            sign: 1 if more of the metric is better, else -1.
        """
        earlier = (self.repeats.get(child, ()), self.repeats.get(child_id(0, 0, 0), ()))
        return claim(child, self.claims.get(child, []), self.noise, sign, earlier)

    def tried(self, parent_id: str) -> tuple[Tried, ...]:
        """Return the latest children of a parent, oldest first."""
        return tuple(self._tried.get(parent_id, ()))

    def kinds(self) -> Mapping[str, Credit]:
        """Return how the kinds of intervention have done lately."""
        return self._kinds.as_mapping()

    def credits(self) -> Mapping[str, Credit]:
        """Return how the mutation operators have done lately."""
        return self._credits.as_mapping()

    # -- folding -----------------------------------------------------------------------------

    def _on_ask(self, event: Event) -> None:
        asked = decode(Asked, event["child"])
        gen, _, _ = parse_child_id(asked.child_id)
        if gen > self.gen or not self.gen_size:
            self.gen, self.gen_size, self.gen_told, self.gen_asked = gen, asked.size, 0, 0
            if gen > 0:
                self._sizes.append((gen, asked.size))
        if asked.child_id not in self.asked and asked.child_id not in self.told:
            self.gen_asked += 1
            self.ordinal += gen > 0
        self.asked[asked.child_id] = asked

    def _on_told(self, event: Event) -> None:
        record = decode(Record, event["record"])
        placement = Placement(event["kept"], _cell(event["cell"]), event.get("rebinned"))
        self._hold(record)
        self.search.replay(record, placement)
        self._note(record, placement)

    def _hold(self, record: Record) -> None:
        if record.reason is Reason.SUSPECT:
            self.suspects[record.child_id] = record

    def _note(self, record: Record, placement: Placement) -> None:
        """Keep the books of a told record: everything but the archives."""
        self.asked.pop(record.child_id, None)
        self._count(record.gen)
        self.spent += record.charge
        self.elapsed = max(self.elapsed, record.elapsed)
        self.told[record.child_id] = Told(
            record.summary, record.smoke_metric, record.metric, record.params, record.warnings
        )
        self.varies |= record.varies
        if record.grading is not None:
            self._spend(record.grading)
        if len(record.repeats) > 1:
            self.repeats[record.child_id] = record.repeats
        if record.digest is not None and record.reason is not Reason.DUPLICATE:
            self.known.setdefault(record.digest, record.child_id)
        self.rows.append(row_of(record, placement))
        if record.parent_id is not None:
            if record.tier:
                self.tiers[record.tier] += 1
            self._note_child(record.parent_id, record, placement)

    def _count(self, gen: int) -> None:
        """Count one told child towards its own generation, and towards the next one to finish."""
        self.gen_told += gen == self.gen
        if gen == 0:
            return
        self._told_since += 1
        while self._sizes and self._told_since >= self._sizes[0][1]:
            self.finished_gen, size = self._sizes.popleft()
            self._told_since -= size

    def _note_child(self, parent_id: str, record: Record, placement: Placement) -> None:
        self.children += 1
        self.kept += placement.kept
        self.cut += record.detail.startswith(CUT_SHORT)
        self.statuses[record.status.value] += 1
        self.never_ran = 0 if record.charge > 0 else self.never_ran + 1
        if record.reason is not None:
            self.latest_reason = f"{record.reason.value}: {record.detail}"
            self.reasons[record.reason.value] += 1
        broken = record.reason in BROKEN
        paid = placement.kept and not record.inert
        self._credits.tell(record.operator, paid, broken)
        self._kinds.tell(record.intervention.value, paid, broken)
        self.inert.tell(record.inert)
        if record.usage is not None:
            self._spend(record.usage)
            if record.status is not Status.CRASH or record.reason in MENDABLE:
                usable = record.reason not in MENDABLE
                self.mending.tell(record.usage.mends, usable=usable)
        outcome = "kept" if placement.kept else "not kept"
        if record.inert:
            outcome = "no effect"
        if record.status is not Status.EVALUATED:
            outcome = record.reason.value if record.reason else record.status.value
        tried = Tried(
            record.child_id,
            record.summary,
            record.intervention,
            outcome,
            record.metric,
            record.digest,
        )
        self._tried.setdefault(parent_id, deque(maxlen=TRIED_KEPT)).append(tried)

    def _spend(self, usage: Usage) -> None:
        """Add up tokens and money; calls of unknown price add tokens alone."""
        self.usage += usage if usage.cost_usd is not None else replace(usage, cost_usd=0.0)

    def _on_migrate(self, event: Event) -> None:
        self.search.migrate()
        self.migrated_after = event["gen"]

    def _on_concurrency(self, event: Event) -> None:
        self.concurrency = int(event["to"])
        self.configured = int(event["configured"])

    def _on_accept(self, event: Event) -> None:
        self.search.accept(event["child_id"])
        self.suspects.pop(event["child_id"], None)

    def _on_rerun(self, event: Event) -> None:
        child, repeats = event["child_id"], tuple(event["repeats"])
        self._pay(event)
        if not repeats:
            self.search.withdraw(child)
            return
        self.repeats[child] = repeats
        self.search.revise(child, mean_of(repeats), repeats)

    def _on_claim(self, event: Event) -> None:
        mine, base = event["pair"]
        self.claims.setdefault(event["child_id"], []).append((mine, base))
        self._pay(event)

    def _on_test(self, event: Event) -> None:
        self._pay(event)
        self.tests[event["child_id"]] = (event["metric"], event["detail"])

    def _pay(self, event: Event) -> None:
        """Count what a further run took; older ledgers hold less of it."""
        self.spent += event.get("charge", 0.0)
        if event.get("grading") is not None:
            self._spend(decode(Usage, event["grading"]))

    def _on_stop(self, event: Event) -> None:
        self.last_stop = event["reason"]
        self.elapsed = max(self.elapsed, float(event.get("elapsed", 0.0)))

    def _on_restored(self, event: Event) -> None:
        """Start from what the TSV files held; see ``resume``."""
        told = [decode(Record, item["record"]) for item in event["children"]]
        for item, record in zip(event["children"], told, strict=True):
            self._note(record, Placement(item["kept"], _cell(item["cell"])))
        archives = [
            [(_cell(cell), decode(Elite, elite)) for cell, elite in island]
            for island in event["archives"]
        ]
        seen = [decode(Measures, measures) for measures in event["seen"]]
        self.search.restore(archives, seen, None, told)
        self.gen = self.finished_gen = event["gen"]
        self.gen_size = self.gen_told = self.gen_asked = event["gen_size"]
        self._told_since = 0
        self.migrated_after = event["gen"]
        self.ordinal = event["ordinal"]


def _cell(found: Sequence[int] | None) -> Cell | None:
    return None if found is None else (found[0], found[1])


def ask_event(asked: Asked, at: str) -> dict[str, Any]:
    """Return the event of asking for a child."""
    return {"event": "ask", "child": encode(asked), "at": at}

"""What is known of one experiment: a fold over the events of its own journal.

``<root>/experiments/<id>/journal.jsonl`` holds what callers did (created, seeded, moved, leased,
evaluated), ``lae/journal.jsonl`` beside it what the search did. Both are append-only and fsynced,
and neither is ever written from what a reply says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from lae_controller.codec import decode, encode
from lae_controller.ledger import Event
from lae_controller.program import Usage
from lae_controller.service.content import Content
from lae_controller.service.evaluations import Scored
from lae_controller.service.experiment_config import ExperimentConfig
from lae_controller.service.names import Session, experiment_name
from lae_controller.service.states import Action, ExperimentState, ProgramState, advanced, target
from lae_controller.task import Mutation

SEED_ID = "g0-i0-a0"


@dataclass(frozen=True, slots=True)
class Lease:
    """By whom a program is held.

    Attributes:
        token: only who shows it may submit.
        since, until: seconds since the epoch; after ``until`` it may be handed out again.
    """

    token: str
    since: float
    until: float


@dataclass(frozen=True, slots=True)
class ServedProgram:
    """A program as the API shows it.

    Attributes:
        created: seconds since the epoch.
        parents: ids of the programs it was made from.
        digest: normal form of its code.
        mutation: the proposal it came from, without its text; None for the seed.
        handed_out: how often it was given to an evaluator.
        lease: the latest; it stays after its end, until another takes its place.
    """

    id: str
    state: ProgramState
    created: float
    parents: tuple[str, ...] = ()
    description: str = ""
    digest: str = ""
    mutation: Mutation | None = None
    evaluation: Scored | None = None
    handed_out: int = 0
    lease: Lease | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """A start or a resumption that takes its time.

    Attributes:
        error: why it failed; empty if it did not.
    """

    id: str
    action: Action
    created: float
    done: bool = False
    error: str = ""


@dataclass(frozen=True, slots=True)
class Created:
    """How an experiment began."""

    id: str
    session: Session
    config: ExperimentConfig
    at: float


@dataclass(frozen=True, slots=True)
class Clock:
    """How long an experiment has been running.

    Attributes:
        since: when it last began to run; None while it does not.
        before: seconds of earlier stretches that count towards ``maxDuration``.
        active: when work was last handed out or reported.
    """

    since: float | None = None
    before: float = 0.0
    active: float = 0.0

    def ran(self, now: float) -> float:
        """Return the running time so far, in seconds."""
        return self.before + (0.0 if self.since is None else max(0.0, now - self.since))


@dataclass
class Book:
    """The state of one experiment; ``record`` makes an event and takes it in.

    Attributes:
        programs: by id, in the order in which they became known.
        usage: of all model calls.
        reason: why it last stopped, for the log.
    """

    created: Created
    state: ExperimentState = ExperimentState.CREATED
    seed: Content | None = None
    programs: dict[str, ServedProgram] = field(default_factory=dict)
    operations: dict[str, Operation] = field(default_factory=dict)
    clock: Clock = field(default_factory=Clock)
    evaluated: int = 0
    usage: Usage = field(default_factory=lambda: Usage(cost_usd=0.0))
    reason: str = ""

    @property
    def name(self) -> str:
        """The resource name of the experiment."""
        return experiment_name(self.created.session, self.created.id)

    @property
    def config(self) -> ExperimentConfig:
        """What it was asked to do."""
        return self.created.config

    @property
    def generated(self) -> int:
        """How many programs there are that have code, the seed included."""
        return len(self.programs)

    def apply(self, event: Event) -> None:
        """Take in one event.

        Raises:
            KeyError, ValueError, TypeError, AttributeError: if this version does not write such.
        """
        handlers: dict[str, Callable[[Event], None]] = {
            "seeded": self._on_seeded,
            "moved": self._on_moved,
            "operated": self._on_operated,
            "ready": self._on_ready,
            "dropped": self._on_dropped,
            "leased": self._on_leased,
            "evaluated": self._on_evaluated,
        }
        handlers[event["event"]](event)

    # -- events ------------------------------------------------------------------------------

    def _on_seeded(self, event: Event) -> None:
        self.seed = decode(Content, event["content"])
        given = event["evaluation"]
        scored = None if given is None else decode(Scored, given)
        state = ProgramState.INITIALIZED if scored is None else ProgramState.COMPLETED
        self.programs = {
            SEED_ID: ServedProgram(
                id=SEED_ID,
                state=state,
                created=event["at"],
                description=self.seed.description,
                evaluation=scored,
            )
        }
        self.evaluated = int(scored is not None)

    def _on_moved(self, event: Event) -> None:
        action, at = Action(event["action"]), float(event["at"])
        to = target(action, self.state)
        fresh = action is Action.RESUME and self.state is ExperimentState.COMPLETED
        if to is ExperimentState.RUNNING:
            self.clock = Clock(at, 0.0 if fresh else self.clock.before, at)
        else:
            self.clock = Clock(None, self.clock.ran(at), self.clock.active)
        self.state, self.reason = to, event["reason"]
        if event["operation"]:
            self.operations[event["operation"]] = Operation(event["operation"], action, at)
        seed = self.programs.get(SEED_ID)
        if action is Action.START and seed is not None and seed.evaluation is None:
            self.programs[SEED_ID] = replace(seed, state=ProgramState.EVALUATING)

    def _on_operated(self, event: Event) -> None:
        for name in event["operations"]:
            operation = self.operations[name]
            self.operations[name] = replace(operation, done=True, error=event["error"])

    def _on_ready(self, event: Event) -> None:
        program = decode(ServedProgram, event["program"])
        self.programs[program.id] = program
        if program.mutation is not None and program.mutation.usage is not None:
            self.usage += program.mutation.usage

    def _on_dropped(self, event: Event) -> None:
        self.usage += decode(Usage, event["usage"])

    def _on_leased(self, event: Event) -> None:
        for item in event["programs"]:
            program = self.programs[item["id"]]
            lease = Lease(item["token"], event["at"], event["until"])
            self.programs[program.id] = replace(
                program, lease=lease, handed_out=program.handed_out + 1
            )
        self.clock = replace(self.clock, active=event["at"])

    def _on_evaluated(self, event: Event) -> None:
        program = self.programs[event["id"]]
        scored = decode(Scored, event["evaluation"])
        state = advanced(program.state, ProgramState.COMPLETED)
        self.programs[program.id] = replace(program, state=state, evaluation=scored)
        self.evaluated += 1
        self.clock = replace(self.clock, active=event["at"])


def created_event(created: Created) -> Event:
    """Return the first event of every journal."""
    return {"event": "created", "created": encode(created)}


def seeded_event(content: Content, scored: Scored | None, at: float) -> Event:
    """Return the event of an experiment that is given its seed program."""
    return {
        "event": "seeded",
        "content": encode(content),
        "evaluation": encode(scored),
        "at": at,
    }


def moved_event(action: Action, at: float, reason: str, operation: str = "") -> Event:
    """Return the event of a change of state."""
    return {
        "event": "moved",
        "action": action.value,
        "at": at,
        "reason": reason,
        "operation": operation,
    }


def operated_event(operations: Iterable[str], error: str = "") -> Event:
    """Return the event of operations that have ended."""
    return {"event": "operated", "operations": list(operations), "error": error}


def ready_event(program: ServedProgram) -> Event:
    """Return the event of a program that waits for an evaluator."""
    return {"event": "ready", "program": encode(program)}


def dropped_event(usage: Usage) -> Event:
    """Return the event of model calls from which no program came."""
    return {"event": "dropped", "usage": encode(usage)}


def leased_event(tokens: dict[str, str], at: float, until: float) -> Event:
    """Return the event of programs that are handed out: id -> token."""
    listed = [{"id": child, "token": token} for child, token in tokens.items()]
    return {"event": "leased", "programs": listed, "at": at, "until": until}


def evaluated_event(child: str, scored: Scored, at: float) -> Event:
    """Return the event of a program that was scored."""
    return {"event": "evaluated", "id": child, "evaluation": encode(scored), "at": at}


def open_book(events: Iterable[Event]) -> Book:
    """Return the state after these events.

    Raises:
        KeyError, ValueError, TypeError, AttributeError, StopIteration: if they are not what this
            version writes.
    """
    rest = iter(events)
    book = Book(decode(Created, next(rest)["created"]))
    for event in rest:
        book.apply(event)
    return book

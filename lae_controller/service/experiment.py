"""One experiment as its callers meet it: what they may do, one at a time, each durably.

Every change is decided and taken in under one lock, without touching the disk; the returned
future is done once it is on the disk, and only then is a caller answered. So two callers are never
given the same program, and what was answered is never lost.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from heapq import heappop, heappush

from lae_controller.ledger import Event
from lae_controller.program import Usage
from lae_controller.service import book as events
from lae_controller.service import limits
from lae_controller.service.api_errors import ApiError, Code, not_found, refused
from lae_controller.service.book import SEED_ID, Book, Operation, ServedProgram
from lae_controller.service.commits import CommitLog
from lae_controller.service.content import Content
from lae_controller.service.evaluations import Scored, penalty
from lae_controller.service.states import Action, ExperimentState, ProgramState, not_allowed, target

Durable = Future[None]


@dataclass(frozen=True, slots=True)
class HandedOut:
    """A program that was just acquired, and the proof of it."""

    program: ServedProgram
    token: str


class Experiment:
    """One experiment. Safe to use from several threads; nothing here waits.

    Args:
        lease: seconds for which a program is held by whoever acquired it.
        now: the time, in seconds since the epoch.
    """

    def __init__(self, book: Book, log: CommitLog, lease: float, now: Callable[[], float]) -> None:
        self.book = book
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self._log = log
        self._lease = lease
        self._now = now
        self._free: deque[str] = deque()
        self._ends: list[tuple[float, str, str]] = []
        self._under_way: dict[str, ServedProgram] = {}
        self._reported: deque[str] = deque()
        for program in book.programs.values():
            self._take_up(program)

    def _take_up(self, program: ServedProgram) -> None:
        """Put a program that waits for an evaluation where its lease says it belongs."""
        if program.state is not ProgramState.EVALUATING:
            return
        if program.lease is None:
            self._free.append(program.id)
        else:
            heappush(self._ends, (program.lease.until, program.id, program.lease.token))

    # -- looking -----------------------------------------------------------------------------

    @property
    def broken(self) -> bool:
        """Whether memory is ahead of the disk, since an event could not be written."""
        return self._log.broken

    @property
    def state(self) -> ExperimentState:
        """Where it stands."""
        return self.book.state

    def programs(self) -> list[ServedProgram]:
        """Return every program that is known now, those still being made included."""
        with self.lock:
            return [*self.book.programs.values(), *self._under_way.values()]

    def program(self, child: str) -> ServedProgram:
        """Return one program.

        Raises:
            ApiError: NOT_FOUND.
        """
        with self.lock:
            found = self.book.programs.get(child) or self._under_way.get(child)
        if found is None:
            raise not_found(f"{self.book.name}/alphaEvolvePrograms/{child[:100]}", "program")
        return found

    def operation(self, name: str) -> Operation:
        """Return one operation.

        Raises:
            ApiError: NOT_FOUND.
        """
        with self.lock:
            found = self.book.operations.get(name)
        if found is None:
            raise not_found(f"{self.book.name}/operations/{name[:100]}", "operation")
        return found

    # -- what callers do ---------------------------------------------------------------------

    def seed(self, content: Content, scored: Scored | None) -> Durable:
        """Take the seed program; a second one before the start replaces the first.

        Raises:
            ApiError: FAILED_PRECONDITION once it was started.
        """
        with self.lock:
            if self.state is not ExperimentState.CREATED:
                raise refused(
                    f"an experiment in state {self.state.value} takes no program from outside; "
                    "expected state CREATED, where the program becomes its seed"
                )
            return self._record(events.seeded_event(content, scored, self._now()))

    def start(self) -> tuple[Operation, Durable]:
        """Begin the search.

        Raises:
            ApiError: FAILED_PRECONDITION in any state but CREATED, or without a seed program.
        """
        with self.lock:
            target(Action.START, self.state)
            if self.book.seed is None:
                raise refused(
                    f"{self.book.name}: the experiment has no seed program; expected one. Create "
                    "it with POST …/alphaEvolvePrograms, then start"
                )
            return self._operate(Action.START)

    def resume(self) -> tuple[Operation, Durable]:
        """Go on after a pause, or beyond ``maxDuration`` once completed.

        Raises:
            ApiError: FAILED_PRECONDITION in any other state.
        """
        with self.lock:
            return self._operate(Action.RESUME)

    def stop(self) -> Durable:
        """Pause: nothing more is generated or handed out; what is out may still be reported.

        Raises:
            ApiError: FAILED_PRECONDITION unless it runs.
        """
        with self.lock:
            target(Action.STOP, self.state)
            return self.move(Action.STOP, "stopped by a caller")

    def check_deletable(self) -> None:
        """Check that it has ended, or never began.

        Raises:
            ApiError: FAILED_PRECONDITION otherwise.
        """
        target(Action.DELETE, self.state)

    def acquire(self, count: int) -> tuple[list[HandedOut], Durable | None]:
        """Hand out up to ``count`` programs, each to this caller alone.

        Returns:
            None in place of the future if there was nothing to hand out: the queue is empty, or
            the experiment does not run.

        Raises:
            ApiError: SERVICE_UNAVAILABLE if its ledger cannot be written.
        """
        with self.lock:
            if self.broken:
                raise unavailable(self.book.name)
            if self.state is not ExperimentState.RUNNING:
                return [], None
            self._release(self._now())
            chosen = [self._free.popleft() for _ in range(min(count, len(self._free)))]
            if not chosen:
                return [], None
            return self._hand_out(chosen)

    def _hand_out(self, chosen: list[str]) -> tuple[list[HandedOut], Durable]:
        at = self._now()
        until = at + self._lease
        tokens = {child: secrets.token_urlsafe(18) for child in chosen}
        durable = self._record(events.leased_event(tokens, at, until))
        for child, token in tokens.items():
            heappush(self._ends, (until, child, token))
        self.changed.notify_all()
        return [HandedOut(self.book.programs[c], t) for c, t in tokens.items()], durable

    def submit(self, child: str, token: str, scored: Scored) -> Durable:
        """Take the evaluation of a program from whoever holds it.

        A lease that ran out still counts until the program is handed to another.

        Raises:
            ApiError: NOT_FOUND; FAILED_PRECONDITION if it waits for no evaluation or the token is
                not the one it was last handed out with.
        """
        with self.lock:
            program = self.program(child)
            name = f"{self.book.name}/alphaEvolvePrograms/{child}"
            if program.state is not ProgramState.EVALUATING:
                raise refused(
                    f"program {name} is not in the expected state: expected EVALUATING, found "
                    f"{program.state.value}; discard this evaluation"
                )
            held = program.lease.token if program.lease is not None else ""
            if not held or not hmac.compare_digest(held.encode(), token.encode()):
                raise refused(
                    f"program {name} has another lock token than {token[:100]!r}: the lease ran "
                    "out and another worker has it, or the token was never given; discard this "
                    "evaluation and send back exactly what acquirePrograms gave"
                )
            return self._report(child, scored)

    def _report(self, child: str, scored: Scored) -> Durable:
        durable = self._record(events.evaluated_event(child, scored, self._now()))
        if child in self._free:
            self._free.remove(child)
        durable.add_done_callback(lambda done: self._settled(child, done))
        if self._complete:
            return self.move(Action.COMPLETE, "all programs are made and scored")
        return durable

    def _settled(self, child: str, done: Durable) -> None:
        """Let the search know of an evaluation, now that it cannot be lost."""
        if done.exception() is None:
            with self.lock:
                self._reported.append(child)
                self.changed.notify_all()

    # -- what time does ----------------------------------------------------------------------

    def tick(self) -> None:
        """Let leases run out; pause when idle; complete when the time is up."""
        with self.lock:
            if self.broken:
                return
            now = self._now()
            self._release(now)
            if self.state is not ExperimentState.RUNNING:
                return
            config, clock = self.book.config, self.book.clock
            if clock.ran(now) >= config.max_duration:
                self.move(Action.COMPLETE, "the maximum duration has passed")
            elif self._complete:
                self.move(Action.COMPLETE, "all programs are made and scored")
            elif now - clock.active >= config.idle_timeout:
                self.move(Action.IDLE, "no program was handed out or reported for too long")

    def _release(self, now: float) -> None:
        while self._ends and self._ends[0][0] <= now:
            _, child, token = heappop(self._ends)
            program = self.book.programs[child]
            held = program.lease is not None and program.lease.token == token
            if not held or program.state is not ProgramState.EVALUATING:
                continue
            if program.handed_out >= limits.HAND_OUTS:
                self._report(child, penalty(self._metrics()))
            else:
                self._free.append(child)

    def _metrics(self) -> list[str]:
        seed = self.book.programs[SEED_ID].evaluation
        return list(seed.scores) if seed is not None else []

    @property
    def _complete(self) -> bool:
        book = self.book
        enough = book.generated >= book.config.max_programs
        running = self.state is ExperimentState.RUNNING
        return running and enough and book.evaluated >= book.generated

    # -- what the search does ----------------------------------------------------------------

    def room(self) -> int:
        """Return how many more programs may be asked for now.

        At most ``concurrency`` are made or wait for a worker, and at most twice as many are
        without a score, so that choices rest on what was measured.
        """
        with self.lock:
            if self.state is not ExperimentState.RUNNING:
                return 0
            book, most = self.book, self.book.config.concurrency
            making = len(self._under_way)
            unscored = making + book.generated - book.evaluated
            waiting = making + len(self._free)
            left = book.config.max_programs - book.generated - making
            return max(0, min(left, most - waiting, 2 * most - unscored))

    def asked(self, program: ServedProgram) -> None:
        """Show a program that is being made: INITIALIZED, then GENERATING."""
        with self.lock:
            self._under_way[program.id] = program

    def created_at(self, child: str) -> float:
        """Return when a program was first asked for, as far as that is known."""
        with self.lock:
            there = self.book.programs.get(child) or self._under_way.get(child)
            return self._now() if there is None else there.created

    def dropped(self, child: str, usage: Usage | None) -> None:
        """Take back a program that came to nothing."""
        with self.lock:
            self._under_way.pop(child, None)
            if usage is not None and not self.broken:
                self._record(events.dropped_event(usage))

    def ready(self, program: ServedProgram) -> Durable:
        """Queue a program for the workers."""
        with self.lock:
            self._under_way.pop(program.id, None)
            durable = self._record(events.ready_event(program))
            self._free.append(program.id)
            return durable

    @property
    def reported(self) -> bool:
        """Whether there are evaluations that the search has not taken in."""
        return bool(self._reported)

    @property
    def came_late(self) -> bool:
        """Whether there are such of an experiment that is completed, and whose search has ended."""
        return self.reported and self.state is ExperimentState.COMPLETED

    def take_reported(self) -> list[str]:
        """Return the programs whose evaluation became durable since the last call."""
        with self.lock:
            taken = list(self._reported)
            self._reported.clear()
            return taken

    def begun(self, error: str = "") -> None:
        """Close the operations that wait for the search to begin."""
        with self.lock:
            waiting = [name for name, op in self.book.operations.items() if not op.done]
            if waiting and not self.broken:
                self._record(events.operated_event(waiting, error))

    # -- recording ---------------------------------------------------------------------------

    def move(self, action: Action, reason: str) -> Durable:
        """Go to another state, of the server's own accord.

        Raises:
            ApiError: if that is not allowed from here.
        """
        with self.lock:
            durable = self._record(events.moved_event(action, self._now(), reason))
            self.changed.notify_all()
            return durable

    def _operate(self, action: Action) -> tuple[Operation, Durable]:
        if self.state is target(action, self.state):
            raise not_allowed(action, self.state)
        name = f"{action.value.lower()}-{len(self.book.operations) + 1}"
        event = events.moved_event(action, self._now(), "asked by a caller", name)
        durable = self._record(event)
        seed = self.book.programs[SEED_ID]
        if action is Action.START and seed.evaluation is None:
            self._free.append(SEED_ID)
        self.changed.notify_all()
        return self.book.operations[name], durable

    def _record(self, event: Event) -> Durable:
        """Take an event in and queue it for the disk, in this order for all.

        Raises:
            ApiError: if it is not allowed; SERVICE_UNAVAILABLE if the disk failed before.
        """
        if self.broken:
            raise unavailable(self.book.name)
        self.book.apply(event)
        return self._log.add(event)


def unavailable(name: str) -> ApiError:
    """Return the error for an experiment whose ledger could not be written."""
    return ApiError(
        Code.SERVICE_UNAVAILABLE,
        f"{name}: its ledger cannot be written at the moment; nothing was changed. Try again later",
    )


def generating(program: ServedProgram) -> ServedProgram:
    """Return a program as it is while its Mutator works."""
    return replace(program, state=ProgramState.GENERATING)

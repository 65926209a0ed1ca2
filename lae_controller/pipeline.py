"""Children on their way from being asked for to being finished: proposed, frozen, evaluated.

A slot is held only while training runs: proposals are made beside, by processes of their own. A
change that does not apply, or a child that crashes, goes back to a Mutator that can mend it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

from lae_controller.errors import PrerequisiteError
from lae_controller.executors import Executor
from lae_controller.inflight import InFlight, Pending, Repeat
from lae_controller.mutators import MENDING, WEIGHED
from lae_controller.parts import UnderWay, unseen
from lae_controller.program import MENDABLE, Evaluation, Reason, Status, Usage, added
from lae_controller.purse import Purse
from lae_controller.results import Result
from lae_controller.state import Asked
from lae_controller.steps import PROPOSED_NOTHING, Steps
from lae_controller.task import Failure, Mutation, MutatorFailure, ReplyTimes

SERVICE_TRIES = 5
"""How often in a row a proposal may fail for the sake of its service before the run stops."""

_TICK_S = 0.2
_FIRST_PAUSE_S = 5.0


@dataclass(frozen=True, slots=True)
class Try:
    """One child with what was tried for it so far.

    Attributes:
        failures: proposals that came to nothing, oldest first.
        charge, seconds: of training runs of earlier proposals.
        usage: of model calls for earlier proposals; None if there were none.
        troubles: how often in a row its Mutator's service failed.
    """

    asked: Asked
    failures: tuple[Failure, ...] = ()
    charge: float = 0.0
    seconds: float = 0.0
    usage: Usage | None = None
    troubles: int = 0


@dataclass(frozen=True, slots=True)
class Call:
    """One proposal that came in.

    Attributes:
        crowd: how many were under way when it began, itself included.
        usable: whether it is a program that can be run.
        replies: those of a model, as far as the backend sees them come.
    """

    crowd: int
    seconds: float
    usable: bool
    replies: tuple[ReplyTimes, ...] = ()


class Pipeline:
    """Carries children from their task to their result.

    Args:
        in_order: whether children are frozen in the order in which they were added, so that of two
            equal programs always the earlier counts; else each as soon as it is proposed.
        on_tick: told what is under way, whenever ``finished`` looks.
    """

    def __init__(
        self,
        steps: Steps,
        executor: Executor,
        mutators: ThreadPoolExecutor,
        *,
        in_order: bool,
        on_tick: Callable[[UnderWay], None] = unseen,
    ) -> None:
        self._steps = steps
        self._executor = executor
        self._on_tick = on_tick
        self._mutators = mutators
        self._in_order = in_order
        settings = steps.settings.mutator
        self._mends = settings.repair_attempts if settings.backend in MENDING else 0
        self._weighs = settings.backend in WEIGHED
        self._proposing: dict[str, tuple[Try, Future[Mutation | MutatorFailure]]] = {}
        self._crowds: dict[str, tuple[int, float]] = {}
        self._calls: deque[Call] = deque(maxlen=1024)  # not everybody asks for them
        self._began: set[str] = set()
        self._tries: dict[str, Try] = {}
        self._later: list[tuple[float, Try]] = []
        self._ready: deque[Pending] = deque()
        self._repeated: deque[tuple[Pending, Evaluation]] = deque()
        self._finished: deque[tuple[Asked, Future[Result]]] = deque()
        self.claimed: dict[str, str] = {}
        self.purse = Purse(steps.settings, steps.state)
        self.flight = InFlight(executor, steps.job)

    def __bool__(self) -> bool:
        """Whether any child has not been handed out as finished."""
        under_way = self._proposing or self._later or self._ready or self.flight
        return bool(under_way or self._finished or self._repeated)

    @property
    def proposing(self) -> int:
        """How many children wait for their Mutator."""
        return len(self._proposing) + len(self._later)

    @property
    def ready(self) -> int:
        """How many children wait for a slot."""
        return len(self._ready)

    @property
    def untold(self) -> int:
        """How many children have a result that is not handed out, as it is still being written."""
        return len(self._finished)

    def add(self, asked: Asked, *, began: bool = False) -> None:
        """Take in a child that was asked for: build its directory and start its Mutator.

        Args:
            began: whether an earlier session ran its program. Such children are frozen before all
                others: should two come to the same program, the one that was run counts.
        """
        if began:
            self._began.add(asked.child_id)
        if self._steps.children.folder(asked.child_id).exists():  # an earlier session got so far
            asked = self._steps.again(asked)
        self._propose(Try(asked))

    def repeat(self, pending: Pending) -> None:
        """Run a program once more, before any new child: others wait for what it gives."""
        self._ready.appendleft(pending)

    @property
    def waited_s(self) -> float:
        """Since when the oldest proposal under way has been so, in seconds; 0 if there is none."""
        began = min((began for _, began in self._crowds.values()), default=None)
        return 0.0 if began is None else time.monotonic() - began

    def calls(self) -> Iterator[Call]:
        """Yield the proposals that came in."""
        while self._calls:
            yield self._calls.popleft()

    def repeated(self) -> Iterator[tuple[Pending, Evaluation]]:
        """Yield the further runs that ended."""
        while self._repeated:
            yield self._repeated.popleft()

    def carry_out(self, orders: Sequence[Pending], slots: int) -> list[tuple[Pending, Evaluation]]:
        """Make further runs and wait for all of them, while nothing else is under way.

        Returns:
            what they gave, in the order of ``orders``.
        """
        for pending in reversed(orders):
            self.repeat(pending)
        ended: dict[tuple[str, Repeat | None], Evaluation] = {}
        while len(ended) < len(orders):
            for _ in self.finished(slots):
                raise AssertionError("only further runs are under way")
            for pending, evaluation in self.repeated():
                ended[pending.asked.child_id, pending.repeat] = evaluation
        return [(it, ended[it.asked.child_id, it.repeat]) for it in orders]

    def finished(self, slots: int) -> Iterator[tuple[Asked, Result]]:
        """Yield children whose result is durable; waits a moment if nothing happened.

        Args:
            slots: how many evaluations may run at a time.

        Raises:
            PrerequisiteError: if the machine or the model service failed, not a child.
            Interrupted: if everything is being ended.
        """
        self._freeze_proposed()
        self._submit(slots)
        self._on_tick(self._under_way())
        if self.flight:
            for pending, evaluation in self.flight.ended(self._tick()):
                if pending.repeat is not None:
                    self._repeated.append((pending, evaluation))
                else:
                    self._evaluated(pending, self._steps.believed(pending, evaluation))
        elif not self._finished:
            self._wait_for_proposals()
        while self._finished and (self._finished[0][1].done() or not self.flight):
            asked, written = self._finished.popleft()
            yield asked, written.result()

    def _under_way(self) -> UnderWay:
        running = self._executor.running()
        waiting = self.ready + max(0, len(self.flight) - len(running))
        return UnderWay(running, self.proposing, waiting, self._steps.elapsed())

    # -- mutate ------------------------------------------------------------------------------

    def _propose(self, attempt: Try) -> None:
        children, state = self._steps.children, self._steps.state
        task = children.build(attempt.asked, state, attempt.failures)
        if not self.purse.commit(task, children.mutator_of(attempt.asked)):
            self._began.discard(attempt.asked.child_id)
            return  # it stays asked for, and is taken up again when there is more to spend
        future = self._mutators.submit(children.mutate, attempt.asked.child_id)
        self._proposing[attempt.asked.child_id] = (attempt, future)
        self._crowds[attempt.asked.child_id] = (len(self._proposing), time.monotonic())

    def _wait_for_proposals(self) -> None:
        if self._proposing:
            wait(self._awaited(), timeout=_TICK_S, return_when=FIRST_COMPLETED)
        elif self._later:
            time.sleep(_TICK_S)

    def _awaited(self) -> list[Future[Mutation | MutatorFailure]]:
        began = self._began or self._proposing
        futures = [future for child, (_, future) in self._proposing.items() if child in began]
        return futures[:1] if self._in_order else futures

    def _tick(self) -> float:
        """Return how long to wait for an evaluation: shorter while something else may come in."""
        return 0.02 if self._proposing or self._finished else _TICK_S

    def _freeze_proposed(self) -> None:
        now = time.monotonic()
        due = [attempt for moment, attempt in self._later if moment <= now]
        self._later = [later for later in self._later if later[0] > now]
        for attempt in due:
            self._propose(attempt)
        for child in list(self._proposing):
            attempt, future = self._proposing[child]
            if self._began and child not in self._began:
                continue
            if future.done():
                del self._proposing[child]
                self._began.discard(child)
                crowd, began = self._crowds.pop(child)
                proposal = future.result()
                usable = self._proposed(attempt, proposal)
                self._calls.append(Call(crowd, now - began, usable, proposal.replies))
            elif self._in_order:
                return

    def _proposed(self, attempt: Try, proposal: Mutation | MutatorFailure) -> bool:
        """Freeze what was proposed; return whether it can be run."""
        attempt = replace(attempt, usage=added(attempt.usage, proposal.usage))
        if isinstance(proposal, MutatorFailure):
            self._not_proposed(attempt, proposal)
            return False
        mutation = replace(proposal, usage=attempt.usage)
        frozen = self._steps.freeze(attempt.asked, mutation, self.claimed)
        if isinstance(frozen, Pending):
            self.claimed[frozen.digest] = attempt.asked.child_id
            self._tries[attempt.asked.child_id] = replace(attempt, troubles=0)
            self._ready.append(frozen)
            return True
        if not self._mend(attempt, mutation.reply, frozen.evaluation):
            self._finish(attempt, mutation, frozen.digest, frozen.evaluation)
        return False

    def _not_proposed(self, attempt: Try, failure: MutatorFailure) -> None:
        if failure.unaccounted:
            self.purse.lose(attempt.asked.child_id)
        if failure.fatal:
            raise PrerequisiteError(failure.detail)
        if failure.reason is Reason.ENVIRONMENT:
            self._service_failed(attempt, failure.detail)
            return
        evaluation = Evaluation(Status.CRASH, reason=failure.reason, detail=failure.detail)
        if not self._mend(attempt, failure.reply, evaluation):
            mutation = replace(PROPOSED_NOTHING, usage=attempt.usage)
            self._finish(attempt, mutation, None, evaluation)

    def _service_failed(self, attempt: Try, detail: str) -> None:
        """Ask the service again later; a child is never charged for its being down."""
        if attempt.troubles + 1 >= SERVICE_TRIES:
            raise PrerequisiteError(
                f"mutator: the model service failed {SERVICE_TRIES} times in a row: {detail}. "
                "Nothing that was finished is lost; give the same command again when it is up"
            )
        pause = _FIRST_PAUSE_S * 2**attempt.troubles
        again = replace(attempt, troubles=attempt.troubles + 1)
        self._later.append((time.monotonic() + pause, again))

    def _mend(self, attempt: Try, reply: str, evaluation: Evaluation) -> bool:
        """Send a failed proposal back, if its Mutator can mend it and may try once more."""
        reason = evaluation.reason
        if reason not in MENDABLE or len(attempt.failures) >= self._mends:
            return False
        if self.purse.is_empty or (self._weighs and not self._mending_pays(attempt)):
            return False
        failure = Failure(reply, reason, evaluation.detail)
        self._propose(replace(attempt, failures=(*attempt.failures, failure)))
        return True

    def _mending_pays(self, attempt: Try) -> bool:
        others = (
            len(other.failures) - 1 for other, _ in self._proposing.values() if other.failures
        )
        return self._steps.state.mending.pays(failed=len(attempt.failures) + sum(others))

    # -- evaluate ----------------------------------------------------------------------------

    def _submit(self, slots: int) -> None:
        """Hand children to the executor: as many as run at a time, and a few more to follow.

        A slot that falls free then takes the next by itself, whatever this thread does meanwhile.
        """
        most = slots + (slots // 2 if slots == self._executor.capacity() else 0)
        while self._ready and len(self.flight) < most and not self.flight.exclusive:
            self.flight.submit(self._ready.popleft())

    def _evaluated(self, pending: Pending, evaluation: Evaluation) -> None:
        child = pending.asked.child_id
        attempt = self._tries.pop(child)
        attempt = replace(
            attempt,
            charge=attempt.charge + evaluation.charge,
            seconds=attempt.seconds + evaluation.seconds,
        )
        if evaluation.status is Status.CRASH and self._mend(
            attempt, pending.mutation.reply, evaluation
        ):
            self.claimed.pop(pending.digest, None)
            return
        whole = replace(evaluation, charge=attempt.charge, seconds=attempt.seconds)
        self._finish(attempt, pending.mutation, pending.digest, whole, pending.chance)

    def _finish(
        self,
        attempt: Try,
        mutation: Mutation,
        digest: str | None,
        evaluation: Evaluation,
        chance: str = "",
    ) -> None:
        if mutation.usage is not None:
            usage = replace(mutation.usage, mends=len(attempt.failures))
            mutation = replace(mutation, usage=usage)
        result = self._steps.finish(attempt.asked, mutation, digest, evaluation, chance)
        paid = added(mutation.usage, evaluation.grading)
        self.purse.settle(attempt.asked.child_id, (paid.cost_usd if paid else None) or 0.0)
        self._finished.append((attempt.asked, result))

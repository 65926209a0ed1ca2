"""Children under evaluation: submitted, retried where the machine was to blame, and collected."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from lae_controller.errors import ChildError, PrerequisiteError
from lae_controller.evaluators.cascade import Job
from lae_controller.executors import Executor
from lae_controller.files import remove_tree
from lae_controller.program import Evaluation, Reason, Status
from lae_controller.state import Asked
from lae_controller.task import Mutation


@dataclass(frozen=True, slots=True)
class Repeat:
    """A further full run of a program that was run before.

    Attributes:
        name: of the stage.
        offset: from the first training seed; 0 runs the first seed again.
    """

    name: str
    offset: int

    @staticmethod
    def further(runs: int) -> Repeat:
        """Return the run that follows ``runs`` earlier ones, on the next seed."""
        return Repeat(f"full-{runs + 1}", runs)

    @staticmethod
    def named(name: str) -> Repeat:
        """Return the further run of this name: ``again``, or ``full-2`` and so on.

        Raises:
            ValueError: if no further run has such a name.
        """
        return AGAIN if name == AGAIN.name else Repeat.further(int(name.removeprefix("full-")) - 1)


AGAIN = Repeat("again", 0)
"""The first seed once more: what a program without chance must reproduce."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A frozen child on its way through the cascade.

    Attributes:
        suspect: what calls for a look at its change before it is placed; empty if nothing does.
        chance: a source of chance that its change brings in; empty if it brings in none.
        repeat: None for the cascade.
    """

    asked: Asked
    mutation: Mutation
    digest: str
    suspect: str = ""
    chance: str = ""
    repeat: Repeat | None = None


class InFlight:
    """The evaluations under way.

    A child that the machine spoiled (a full disk, a dead warden) is run once more; the second
    time the run stops. A child that ran out of memory beside others is run once more alone, when
    all others have ended: if it fits then, ``crowded`` tells that too many ran at a time.
    """

    def __init__(self, executor: Executor, job_of: Callable[[Pending], Job]) -> None:
        self._executor = executor
        self._job_of = job_of
        self._running: dict[str, Pending] = {}
        self._alone: list[Pending] = []
        self._retried: set[str] = set()
        self._tried_alone: set[str] = set()
        self.crowded: list[str] = []

    def __bool__(self) -> bool:
        """Whether any child has not ended yet."""
        return bool(self._running or self._alone)

    @property
    def exclusive(self) -> bool:
        """Whether nothing else may start: a child runs alone, or waits for it."""
        return bool(self._alone) or any(
            pending.asked.child_id in self._tried_alone for pending in self._running.values()
        )

    def __len__(self) -> int:
        """How many evaluations were submitted and have not ended."""
        return len(self._running)

    def submit(self, pending: Pending) -> None:
        """Start (or queue) the evaluation of a child."""
        self._running[self._executor.submit(self._job_of(pending))] = pending

    def ended(self, tick: float) -> Iterator[tuple[Pending, Evaluation]]:
        """Yield what ended; waits up to ``tick`` seconds if nothing has.

        Raises:
            PrerequisiteError: if the machine failed a child twice.
            Interrupted: if everything is being ended.
        """
        if self._alone and not self._running:
            pending = self._alone.pop(0)
            self._tried_alone.add(pending.asked.child_id)
            self._again(pending)
        for attempt in self._executor.poll(tick):
            pending = self._running.pop(attempt)
            evaluation = self._collect(attempt, pending)
            if evaluation is not None:
                yield pending, evaluation

    def _collect(self, attempt: str, pending: Pending) -> Evaluation | None:
        """Return how a child ended; None if it is to be run again."""
        child = pending.asked.child_id
        try:
            evaluation = self._executor.collect(attempt)
            trouble = evaluation.detail if evaluation.reason is Reason.ENVIRONMENT else ""
        except PrerequisiteError as error:
            if child in self._retried:
                raise
            trouble = str(error)
        if trouble and child in self._retried:
            raise PrerequisiteError(
                f"{child}: the machine failed twice, not the child: {trouble}. Mend it and give "
                "the same command again; nothing that was finished is lost"
            )
        if trouble:
            self._retried.add(child)
            self._again(pending)
            return None
        if child in self._tried_alone:
            if evaluation.reason is not Reason.OOM:
                self.crowded.append(child)
            return evaluation
        if evaluation.reason is Reason.OOM and self._executor.capacity() > 1:
            self._alone.append(pending)
            return None
        return evaluation

    def _again(self, pending: Pending) -> None:
        job = self._job_of(pending)
        remove_tree(job.folder)  # what it left does not count, or it would be read again
        self.submit(pending)


def held_back(pending: Pending, evaluation: Evaluation) -> Evaluation:
    """Return the evaluation with the reason why it must be looked at, if there is one."""
    if not pending.suspect or evaluation.metric is None:
        return evaluation
    told = [pending.suspect, evaluation.detail] if evaluation.detail else [pending.suspect]
    return replace(evaluation, reason=Reason.SUSPECT, detail="; ".join(told))


def never_ran(error: ChildError) -> Evaluation:
    """Return the evaluation of a child that failed before any run."""
    return Evaluation(status=Status.CRASH, reason=error.reason, detail=error.detail)

"""The loop's own parts, where a served experiment differs: who evaluates, and what is told.

Everything else (choice of parents, Mutator processes, freezing, mending, placing, ledgers) is what
``lae run`` uses.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

from lae_controller.children import Children
from lae_controller.codec import encode
from lae_controller.config import MutatorSettings, Settings
from lae_controller.errors import ChildError
from lae_controller.evaluators import Interrupted
from lae_controller.evaluators.baseline import Prepared
from lae_controller.evaluators.cascade import Job
from lae_controller.inflight import Pending, never_ran
from lae_controller.parts import Core
from lae_controller.pipeline import Pipeline, Try
from lae_controller.program import Evaluation, Reason, is_baseline, rng_for
from lae_controller.sandbox.launch import Lifelines
from lae_controller.service.book import SEED_ID, ServedProgram
from lae_controller.service.briefing import briefing
from lae_controller.service.catalogue import Catalogue, ModelChoice
from lae_controller.service.experiment import Experiment, generating
from lae_controller.service.limits import PROGRAM_DESCRIPTION as DESCRIPTION
from lae_controller.service.states import ProgramState
from lae_controller.state import Asked, RunState
from lae_controller.steps import Steps, Unfit
from lae_controller.task import Failure, Mutation, MutatorFailure, Task


class ServedChildren(Children):
    """Children whose tasks say what the experiment is about and which model is asked."""

    def __init__(
        self,
        experiment: Experiment,
        catalogue: Catalogue,
        settings: Settings,
        prepared: Prepared,
        lifelines: Lifelines,
    ) -> None:
        super().__init__(settings, prepared, lifelines)
        self._experiment = experiment
        self._catalogue = catalogue
        self._seed = settings.evolution.seed
        self._cut = lifelines

    def build(self, asked: Asked, state: RunState, failures: tuple[Failure, ...] = ()) -> Task:
        """Make the child's directory and its task."""
        config = self._experiment.book.config
        task = replace(
            super().build(asked, state, failures),
            run_cmd="",
            budget="",
            insights=self._insights(asked),
            context=briefing(self._experiment.book),
            whole_files=config.full_program,
        )
        mutator = encode(self.mutator_of(asked))
        path = self.folder(asked.child_id) / "task.json"
        # Not fsynced: after a crash of the machine the child is asked for anew, with another task.
        path.write_text(json.dumps({"mutator": mutator, "task": encode(task)}), encoding="utf-8")
        return task

    def mutator_of(self, asked: Asked) -> MutatorSettings:
        """Return the Mutator's settings with the model that was drawn for a child."""
        return self._catalogue.settings(self._model(asked))

    def _model(self, asked: Asked) -> ModelChoice:
        models = self._experiment.book.config.models
        rng = rng_for(self._seed, asked.child_id, "model")
        return rng.choices(models, [model.weight for model in models])[0]

    def _insights(self, asked: Asked) -> tuple[str, ...]:
        """Return what evaluators remarked on the parent and on the best inspiration."""
        shown = [asked.parent_id or SEED_ID, *asked.top[:1]]
        programs = [self._experiment.program(served_id(child)) for child in shown]
        remarks = [p.evaluation.remarks() for p in programs if p.evaluation is not None]
        return tuple(dict.fromkeys(line for lines in remarks for line in lines))

    def mutate(self, child_id: str) -> Mutation | MutatorFailure:
        """Run the Mutator; meanwhile the program is GENERATING."""
        if self._cut.cut_all:
            raise Interrupted(child_id)
        self._experiment.asked(generating(self._experiment.program(child_id)))
        return super().mutate(child_id)


class ServedSteps(Steps):
    """The steps of a child that its client evaluates.

    Attributes:
        made: the proposals of programs that are ready, without their texts, by id.
    """

    def __init__(self, core: Core, made: dict[str, Mutation]) -> None:
        super().__init__(core)
        self.made = made

    def freeze(
        self, asked: Asked, mutation: Mutation, claimed: Mapping[str, str]
    ) -> Pending | Unfit:
        """Check a change; beside the usual, it may add no file: only blocks may change."""
        frozen = super().freeze(asked, mutation, claimed)
        if isinstance(frozen, Unfit):
            return frozen
        added = self.children.files(asked.child_id).keys() - set(self.baseline.editable)
        if added:
            detail = f"{min(added)}: a new file; only code between evolve markers may change"
            return Unfit(None, never_ran(ChildError(Reason.OUT_OF_BOUNDS, detail)))
        self.made[asked.child_id] = replace(mutation, change="", reply="")
        return replace(frozen, suspect="", chance="")  # the score is the client's to judge

    def believed(self, pending: Pending, evaluation: Evaluation) -> Evaluation:  # noqa: ARG002
        """Return the evaluation as the client gave it."""
        return evaluation


class ServedPipeline(Pipeline):
    """A pipeline that can go on with programs that were ready before a restart."""

    def take_up(self, pending: Pending) -> None:
        """Take in a child that was frozen in an earlier session; it is not made anew."""
        self._tries[pending.asked.child_id] = Try(pending.asked)
        self.claimed[pending.digest] = pending.asked.child_id
        self._ready.append(pending)


class ClientExecutor:
    """The Executor whose jobs are done by whoever acquires them (see ``Executor``)."""

    def __init__(
        self,
        experiment: Experiment,
        made: Mapping[str, Mutation],
        state: RunState,
        now: Callable[[], float],
    ) -> None:
        self._experiment = experiment
        self._made = made
        self._state = state
        self._now = now
        self._attempts: dict[str, str] = {}
        self._ended: list[str] = []
        self._closed = False

    def capacity(self) -> int:
        """Return how many programs may wait or be held at a time."""
        return 2 * self._experiment.book.config.concurrency

    def submit(self, job: Job) -> str:
        """Queue a program for the workers, unless it was queued before a restart."""
        child = job.child_id
        attempt = f"{child}.{job.attempt}"
        self._attempts[child] = attempt
        there = self._experiment.book.programs.get(child)
        if there is None:
            self._experiment.ready(self._program(job))
        elif there.state is ProgramState.COMPLETED:
            self._ended.append(child)
        return attempt

    def _program(self, job: Job) -> ServedProgram:
        mutation = self._made[job.child_id]
        parent = self._state.asked[job.child_id].parent_id or SEED_ID
        return ServedProgram(
            id=job.child_id,
            state=ProgramState.EVALUATING,
            created=self._experiment.created_at(job.child_id),
            parents=(served_id(parent),),
            description=mutation.summary[:DESCRIPTION],
            digest=job.digest,
            mutation=mutation,
        )

    def poll(self, timeout: float) -> tuple[str, ...]:
        """Return the attempts whose evaluation came in; returns early if anything happened."""
        with self._experiment.changed:
            if not self._ended and not self._experiment.reported:
                self._experiment.changed.wait(timeout)
            ended = [*self._ended, *self._experiment.take_reported()]
        self._ended.clear()
        known = [child for child in dict.fromkeys(ended) if child in self._attempts]
        return tuple(self._attempts.pop(child) for child in known)

    def running(self) -> tuple[str, ...]:
        """Return the attempts that were handed out."""
        programs = self._experiment.book.programs
        return tuple(a for child, a in self._attempts.items() if programs[child].lease is not None)

    def owes(self) -> bool:
        """Whether there are evaluations that were taken from clients and not yet collected."""
        programs = self._experiment.book.programs
        return any(programs[child].state is ProgramState.COMPLETED for child in self._attempts)

    def bring(self, child_id: str) -> None:
        """Leave everything as it is: clients keep what their runs leave behind."""

    def forget(self, child_id: str) -> None:
        """Leave everything as it is, for the same reason."""

    def collect(self, attempt: str) -> Evaluation:
        """Return what the client reported."""
        if self._closed:
            raise Interrupted(attempt)
        child = attempt.rpartition(".")[0]
        book = self._experiment.book
        program, seed = book.programs[child], book.programs[SEED_ID]
        if program.evaluation is None or seed.evaluation is None:
            raise Interrupted(attempt)
        since = program.lease.since if program.lease is not None else self._now()
        metric = next(iter(seed.evaluation.scores))
        return program.evaluation.evaluation(metric, max(0.0, self._now() - since))

    def close(self) -> None:
        """Give up waiting; the programs stay with the experiment."""
        self._closed = True


def served_id(child: str) -> str:
    """Return the id under which a program is served: the seed's copies on all islands are one."""
    return SEED_ID if child and is_baseline(child) else child

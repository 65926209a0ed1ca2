"""The search of one served experiment: the loop's steps, driven by what its clients do."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from lae_controller.budget import NEVER_RAN_LIMIT
from lae_controller.build import search_for
from lae_controller.config import Settings
from lae_controller.errors import LaeError, PrerequisiteError
from lae_controller.evaluators import Interrupted
from lae_controller.evaluators.baseline import Prepared
from lae_controller.files import check_free
from lae_controller.inflight import Pending
from lae_controller.ledger import Ledger
from lae_controller.loop import DISK_FLOOR
from lae_controller.parts import Core
from lae_controller.program import Reason
from lae_controller.remarks import Say, silent
from lae_controller.results import Result
from lae_controller.resume import load_state
from lae_controller.sandbox.launch import Lifelines
from lae_controller.service.book import SEED_ID, ServedProgram
from lae_controller.service.catalogue import Catalogue
from lae_controller.service.experiment import Experiment
from lae_controller.service.ground import prepare, settings_for
from lae_controller.service.served import (
    ClientExecutor,
    ServedChildren,
    ServedPipeline,
    ServedSteps,
    served_id,
)
from lae_controller.service.states import Action, ExperimentState, ProgramState
from lae_controller.session import observer
from lae_controller.state import Asked, RunState
from lae_controller.task import Mutation

_WAIT_S = 0.5
_ALL = 1 << 30  # every frozen program is queued at once; ``Experiment.room`` bounds their number
_SELDOM = 50.0  # the leaderboard of a long search takes a fiftieth of its time at most
_NOTHING_NEW = frozenset({Reason.NO_CHANGE, Reason.DUPLICATE})
_ALIVE = frozenset({ExperimentState.RUNNING, ExperimentState.PAUSED})


@dataclass(frozen=True, slots=True)
class ServedParts:
    """What one search is put together from.

    Attributes:
        observe: brings ``leaderboard.md`` up to date.
    """

    steps: ServedSteps
    pipeline: ServedPipeline
    executor: ClientExecutor
    observe: Callable[[RunState], None]


class Engine:
    """Generates programs for one experiment until it ends; ``run`` is called in a thread.

    Args:
        folder: of the experiment.
        mutators: shared by all experiments.
        now: the time, in seconds since the epoch.
    """

    def __init__(
        self,
        experiment: Experiment,
        folder: Path,
        catalogue: Catalogue,
        mutators: ThreadPoolExecutor,
        now: Callable[[], float],
        say: Say,
    ) -> None:
        self._experiment = experiment
        self._folder = folder
        self._catalogue = catalogue
        self._mutators = mutators
        self._now = now
        self._say = say
        self._lifelines = Lifelines()
        self._closing = False
        self._reasons: deque[Reason | None] = deque(maxlen=NEVER_RAN_LIMIT)
        self._show_after = 0.0

    def run(self) -> None:
        """Search until the experiment ends or the engine is closed.

        What the machine or a model service is to blame for pauses the experiment; anything else
        that cannot go on fails it.
        """
        try:
            self._search()
        except Interrupted:
            return
        except PrerequisiteError as error:
            self._give_up(Action.STOP, str(error))
        except LaeError as error:
            self._give_up(Action.FAIL, str(error))

    def close(self) -> None:
        """End all Mutators; ``run`` returns soon after."""
        with self._experiment.changed:
            self._closing = True
            self._experiment.changed.notify_all()
        self._lifelines.end_all()

    def _give_up(self, action: Action, reason: str) -> None:
        """Say and write down why the experiment cannot go on, unless it has ended already."""
        with self._experiment.lock:
            if self._experiment.state is ExperimentState.RUNNING and not self._experiment.broken:
                self._say(f"{self._experiment.book.name}: {reason}")
                self._experiment.begun(error=reason)
                self._experiment.move(action, reason)

    # -- the search --------------------------------------------------------------------------

    def _search(self) -> None:
        self._experiment.begun()
        self._experiment.take_reported()  # what came before lies in the book, and is told from it
        if not self._await_seed():
            return
        parts = self._open()
        try:
            parts.steps.begin(variants=0)
            parts.observe(parts.steps.state)
            self._take_up(parts)
            while self._goes_on(parts):
                self._turn(parts)
            parts.observe(parts.steps.state)
        finally:
            self._lifelines.end_all()
            parts.steps.close()

    def _turn(self, parts: ServedParts) -> None:
        """Ask for what there is room for, tell what came in, or wait for either."""
        self._fill(parts)
        for asked, result in parts.pipeline.finished(_ALL):
            self._tell(parts, asked, result)
        if not parts.pipeline:
            self._rest(parts.steps)

    def _await_seed(self) -> bool:
        """Wait until the seed program has a score; False if the experiment ends before."""
        experiment = self._experiment
        with experiment.changed:
            while experiment.program(SEED_ID).evaluation is None:
                if self._closing or experiment.state not in _ALIVE:
                    return False
                experiment.changed.wait(_WAIT_S)
        return not self._closing

    def _goes_on(self, parts: ServedParts) -> bool:
        """Whether programs may still be asked for, or there is something to tell."""
        experiment = self._experiment
        if self._closing or experiment.broken:
            return False
        pipeline = parts.pipeline
        under_way = pipeline.proposing + pipeline.ready + pipeline.untold > 0
        return experiment.state in _ALIVE or under_way or parts.executor.owes()

    def _fill(self, parts: ServedParts) -> None:
        """Ask for as many programs as there is room for."""
        state, size = parts.steps.state, self._experiment.book.config.concurrency
        purse = parts.pipeline.purse
        while self._experiment.room() and state.never_ran < NEVER_RAN_LIMIT and not purse.is_empty:
            check_free(parts.steps.settings.lae_dir, DISK_FLOOR)
            whole = size if state.gen_asked >= state.gen_size else state.gen_size
            (asked,) = parts.steps.choose(state.next_ids(whole)[:1], whole)
            parts.steps.ask([asked])
            self._show(asked)
            parts.pipeline.add(asked)
        if purse.is_empty:
            limit = self._catalogue.mutator.max_cost_usd
            self._give_up(Action.STOP, f"the next proposal could pass max_cost_usd ({limit} USD)")

    def _show(self, asked: Asked) -> None:
        parent = served_id(asked.parent_id or SEED_ID)
        program = ServedProgram(asked.child_id, ProgramState.INITIALIZED, self._now(), (parent,))
        self._experiment.asked(program)

    def _tell(self, parts: ServedParts, asked: Asked, result: Result) -> None:
        finished = parts.steps.state.finished_gen
        parts.steps.tell(asked, result)
        parts.steps.migrate_if_due()
        if parts.steps.state.finished_gen > finished and time.monotonic() >= self._show_after:
            began = time.monotonic()
            parts.observe(parts.steps.state)
            self._show_after = time.monotonic() + _SELDOM * (time.monotonic() - began)
        if asked.child_id in self._experiment.book.programs:
            self._reasons.clear()
        else:
            self._reasons.append(result.evaluation.reason)
            self._experiment.dropped(asked.child_id, result.usage)

    def _rest(self, steps: ServedSteps) -> None:
        """Wait for something to do; end the search if nothing can come any more."""
        experiment = self._experiment
        running = experiment.state is ExperimentState.RUNNING
        if running and steps.state.never_ran >= NEVER_RAN_LIMIT:
            self._exhausted(steps)
        with experiment.changed:
            if not self._closing and not experiment.room():
                experiment.changed.wait(_WAIT_S)

    def _exhausted(self, steps: ServedSteps) -> None:
        """End an experiment whose proposals come to nothing again and again.

        Where all that comes is old, the search is done; any other failure is one.
        """
        latest = f"{NEVER_RAN_LIMIT} proposals in a row came to nothing; the latest: "
        latest += steps.state.latest_reason
        done = set(self._reasons) <= _NOTHING_NEW
        self._give_up(Action.COMPLETE if done else Action.FAIL, latest)

    # -- opening -----------------------------------------------------------------------------

    def _open(self) -> ServedParts:
        """Read (and mend) the ledgers of the search; a fresh one is empty."""
        experiment = self._experiment
        book = experiment.book
        settings = settings_for(book, self._folder, self._catalogue)
        prepared = prepare(book, settings.lae_dir)
        ledger = Ledger(settings.lae_dir, self._say)
        state = load_state(settings, ledger, search_for(settings), prepared.baseline, mend=True)
        made: dict[str, Mutation] = {}
        executor = ClientExecutor(experiment, made, state, self._now)
        children = self._children(settings, prepared)
        steps = ServedSteps(Core(settings, prepared, state, ledger, children), made)
        pipeline = ServedPipeline(steps, executor, self._mutators, in_order=False)
        return ServedParts(steps, pipeline, executor, observer(settings, prepared, silent))

    def _children(self, settings: Settings, prepared: Prepared) -> ServedChildren:
        return ServedChildren(
            self._experiment, self._catalogue, settings, prepared, self._lifelines
        )

    def _take_up(self, parts: ServedParts) -> None:
        """Go on with programs of an earlier session.

        What was reported is told, what was ready stays with whoever holds it, and what was still
        being made is made anew, unless the experiment has ended.
        """
        steps = parts.steps
        left = list(steps.state.asked.values())
        outcomes = steps.on_disk(left)
        for asked in left:
            program = self._experiment.book.programs.get(asked.child_id)
            if asked.child_id in outcomes:
                self._tell(parts, asked, outcomes[asked.child_id])
            elif program is not None and program.mutation is not None:
                steps.made[asked.child_id] = program.mutation
                parts.pipeline.take_up(Pending(asked, program.mutation, program.digest, ""))
            elif self._experiment.state in _ALIVE:
                self._show(asked)
                parts.pipeline.add(asked)

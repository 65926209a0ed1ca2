"""Finished children whose gain may be chance: run again on paired seeds before they are told.

A challenger is compared with whom it would displace on the seeds that both were run on. While the
difference is within the noise, whichever has fewer runs gets the next seed, until the difference
decides or ``confirm.repeats`` are used up; then its sign does. Without noise nothing is repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from lae_controller import results
from lae_controller.budget import Budget
from lae_controller.evaluators.baseline import BASELINE_ID
from lae_controller.files import remove_tree
from lae_controller.inflight import AGAIN, Pending, Repeat
from lae_controller.noise import Noise, Verdict, mean_of
from lae_controller.program import (
    Elite,
    Evaluation,
    Reason,
    Status,
    added,
    is_baseline,
    parse_child_id,
)
from lae_controller.purse import affords_runs, spent_usd
from lae_controller.results import Result
from lae_controller.state import Asked
from lae_controller.steps import PROPOSED_NOTHING, Steps
from lae_controller.told import known_runs

Ended = tuple[Pending, Evaluation]
"""A further run, and what it gave."""

Run = tuple[str, Repeat]
"""(program, which further run of it)."""


class Confirm:
    """Children that are finished and not yet told, and the runs they wait for.

    Attributes:
        missing: the further runs that ``settled`` could not have carried out.
    """

    def __init__(self, steps: Steps, budget: Budget) -> None:
        self._steps = steps
        self._budget = budget
        self._waiting: dict[str, tuple[Asked, Result]] = {}
        self._needed: dict[str, list[Run]] = {}
        self._ordered: set[Run] = set()
        self.missing: Sequence[Pending] = ()

    def __bool__(self) -> bool:
        """Whether any child waits to be told."""
        return bool(self._waiting)

    def add(self, asked: Asked, result: Result) -> None:
        """Take in a finished child."""
        self._waiting[asked.child_id] = (asked, result)

    def due(self) -> tuple[Asked, Result] | None:
        """Return the next child that waits for nothing, to be told at once; None if all wait.

        A child of which a further run is under way waits for it, even if others have settled the
        matter meanwhile: what the run gives counts, and telling would take its folder away.
        """
        running = {program for program, _ in self._ordered}
        for child, (asked, result) in self._waiting.items():
            if child in running:
                continue
            if child not in self._needed:
                self._needed[child] = self._needs(asked, result)
            if not self._needed[child]:
                self._needed.clear()  # what it displaces, others will no longer meet
                return self._waiting.pop(child)
        return None

    def orders(self) -> Iterator[Pending]:
        """Yield the further runs that are needed and not under way."""
        for needs in list(self._needed.values()):
            for run in needs:
                if run not in self._ordered:
                    self._ordered.add(run)
                    yield repeat_of(self._steps, *run)

    def take(self, pending: Pending, evaluation: Evaluation) -> None:
        """Take in a further run that ended."""
        child, repeat = pending.asked.child_id, pending.repeat
        if repeat is None:
            raise ValueError(f"{child}: its evaluation is no further run")
        self._ordered.discard((child, repeat))
        self._needed.clear()
        if child in self._waiting:
            asked, result = self._waiting[child]
            result = self._extended(result, repeat, evaluation)
            results.write(self._steps.settings.lae_dir, result)
            self._waiting[child] = (asked, result)
            return
        known = runs_of(self._steps, child)
        repeats = () if evaluation.metric is None else (*known, evaluation.metric)
        self._steps.rerun(child, repeats, evaluation)
        remove_tree(self._steps.settings.lae_dir / "runs" / child)

    def settled(
        self,
        asked: Asked,
        result: Result,
        carry_out: Callable[[Sequence[Pending]], Sequence[Ended]],
    ) -> Result | None:
        """Return the result by which a child is to be told, once its gain is more than chance.

        The further runs of a round are all taken in before anything is decided, in the order in
        which they were ordered: what comes of it does not hang on which of them ended first.

        Args:
            carry_out: makes further runs, or finds them made; gives fewer if some are not there.

        Returns:
            None if some are not there; see ``missing``.
        """
        self.add(asked, result)
        while (due := self.due()) is None:
            orders = list(self.orders())
            ended = carry_out(orders)
            if len(ended) < len(orders):
                self.missing = orders
                return None
            for each in ended:
                self.take(*each)
        return due[1]

    # -- what a child still needs ------------------------------------------------------------

    def _needs(self, asked: Asked, result: Result) -> list[Run]:
        noise = self._steps.state.noise
        if not noise.is_real and not result.chance:
            return []  # before the candidate is compared with its island, which takes time
        elite = self._steps.candidate(asked, result)
        if elite is None or asked.parent_id is None:
            return []
        _, island, _ = parse_child_id(asked.child_id)
        rivals = self._steps.state.search.rivals(island, elite)
        if rivals and noise.judge(elite.runs, _runs(rivals[0])) is Verdict.LOSES:
            return []
        unproven = noise.sigma == 0.0 and result.chance
        if unproven and not self._can_pay(asked.child_id, 1):
            self._waiting[asked.child_id] = (asked, _held(result))
            return []
        if unproven:
            return [(asked.child_id, AGAIN)]
        needs = self._contest(elite, rivals, noise)
        return needs if self._can_pay(asked.child_id, len(needs)) else []

    def _contest(self, elite: Elite, rivals: list[Elite], noise: Noise) -> list[Run]:
        for rival in rivals:
            verdict = noise.judge(elite.runs, _runs(rival))
            if verdict is Verdict.LOSES:
                return []
            pairs = min(len(elite.runs), len(_runs(rival)))
            if verdict is Verdict.OPEN and pairs <= self._steps.settings.confirm.repeats:
                repeat = Repeat.further(pairs)
                return [
                    (_program(each.child_id), repeat)
                    for each in (elite, rival)
                    if len(_runs(each)) <= pairs
                ]
        return []

    def _can_pay(self, child: str, runs: int) -> bool:
        settings, files = self._steps.settings, self._steps.children.files
        if not affords_runs(settings, spent_usd(self._steps.state), runs, files(child)):
            return False
        state, waiting = self._steps.state, self._waiting.values()
        finished = sum(result.evaluation.charge for _, result in waiting)
        return self._budget.affords(
            runs, state, self._steps.elapsed(), len(state.asked) - len(self._waiting), finished
        )

    # -- what a further run tells ------------------------------------------------------------

    def _extended(self, result: Result, repeat: Repeat, run: Evaluation) -> Result:
        """Return the result of a waiting child with one more run."""
        evaluation = result.evaluation
        evaluation = replace(
            evaluation,
            charge=evaluation.charge + run.charge,
            seconds=evaluation.seconds + run.seconds,
            grading=added(evaluation.grading, run.grading),
        )
        if run.metric is None:
            evaluation = replace(
                evaluation,
                status=Status.CRASH,
                metric=None,
                reason=run.reason,
                detail=f"in a further run ({repeat.name}): {run.detail}",
            )
        elif repeat == AGAIN:
            return _compared(replace(result, evaluation=evaluation), run.metric)
        else:
            repeats = (*evaluation.repeats, run.metric)
            evaluation = replace(evaluation, repeats=repeats, metric=mean_of(repeats))
        return replace(result, evaluation=evaluation)


def _compared(result: Result, again: float) -> Result:
    """Return the result of a child that draws on chance, by its second run on the same seed.

    One that reproduced its metric draws on no chance that counts: it is not asked again, not even
    by another session.
    """
    evaluation = result.evaluation
    first, artifacts = evaluation.repeats[0], evaluation.artifacts
    if again == first:
        note = f"{result.chance}; a second run on the same seed gave the same"
        artifacts = replace(artifacts, warnings=(*artifacts.warnings, note))
        return replace(result, chance="", evaluation=replace(evaluation, artifacts=artifacts))
    detail = (
        f"a second run on the same seed gave {again!r} and not {first!r}, and the baseline's runs "
        f"do not differ; {result.chance}"
    )
    evaluation = replace(evaluation, reason=Reason.SUSPECT, detail=detail)
    return replace(result, chance="", evaluation=evaluation)


def _runs(elite: Elite) -> tuple[float, ...]:
    """Return the fitness on each seed; of an elite taken from tables only the mean is known."""
    return elite.runs or (elite.fitness,)


def _held(result: Result) -> Result:
    """Return the result of a child that nobody could afford to run a second time."""
    detail = f"{result.chance}; nothing was left to see whether its metric can be reproduced"
    evaluation = replace(result.evaluation, reason=Reason.SUSPECT, detail=detail)
    return replace(result, evaluation=evaluation)


def _program(child_id: str) -> str:
    """Return the id under which a program is run: the baseline has one on every island."""
    return BASELINE_ID if is_baseline(child_id) else child_id


def runs_of(steps: Steps, child_id: str) -> tuple[float, ...]:
    """Return the metric of a told program on each seed, first seed first."""
    runs = known_runs(child_id, steps.state.told, steps.state.repeats)
    if not runs:
        raise ValueError(f"{child_id} has no metric; it cannot be run again")
    return runs


def repeat_of(steps: Steps, child_id: str, repeat: Repeat) -> Pending:
    """Return a further run of a program, told or waiting to be."""
    result = results.read(steps.settings.lae_dir, child_id)
    digest = result.digest if result is not None and result.digest else steps.baseline.digest
    parent = result.parent_id if result is not None else None
    asked = Asked(child_id, 0, 0, parent, "rerun")
    return Pending(asked, PROPOSED_NOTHING, digest, repeat=repeat)

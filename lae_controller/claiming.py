"""The claim at the end: the best program against the baseline on seeds that nobody searched on."""

from __future__ import annotations

from lae_controller.budget import Budget
from lae_controller.confirm import repeat_of
from lae_controller.evaluators.baseline import BASELINE_ID
from lae_controller.evaluators.heldout import TEST_STAGE, has_test
from lae_controller.files import remove_tree
from lae_controller.inflight import Repeat
from lae_controller.pipeline import Pipeline
from lae_controller.program import Elite, Evaluation, added
from lae_controller.purse import affords_runs, spent_usd
from lae_controller.remarks import Say
from lae_controller.steps import Steps

FRESH = 1000
"""Offset of the first seed that is kept for claims."""


class Claiming:
    """Spends what was kept in reserve on fresh runs of the best program and of the baseline."""

    def __init__(self, steps: Steps, budget: Budget, say: Say) -> None:
        self._steps = steps
        self._budget = budget
        self._say = say

    def run(self, pipeline: Pipeline, slots: int) -> None:
        """Run as many pairs as the rest of the budget gives; nothing, if there is no noise.

        A best program that fails on a fresh seed leaves the archive, and the next one is run.
        """
        while (best := self._to_claim()) is not None:
            pairs = self._budget.pairs(self._steps.state, self._steps.elapsed())
            while pairs > 0 and not self._can_pay(best.child_id, 2 * pairs):
                pairs -= 1
            if pairs < 1:
                return
            self._say(f"{best.child_id} and the baseline on {pairs} fresh seeds, for the claim")
            self._claim(best.child_id, pairs, pipeline, slots)

    def held_out(self, pipeline: Pipeline, slots: int) -> None:
        """Measure the best program and the baseline on what was held out, each once."""
        best = self._steps.state.search.global_best()
        if best is None or not has_test(self._steps.settings):
            return
        programs = {BASELINE_ID, BASELINE_ID if best.parent_id is None else best.child_id}
        wanted = sorted(programs - self._steps.state.tests.keys())
        if wanted and not self._can_pay(best.child_id, len(wanted)):
            self._say("the held-out test could pass max_cost_usd; it was not made")
            return
        orders = [repeat_of(self._steps, program, Repeat(TEST_STAGE, 0)) for program in wanted]
        for pending, found in pipeline.carry_out(orders, slots):
            child = pending.asked.child_id
            event = self._steps.state.test(child, found)
            self._steps.ledger.append([event])
            remove_tree(self._steps.settings.lae_dir / "runs" / child)

    def _can_pay(self, child: str, runs: int) -> bool:
        files = self._steps.children.files(child)
        return affords_runs(self._steps.settings, spent_usd(self._steps.state), runs, files)

    def _to_claim(self) -> Elite | None:
        state = self._steps.state
        best = state.search.global_best()
        if best is None or best.parent_id is None or not state.noise.is_real:
            return None
        return best

    def _claim(self, child: str, pairs: int, pipeline: Pipeline, slots: int) -> None:
        first = FRESH + sum(len(known) for known in self._steps.state.claims.values())
        wanted = [Repeat(f"claim-{first + j - FRESH + 1}", first + j) for j in range(pairs)]
        pair = (child, BASELINE_ID)
        orders = [repeat_of(self._steps, each, repeat) for repeat in wanted for each in pair]
        found = [evaluation for _, evaluation in pipeline.carry_out(orders, slots)]
        for mine, base in zip(found[::2], found[1::2], strict=True):
            self._note(child, mine, base)
        for program in (child, BASELINE_ID):
            remove_tree(self._steps.settings.lae_dir / "runs" / program)

    def _note(self, child: str, mine: Evaluation, base: Evaluation) -> None:
        cost = Evaluation(
            mine.status,
            charge=mine.charge + base.charge,
            seconds=mine.seconds + base.seconds,
            grading=added(mine.grading, base.grading),
        )
        if mine.metric is not None and base.metric is not None:
            event = self._steps.state.claim(child, (mine.metric, base.metric), cost)
            self._steps.ledger.append([event])
            return
        if mine.metric is None:
            self._say(f"{child} failed on a fresh seed and leaves the archive: {mine.detail}")
            self._steps.rerun(child, (), cost)
        else:
            self._say(f"the baseline failed on a fresh seed: {base.detail}")
            runs = self._steps.state.repeats.get(BASELINE_ID, ())
            self._steps.rerun(BASELINE_ID, runs, cost)

"""The controller: ask, mutate, evaluate, tell, until the budget is spent.

One thread decides everything; Mutators and training runs are processes that other threads wait
for. What happened is appended to the journal before anything that depends on it is begun.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from lae_controller.ahead import Ahead
from lae_controller.budget import Budget, Stop
from lae_controller.claiming import Claiming
from lae_controller.concurrency import Concurrency
from lae_controller.confirm import Confirm, Ended
from lae_controller.evaluators.baseline import BASELINE_ID
from lae_controller.files import check_free
from lae_controller.inflight import Pending
from lae_controller.leases import Leases
from lae_controller.parts import Parts
from lae_controller.pipeline import Pipeline
from lae_controller.program import Evaluation, child_id
from lae_controller.purse import affords, spent_usd, worst_grading
from lae_controller.results import Result, claimed_by
from lae_controller.state import Asked
from lae_controller.steps import Steps

DISK_FLOOR = 64 << 20
"""Bytes that must be free before more children are asked for."""

_ROOM_TO_GROW = 16
"""Slots for which proposals can be made at a time, should there once be so many."""


class Controller:
    """Runs one search to its end, or until it is asked to stop."""

    def __init__(self, parts: Parts) -> None:
        self.settings = parts.settings
        self.state = parts.state
        self.ledger = parts.ledger
        self.steps = Steps(parts, parts.executor)
        self.executor = parts.executor
        self._observe = parts.observe
        self._on_tick = parts.on_tick
        self._shown = len(self.state.rows)
        self._has_shown = False
        self.budget = Budget(self.settings, self.steps.baseline, self.steps.plan.smoke_charge)
        self._concurrency = Concurrency(parts)
        self._claiming = Claiming(self.steps, self.budget, parts.say)
        self._out_of_money = False
        baseline = self.steps.baseline
        seconds = baseline.smoke_seconds + baseline.full_seconds
        self._ahead = Ahead(self.settings.mutator, seconds)
        most = self._ahead.most(max(parts.executor.capacity(), _ROOM_TO_GROW))
        self._mutators = ThreadPoolExecutor(max_workers=most)  # threads are made as needed

    def run(self) -> Stop:
        """Go on from wherever the ledgers stand until there is a reason to stop."""
        self._concurrency.note_configured()
        self.steps.begin(self.budget.variants)
        self._carry_out(self._variants())
        self._show()
        in_order = self.settings.evolution.in_order
        stop = self._generational() if in_order else self._async()
        if stop.reason != "asked":
            self._claiming.run(self._pipeline(), self._concurrency.slots)
            self._claiming.held_out(self._pipeline(), self._concurrency.slots)
        self._show()
        if not self._has_shown:
            self._observe(self.state)  # nothing was left to do; the views are made all the same
        self.ledger.append([self._end(stop)])
        return stop

    def _end(self, stop: Stop) -> dict[str, object]:
        return {"event": "stop", "reason": stop.reason, "elapsed": self.steps.elapsed()}

    def _show(self) -> None:
        """Bring leaderboard and status line up to date, if anything was told since."""
        if len(self.state.rows) != self._shown:
            self._shown = len(self.state.rows)
            self._has_shown = True
            self.ledger.sync_all()
            self._observe(self.state)

    def _variants(self) -> list[Asked]:
        """Ask for the mutated copies of the baseline that generation 0 is to have."""
        islands = self.settings.evolution.num_islands
        variants = self.budget.variants
        size = islands * (1 + variants)
        wanted = [child_id(0, i, v + 1) for v in range(variants) for i in range(islands)]
        new = [child for child in wanted if not self.steps.is_known(child)]
        self.steps.ask(self.steps.choose(new, size))
        return [self.state.asked[c] for c in wanted if c in self.state.asked]

    # -- generational: all of a generation, then the next ------------------------------------------

    def _generational(self) -> Stop:
        while (stop := self._stop_between()) is None:
            check_free(self.settings.lae_dir, DISK_FLOOR)
            self._ask_more()
            self._carry_out(list(self.state.asked.values()))
            self.steps.migrate_if_due()
            self._show()
        return stop

    def _stop_between(self) -> Stop | None:
        """Return why no further generation should begin; None if one should, or is unfinished."""
        if self.state.asked and not self._out_of_money:
            return None
        return self._stop()

    def _ask_more(self) -> None:
        """Ask for the children that the current generation lacks, or for a new generation."""
        if self.state.asked and self.state.gen_asked >= self.state.gen_size:
            return
        fresh = self.state.generation_done
        size = self._generation_size() if fresh else self.state.gen_size
        self.steps.ask(self.steps.choose(self.state.next_ids(size), size))

    def _carry_out(self, generation: list[Asked]) -> None:
        """Mutate and evaluate children side by side, then tell them in slot order."""
        outcomes = self.steps.on_disk(generation)
        missing = [asked for asked in generation if asked.child_id not in outcomes]
        pipeline = self._pipeline()
        pipeline.claimed.update(claimed_by(outcomes.values()))
        for asked in missing:
            pipeline.add(asked)
        while pipeline:
            for asked, result in pipeline.finished(self._concurrency.slots):
                outcomes[asked.child_id] = result
        self._out_of_money = pipeline.purse.is_empty
        told = [asked for asked in generation if asked.child_id in outcomes]
        for asked in told:
            self._tell_confirmed(
                asked,
                outcomes[asked.child_id],
                lambda orders: pipeline.carry_out(orders, self._concurrency.slots),
            )
        ran = [outcomes[asked.child_id].evaluation for asked in missing if asked in told]
        self._watch(pipeline, ran)

    def _tell_confirmed(
        self,
        asked: Asked,
        result: Result,
        carry_out: Callable[[Sequence[Pending]], Sequence[Ended]],
    ) -> Sequence[Pending]:
        """Tell a child once its gain is more than chance; returns the runs that this waits for."""
        confirm = Confirm(self.steps, self.budget)
        settled = confirm.settled(asked, result, carry_out)
        if settled is not None:
            self.steps.tell(asked, settled)
        return confirm.missing

    def _repeat(self, confirm: Confirm, pipeline: Pipeline) -> None:
        """Take in the further runs that ended, and start those that are needed."""
        for pending, evaluation in pipeline.repeated():
            confirm.take(pending, evaluation)
        for pending in confirm.orders():
            pipeline.repeat(pending)

    def _pipeline(self) -> Pipeline:
        in_order = self.settings.evolution.in_order
        parts = (self.steps, self.executor, self._mutators)
        return Pipeline(*parts, in_order=in_order, on_tick=self._on_tick)

    # -- async: a free slot is refilled at once ----------------------------------------------------

    def _async(self) -> Stop:
        """Keep every slot busy; children are told as they finish."""
        pipeline = self._pipeline()
        confirm = Confirm(self.steps, self.budget)
        self._take_up(pipeline, confirm)
        recent: list[Evaluation] = []
        stop: Stop | None = None
        while stop is None or pipeline or confirm:
            stop = stop or self._fill(pipeline)
            self._out_of_money = pipeline.purse.is_empty
            for asked, result in pipeline.finished(self._concurrency.slots):
                self._ahead.note(result)
                recent.append(result.evaluation)
                confirm.add(asked, result)
            for call in pipeline.calls():
                self._ahead.proposed(
                    call.crowd, call.seconds, usable=call.usable, replies=call.replies
                )
            while (due := confirm.due()) is not None:
                self._tell_one(pipeline, *due, recent)
            self._repeat(confirm, pipeline)
            self.ledger.sync()
        return stop

    def _take_up(self, pipeline: Pipeline, confirm: Confirm) -> None:
        """Go on with children of an earlier session: tell what is finished, redo the rest."""
        left = list(self.state.asked.values())
        outcomes = self.steps.on_disk(left)
        pipeline.claimed.update(claimed_by(outcomes.values()))
        for asked in left:
            if asked.child_id in outcomes:
                confirm.add(asked, outcomes[asked.child_id])
        for asked in left:
            if asked.child_id not in outcomes:
                began = (self.settings.lae_dir / "runs" / asked.child_id).is_dir()
                pipeline.add(asked, began=began)

    def _fill(self, pipeline: Pipeline) -> Stop | None:
        """Ask for children until enough are under way; return why that has an end."""
        self._concurrency.follow()
        slots = self._concurrency.slots
        under_way = pipeline.proposing + pipeline.ready + len(pipeline.flight)
        useful = self._ahead.useful(slots) - pipeline.proposing
        wanted = min(self._ahead.wanted(slots, pipeline.waited_s) - under_way, useful)
        new: list[Asked] = []
        stop: Stop | None = None
        while len(new) < wanted and (stop := self._stop()) is None:
            if len(self.state.asked) >= self.budget.room(self.state, self.steps.elapsed()):
                break  # what is under way may cost less than it could, or use up the budget
            new.append(self._ask_one(durable=False))
        if new:
            check_free(self.settings.lae_dir, DISK_FLOOR)
            self.ledger.sync()
        for asked in new:
            pipeline.add(asked)
        return stop

    def _ask_one(self, *, durable: bool = True) -> Asked:
        """Ask for the next child: of the current generation, or of a new one.

        Args:
            durable: see ``Steps.ask``.
        """
        fresh = self.state.gen_asked >= self.state.gen_size
        size = self._concurrency.slots if fresh else self.state.gen_size
        (asked,) = self.steps.choose(self.state.next_ids(size)[:1], size)
        self.steps.ask([asked], durable=durable)
        return asked

    def _tell_one(
        self, pipeline: Pipeline, asked: Asked, result: Result, recent: list[Evaluation]
    ) -> None:
        finished = self.state.finished_gen
        self.steps.tell(asked, result)
        self.steps.migrate_if_due()
        if self.state.finished_gen > finished:
            self._show()
            self._watch(pipeline, recent)
            recent.clear()

    # -- a host's own Mutators -----------------------------------------------------------------

    def hand_out(self, count: int | None, leases: Leases) -> tuple[list[Asked], Stop | None]:
        """Reserve up to ``count`` tasks, or one for each slot; and say why there are no more.

        Tasks whose lease has run out come first.
        """
        self._concurrency.note_configured()
        self.steps.begin(self.budget.variants)
        self._variants()
        wanted = self._concurrency.slots if count is None else count
        free = [asked for asked in self.state.asked.values() if leases.is_free(asked)]
        stop: Stop | None = None
        while len(free) < wanted and stop is None:
            more, stop = self._further()
            free += more
            if not more:
                break
        if stop is not None and not self.state.asked and self.state.last_stop != stop.reason:
            self.ledger.append([self._end(stop)])
        self._show()
        return [self.steps.lease(asked, leases.new()) for asked in free[:wanted]], stop

    def _further(self) -> tuple[list[Asked], Stop | None]:
        """Ask for the next children that the schedule allows at this time, if any."""
        in_order = self.settings.evolution.in_order
        if in_order and self.state.asked:
            return [], None
        stop = self._stop() or self._cannot_be_graded()
        if stop is not None:
            return [], stop
        before = set(self.state.asked)
        if in_order:
            self._ask_more()
        elif len(before) < self.budget.room(self.state, self.steps.elapsed()):
            self._ask_one()
        return [asked for child, asked in self.state.asked.items() if child not in before], None

    def _cannot_be_graded(self) -> Stop | None:
        """Return why a host's next program could not be graded, where a model does that."""
        limit = self.settings.mutator.max_cost_usd
        if limit is None:
            return None
        most = worst_grading(self.settings, self.steps.children.files(BASELINE_ID))
        if not most or affords(self.settings, spent_usd(self.state), most):
            return None
        return Stop("money", f"grading the next child could pass max_cost_usd ({limit:g} USD)")

    def take_in(
        self, child: str, ended: Callable[[Pending], Evaluation | None]
    ) -> Sequence[Pending]:
        """Tell a child whose result lies on disk, with all of its generation if it goes by those.

        A generation that is not complete is not told yet.

        Args:
            ended: what a further run gave; None if it was not made yet.

        Returns:
            the further runs without which the next child cannot be told; empty if there are none.
        """
        in_order = self.settings.evolution.in_order
        due = list(self.state.asked.values()) if in_order else [self.state.asked[child]]
        outcomes = self.steps.on_disk(due)
        missing: Sequence[Pending] = ()
        for asked in due if len(outcomes) == len(due) else ():
            result = outcomes[asked.child_id]
            self._outside(result.evaluation)
            missing = self._tell_confirmed(asked, result, partial(self._found, ended))
            if missing:
                return missing
        self.steps.migrate_if_due()
        self._show()
        return missing

    def _found(
        self, ended: Callable[[Pending], Evaluation | None], orders: Sequence[Pending]
    ) -> list[Ended]:
        """Return the further runs that were made, unless one of them is missing."""
        found = [(pending, run) for pending in orders if (run := ended(pending)) is not None]
        if len(found) == len(orders):
            for _, evaluation in found:
                self._outside(evaluation)
        return found

    def _outside(self, evaluation: Evaluation) -> None:
        """Count the time of what other processes ran."""
        self.steps.advance(evaluation.seconds / self._concurrency.slots)

    # -- when to stop ------------------------------------------------------------------------

    def _stop(self) -> Stop | None:
        """Return why no further child should be asked for; None if one should."""
        asked = self.settings.lae_dir / "stop"
        if asked.exists():
            asked.unlink(missing_ok=True)
            return Stop("asked", "asked to stop; what ran was finished")
        if self._out_of_money:
            limit = self.settings.mutator.max_cost_usd
            return Stop("money", f"the next proposal could pass max_cost_usd ({limit:g} USD)")
        return self.budget.stop(self.state, self.steps.elapsed())

    def _generation_size(self) -> int:
        """Return the size of the next generation: one child a slot, as far as the budget goes."""
        self._concurrency.follow()
        return min(self._concurrency.slots, self.budget.room(self.state, self.steps.elapsed()))

    def _watch(self, pipeline: Pipeline, evaluations: list[Evaluation]) -> None:
        """Lower the concurrency if children got in each other's way."""
        if pipeline.flight.crowded:
            crowd = ", ".join(pipeline.flight.crowded)
            self._concurrency.lower(f"{crowd} ran out of memory beside others, not alone")
            pipeline.flight.crowded.clear()
        else:
            self._concurrency.watch(evaluations)

    def close(self) -> None:
        """End everything that runs; what was finished stays, what was not is run again."""
        self.executor.close()
        self._mutators.shutdown(wait=True, cancel_futures=True)
        self.steps.close()

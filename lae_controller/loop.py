"""The controller: ask, mutate, evaluate, tell, until the budget is spent.

One thread decides everything; Mutators and training runs are processes that other threads wait
for. What happened is appended to the journal before anything that depends on it is begun.
"""

from __future__ import annotations

import time
from collections import ChainMap
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from datetime import datetime, timezone

from lae_controller import results
from lae_controller.budget import Budget, Stop
from lae_controller.children import DuplicateError
from lae_controller.concurrency import Concurrency
from lae_controller.errors import ChildError
from lae_controller.evaluators.cascade import Job
from lae_controller.files import check_free
from lae_controller.inflight import InFlight, Pending, held_back
from lae_controller.niches import PARAMS_ASSUMED, complexity, diversity
from lae_controller.parts import Parts
from lae_controller.products import Products
from lae_controller.program import (
    Evaluation,
    Intervention,
    Measures,
    Reason,
    Record,
    Status,
    child_id,
    is_baseline,
    parse_child_id,
)
from lae_controller.results import Result
from lae_controller.resume import archive_rows
from lae_controller.sandbox.proof import looks_shadowed
from lae_controller.state import Asked, ask_event
from lae_controller.task import Mutation

DISK_FLOOR = 64 << 20
"""Bytes that must be free before a generation begins."""

_TICK_S = 0.2
_PROPOSED_NOTHING = Mutation("", "-", Intervention.OTHER, "-")


class Controller:
    """Runs one search to its end, or until it is asked to stop."""

    def __init__(self, parts: Parts) -> None:
        self.settings = parts.settings
        self.baseline = parts.prepared.baseline
        self.state = parts.state
        self.ledger = parts.ledger
        self.children = parts.children
        self.executor = parts.executor
        self._observe = parts.observe
        self._plan = self.baseline.plan(self.settings)
        self.budget = Budget(self.settings, self.baseline, self._plan.smoke_charge)
        self._earlier = max(self.state.elapsed, self.baseline.seconds)
        self._began = time.monotonic()
        self._mutators = ThreadPoolExecutor(max_workers=self.executor.capacity())
        self._products = Products(self.settings.lae_dir, self.settings.keep)
        self._concurrency = Concurrency(parts)

    # -- the loop ----------------------------------------------------------------------------

    def run(self) -> Stop:
        """Go on from wherever the ledgers stand until there is a reason to stop."""
        self._concurrency.note_configured()
        if not self.state.gen_size or (self.state.gen == 0 and not self.state.generation_done):
            self._generation_zero()
        for child in self.state.told:
            if is_baseline(child):
                self.children.build_baseline(child)  # a run may have come without its programs
        begun = False
        while (stop := self._next_stop()) is None:
            begun = True
            self._generation()
            if self.state.migration_due:
                self.ledger.append([self.state.migrate()])
                self._write_archive()
            self._observe(self.state)
        if not begun:
            self._observe(self.state)  # nothing was left to do; the views are made all the same
        self.ledger.append([{"event": "stop", "reason": stop.reason, "elapsed": self.elapsed()}])
        return stop

    def _generation_zero(self) -> None:
        """Tell the baseline on every island; evaluate initial variants, if any are wanted."""
        islands = self.settings.evolution.num_islands
        variants = self.settings.evolution.initial_variants
        size = islands * (1 + variants)
        baselines = [self._asked(child_id(0, i, 0), None, size) for i in range(islands)]
        self._ask([asked for asked in baselines if not self._is_known(asked.child_id)])
        for asked in baselines:
            if asked.child_id not in self.state.told:
                self.children.build_baseline(asked.child_id)
                first = parse_child_id(asked.child_id)[1] == 0
                evaluation = self.baseline.evaluation(charged=first)
                result = Result(
                    asked.child_id,
                    None,
                    0,
                    "",
                    Intervention.OTHER,
                    "-",
                    self.baseline.digest,
                    evaluation,
                )
                results.write(self.settings.lae_dir, result)
                self._tell(asked, result)
        wanted = [child_id(0, i, v + 1) for v in range(variants) for i in range(islands)]
        self._ask([self._choose(c, size) for c in wanted if not self._is_known(c)])
        self._carry_out([self.state.asked[c] for c in wanted if c in self.state.asked])
        self._observe(self.state)

    def _generation(self) -> None:
        """Ask for the children of one generation (or those still missing) and see them told."""
        check_free(self.settings.lae_dir, DISK_FLOOR)
        if self.state.generation_done:
            gen, size = self.state.gen + 1, self._generation_size()
            first = self.state.ordinal
        else:
            gen, size = self.state.gen, self.state.gen_size
            first = self.state.ordinal - (len(self.state.asked) + self.state.gen_told)
        search = self.state.search
        wanted = [
            child_id(gen, search.island_of_ordinal(first + slot), slot) for slot in range(size)
        ]
        self._ask([self._choose(c, size) for c in wanted if not self._is_known(c)])
        self._carry_out([self.state.asked[c] for c in wanted if c in self.state.asked])

    def _carry_out(self, generation: list[Asked]) -> None:
        """Mutate and evaluate children side by side, then tell them in slot order."""
        outcomes = self._outcomes_on_disk(generation)
        missing = [asked for asked in generation if asked.child_id not in outcomes]
        proposals = {asked.child_id: self._propose(asked) for asked in missing}
        claimed = _claimed(outcomes.values())
        flight = InFlight(self.executor, self._job)
        for asked in missing:
            failed = self._submit(asked, proposals[asked.child_id], claimed, flight)
            if failed is not None:
                outcomes[asked.child_id] = self._finish(asked, *failed)
        while flight:
            for pending, evaluation in flight.ended():
                outcomes[pending.asked.child_id] = self._finish(
                    pending.asked,
                    pending.mutation,
                    pending.digest,
                    self._believed(pending, evaluation),
                )
        for asked in generation:
            self._tell(asked, outcomes[asked.child_id])
        if flight.crowded:
            crowd = ", ".join(flight.crowded)
            self._concurrency.lower(f"{crowd} ran out of memory beside others, not alone")
        else:
            self._concurrency.watch([outcomes[a.child_id].evaluation for a in missing])

    # -- ask ---------------------------------------------------------------------------------

    def _is_known(self, child: str) -> bool:
        return child in self.state.asked or child in self.state.told

    def _asked(self, child: str, parent: str | None, size: int) -> Asked:
        return Asked(child, 0, size, parent, "baseline", (), ())

    def _choose(self, child: str, size: int) -> Asked:
        _, island, _ = parse_child_id(child)
        chosen = self.state.search.ask(child, island)
        return Asked(child, 0, size, chosen.parent_id, chosen.rule, chosen.top, chosen.diverse)

    def _ask(self, new: list[Asked]) -> None:
        """Write down that these children are asked for, before anything is done for them."""
        if new:
            at = datetime.now(timezone.utc).isoformat(timespec="seconds")
            events = [ask_event(asked, at) for asked in new]
            self.ledger.append(events)
            for event in events:
                self.state.apply(event)

    def _outcomes_on_disk(self, generation: list[Asked]) -> dict[str, Result]:
        """Return finished children of this generation that were not told before a crash."""
        found = {}
        for asked in generation:
            result = results.read(self.settings.lae_dir, asked.child_id)
            if result is not None:
                found[asked.child_id] = result
        return found

    # -- mutate ------------------------------------------------------------------------------

    def _propose(self, asked: Asked) -> Future[Mutation]:
        """Build the child's directory and start its Mutator."""
        if self.children.folder(asked.child_id).exists():  # an earlier session got this far
            asked = replace(asked, attempt=asked.attempt + 1)
            self._ask([asked])
        self.children.build(asked, self.state)
        return self._mutators.submit(self.children.mutate, asked.child_id)

    def _submit(
        self,
        asked: Asked,
        proposal: Future[Mutation],
        claimed: dict[str, str],
        flight: InFlight,
    ) -> tuple[Mutation, str | None, Evaluation] | None:
        """Freeze a child in its turn and submit it; or return why it never ran."""
        mutation = _PROPOSED_NOTHING
        try:
            mutation = _result_of(proposal)
            known = ChainMap(claimed, self.state.known)
            frozen = self.children.freeze(asked, mutation.change, known)
        except DuplicateError as error:
            return mutation, error.digest, _never_ran(error)
        except ChildError as error:
            return mutation, None, _never_ran(error)
        claimed[frozen.digest] = asked.child_id
        flight.submit(Pending(asked, mutation, frozen.digest, frozen.suspect))
        return None

    # -- evaluate ----------------------------------------------------------------------------

    def _job(self, pending: Pending) -> Job:
        asked = pending.asked
        parent = self.state.told[asked.parent_id or ""]
        return Job(
            child_id=asked.child_id,
            attempt=asked.attempt,
            program=self.children.directory(asked.child_id),
            digest=pending.digest,
            folder=self.settings.lae_dir / "runs" / asked.child_id,
            plan=self._plan,
            parent_smoke=parent.smoke_metric,
        )

    def _believed(self, pending: Pending, evaluation: Evaluation) -> Evaluation:
        """Return the evaluation as far as it can be believed.

        A changed program with its parent's metric and curve to the last digit, and no proof of
        what ran, is held to have run its parent's code.
        """
        if evaluation.status is not Status.EVALUATED:
            return evaluation
        if evaluation.proven or self._change_was_seen(pending.asked, evaluation):
            return held_back(pending, evaluation)
        parent = results.read(self.settings.lae_dir, pending.asked.parent_id or "")
        same = parent is not None and (
            parent.evaluation.metric == evaluation.metric
            and parent.evaluation.artifacts.curve == evaluation.artifacts.curve
        )
        if looks_shadowed(True, same, same, proven=False):
            return replace(
                evaluation,
                status=Status.CRASH,
                metric=None,
                reason=Reason.SHADOWED,
                detail="metric and curve are the parent's to the last digit, and nothing proves "
                "that the child's own code was what ran",
            )
        return held_back(pending, evaluation)

    def _change_was_seen(self, asked: Asked, evaluation: Evaluation) -> bool:
        """Say whether every file that the child changed was used by its run."""
        mine = self.children.files(asked.child_id)
        parents = self.children.files(asked.parent_id or "")
        changed = {path for path, text in mine.items() if parents.get(path) != text}
        return not changed & set(evaluation.unseen)

    def _finish(
        self, asked: Asked, mutation: Mutation, digest: str | None, evaluation: Evaluation
    ) -> Result:
        """Make a child's result durable; from here on it cannot be lost."""
        result = Result(
            child_id=asked.child_id,
            parent_id=asked.parent_id,
            attempt=asked.attempt,
            summary=mutation.summary,
            intervention=mutation.intervention,
            operator=mutation.operator,
            digest=digest,
            evaluation=evaluation,
        )
        results.write(self.settings.lae_dir, result)
        return result

    # -- tell --------------------------------------------------------------------------------

    def _tell(self, asked: Asked, result: Result) -> None:
        """Place a child, write it down, and show it in the views."""
        event = self.state.tell(self._record(asked, result))
        self.ledger.append([event])
        self.ledger.append_history(self.state.rows[-1:])
        self._write_archive()
        self.children.forget(asked.child_id)
        islands = self.settings.evolution.num_islands
        self._products.settle(asked.child_id, self.state.search, islands)

    def _write_archive(self) -> None:
        islands = self.settings.evolution.num_islands
        self.ledger.write_archive(archive_rows(self.state.search, islands))

    def _record(self, asked: Asked, result: Result) -> Record:
        gen, island, _ = parse_child_id(asked.child_id)
        evaluation = result.evaluation
        measures, assumed = self._measures(asked, evaluation, island)
        warnings = evaluation.artifacts.warnings
        return Record(
            child_id=asked.child_id,
            parent_id=asked.parent_id,
            gen=gen,
            island=island,
            status=evaluation.status,
            smoke_metric=evaluation.smoke_metric,
            metric=evaluation.metric,
            reason=evaluation.reason,
            detail=evaluation.detail[:500],
            summary=result.summary,
            intervention=result.intervention,
            operator=result.operator,
            rule=asked.rule,
            digest=result.digest,
            measures=measures,
            params=int(measures.complexity) if measures and measures.unit == "params" else None,
            charge=evaluation.charge,
            seconds=evaluation.seconds,
            elapsed=self.elapsed(),
            warnings=(*warnings, PARAMS_ASSUMED) if assumed else warnings,
            repeats=evaluation.repeats,
            tier=evaluation.tier,
            fingerprint=evaluation.fingerprint,
        )

    def _measures(
        self, asked: Asked, evaluation: Evaluation, island: int
    ) -> tuple[Measures | None, bool]:
        if evaluation.status is not Status.EVALUATED:
            return None, False
        files = self.children.files(asked.child_id)
        parent = self.state.told.get(asked.parent_id or "")
        value, unit, assumed = complexity(
            files,
            evaluation.params,
            parent.params if parent else None,
            self.baseline.params,
        )
        evolution = self.settings.evolution
        distance = diversity(
            asked.child_id,
            files,
            island,
            self.state.search,
            self.children.files,
            (evolution.seed, evolution.diversity_reference_size),
        )
        return Measures(value, unit, distance), assumed

    # -- when to stop ------------------------------------------------------------------------

    def elapsed(self) -> float:
        """Return the active seconds of the run, over all sessions."""
        return self._earlier + time.monotonic() - self._began

    def _next_stop(self) -> Stop | None:
        """Return why no further generation should begin; None if one should."""
        if not self.state.generation_done:
            return None
        asked = self.settings.lae_dir / "stop"
        if asked.exists():
            asked.unlink(missing_ok=True)
            return Stop("asked", "asked to stop; what ran was finished")
        return self.budget.stop(self.state, self.elapsed())

    def _generation_size(self) -> int:
        """Return the size of the next generation: one child a slot, as far as the budget goes."""
        return min(self._concurrency.slots, self.budget.room(self.state, self.elapsed()))

    def close(self) -> None:
        """End everything that runs; what was finished stays, what was not is run again."""
        self.executor.close()
        self._mutators.shutdown(wait=True, cancel_futures=True)


def _claimed(outcomes: Iterable[Result]) -> dict[str, str]:
    """Return the programs that finished children of a generation stand for."""
    return {
        result.digest: result.child_id
        for result in outcomes
        if result.digest is not None and result.evaluation.reason is not Reason.DUPLICATE
    }


def _never_ran(error: ChildError) -> Evaluation:
    return Evaluation(status=Status.CRASH, reason=error.reason, detail=error.detail)


def _result_of(proposal: Future[Mutation]) -> Mutation:
    """Wait in short steps, so that Ctrl-C is heard."""
    while not proposal.done():
        wait([proposal], timeout=_TICK_S)
    return proposal.result()

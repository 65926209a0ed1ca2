"""The steps of one child: ask, freeze, evaluate, tell; each has its one implementation here.

``run``, ``ask``/``evaluate``/``tell`` and ``serve`` differ only in who takes a step when.
"""

from __future__ import annotations

import time
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timezone

from lae_controller import results
from lae_controller.errors import ChildError, DuplicateError
from lae_controller.evaluators.baseline import BASELINE_ID
from lae_controller.evaluators.cascade import Job, Plan
from lae_controller.evaluators.early_stop import EarlyStop, early_stop_for
from lae_controller.evaluators.heldout import TEST_STAGE, held_out_stage
from lae_controller.executors import Executor
from lae_controller.inflight import Pending, Repeat, held_back, never_ran
from lae_controller.niches import PARAMS_ASSUMED, complexity, diversity
from lae_controller.parts import Core
from lae_controller.products import Products
from lae_controller.program import (
    Elite,
    Evaluation,
    Intervention,
    Measures,
    Placement,
    Reason,
    Record,
    Status,
    child_id,
    is_baseline,
    parse_child_id,
)
from lae_controller.results import Result
from lae_controller.resume import ArchiveView
from lae_controller.search.elites import elite_of
from lae_controller.state import Asked, Lease, ask_event
from lae_controller.task import Mutation
from lae_controller.trash import Trash


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why a child will never be evaluated.

    Attributes:
        digest: of a program that was tried before; None if the change never applied.
    """

    digest: str | None
    evaluation: Evaluation


_FIRST_CUT_GEN = 2
_WRITERS = 4  # the disk makes durable at once what is waited for side by side
PROPOSED_NOTHING = Mutation("", "-", Intervention.OTHER, "-")


class Steps:
    """What may be done with a child; every step is durable before the next depends on it.

    The holder of the controller lock calls it, from one thread.

    Args:
        executor: evaluates the children; None where other processes do.
    """

    def __init__(self, parts: Core, executor: Executor | None = None) -> None:
        self.settings = parts.settings
        self.baseline = parts.prepared.baseline
        self.state = parts.state
        self.ledger = parts.ledger
        self.children = parts.children
        self.plan = self.baseline.plan(self.settings)
        self._earlier = max(self.state.elapsed, self.baseline.seconds)
        self._began = time.monotonic()
        self._rule: tuple[int, EarlyStop | None] | None = None
        self._archive = ArchiveView(self.ledger, self.settings.evolution.num_islands)
        self._trash = Trash(self.settings.lae_dir / "trash")
        self._products = Products(self.settings.lae_dir, self.settings.keep, self._trash, executor)
        self._writers = ThreadPoolExecutor(_WRITERS, thread_name_prefix="lae-results")

    def close(self) -> None:
        """End what goes on in the background."""
        self._writers.shutdown(wait=True)
        self._trash.close()
        self.children.close()

    def elapsed(self) -> float:
        """Return the active seconds of the run, over all sessions."""
        return self._earlier + time.monotonic() - self._began

    def advance(self, seconds: float) -> None:
        """Count time that passed outside this process, as other processes evaluated."""
        self._earlier += seconds

    # -- generation zero ---------------------------------------------------------------------

    def begin(self, variants: int) -> None:
        """Tell the baseline on every island, unless that was done.

        Args:
            variants: how many mutated copies of it per island generation 0 is to have besides.
        """
        islands = self.settings.evolution.num_islands
        size = islands * (1 + variants)
        baselines = [Asked(child_id(0, i, 0), 0, size, None, "baseline") for i in range(islands)]
        self.ask([asked for asked in baselines if not self.is_known(asked.child_id)])
        for asked in baselines:
            self.children.build_baseline(asked.child_id)  # a run may have come without its programs
            if asked.child_id not in self.state.told:
                self.tell(asked, self._baseline_result(asked))

    def _baseline_result(self, asked: Asked) -> Result:
        first = parse_child_id(asked.child_id)[1] == 0
        evaluation = self.baseline.evaluation(charged=first)
        digest = self.baseline.digest
        kind = Intervention.OTHER
        result = Result(asked.child_id, None, 0, "", kind, "-", digest, evaluation)
        results.write(self.settings.lae_dir, result)
        return result

    # -- ask ---------------------------------------------------------------------------------

    def is_known(self, child: str) -> bool:
        """Say whether a child of this id was asked for or told."""
        return child in self.state.asked or child in self.state.told

    def choose(self, children: Iterable[str], size: int) -> list[Asked]:
        """Choose parents and inspirations for children of a generation of ``size``."""
        asked: list[Asked] = []
        for child in children:
            _, island, _ = parse_child_id(child)
            others = [*self.state.asked.values(), *asked]
            in_flight = [other.parent_id for other in others if other.parent_id is not None]
            chosen = self.state.search.ask(child, island, in_flight)
            asked.append(
                Asked(child, 0, size, chosen.parent_id, chosen.rule, chosen.top, chosen.diverse)
            )
        return asked

    def ask(self, new: Iterable[Asked], *, durable: bool = True) -> None:
        """Write down that these children are asked for, before anything is done for them.

        Args:
            durable: False if the caller calls ``ledger.sync`` before anything is done for them.
        """
        at = datetime.now(timezone.utc).isoformat(timespec="seconds")
        events = [ask_event(asked, at) for asked in new]
        if events:
            self.ledger.append(events, durable=durable)
            for event in events:
                self.state.apply(event)

    def again(self, asked: Asked) -> Asked:
        """Ask for a child once more: its earlier attempt came to nothing."""
        asked = replace(asked, attempt=asked.attempt + 1, lease=None)
        self.ask([asked])
        return asked

    def lease(self, asked: Asked, lease: Lease) -> Asked:
        """Give a task to a host's Mutator; a further attempt if it was given away before."""
        again = self.children.folder(asked.child_id).exists()
        asked = replace(asked, attempt=asked.attempt + again, lease=lease)
        self.ask([asked])
        return asked

    # -- freeze ------------------------------------------------------------------------------

    def freeze(
        self, asked: Asked, mutation: Mutation, claimed: Mapping[str, str]
    ) -> Pending | Unfit:
        """Put a change into its directory and check it.

        Args:
            claimed: digest -> id of children that are frozen but not yet told.
        """
        try:
            known = ChainMap(dict(claimed), self.state.known)
            frozen = self.children.freeze(asked, mutation.change, known)
        except DuplicateError as error:
            return Unfit(error.digest, never_ran(error))
        except ChildError as error:
            return Unfit(None, never_ran(error))
        if frozen.repaired:
            mutation = replace(mutation, repaired=(*mutation.repaired, "indentation"))
        return Pending(asked, mutation, frozen.digest, frozen.suspect, frozen.chance)

    # -- evaluate ----------------------------------------------------------------------------

    def job(self, pending: Pending) -> Job:
        """Return what an executor needs to evaluate a frozen child."""
        asked, plan, gate = pending.asked, self.plan, None
        if pending.repeat is None:
            plan = replace(plan, full=replace(plan.full, rule=self._early_stop(asked)))
            gate = self.state.told[asked.parent_id or ""].smoke_metric
        else:
            plan = self.repeating(pending.repeat)
        return Job(
            child_id=asked.child_id,
            attempt=asked.attempt,
            program=self.children.directory(asked.child_id),
            digest=pending.digest,
            folder=self.settings.lae_dir / "runs" / asked.child_id,
            plan=plan,
            parent_smoke=gate,
        )

    def _early_stop(self, asked: Asked) -> EarlyStop | None:
        """Return the rule that may end a child's run early; never in the first generation."""
        wanted = self.settings.evolution.early_stop
        if not wanted.enabled or parse_child_id(asked.child_id)[0] < _FIRST_CUT_GEN:
            return None
        if self._rule is None or self._rule[0] != len(self.state.rows):
            islands = range(self.settings.evolution.num_islands)
            search = self.state.search
            held = (elite.child_id for i in islands for _, elite in search.elites(i))
            ids = sorted({BASELINE_ID if is_baseline(child) else child for child in held})
            found = [results.read(self.settings.lae_dir, child) for child in ids]
            artifacts = [result.evaluation.artifacts for result in found if result is not None]
            settings = self.settings
            rule = early_stop_for(artifacts, settings.metric, settings.direction, wanted)
            self._rule = (len(self.state.rows), rule)
        return self._rule[1]

    def repeating(self, repeat: Repeat) -> Plan:
        """Return the plan of one more full run."""
        full = self.plan.full
        if repeat.name == TEST_STAGE:
            return replace(self.plan, smoke=None, full=held_out_stage(full))
        stage = replace(full, name=repeat.name, seed=full.seed + repeat.offset)
        return replace(self.plan, smoke=None, full=stage)

    def believed(self, pending: Pending, evaluation: Evaluation) -> Evaluation:
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
        if same:
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

    def finish(
        self,
        asked: Asked,
        mutation: Mutation,
        digest: str | None,
        evaluation: Evaluation,
        chance: str = "",
    ) -> Future[Result]:
        """Begin to make a child's result durable; once that is done it cannot be lost."""
        if mutation.repaired:
            artifacts = evaluation.artifacts
            note = f"repaired: {'; '.join(mutation.repaired)}"
            artifacts = replace(artifacts, warnings=(*artifacts.warnings, note))
            evaluation = replace(evaluation, artifacts=artifacts)
        result = Result(
            child_id=asked.child_id,
            parent_id=asked.parent_id,
            attempt=asked.attempt,
            summary=mutation.summary,
            intervention=mutation.intervention,
            operator=mutation.operator,
            digest=digest,
            evaluation=evaluation,
            usage=mutation.usage,
            promise=mutation.promise,
            chance=chance,
        )
        return self._writers.submit(results.write, self.settings.lae_dir, result)

    def on_disk(self, wanted: Iterable[Asked]) -> dict[str, Result]:
        """Return, by id, what was finished and not told before a crash, or by another process."""
        found = (results.read(self.settings.lae_dir, asked.child_id) for asked in wanted)
        return {result.child_id: result for result in found if result is not None}

    def candidate(self, asked: Asked, result: Result) -> Elite | None:
        """Return what a finished child would be in the archive; None if it cannot be placed."""
        record = self._record(asked, result)
        return None if record.reason else elite_of(record, self.settings.direction)

    def rerun(self, child: str, repeats: Sequence[float], cost: Evaluation) -> None:
        """Write down a further run of a program that was told, and let it count.

        Args:
            repeats: its metric on each seed, the new one last; empty if the new run failed, which
                takes the program out of the archive.
            cost: of the run.
        """
        self.ledger.append([self.state.rerun(child, repeats, cost)])
        self.write_archive()

    # -- tell --------------------------------------------------------------------------------

    def tell(self, asked: Asked, result: Result) -> Placement:
        """Place a child, write it down, and show it in the views.

        Its result is durable already, from which it would be told again; so the event may wait
        for the next ``ledger.sync``, which comes before anything that is begun hereafter.
        """
        result = self._not_twice(asked, result)
        event, placement = self.state.tell(self._record(asked, result))
        self.ledger.append([event], durable=False)
        self.ledger.append_history(self.state.rows[-1:])
        self.write_archive()
        self.children.forget(asked.child_id, self._trash)
        islands = self.settings.evolution.num_islands
        self._products.settle(asked.child_id, self.state.search, islands)
        return placement

    def _not_twice(self, asked: Asked, result: Result) -> Result:
        """Return the result, as a duplicate's if its twin was told while it was evaluated.

        Only children that were frozen apart from each other (by ``evaluate``) can come to this.
        """
        twin = self.state.known.get(result.digest or "")
        failed = result.evaluation.reason is Reason.DUPLICATE
        if twin is None or failed or asked.parent_id is None:
            return result
        evaluation = Evaluation(
            status=Status.CRASH,
            reason=Reason.DUPLICATE,
            detail=f"the same program as {twin}",
            seconds=result.evaluation.seconds,
        )
        return replace(result, evaluation=evaluation)

    def migrate_if_due(self) -> None:
        """Let elites migrate, if the generation just finished calls for it."""
        if self.state.migration_due:
            self.ledger.append([self.state.migrate()])
            self.write_archive()

    def write_archive(self) -> None:
        """Show the archives as they stand."""
        self._archive.show(self.state.search)

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
            metrics=evaluation.metrics,
            tier=evaluation.tier,
            fingerprint=evaluation.fingerprint,
            usage=result.usage,
            promise=result.promise,
            grading=evaluation.grading,
            varies=evaluation.varies,
            inert=self.children.changed_in_vain(asked, evaluation, self.state),
        )

    def _measures(
        self, asked: Asked, evaluation: Evaluation, island: int
    ) -> tuple[Measures | None, bool]:
        if evaluation.status is not Status.EVALUATED:
            return None, False
        files = self.children.files(asked.child_id)
        parent = self.state.told.get(asked.parent_id or "")
        inherited = parent.params if parent else None
        value, unit, assumed = complexity(files, evaluation.params, inherited, self.baseline.params)
        evolution = self.settings.evolution
        drawn = (evolution.seed, evolution.diversity_reference_size)
        search, others = self.state.search, self.children.files
        distance = diversity(asked.child_id, files, island, search, others, drawn)
        return Measures(value, unit, distance), assumed

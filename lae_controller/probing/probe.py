"""Runs the probes of ``lae check``, each of them once in the life of a run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from lae_controller.budget import Budget
from lae_controller.change.normal_form import digest as digest_of
from lae_controller.change.source import read_source
from lae_controller.config import Settings
from lae_controller.errors import PrerequisiteError
from lae_controller.evaluators import Evaluator, Measurement, Stage
from lae_controller.evaluators.baseline import Prepared
from lae_controller.files import remove_tree
from lae_controller.machine.slots import Slot
from lae_controller.probing.damage import Damage, Kind, damaged, raising
from lae_controller.probing.evidence import Evidence
from lae_controller.probing.findings import (
    Check,
    copy_check,
    damage_checks,
    errors_check,
    gate_check,
    headroom_check,
)
from lae_controller.probing.order import COPY, Order, next_copy, next_damage
from lae_controller.probing.trials import Trial, add_trial, load_trials
from lae_controller.program import Files, Reason
from lae_controller.purse import affords_stage
from lae_controller.remarks import Say
from lae_controller.sandbox.calls import never_entered
from lae_controller.sandbox.programs import build

_DETAIL = 2000  # characters of a failure that are kept

_PLACE = re.compile(r'File "[^"]+", line \d+|[\w./\\-]+\.[A-Za-z]\w{0,4}(?::|\(|, line )\d+')
"""A file and a line, as Python and most compilers write them."""


@dataclass(frozen=True)  # no slots: the program is read once
class Probes:
    """The probes of one run.

    Attributes:
        goes_on: whether damaged copies are run though the byte-identical one did not tie.
    """

    settings: Settings
    prepared: Prepared
    trials: tuple[Trial, ...]
    goes_on: bool

    @cached_property
    def _files(self) -> Files:
        base = self.settings.lae_dir / "base"
        return {path: read_source(base / path) for path in self.prepared.baseline.editable}

    @cached_property
    def _idle(self) -> tuple[str, ...]:
        return never_entered(self._files, self.prepared.baseline.entered)

    @cached_property
    def _damaged(self) -> list[Damage]:
        return damaged(self._files, self._idle, self.settings.protected)

    @cached_property
    def evidence(self) -> Evidence:
        """What is known so far."""
        baseline = self.prepared.baseline
        return Evidence(baseline, baseline.plan(self.settings), self.trials)

    @cached_property
    def judged(self) -> tuple[Check, ...]:
        """What can be said without damaged copies that run."""
        evidence, metric, scoring = self.evidence, self.settings.metric, self.settings.scoring
        found = (
            copy_check(evidence, metric),
            gate_check(evidence),
            errors_check(evidence, scoring),
            headroom_check(evidence, metric, scoring),
        )
        return tuple(check for check in found if check is not None)

    @property
    def is_over(self) -> bool:
        """Whether something is refused already, so that nothing more is spent."""
        return not self.goes_on and any(check.verdict == "refused" for check in self.judged)

    @cached_property
    def next(self) -> Order | None:
        """The next run that is wanted; None if enough is known."""
        evidence = self.evidence
        if self.is_over:
            return None
        order = next_copy(evidence, Damage(Kind.COPY, COPY, self._files))
        if order is not None:
            return order
        if evidence.of(Kind.RAISING, evidence.stages[0]) is None:
            broken = raising(self._files, self._idle)
            if broken is not None:
                return Order(broken, evidence.stages[0])
        return next_damage(evidence, self._damaged)

    @property
    def hindrance(self) -> str:
        """Why the next run cannot be made; empty if it can, or if none is wanted."""
        order = self.next
        if order is None:
            return ""
        if (self.settings.lae_dir / "journal.jsonl").exists():
            return "the run has begun, and the probes come before it"
        whole = order.damage.kind is Kind.COPY and order.stage == "smoke"  # with its full run
        if not self._affords(self._charge(order) + whole):
            return "total_budget leaves no room for the probes and for a child"
        grading = self.prepared.baseline.grading
        spent = 0.0 if grading is None else grading.cost_usd or 0.0
        if not affords_stage(self.settings, spent, order.stage, order.damage.files):
            return "mutator.max_cost_usd leaves no room for grading another probe"
        return ""

    def _affords(self, charge: float) -> bool:
        """Say whether a child still fits into the total budget after a further run."""
        settings, baseline = self.settings, self.prepared.baseline
        smoke = self.evidence.plan.smoke_charge
        budget = Budget(settings, baseline, smoke)
        total = settings.total_budget
        if total.runs is None:
            spent = baseline.seconds + charge * baseline.full_seconds
            return (total.seconds or 0.0) - budget.reserve - spent >= budget.child_seconds
        return total.runs - budget.reserve - baseline.charge - charge >= smoke + 1.0 - 1e-9

    def _charge(self, order: Order) -> float:
        return self.evidence.plan.smoke_charge if order.stage == "smoke" else 1.0

    def run(self, order: Order, evaluator: Evaluator, slot: Slot) -> Probes:
        """Make one run and write down what it gave.

        Raises:
            Interrupted: if it was cut off; it is made again the next time.
            PrerequisiteError: if the machine failed.
        """
        folder = self.settings.lae_dir / "probes" / str(len(self.trials))
        program, files = folder / "program", order.damage.files
        build(self.prepared.snapshot, self.settings.lae_dir / "base", program, files)
        with slot.held():
            found = evaluator.measure(program, digest_of(files), folder, self._stage(order), slot)
        if found.reason is Reason.ENVIRONMENT:
            raise PrerequisiteError(f"check: {order.damage.what}: {found.detail}")
        trials = (*self.trials, _trial(order, found, self._charge(order)))
        remove_tree(folder)
        prepared = add_trial(self.settings, self.prepared, trials, found.grading)
        return replace(self, prepared=prepared, trials=trials)

    def _stage(self, order: Order) -> Stage:
        plan = self.evidence.plan
        if order.stage == "smoke" and plan.smoke is not None:
            return plan.smoke
        return replace(plan.full, name=order.stage, seed=plan.full.seed + (order.stage != "full"))

    def findings(self) -> Iterator[Check]:
        """Yield the lines of the report."""
        judged, unsettled = list(self.judged), self.hindrance
        if self.next is not None and not unsettled:
            unsettled = "the probes were interrupted; `lae check` goes on with them"
        headroom = [check for check in judged if check.name == "headroom"]
        if not any(check.name == "a/a" for check in judged) and unsettled:
            yield Check("a/a", "note", f"no byte-identical copy was run: {unsettled}")
        yield from (check for check in judged if check not in headroom)
        if self.trials and not self.is_over:
            yield from damage_checks(self.evidence, self.settings.metric, unsettled)
        yield from headroom


def known_probes(settings: Settings, prepared: Prepared, *, goes_on: bool) -> Probes:
    """Return the probes as far as they were run."""
    return Probes(settings, prepared, load_trials(settings), goes_on)


def probed_refusals(settings: Settings, prepared: Prepared) -> list[Check]:
    """Return what the probes of an earlier ``check`` refuse; nothing if there was none."""
    probes = known_probes(settings, prepared, goes_on=False)
    return [it for it in probes.findings() if it.verdict == "refused"] if probes.trials else []


def run_probes(probes: Probes, evaluator: Evaluator, slot: Slot, say: Say) -> Probes:
    """Make the runs that are missing, one after the other, until enough is known."""
    while (order := probes.next) is not None and not probes.hindrance:
        probes = probes.run(order, evaluator, slot)
        last = probes.trials[-1]
        metric = f"{probes.settings.metric} {last.metric!r}" if last.reason is None else "crash"
        say(f"probe: {last.what}, {last.stage}: {metric} in {last.seconds:.1f} s")
    remove_tree(probes.settings.lae_dir / "probes")
    return probes


def _trial(order: Order, found: Measurement, charge: float) -> Trial:
    said = f"{found.detail}\n{found.artifacts.log_tail}"
    return Trial(
        kind=order.damage.kind,
        what=order.damage.what,
        stage=order.stage,
        metric=found.metric,
        reason=found.reason,
        detail=found.detail[:_DETAIL],
        located=_PLACE.search(said) is not None,
        charge=charge,
        seconds=found.seconds,
    )

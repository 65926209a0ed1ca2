"""The cascade: a short smoke run, a gate against the parent, and the full run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict

from lae_controller.evaluators import Evaluator, Measurement, Stage
from lae_controller.machine.slots import Slot
from lae_controller.program import Direction, Evaluation, Reason, Status, Usage, added


@dataclass(frozen=True, slots=True)
class Plan:
    """How every child of a run is measured.

    Attributes:
        smoke: None if a smoke run would be as long as the full one.
        smoke_charge: what a smoke run costs, in full runs.
        smoke_slack: by how much a child's smoke metric may be worse than its parent's and still
            be no worse but for chance; 0 where smoke runs do not differ, or were not repeated.
    """

    smoke: Stage | None
    full: Stage
    smoke_charge: float
    direction: Direction
    smoke_slack: float = 0.0


@dataclass(frozen=True, slots=True)
class Job:
    """One child to evaluate; plain data, so that it can travel to another machine.

    Attributes:
        program: its frozen directory.
        folder: where its runs go.
        parent_smoke: the parent's smoke metric, which the child's must reach; None: no gate.
    """

    child_id: str
    attempt: int
    program: Path
    digest: str
    folder: Path
    plan: Plan
    parent_smoke: float | None


def evaluate(job: Job, slot: Slot, evaluator: Evaluator) -> Evaluation:
    """Run the stages of ``job`` in ``slot``; never raises for a bad child.

    Stops at the first stage that fails. The slot's device is held from the first run to the last.

    Raises:
        Interrupted: if it was cut off; nothing counts then.
        PrerequisiteError: if the machine failed.
    """
    with slot.held():
        return _stages(job, slot, evaluator)


def _stages(job: Job, slot: Slot, evaluator: Evaluator) -> Evaluation:
    plan = job.plan
    if plan.smoke is None:
        full = evaluator.measure(job.program, job.digest, job.folder, plan.full, slot)
        return _finish(full, full.metric, charge=1.0, seconds=full.seconds)
    smoke = evaluator.measure(job.program, job.digest, job.folder, plan.smoke, slot)
    if smoke.metric is None:
        return _crash(smoke, None, plan.smoke_charge, smoke.seconds)
    if not passes_gate(smoke.metric, job.parent_smoke, plan):
        return Evaluation(
            status=Status.SMOKE_DROPPED,
            smoke_metric=smoke.metric,
            detail=f"smoke {smoke.metric!r} is worse than the parent's {job.parent_smoke!r}"
            + (f" by more than chance ({plan.smoke_slack:.3g})" if plan.smoke_slack else ""),
            params=smoke.params,
            charge=plan.smoke_charge,
            seconds=smoke.seconds,
            artifacts=smoke.artifacts,
            **_evidence(smoke),
        )
    full = evaluator.measure(job.program, job.digest, job.folder, plan.full, slot)
    charge = plan.smoke_charge + 1.0
    whole = _finish(full, smoke.metric, charge, smoke.seconds + full.seconds)
    return replace(whole, grading=added(smoke.grading, full.grading))


def passes_gate(child: float, parent: float | None, plan: Plan) -> bool:
    """Say whether a child's smoke metric is at least its parent's, but for chance."""
    fitness = plan.direction.fitness
    return parent is None or fitness(child) >= fitness(parent) - plan.smoke_slack


def _finish(
    full: Measurement, smoke_metric: float | None, charge: float, seconds: float
) -> Evaluation:
    if full.cut:
        return Evaluation(
            status=Status.SMOKE_DROPPED,
            smoke_metric=smoke_metric,
            detail=full.cut,
            params=full.params,
            charge=charge,
            seconds=seconds,
            artifacts=full.artifacts,
            **_evidence(full),
        )
    if full.metric is None:
        return _crash(full, smoke_metric, charge, seconds)
    return Evaluation(
        status=Status.EVALUATED,
        smoke_metric=smoke_metric,
        metric=full.metric,
        reason=Reason.SUSPECT if full.suspect else None,
        detail=full.suspect,
        params=full.params,
        charge=charge,
        seconds=seconds,
        repeats=(full.metric,),
        metrics=full.metrics,
        artifacts=full.artifacts,
        **_evidence(full),
    )


def _crash(run: Measurement, smoke: float | None, charge: float, seconds: float) -> Evaluation:
    if run.reason is Reason.ENVIRONMENT:
        charge = 0.0  # the machine's fault: it is tried again and costs the child nothing
    return Evaluation(
        status=Status.CRASH,
        smoke_metric=smoke,
        reason=run.reason,
        detail=run.detail,
        params=run.params,
        charge=charge,
        seconds=seconds,
        artifacts=run.artifacts,
        **_evidence(run),
    )


class _Evidence(TypedDict):
    tier: str
    fingerprint: str
    proven: bool
    unseen: tuple[str, ...]
    efficiency: float
    grading: Usage | None


def _evidence(run: Measurement) -> _Evidence:
    return {
        "tier": run.tier,
        "fingerprint": run.fingerprint,
        "proven": run.proven,
        "unseen": run.unseen,
        "efficiency": run.efficiency,
        "grading": run.grading,
    }

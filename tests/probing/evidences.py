"""A baseline and runs of its copies, as values, without anything being run."""

from __future__ import annotations

from collections.abc import Sequence

from made import made_baseline

from lae_controller.evaluators import Stage
from lae_controller.evaluators.cascade import Plan
from lae_controller.probing.damage import Damage, Kind
from lae_controller.probing.evidence import Evidence
from lae_controller.probing.trials import Trial
from lae_controller.program import Direction, Reason

DAMAGES = [Damage(Kind.CONSTANT, f"d{n}", {}) for n in range(8)]


def evidence(
    metrics: Sequence[float],
    trials: Sequence[Trial] = (),
    *,
    smoke: float | None = 2.0,
    direction: Direction = Direction.MINIMIZE,
) -> Evidence:
    """Return evidence on a baseline with these full metrics; ``smoke`` None: no smoke stage."""
    baseline = made_baseline(
        *metrics, digest="0", smoke_metric=smoke, smoke_seconds=0.1, fingerprint="0",
        charge=2.0, seconds=2.0,
    )  # fmt: skip
    stage = None if smoke is None else Stage("smoke", 1.0, 0, 60.0)
    plan = Plan(stage, Stage("full", 10.0, 0, 60.0), 0.1, direction)
    return Evidence(baseline, plan, tuple(trials))


def trial(
    kind: Kind,
    stage: str,
    metric: float | None,
    what: str = "x",
    *,
    reason: Reason | None = None,
    located: bool = True,
) -> Trial:
    """Return one run; a reason stands for a failure."""
    detail = "" if reason is None else "it broke"
    return Trial(kind, what, stage, metric, reason, detail, located, 0.1, 0.1)


def copies(smoke: float | None, full: float) -> list[Trial]:
    """Return the runs of the byte-identical copy."""
    first = [] if smoke is None else [trial(Kind.COPY, "smoke", smoke)]
    return [*first, trial(Kind.COPY, "full", full)]


def hurt(number: int, stage: str, metric: float | None) -> Trial:
    """Return a run of one of ``DAMAGES``; None for a crash."""
    reason = Reason.EXIT if metric is None else None
    return trial(Kind.CONSTANT, stage, metric, f"d{number}", reason=reason)

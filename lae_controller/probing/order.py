"""Which probe is run next: the cheapest one that can still settle the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lae_controller.probing.damage import Damage, Kind
from lae_controller.probing.evidence import Evidence

COPY = "a byte-identical copy"

_SCREENED_AT_LEAST = 3
_SCREENED_IN_FULL = 3
_FINALISTS = 2


@dataclass(frozen=True, slots=True)
class Order:
    """One run that is wanted.

    Attributes:
        damage: what is run.
        stage: ``smoke``, ``full`` or ``full-2``.
    """

    damage: Damage
    stage: str


def next_copy(evidence: Evidence, copy: Damage) -> Order | None:
    """Return the next run of the byte-identical copy; None if it was run as children are."""
    for stage in ("smoke", "full") if evidence.plan.smoke is not None else ("full",):
        found = evidence.of(Kind.COPY, stage)
        if found is None:
            return Order(copy, stage)
        if found.metric is None:
            return None
    return None


def next_damage(evidence: Evidence, found: Sequence[Damage]) -> Order | None:
    """Return the next run of a damaged copy; None if enough is known.

    All are screened in the cheapest stage until one stands out. Where that says too little, the
    two that lost most go on to full runs.
    """
    if evidence.proof is not None:
        return None
    first, *further = evidence.stages
    for damage in found[: _screened(evidence)]:
        runs = evidence.runs(damage.what)
        if not runs:
            return Order(damage, first)
        if evidence.is_worse(runs[0]):
            break
    for damage in _finalists(evidence, found):
        runs = evidence.runs(damage.what)
        missing = [stage for stage in further if all(run.stage != stage for run in runs)]
        failed = any(run.metric is None for run in runs)
        if missing and not failed and (missing[0] == "full" or evidence.is_worse(runs[-1])):
            return Order(damage, missing[0])
    return None


def _screened(evidence: Evidence) -> int | None:
    """Return how many copies are run in the first stage; None for all.

    With noise the first stage settles nothing, so that no more is spent on it than on a full run.
    """
    if evidence.plan.smoke is None:
        return _SCREENED_IN_FULL
    if not evidence.noise.is_real:
        return None
    return max(_SCREENED_AT_LEAST, int(1.0 / evidence.plan.smoke_charge))


def _finalists(evidence: Evidence, found: Sequence[Damage]) -> list[Damage]:
    """Return the copies that ran in the first stage and lost most there."""
    ran = [
        (evidence.loss(runs[0]), damage)
        for damage in found
        if (runs := evidence.runs(damage.what)) and runs[0].metric is not None
    ]
    ran.sort(key=lambda pair: -pair[0])
    return [damage for _, damage in ran[:_FINALISTS]]

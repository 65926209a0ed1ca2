"""Interventions and failures, counted: what was tried, what it brought, and what went wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from lae_controller.program import Direction, Status
from lae_controller.search.niche import percentile
from lae_controller.views.report.history import Best, Child, Cost, cost_of, is_finished
from lae_controller.views.report.lineage import gain_over

MEANINGS = {
    "bad_diff": "the change did not apply to the parent's code",
    "no_change": "it changed nothing but formatting",
    "duplicate": "the same program had been tried before",
    "syntax": "the changed file no longer parsed",
    "protected": "it touched a setting that may not change",
    "out_of_bounds": "it touched files outside the editable ones",
    "harness_changed": "the run changed harness or data",
    "shadowed": "other code than the child's own was what ran",
    "suspect": "held back until somebody looks at it and accepts it",
    "timeout": "it took longer than a run may",
    "budget": "it trained longer than its budget",
    "oom": "it ran out of memory",
    "exit": "the training command failed",
    "no_metric": "the run printed no metric",
    "non_finite": "the metric was NaN or infinite",
    "output_limit": "it wrote more output than a run may",
    "mutator_error": "the Mutator gave nothing that could be used",
    "refused": "the model refused",
    "environment": "the machine failed, not the child",
    "killed": "it was killed from outside",
    "smoke_dropped": "its short run was worse than its parent's; no failure",
}


@dataclass(frozen=True, slots=True)
class Spread:
    """Five numbers of a sample: quartiles and median, and where its outer twentieths begin."""

    low: float
    first: float
    median: float
    third: float
    high: float


@dataclass(frozen=True, slots=True)
class Tally:
    """What one kind of change, or one operator, came to.

    Attributes:
        tried: children made by it.
        finished: those with a full metric.
        kept: those that entered a map.
        led: how often one of them became the best of the run.
        brought: what these added to the best fitness, in all.
        change: of fitness against the parent, over the finished ones; None if there is none.
    """

    name: str
    tried: int
    finished: int
    kept: int
    led: int
    brought: float
    change: Spread | None
    cost: Cost


@dataclass(frozen=True, slots=True)
class Failure:
    """One reason why children came to nothing.

    Attributes:
        ran: how many of them had run by then.
        example: the last of them.
    """

    reason: str
    count: int
    ran: int
    cost: Cost
    example: Child


def interventions(
    children: Mapping[str, Child], bests: Sequence[Best], direction: Direction
) -> list[Tally]:
    """Return what each kind of intervention came to, the one that brought most first."""
    return _tallies(children, bests, direction, lambda child: child.record.intervention.value)


def operators(
    children: Mapping[str, Child], bests: Sequence[Best], direction: Direction
) -> list[Tally]:
    """Return what each mutation operator came to; empty where the notion does not apply."""
    found = _tallies(children, bests, direction, lambda child: child.record.operator)
    return [tally for tally in found if tally.name != "-"]


def _tallies(
    children: Mapping[str, Child],
    bests: Sequence[Best],
    direction: Direction,
    name_of: Callable[[Child], str],
) -> list[Tally]:
    gains = gains_of(bests)
    groups: dict[str, list[Child]] = defaultdict(list)
    for child in children.values():
        if child.number:
            groups[name_of(child)].append(child)
    tallies = [_tally(name, mine, gains, children, direction) for name, mine in groups.items()]
    return sorted(tallies, key=lambda it: (-it.brought, -it.kept, -it.tried, it.name))


def gains_of(bests: Sequence[Best]) -> Mapping[str, float]:
    """Return by how much each child raised the best fitness when it took the lead."""
    return {best.child_id: best.gain for best in bests if best.accepted}


def _tally(
    name: str,
    mine: list[Child],
    gains: Mapping[str, float],
    children: Mapping[str, Child],
    direction: Direction,
) -> Tally:
    finished = [child for child in mine if is_finished(child.record)]
    pairs = ((child, children.get(child.record.parent_id or "")) for child in finished)
    changes = [gain_over(child, parent, direction) for child, parent in pairs if parent]
    led = [gains[it.record.child_id] for it in mine if it.record.child_id in gains]
    return Tally(
        name,
        len(mine),
        len(finished),
        sum(child.kept for child in mine),
        len(led),
        sum(led),
        spread_of([change for change in changes if change is not None]),
        total(cost_of(child.record) for child in mine),
    )


def total(costs: Iterable[Cost]) -> Cost:
    """Return all costs together."""
    return sum(costs, Cost())


def spread_of(values: Sequence[float]) -> Spread | None:
    """Return five numbers of the values; None if there are none."""
    if not values:
        return None
    ordered = sorted(values)
    return Spread(*(percentile(ordered, q) for q in (0.05, 0.25, 0.5, 0.75, 0.95)))


def failures(children: Iterable[Child]) -> list[Failure]:
    """Return why children came to nothing, the most frequent reason first.

    A child that was dropped after its smoke run counts as ``smoke_dropped``.
    """
    groups: dict[str, list[Child]] = defaultdict(list)
    for child in children:
        if child.number and (reason := reason_of(child)):
            groups[reason].append(child)
    found = [
        Failure(
            reason,
            len(mine),
            sum(child.record.charge > 0 for child in mine),
            total(cost_of(child.record) for child in mine),
            mine[-1],
        )
        for reason, mine in groups.items()
    ]
    return sorted(found, key=lambda it: (-it.count, it.reason))


def reason_of(child: Child) -> str:
    """Return why a child came to nothing; empty if it did not."""
    record = child.record
    if record.reason is not None:
        return record.reason.value
    return "" if record.status is Status.EVALUATED else record.status.value

"""The compute ledger: seconds, tokens and money, per child and per accepted gain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lae_controller.views.report.history import Best, Cost, History, cost_of
from lae_controller.views.report.tallies import total


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the ledger.

    Attributes:
        count: how many children or runs it is about; None where that means nothing.
    """

    name: str
    count: int | None
    cost: Cost


@dataclass(frozen=True, slots=True)
class Gain:
    """One accepted gain: a child that became the best of the run, and what it took to get there.

    Attributes:
        children: told since the accepted gain before, itself included.
        cost: of everything since then.
        wall: active seconds since then.
    """

    best: Best
    children: int
    cost: Cost
    wall: float


def lines(history: History) -> list[Line]:
    """Return where the compute went, line by line."""
    tried = history.tried
    kept = [child for child in tried if child.kept]
    found = [
        Line("baseline", None, history.baseline),
        Line("children that were kept", len(kept), total(cost_of(it.record) for it in kept)),
        Line(
            "children that were not",
            len(tried) - len(kept),
            total(cost_of(it.record) for it in tried if not it.kept),
        ),
        Line("further runs of kept programs", history.further_runs, history.further),
        Line("runs on fresh seeds, for the claim", history.claim_runs, history.claims),
        Line("runs of the held-out test", history.test_runs, history.tests),
    ]
    return [line for line in found if line.count is None or line.count]


def gains(bests: Sequence[Best], baseline: Cost) -> list[Gain]:
    """Return the accepted gains in the order of time."""
    found: list[Gain] = []
    for best in bests:
        if best.accepted:
            before = found[-1].best if found else None
            since = before.spent if before else baseline
            children = best.number - (before.number if before else 0)
            wall = best.elapsed - (before.elapsed if before else 0.0)
            found.append(Gain(best, children, best.spent - since, wall))
    return found

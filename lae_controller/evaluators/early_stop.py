"""Whether a run that is still going is worth its end, by its curve so far.

The median stopping rule of Golovin et al. 2017 (Google Vizier: A Service for Black-Box
Optimization, section 3.2.1) ends a run that is worse than the median of others at the same step.
Among runs of changed programs that is too harsh: one that learns slowly at first may end best. So
the run is granted what the others had left to gain at this step, and more.

What is not covered: a program unlike any elite, whose gain comes all at the end.
"""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from lae_controller.evolution import EarlyStopSettings
from lae_controller.outputs.loss_curve import is_validation
from lae_controller.program import CUT_SHORT, Artifacts, Direction


@dataclass(frozen=True, slots=True)
class Reference:
    """The finished curve of one elite.

    Attributes:
        steps: rising.
        best: the best fitness up to each of them.
    """

    steps: tuple[float, ...]
    best: tuple[float, ...]

    def at(self, step: float) -> float | None:
        """Return the best fitness up to ``step``; None before the first."""
        index = bisect_right(self.steps, step)
        return self.best[index - 1] if index else None


@dataclass(frozen=True, slots=True)
class EarlyStop:
    """Judges runs against the elites.

    A run is cut at a step if, were it to gain from there on ``margin`` times as much as the elite
    that gained most from that step on, it would still end worse than the median elite ended.

    Attributes:
        name: what the curves show; only a curve of the same name is judged.
        direction: whether more or less of it is better.
        references: the elites' curves; at least ``min_curves``.
        first_step: no run is judged before it.
        margin: at least 1.
    """

    name: str
    direction: Direction
    references: tuple[Reference, ...]
    first_step: float
    margin: float

    def verdict(self, steps: Sequence[float], values: Sequence[float]) -> str | None:
        """Return why a run with this curve so far should end; None to let it go on.

        Args:
            steps: as the run named them, rising.
            values: of the metric or loss, in the user's own direction, one for each step.
        """
        if not steps or steps[-1] < self.first_step:
            return None
        step, last = steps[-1], self.references[0].steps[-1]
        so_far = max(map(self.direction.fitness, values))
        pairs = [(it.at(step), it.best[-1]) for it in self.references]
        known = [(here, end) for here, end in pairs if here is not None]
        if len(known) < len(pairs):  # the elites say nothing of so early a step
            return None
        bar = statistics.median(end for _, end in known)
        hope = so_far + self.margin * max(end - here for here, end in known)
        if hope >= bar:
            return None
        median_here = statistics.median(here for here, _ in known)
        return (
            f"{CUT_SHORT}{step:g} of {last:g}: {self.name} is {self._shown(so_far)}; the median "
            f"of {len(known)} elites had {self._shown(median_here)} here and "
            f"{self._shown(bar)} in the end, and from here on no elite gained so much, "
            f"not even times {self.margin:g}"
        )

    def _shown(self, fitness: float) -> str:
        return f"{self.direction.fitness(fitness):.6g}"


def early_stop_for(
    elites: Iterable[Artifacts],
    metric: str,
    direction: Direction,
    settings: EarlyStopSettings,
) -> EarlyStop | None:
    """Return the rule that these elites make; None if it is off or they are too few.

    Args:
        elites: what the full runs of distinct elites left, in any order.
        metric: the main metric.
        direction: whether more or less of it is better.
        settings: ``evolution.early_stop``.

    A curve of the metric itself is used or, where the output has none, of a validation loss. A
    training loss is not: a change of the loss or of the regularisation makes it another quantity.
    """
    if not settings.enabled:
        return None
    named: dict[str, list[Reference]] = {}
    for artifacts in elites:
        name = artifacts.curve_name
        if len(artifacts.curve) > 1 and (name == metric or is_validation(name)):
            better = direction if name == metric else Direction.MINIMIZE
            named.setdefault(name, []).append(_reference(artifacts, better))
    name = max(named, key=lambda it: (len(named[it]), it == metric, it), default="")
    references = named.get(name, [])
    if len(references) < settings.min_curves:
        return None
    return EarlyStop(
        name=name,
        direction=direction if name == metric else Direction.MINIMIZE,
        references=tuple(sorted(references, key=lambda it: it.steps[-1], reverse=True)),
        first_step=settings.grace * max(it.steps[-1] for it in references),
        margin=settings.margin,
    )


def _reference(artifacts: Artifacts, direction: Direction) -> Reference:
    steps = tuple(step for step, _ in artifacts.curve)
    best = accumulate((direction.fitness(value) for _, value in artifacts.curve), max)
    return Reference(steps, tuple(best))

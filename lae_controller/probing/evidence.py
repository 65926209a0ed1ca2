"""What the runs of the probes show, against the baseline and its noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from lae_controller.evaluators.baseline import Baseline
from lae_controller.evaluators.cascade import Plan
from lae_controller.noise import DECIDES, Noise, pooled, t_quantile
from lae_controller.probing.damage import Kind
from lae_controller.probing.trials import Trial

_CERTAIN = 0.995
"""One byte-identical copy in a hundred lies further from the baseline than this allows."""

_PROBES = (Kind.SHUFFLED, Kind.CONSTANT, Kind.HOLLOW)


@dataclass(frozen=True)  # no slots: the noise is worked out once
class Evidence:
    """The baseline, and what its copies gave so far.

    Attributes:
        plan: how children are to be measured.
    """

    baseline: Baseline
    plan: Plan
    trials: Sequence[Trial]

    @cached_property
    def noise(self) -> Noise:
        """The noise of a full run; where the baseline was run once, that of it and its copy."""
        if self.baseline.spread is not None:
            return pooled([self.baseline.metrics])
        copy = self.of(Kind.COPY, "full")
        if copy is None or copy.metric is None:
            return Noise(None, 0)
        return pooled([(*self.baseline.metrics, copy.metric)])

    @property
    def margin(self) -> float:
        """Below so much, in the unit of the metric, two single runs do not differ."""
        return DECIDES * self.noise.error_of_difference(1)

    @property
    def certain_margin(self) -> float:
        """The same, for a finding that has to be certain: few runs tell little of their noise."""
        if not self.noise.is_real:
            return 0.0
        return t_quantile(_CERTAIN, self.noise.freedom) * self.noise.error_of_difference(1)

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages in which a damaged copy can be run, cheapest first."""
        smoke = ("smoke",) if self.plan.smoke is not None else ()
        again = ("full-2",) if self.noise.is_real and len(self.baseline.metrics) > 1 else ()
        return (*smoke, "full", *again)

    def of(self, kind: Kind, stage: str) -> Trial | None:
        """Return the run of the one copy of this kind."""
        return next((it for it in self.trials if (it.kind, it.stage) == (kind, stage)), None)

    def runs(self, what: str) -> list[Trial]:
        """Return the runs of one damaged copy, in order."""
        return [trial for trial in self.trials if trial.what == what]

    def reference(self, stage: str) -> float:
        """Return what the baseline gave in a stage, on the same seed."""
        if stage == "smoke" and self.baseline.smoke_metric is not None:
            return self.baseline.smoke_metric
        return self.baseline.metrics[1 if stage == "full-2" else 0]

    def loss(self, trial: Trial) -> float:
        """Return by how much a run that gave a metric is worse than the baseline's."""
        fitness = self.plan.direction.fitness
        if trial.metric is None:
            raise ValueError(f"{trial.what}: a run without a metric has no distance")
        return fitness(self.reference(trial.stage)) - fitness(trial.metric)

    def is_worse(self, trial: Trial) -> bool:
        """Say whether a run is worse by more than the noise."""
        return trial.metric is not None and self.loss(trial) > self.margin

    def is_better(self, trial: Trial) -> bool:
        """Say whether a run is better by more than the noise."""
        return trial.metric is not None and -self.loss(trial) > self.margin

    def told_apart(self, what: str) -> bool:
        """Say whether a damaged copy scores worse.

        With noise two runs have to say so: of eight copies that are as good as the baseline, one
        is likely to look worse once.
        """
        runs = self.runs(what)
        worse = sum(map(self.is_worse, runs))
        if not self.noise.is_real:
            return worse > 0
        return worse > 1 and self.is_worse(runs[-1])

    @property
    def probes(self) -> list[Trial]:
        """The runs of copies that were damaged and should still run."""
        return [trial for trial in self.trials if trial.kind in _PROBES]

    @property
    def proof(self) -> Trial | None:
        """The last run of the first damaged copy that scores worse; None if none does."""
        found = (trial for trial in reversed(self.probes) if self.told_apart(trial.what))
        return next(found, None)

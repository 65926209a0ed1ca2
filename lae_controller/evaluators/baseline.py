"""What has to be known before any child: does the project train here, and how does it score?

The runs made here are charged to the budget and kept, so that ``check`` and ``run`` share them.
"""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lae_controller.codec import decode
from lae_controller.config import Gate, Settings
from lae_controller.errors import ConfigError, LedgerError
from lae_controller.evaluators import Stage
from lae_controller.evaluators.cascade import Plan
from lae_controller.noise import mean_of
from lae_controller.program import Artifacts, Direction, Evaluation, Status, Usage, child_id
from lae_controller.sandbox.snapshot import Snapshot

_IS_TIME = re.compile(
    r"(?:^|[\W_])(?:seconds?|secs?|time|duration|elapsed|latency|runtime)(?:$|[\W_])", re.IGNORECASE
)
"""Names of metrics that are times, which a child could shorten by replacing its clock."""

BASELINE_ID = child_id(0, 0, 0)

GATE_WIDTH = 2.0 * math.sqrt(2.0)
"""The smoke gate lets pass what is worse by so many standard deviations of one smoke run."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """The project as it was found, and how it scores.

    Attributes:
        editable: the files that may change, in path order.
        digest: normal form of their content.
        smoke_budget: the one at which a metric appears, in the unit of ``gate``.
        smoke_metric: None if the smoke run would be as long as the full one.
        metrics: one full run each, first seed first.
        limit: seconds a run may take before SIGTERM.
        full_seconds, smoke_seconds: wall-clock of one run.
        smoke_lines, metric_lines: lines of the output that hold the metric.
        smoke_steps, full_steps: the last step of the curve; None if the output shows none.
        tier, fingerprint: the isolation of the runs, and the code objects they executed.
        efficiency: processor seconds per second of wall-clock of a full run.
        entered: ``path:line`` of the functions that the smoke run entered; empty if not known.
        budget_effect: whether smoke and full run differ, as they must when the injected budget
            takes effect; None if there was nothing to compare.
        outputs: what runs create in their directory; left out of every program.
        charge: what all this cost, in full runs.
        seconds: wall-clock of all these runs.
        notes: what was left out or linked, and why.
        further: the further metrics of the first full run by name, as far as they were read.
        smokes: smoke runs on further seeds; made only where full runs differ.
        varies: whether full runs on different seeds differ in anything that they report, be it
            not in the metric.
        grading: what a model took to grade all these runs; None where no model grades.
    """

    editable: tuple[str, ...]
    digest: str
    smoke_budget: float
    smoke_metric: float | None
    metrics: tuple[float, ...]
    params: int | None
    limit: float
    full_seconds: float
    smoke_seconds: float
    smoke_lines: int
    metric_lines: int
    smoke_steps: float | None
    full_steps: float | None
    tier: str
    fingerprint: str
    efficiency: float
    entered: tuple[str, ...]
    budget_effect: bool | None
    outputs: tuple[str, ...]
    charge: float
    seconds: float
    notes: tuple[str, ...]
    artifacts: Artifacts
    further: Mapping[str, float] = field(default_factory=dict)
    smokes: tuple[float, ...] = ()
    varies: bool = False
    grading: Usage | None = None

    @property
    def metric(self) -> float:
        """The mean of its full runs.

        A child is compared with it on the seeds that both were run on, not with this mean.
        """
        return mean_of(self.metrics)

    @property
    def spread(self) -> float | None:
        """Standard deviation of the full runs; None if there was only one."""
        return statistics.stdev(self.metrics) if len(self.metrics) > 1 else None

    @property
    def is_exact(self) -> bool:
        """Whether runs on different seeds were made and are all alike: one run is the truth."""
        return self.spread == 0.0 and not self.varies

    @property
    def smoke_spread(self) -> float | None:
        """Standard deviation of the smoke runs; None if there was only one."""
        if self.smoke_metric is None or not self.smokes:
            return None
        return statistics.stdev((self.smoke_metric, *self.smokes))

    def evaluation(self, *, charged: bool) -> Evaluation:
        """Return what is told of the baseline; it stands on every island but is paid for once."""
        return Evaluation(
            status=Status.EVALUATED,
            smoke_metric=self.smoke_metric,
            metric=self.metric,
            params=self.params,
            charge=self.charge if charged else 0.0,
            seconds=self.full_seconds if charged else 0.0,
            repeats=self.metrics,
            metrics=self.further,
            tier=self.tier,
            fingerprint=self.fingerprint,
            proven=True,
            efficiency=self.efficiency,
            artifacts=self.artifacts,
            varies=self.varies,
            grading=self.grading if charged else None,
        )

    def plan(self, settings: Settings) -> Plan:
        """Return how every child is to be measured."""
        seed = settings.evolution.seed
        smoke = None
        counted = settings.gate is Gate.EPOCHS  # under a time budget a faster child goes further
        if self.smoke_metric is not None:
            beyond = self.limit - settings.budget if settings.gate is Gate.TIME else None
            limit = self.limit
            if beyond is not None and settings.run_timeout is None:
                limit = self.smoke_budget + beyond
            smoke = Stage("smoke", self.smoke_budget, seed, limit, None, self.smoke_lines)
            smoke = replace(smoke, max_step=self.smoke_steps if counted else None)
        steps = self.full_steps if counted else None
        full = Stage("full", settings.budget, seed, self.limit, steps, self.metric_lines)
        if _IS_TIME.search(settings.metric) and settings.direction is Direction.MINIMIZE:
            full = replace(full, time_share=self.metrics[0] / max(self.full_seconds, 1e-6))
        return Plan(
            smoke=smoke,
            full=full,
            smoke_charge=min(1.0, self.smoke_budget / settings.budget) if smoke else 0.0,
            direction=settings.direction,
            smoke_slack=GATE_WIDTH * (self.smoke_spread or 0.0),
        )


@dataclass(frozen=True, slots=True)
class Prepared:
    """A snapshot of the project with its baseline."""

    snapshot: Snapshot
    baseline: Baseline


def is_forced(settings: Settings) -> bool:
    """Say whether a refusal of ``check`` was overruled for this run."""
    return (settings.lae_dir / "forced").exists()


def overruled(settings: Settings) -> tuple[str, ...]:
    """Return the names of the checks that were overruled; empty if none was."""
    path = settings.lae_dir / "forced"
    return tuple(path.read_text("utf-8").split()) if path.exists() else ()


def load_prepared(settings: Settings, *, strict: bool = True) -> Prepared | None:
    """Return what an earlier ``check`` or ``run`` prepared; None if nothing is there yet.

    Args:
        strict: whether settings that were changed since are refused; to look at a run they are
            not needed.

    Raises:
        ConfigError: if settings that make metrics comparable were changed since.
        LedgerError: if the file is there but is not what this version writes.
    """
    path = settings.lae_dir / "base.json"
    if not path.exists():
        _refuse_orphans(settings)
        return None
    if not (settings.lae_dir / "base").is_dir():
        raise LedgerError(
            f"{settings.lae_dir / 'base'}: the snapshot of the project is gone; expected it there. "
            f"Put it back, or move {settings.lae_dir} away to begin anew"
        )
    try:
        value = json.loads(path.read_bytes())
        if strict:
            _check_fixed(settings, value["fixed"])
        snapshot = Snapshot.from_json(value["snapshot"])
        return Prepared(snapshot, decode(Baseline, value["baseline"]))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise LedgerError(
            f"{path}: cannot be read ({type(error).__name__}: {error}); expected what `lae check` "
            "of this version writes. Was it torn, or written by another version? Move "
            f"{settings.lae_dir} away to begin anew, or use the version that wrote it"
        ) from None


def _refuse_orphans(settings: Settings) -> None:
    """Refuse a journal without the snapshot that it speaks of: a new one would not fit it."""
    journal = settings.lae_dir / "journal.jsonl"
    if journal.exists():
        raise LedgerError(
            f"{settings.lae_dir / 'base.json'}: missing beside {journal.name}; expected what the "
            f"run was begun with. Put it back, or move {settings.lae_dir} away to begin anew"
        )


def _check_fixed(settings: Settings, then: dict[str, Any]) -> None:
    now = settings.fixed()
    for key, value in now.items():
        if then.get(key) != value:
            raise ConfigError(
                f"{settings.path.name}: {key} is {value!r}, but this run began with "
                f"{then.get(key)!r}; metrics measured under both could not be compared. Put the "
                "old value back, or choose another sandbox_root to begin anew"
            )

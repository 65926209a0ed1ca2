"""The Evaluator seam: one training run of one program, and what it gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from lae_controller.evaluators.early_stop import EarlyStop
from lae_controller.machine.slots import Slot
from lae_controller.program import Artifacts, Reason, Usage


@dataclass(frozen=True, slots=True)
class Stage:
    """One run that is asked for.

    Attributes:
        name: ``smoke``, ``full``, or ``full-2`` and so on for repeats; ``test`` for the held-out
            test, once at the end; ``shard-9`` for one unit alone.
        budget: in the unit of ``gate``.
        seed: training seed, handed over where the project can take one.
        limit: wall-clock seconds until SIGTERM; None for no limit.
        max_step: the last step that the baseline's curve shows; None if it shows none.
        max_lines: how many lines the baseline prints that hold the metric; None if unknown.
        calls: whether to note which functions of the program are entered.
        time_share: for a metric that is itself a time, the baseline's metric over its wall-clock;
            None for other metrics.
        rule: ends the run early by its curve; None to let it go on.
    """

    name: str
    budget: float
    seed: int
    limit: float | None
    max_step: float | None = None
    max_lines: int | None = None
    calls: bool = False
    time_share: float | None = None
    rule: EarlyStop | None = None


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one run gave.

    Attributes:
        metric: None if the run failed.
        reason, detail: why it failed.
        metrics: the further metrics by name, as far as they were read.
        params: trainable parameters, if the run reported them.
        seconds: wall-clock, measured outside the run.
        stopped: whether SIGTERM was sent at the limit.
        metric_lines: how many lines of the output held the metric.
        suspect: what calls for a look before the metric is believed; empty if nothing does.
        tier: the isolation it ran under.
        fingerprint: of the code objects that were really executed.
        proven: whether the record shows that the child's own code was what ran.
        unseen: editable files that no process was seen to use.
        efficiency: processor seconds per second of wall-clock.
        entered: ``path:line`` of the functions that were entered, if the stage asked for them.
        cut: why the run was ended by its curve; empty if it was not. It has no metric then.
        grading: what a model took to grade it; None where no model grades.
    """

    metric: float | None
    reason: Reason | None = None
    detail: str = ""
    params: int | None = None
    seconds: float = 0.0
    stopped: bool = False
    metric_lines: int = 0
    suspect: str = ""
    tier: str = ""
    fingerprint: str = ""
    proven: bool = False
    unseen: tuple[str, ...] = ()
    efficiency: float = 0.0
    entered: tuple[str, ...] = ()
    cut: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)
    artifacts: Artifacts = field(default_factory=Artifacts)
    grading: Usage | None = None


class Evaluator(Protocol):
    """Measures one program once.

    Called from several threads at once, each with folders of its own. A bad child is a
    Measurement with a reason, never an exception. A run that was finished before (same code,
    budget and seed) and whose outcome is still there is read, not run again.
    """

    def measure(
        self, program: Path, digest: str, folder: Path, stage: Stage, slot: Slot
    ) -> Measurement:
        """Run ``program`` for one stage.

        Args:
            program: a complete program directory; it is not changed.
            digest: identity of its code.
            folder: where the run's copy, log and outcome go.
            stage: which run.
            slot: what of this machine it may use.

        Raises:
            Interrupted: if the run was cut off because everything is being ended.
            PrerequisiteError: if the machine failed, not the child.
        """
        ...


EVALUATORS = {
    "command": "lae_controller.evaluators.command:CommandEvaluator",
    "dataset_metric": "lae_controller.evaluators.dataset:DatasetEvaluator",
    "test_gate": "lae_controller.evaluators.suite:TestGateEvaluator",
    "custom_script": "lae_controller.evaluators.script:ScriptEvaluator",
    "llm_judge": "lae_controller.evaluators.judge:JudgeEvaluator",
}
"""By ``scoring.mode``; each is called with a ``runs.Bench``."""


class Interrupted(Exception):  # noqa: N818 - a condition, not an error
    """The run was cut off from outside; it counts for nothing and is run again on resume."""

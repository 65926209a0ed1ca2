"""The default Evaluator: run the training command, read the metric from what it prints."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from lae_controller.config import Settings
from lae_controller.evaluators import Measurement, Stage
from lae_controller.evaluators.heldout import TEST_STAGE, lay_out
from lae_controller.evaluators.runs import Bench, Failure, Finished, Order
from lae_controller.machine.slots import Slot
from lae_controller.outputs.artifacts import max_step, read_artifacts, trim_traceback
from lae_controller.outputs.metric import Reading, find_metric
from lae_controller.outputs.metric_file import read_metric_file
from lae_controller.outputs.param_count import find_params
from lae_controller.program import Artifacts, Reason, one_line
from lae_controller.sandbox.calls import entered
from lae_controller.sandbox.command import training_command
from lae_controller.sandbox.record import read_record


class CommandEvaluator:
    """Runs ``run_cmd`` in a throw-away copy of the program, in its tier (see ``Evaluator``).

    The stage ``test`` runs ``scoring.test_cmd`` instead, with the held-out files in the copy.
    """

    def __init__(self, bench: Bench) -> None:
        self._settings = bench.settings
        self._bench = bench

    def measure(
        self, program: Path, digest: str, folder: Path, stage: Stage, slot: Slot
    ) -> Measurement:
        """Run one stage, or read its outcome if it was finished before."""
        settings = self._of_stage(stage)
        command = training_command(
            settings, stage.budget, stage.seed, {**self._bench.env, **slot.env}
        )
        key = {
            "digest": digest,
            "budget": stage.budget,
            "seed": stage.seed,
            "run_cmd": settings.run_cmd,
            "env": dict(settings.env),
        }
        order = Order(
            program, folder / stage.name, key, command, stage.limit, slot, calls=stage.calls
        )
        order = replace(order, rule=stage.rule)
        if stage.name == TEST_STAGE:
            order = replace(order, arrange=lambda place: lay_out(settings, place / "work"))
        return self._judge(self._bench.run(order), settings, stage)

    def _of_stage(self, stage: Stage) -> Settings:
        """Return the settings by which this stage is run and read."""
        settings = self._settings
        if stage.name != TEST_STAGE:
            return settings
        metric = settings.scoring.test_metric or settings.metric
        own = metric != settings.metric  # the pattern was written for another name
        return replace(
            settings,
            run_cmd=settings.scoring.test_cmd or settings.run_cmd,
            metric=metric,
            metric_pattern=None if own else settings.metric_pattern,
        )

    def _judge(self, done: Finished, settings: Settings, stage: Stage) -> Measurement:
        raw, ended, proof = done.raw, done.ended, done.proof
        artifacts = read_artifacts(raw, settings.metric)
        work = done.order.place / "work"
        reading = _reading(settings, work, raw, settings.metric, settings.metric_pattern)
        failure = done.failure
        if failure is None and reading.reason is not None and not done.cut:
            failure = reading.reason, _with_tail(reading.detail, raw)
        if failure is None and not done.cut:
            failure = _broken_rule(done, stage, artifacts)
        reason, detail = failure if failure is not None else (None, "")
        further, unread = _further(settings, work, raw) if failure is None else ({}, ())
        return Measurement(
            metric=reading.value if failure is None and not done.cut else None,
            cut=done.cut,
            reason=reason,
            detail=detail,
            params=find_params(raw, settings.params_pattern),
            seconds=ended.seconds,
            stopped=ended.termed,
            metric_lines=reading.count,
            suspect=_suspect(stage, reading, ended.seconds),
            tier=self._bench.isolation.tier.value,
            fingerprint=proof.fingerprint,
            proven=proof.proven,
            unseen=proof.unseen,
            efficiency=done.efficiency,
            entered=entered(read_record(done.order.place / "proof")) if stage.calls else (),
            metrics=further,
            artifacts=replace(artifacts, warnings=(*artifacts.warnings, *unread)),
        )


def _broken_rule(done: Finished, stage: Stage, artifacts: Artifacts) -> Failure | None:
    """Return which rule a run broke that ended well and gave a metric."""
    if done.breach is not None:
        return done.breach
    last = max_step(artifacts.curve)
    if stage.max_step is not None and last is not None and last > stage.max_step:
        return Reason.BUDGET, (
            f"the curve goes on to step {last:g}; the baseline's ends at {stage.max_step:g} "
            "with the same budget"
        )
    return None


def _reading(settings: Settings, work: Path, raw: bytes, name: str, pattern: str | None) -> Reading:
    if settings.metric_file is not None:
        return read_metric_file(work / settings.metric_file, name)
    return find_metric(raw, name, pattern=pattern)


def _further(
    settings: Settings, work: Path, raw: bytes
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Return the further metrics that can be read, and a warning for each that cannot.

    They are looked for where the metric is, by their names: a run without one is no failure.
    """
    found: dict[str, float] = {}
    unread: list[str] = []
    for name in (further.name for further in settings.metrics):
        reading = _reading(settings, work, raw, name, None)
        if reading.value is None:
            unread.append(one_line(f"further metric {name} not read: {reading.detail}", 160))
        else:
            found[name] = reading.value
    return found, tuple(unread)


def _suspect(stage: Stage, reading: Reading, seconds: float) -> str:
    """Return what makes a metric doubtful although the run ended well; empty if nothing does."""
    claimed = reading.value
    if stage.time_share and claimed is not None and claimed < 0.5 * stage.time_share * seconds:
        return (
            f"it claims {claimed:.4g} s of a run of {seconds:.4g} s; the baseline's metric is "
            f"{stage.time_share:.2g} of its wall-clock. Whose clock was read?"
        )
    if stage.max_lines is not None and reading.count > stage.max_lines:
        return f"{reading.count} lines hold the metric; the baseline prints {stage.max_lines}"
    return ""


def _with_tail(detail: str, raw: bytes) -> str:
    tail = trim_traceback(raw)
    return f"{detail} The output ended with: {tail}" if tail else f"{detail} There was no output."

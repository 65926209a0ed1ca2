"""The default Evaluator: run the training command, read the metric from what it prints."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from lae_controller.codec import encode
from lae_controller.config import Gate, Settings
from lae_controller.errors import ChildError, PrerequisiteError
from lae_controller.evaluators import Interrupted, Measurement, Stage
from lae_controller.files import make_folder, read_json, remove_tree, write_json
from lae_controller.machine.slots import Slot
from lae_controller.outputs.artifacts import max_step, read_artifacts, trim_traceback
from lae_controller.outputs.metric import Reading, find_metric
from lae_controller.outputs.metric_file import read_metric_file
from lae_controller.outputs.param_count import find_params
from lae_controller.program import Artifacts, Reason, one_line
from lae_controller.sandbox.calls import entered
from lae_controller.sandbox.command import apply_edits, training_command
from lae_controller.sandbox.isolation import Isolation
from lae_controller.sandbox.launch import (
    Command,
    Ended,
    Lifelines,
    read_outcome,
    run,
    wait_for_warden,
)
from lae_controller.sandbox.programs import clone
from lae_controller.sandbox.proof import Verdict, read_record
from lae_controller.sandbox.tiers import setup_failed

_OUT_OF_MEMORY = re.compile(rb"MemoryError|OutOfMemoryError|CUDA out of memory|Cannot allocate mem")
_NO_SPACE = re.compile(rb"No space left on device|\[Errno 28\]")


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may use besides time; None for no limit.

    Attributes:
        memory: bytes of all its processes together.
        disk: bytes that its copy and its TMPDIR may grow to.
    """

    memory: int | None
    disk: int | None


class CommandEvaluator:
    """Runs ``run_cmd`` in a throw-away copy of the program, in its tier (see ``Evaluator``)."""

    def __init__(
        self,
        settings: Settings,
        lifelines: Lifelines,
        isolation: Isolation,
        limits: Limits,
        env: Mapping[str, str],
    ) -> None:
        self._settings = settings
        self._lifelines = lifelines
        self._isolation = isolation
        self._limits = limits
        self._env = dict(env)

    def measure(
        self, program: Path, digest: str, folder: Path, stage: Stage, slot: Slot
    ) -> Measurement:
        """Run one stage, or read its outcome if it was finished before."""
        place = folder / stage.name
        make_folder(folder)
        wait_for_warden(place)
        key = {
            "digest": digest,
            "budget": stage.budget,
            "seed": stage.seed,
            "run_cmd": self._settings.run_cmd,
            "env": dict(self._settings.env),
        }
        log = place / "output.log"
        ended = read_outcome(log.with_suffix(".exit.json"))
        if ended is None or ended.why == "lifeline" or read_json(place / "key.json") != key:
            ended = self._run(program, place, key, stage, slot)
        if ended.why == "lifeline":
            raise Interrupted(f"{folder.name}: {stage.name} run was cut off")
        return self._judge(program, place, stage, ended)

    def _run(
        self, program: Path, place: Path, key: dict[str, object], stage: Stage, slot: Slot
    ) -> Ended:
        remove_tree(place)
        work = place / "work"
        clone(program, work)
        command = training_command(
            self._settings, stage.budget, stage.seed, {**self._env, **slot.env}
        )
        apply_edits(work, command.edits)
        wrapped, env = self._isolation.enclose(command, place, slot.devices, calls=stage.calls)
        stamps = self._isolation.data_stamps()
        write_json(place / "key.json", key)
        write_json(place / "view.json", {"seen_at": str(wrapped.cwd), "stamps": encode(stamps)})
        return run(
            Command(
                wrapped.argv,
                wrapped.cwd if wrapped.cwd.is_dir() else Path("/"),
                env,
                place / "output.log",
                stage.limit,
                self._settings.stop_grace,
                self._limits.memory,
                self._limits.disk,
                (work, place / "tmp"),
            ),
            self._lifelines,
        )

    def _judge(self, program: Path, place: Path, stage: Stage, ended: Ended) -> Measurement:
        settings = self._settings
        raw = (place / "output.log").read_bytes()
        broken = setup_failed(raw, ended.status)
        if broken is not None and not read_record(place / "proof").processes:
            raise PrerequisiteError(
                f"isolation: {self._isolation.tier.value} could not be set up for a run: {broken}"
            )
        artifacts = read_artifacts(raw, settings.metric)
        reading = self._reading(place / "work", raw, settings.metric, settings.metric_pattern)
        seen = read_json(place / "view.json") or {"seen_at": str(place / "work"), "stamps": {}}
        proof = self._isolation.judge(place, program, Path(seen["seen_at"]))
        failure = self._failure(raw, ended)
        if failure is None and reading.reason is not None:
            failure = reading.reason, _with_tail(reading.detail, raw)
        if failure is None:
            failure = self._broken_rule(program, place, stage, artifacts, proof, seen["stamps"])
        reason, detail = failure if failure is not None else (None, "")
        further, unread = self._further(place / "work", raw) if failure is None else ({}, ())
        return Measurement(
            metric=reading.value if failure is None else None,
            reason=reason,
            detail=detail,
            params=find_params(raw, settings.params_pattern),
            seconds=ended.seconds,
            stopped=ended.termed,
            metric_lines=reading.count,
            suspect=_suspect(stage, reading, ended.seconds),
            tier=self._isolation.tier.value,
            fingerprint=proof.fingerprint,
            proven=proof.proven,
            unseen=proof.unseen,
            efficiency=ended.cpu_seconds / max(ended.seconds, 1e-6),
            entered=entered(read_record(place / "proof")) if stage.calls else (),
            metrics=further,
            artifacts=replace(artifacts, warnings=(*artifacts.warnings, *unread)),
        )

    def _broken_rule(
        self,
        program: Path,
        place: Path,
        stage: Stage,
        artifacts: Artifacts,
        proof: Verdict,
        stamps: dict[str, list[int]],
    ) -> tuple[Reason, str] | None:
        """Return which rule a run broke that ended well and gave a metric."""
        before = {path: (size, time) for path, (size, time) in stamps.items()}
        try:
            self._isolation.check_harness(program, place / "work", before)
        except ChildError as error:
            return error.reason, error.detail
        if not proof.ok:
            return Reason.SHADOWED, proof.sentence
        last = max_step(artifacts.curve)
        if stage.max_step is not None and last is not None and last > stage.max_step:
            return Reason.BUDGET, (
                f"the curve goes on to step {last:g}; the baseline's ends at {stage.max_step:g} "
                "with the same budget"
            )
        return None

    def _reading(self, work: Path, raw: bytes, name: str, pattern: str | None) -> Reading:
        if self._settings.metric_file is not None:
            return read_metric_file(work / self._settings.metric_file, name)
        return find_metric(raw, name, pattern=pattern)

    def _further(self, work: Path, raw: bytes) -> tuple[dict[str, float], tuple[str, ...]]:
        """Return the further metrics that can be read, and a warning for each that cannot.

        They are looked for where the metric is, by their names: a run without one is no failure.
        """
        found: dict[str, float] = {}
        unread: list[str] = []
        for name in (further.name for further in self._settings.metrics):
            reading = self._reading(work, raw, name, None)
            if reading.value is None:
                unread.append(one_line(f"further metric {name} not read: {reading.detail}", 160))
            else:
                found[name] = reading.value
        return found, tuple(unread)

    def _failure(self, raw: bytes, ended: Ended) -> tuple[Reason, str] | None:
        """Return why the way the run ended makes it a crash; None if it does not."""
        if ended.why in ("memory", "disk"):
            return self._over_limit(ended)
        if ended.termed:
            return self._stopped(ended)
        if ended.status == 0:
            return None
        if _NO_SPACE.search(raw[-8192:]):
            return Reason.ENVIRONMENT, f"no space left for the run: {trim_traceback(raw)}"
        killed = ended.status in (-9, 137) and ended.oom_kills > 0
        if killed or _OUT_OF_MEMORY.search(raw[-8192:]):
            return Reason.OOM, f"{_how(ended.status)}: {trim_traceback(raw)}"
        return Reason.EXIT, f"{_how(ended.status)}: {trim_traceback(raw)}"

    def _over_limit(self, ended: Ended) -> tuple[Reason, str]:
        if ended.why == "memory":
            limit = f"memory_limit ({self._settings.memory_limit})"
            return Reason.OOM, f"its processes together came to the {limit}"
        limit = f"{(self._limits.disk or 0) >> 20} MiB"
        return Reason.OUTPUT_LIMIT, f"it wrote more than {limit} into its folders"

    def _stopped(self, ended: Ended) -> tuple[Reason, str] | None:
        in_time = self._settings.gate is Gate.TIME and ended.status in (0, -15, 143)
        if in_time:
            return None  # told to stop at its budget and it did: the metric it printed counts
        how = "it had to be killed" if ended.status in (-9, 137) else "SIGTERM ended it"
        return Reason.TIMEOUT, f"still running after {ended.seconds:.1f} s; {how}"


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


def _how(status: int | None) -> str:
    if status is None:
        return "ended unseen"
    if 128 < status < 160:  # a shell, or the sandbox, reports a signal so
        return f"exit status {status} (signal {status - 128})"
    return f"killed by signal {-status}" if status < 0 else f"exit status {status}"


def _with_tail(detail: str, raw: bytes) -> str:
    tail = trim_traceback(raw)
    return f"{detail} The output ended with: {tail}" if tail else f"{detail} There was no output."

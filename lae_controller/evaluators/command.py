"""The default Evaluator: run the training command, read the metric from what it prints."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from lae_controller.config import Gate, Settings
from lae_controller.evaluators import Interrupted, Measurement, Stage
from lae_controller.files import make_folder, read_json, remove_tree, write_json
from lae_controller.outputs.artifacts import read_artifacts, trim_traceback
from lae_controller.outputs.metric import Reading, find_metric
from lae_controller.outputs.metric_file import read_metric_file
from lae_controller.outputs.param_count import find_params
from lae_controller.program import Reason
from lae_controller.sandbox.command import apply_edits, training_command
from lae_controller.sandbox.launch import (
    Command,
    Ended,
    Lifelines,
    read_outcome,
    run,
    wait_for_warden,
)
from lae_controller.sandbox.programs import clone

_OUT_OF_MEMORY = re.compile(rb"MemoryError|OutOfMemoryError|CUDA out of memory|Cannot allocate mem")
_NO_SPACE = re.compile(rb"No space left on device|\[Errno 28\]")


class CommandEvaluator:
    """Runs ``run_cmd`` in a throw-away copy of the program (see ``Evaluator``)."""

    def __init__(self, settings: Settings, lifelines: Lifelines, env: Mapping[str, str]) -> None:
        self._settings = settings
        self._lifelines = lifelines
        self._env = dict(env)

    def measure(self, program: Path, digest: str, folder: Path, stage: Stage) -> Measurement:
        """Run one stage, or read its outcome if it was finished before."""
        place = folder / stage.name
        work, log = place / "work", place / "output.log"
        make_folder(folder)
        wait_for_warden(place)
        key = {"digest": digest, "budget": stage.budget, "seed": stage.seed}
        ended = read_outcome(log.with_suffix(".exit.json"))
        if ended is None or ended.why == "lifeline" or read_json(place / "key.json") != key:
            remove_tree(place)
            clone(program, work)
            write_json(place / "key.json", key)
            ended = self._run(work, log, stage)
        if ended.why == "lifeline":
            raise Interrupted(f"{folder.name}: {stage.name} run was cut off")
        return self._judge(work, log.read_bytes(), ended)

    def _run(self, work: Path, log: Path, stage: Stage) -> Ended:
        scratch = log.parent / "tmp"
        make_folder(scratch)
        extra = {**self._env, "TMPDIR": str(scratch)}
        command = training_command(self._settings, stage.budget, stage.seed, extra)
        apply_edits(work, command.edits)
        return run(
            Command(command.argv, work, command.env, log, stage.limit, self._settings.stop_grace),
            self._lifelines,
        )

    def _judge(self, work: Path, raw: bytes, ended: Ended) -> Measurement:
        settings = self._settings
        artifacts = read_artifacts(raw, settings.metric)
        failure = self._failure(raw, ended)
        reading = self._reading(work, raw)
        if failure is None and reading.reason is not None:
            failure = reading.reason, _with_tail(reading.detail, raw)
        reason, detail = failure if failure is not None else (None, "")
        return Measurement(
            metric=reading.value if failure is None else None,
            reason=reason,
            detail=detail,
            params=find_params(raw, settings.params_pattern),
            seconds=ended.seconds,
            metric_lines=reading.count,
            artifacts=artifacts,
        )

    def _reading(self, work: Path, raw: bytes) -> Reading:
        settings = self._settings
        if settings.metric_file is not None:
            return read_metric_file(work / settings.metric_file, settings.metric)
        return find_metric(raw, settings.metric, pattern=settings.metric_pattern)

    def _failure(self, raw: bytes, ended: Ended) -> tuple[Reason, str] | None:
        """Return why the way the run ended makes it a crash; None if it does not."""
        if ended.termed:
            return self._stopped(ended)
        if ended.status == 0:
            return None
        if _NO_SPACE.search(raw[-8192:]):
            return Reason.ENVIRONMENT, f"no space left for the run: {trim_traceback(raw)}"
        if _OUT_OF_MEMORY.search(raw[-8192:]):
            return Reason.OOM, trim_traceback(raw)
        return Reason.EXIT, f"{_how(ended.status)}: {trim_traceback(raw)}"

    def _stopped(self, ended: Ended) -> tuple[Reason, str] | None:
        in_time = self._settings.gate is Gate.TIME and ended.status in (0, -15, 143)
        if in_time:
            return None  # told to stop at its budget and it did: the metric it printed counts
        how = "it had to be killed" if ended.status in (-9, 137) else "SIGTERM ended it"
        return Reason.TIMEOUT, f"still running after {ended.seconds:.1f} s; {how}"


def _how(status: int | None) -> str:
    if status is None:
        return "ended unseen"
    return f"killed by signal {-status}" if status < 0 else f"exit status {status}"


def _with_tail(detail: str, raw: bytes) -> str:
    tail = trim_traceback(raw)
    return f"{detail} The output ended with: {tail}" if tail else f"{detail} There was no output."

"""A project without a baseline, whose programs say what their run does: for tests of executors."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from lae_controller import build, config
from lae_controller.evaluators import Stage
from lae_controller.evaluators.cascade import Job, Plan
from lae_controller.executors import Executor, Site
from lae_controller.program import Direction, Evaluation
from lae_controller.sandbox.launch import Lifelines
from lae_controller.sandbox.programs import build as build_program
from lae_controller.sandbox.snapshot import Snapshot, survey, take

TRAIN = """\
import sys
from pathlib import Path

sys.path.insert(0, "")
import model

print(f"val_loss: {model.run(int(sys.argv[1]))!r}", flush=True)
"""

CONFIG = """\
metric: val_loss
metric_direction: minimize
run_cmd: "{python} train.py {seed} {budget}"
editable_files: [model.py]
gate: epochs
budget: 4
total_budget: 10
isolation: none
stop_grace: 1
"""

ECHO = "def run(seed):\n    return float(seed)\n"
FULL = Stage("full", 4.0, 42, 120.0)


@dataclass
class Bench:
    """A project with its snapshot, and the executor that its settings name."""

    root: Path
    settings: config.Settings
    snapshot: Snapshot
    lifelines: Lifelines
    executor: Executor

    @property
    def site(self) -> Site:
        """Where the executor comes from."""
        return build.site_for(self.settings)

    def job(self, child: str, model: str = ECHO, stage: Stage = FULL, attempt: int = 0) -> Job:
        """Return the job of a program whose ``model.run(seed)`` is the metric."""
        lae = self.settings.lae_dir
        program = lae / "programs" / child
        build_program(self.snapshot, lae / "base", program, {"model.py": model})
        plan = Plan(None, stage, 1.0, Direction.MINIMIZE)
        return Job(child, attempt, program, model, lae / "runs" / child, plan, None)

    def further(self, job: Job, number: int) -> Job:
        """Return another run of the same program, on its own seed."""
        stage = replace(FULL, name=f"full-{number}", seed=number)
        return replace(job, plan=replace(job.plan, full=stage))

    def finish(self, *attempts: str, within: float = 120.0) -> dict[str, Evaluation]:
        """Wait for attempts to end; each must appear once. Returns what came of them."""
        ended: list[str] = []
        until = time.monotonic() + within
        while len(ended) < len(attempts):
            assert time.monotonic() < until, f"only {ended} of {attempts} ended in time"
            ended += self.executor.poll(0.2)
        assert sorted(ended) == sorted(attempts)
        return {attempt: self.executor.collect(attempt) for attempt in ended}


def made_bench(
    root: Path,
    extra: str,
    files: Mapping[str, str | bytes] | None = None,
    base: str = CONFIG,
) -> Bench:
    """Make a project below ``root``; ``extra`` is appended to its settings."""
    root.mkdir(parents=True, exist_ok=True)
    whole: dict[str, str | bytes] = {"model.py": ECHO, "train.py": TRAIN, **(files or {})}
    for name, content in whole.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        data = content.encode() if isinstance(content, str) else content
        (root / name).write_bytes(data)
    (root / "loop.run.yaml").write_text(base + extra)
    settings = config.load(root)
    snapshot = survey(root, data_paths=settings.data_paths, skip=[settings.sandbox_dir])
    (settings.lae_dir / "runs").mkdir(parents=True)
    take(root, snapshot, settings.lae_dir / "base")
    lifelines = Lifelines()
    executor = build.site_for(settings).executor(lifelines, snapshot, ("model.py",))
    return Bench(root, settings, snapshot, lifelines, executor)

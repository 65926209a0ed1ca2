"""A whole run without training: the metric of a program is a formula with noise of known size.

Everything else is real: search, ledgers, repeats, claims. So the honesty of hundreds of runs can be
measured in a minute.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from made import made_baseline

from lae_controller import build, config
from lae_controller.change.normal_form import digest as digest_of
from lae_controller.children import Children
from lae_controller.evaluators.baseline import BASELINE_ID, Prepared
from lae_controller.evaluators.cascade import Job
from lae_controller.ledger import Ledger
from lae_controller.loop import Controller
from lae_controller.parts import Parts
from lae_controller.program import Evaluation, Intervention, Reason, Status
from lae_controller.resume import load_state
from lae_controller.sandbox.launch import Lifelines
from lae_controller.sandbox.programs import read_program
from lae_controller.sandbox.snapshot import survey, take
from lae_controller.state import RunState
from lae_controller.task import Mutation

SETTINGS = """\
metric: score
metric_direction: maximize
run_cmd: "{{python}} train.py --epochs {{budget}} --seed {{seed}}"
editable_files: [model.py]
gate: epochs
budget: 10
smoke_budget: 10
total_budget: {total}
isolation: none
concurrency: 2
evolution: {{schedule: {schedule}, num_islands: 2, seed: {seed}}}
confirm: {{baseline_runs: 3, repeats: {repeats}}}
"""


@dataclass(frozen=True)
class World:
    """What is true of the programs.

    Attributes:
        truth: the mean metric of a program, by the number in its ``VALUE``; 0 is the baseline.
        sigma: standard deviation of one run over seeds.
        entropy: whether a program may also draw what no seed controls.
    """

    truth: Callable[[int], float]
    sigma: float
    entropy: bool = False

    def measure(self, value: int, seed: int, attempt: int) -> float:
        chance = attempt if self.entropy and value else 0
        noise = random.Random(f"{value}:{seed}:{chance}").gauss(0.0, 1.0)
        return self.truth(value) + self.sigma * noise


class SyntheticExecutor:
    """Ends a job as soon as it is asked (see ``Executor``)."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._done: dict[str, Evaluation] = {}
        self.runs: list[tuple[str, str, int]] = []

    def capacity(self) -> int:
        return 2

    def submit(self, job: Job) -> str:
        value = int((job.program / "model.py").read_text().split("VALUE = ")[1].split()[0])
        stage = job.plan.full
        metric = self._world.measure(value, stage.seed, len(self.runs))
        self.runs.append((job.child_id, stage.name, stage.seed))
        attempt = f"{job.child_id}.{stage.name}"
        if math.isnan(metric):
            failed = Evaluation(Status.CRASH, reason=Reason.NON_FINITE, detail="nan", charge=1.0)
            self._done[attempt] = failed
            return attempt
        self._done[attempt] = Evaluation(
            Status.EVALUATED, None, metric, charge=1.0, repeats=(metric,), proven=True
        )
        return attempt

    def poll(self, timeout: float) -> tuple[str, ...]:
        return tuple(self._done)

    def running(self) -> tuple[str, ...]:
        return ()

    def collect(self, attempt: str) -> Evaluation:
        return self._done.pop(attempt)

    def bring(self, child_id: str) -> None:
        return None

    def forget(self, child_id: str) -> None:
        return None

    def close(self) -> None:
        return None


class Numbered(Children):
    """Children whose Mutator counts: the n-th child of a run has VALUE n."""

    extra = ""
    count = 0

    def mutate(self, child_id: str) -> Mutation:
        before = self.files(self._parent(child_id))["model.py"]
        self.count += 1
        after = f"VALUE = {self.count}\n{self.extra}"
        change = f"model.py\n<<<<<<< SEARCH\n{before}=======\n{after}>>>>>>> REPLACE\n"
        return Mutation(change, f"value {self.count}", Intervention.OTHER, "-")

    def _parent(self, child_id: str) -> str:
        note = json.loads((self.folder(child_id) / "task.json").read_text())
        return str(note["task"]["parent_id"])


def synthetic_run(
    folder: Path,
    world: World,
    *,
    total: int = 40,
    seed: int = 1,
    repeats: int = 2,
    schedule: str = "generational",
    extra: str = "",
    more: str = "",
    varies: bool = False,
) -> tuple[RunState, SyntheticExecutor]:
    """See one run to its end; returns its state and what was run.

    Args:
        varies: whether the baseline's runs are said to differ in something, be it not the metric.
    """
    project = folder / "project"
    project.mkdir(parents=True)
    (project / "model.py").write_text("VALUE = 0\n")
    (project / "train.py").write_text("import model\n")
    text = SETTINGS.format(total=total, schedule=schedule, seed=seed, repeats=repeats)
    (project / "loop.run.yaml").write_text(text + more)
    settings = config.load(project)
    settings.lae_dir.mkdir(parents=True)
    for name in ("programs", "results", "runs", "tasks"):
        (settings.lae_dir / name).mkdir()
    prepared = _prepared(settings, world, varies)
    executor = SyntheticExecutor(world)
    ledger = Ledger(settings.lae_dir, _quiet)
    search = build.search_for(settings)
    state = load_state(settings, ledger, search, prepared.baseline, mend=True)
    children = Numbered(settings, prepared, Lifelines())
    children.extra = extra
    parts = Parts(settings, prepared, state, ledger, children, executor, lambda _: None, _quiet)
    controller = Controller(parts)
    try:
        controller.run()
    finally:
        controller.close()
    return state, executor


def _prepared(settings: config.Settings, world: World, varies: bool) -> Prepared:
    snapshot = survey(settings.root, data_paths=(), leave_out=(), skip=[settings.sandbox_dir])
    take(settings.root, snapshot, settings.lae_dir / "base")
    first = settings.evolution.seed
    baseline = made_baseline(
        *(world.measure(0, first + n, n) for n in range(3)),
        digest=digest_of(read_program(settings.lae_dir / "base", snapshot, ("model.py",))),
        smoke_budget=10.0,
        budget_effect=None,
        varies=varies,
    )
    return Prepared(snapshot, baseline)


def _quiet(_line: str) -> None:
    return None


def reasons(state: RunState) -> Iterator[Reason]:
    """Yield the reasons of suspects."""
    return (record.reason for record in state.suspects.values() if record.reason)


__all__ = ["BASELINE_ID", "World", "reasons", "synthetic_run"]

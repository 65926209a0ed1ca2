"""Whole runs as files, made up in seconds: as many children as wanted, and nothing trained.

Search, state and ledger are the real ones; only what children did is drawn by chance.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace
from pathlib import Path

from made import made_baseline, made_record

from lae_controller import build, config
from lae_controller.codec import encode
from lae_controller.config import Settings
from lae_controller.evaluators.baseline import Baseline
from lae_controller.ledger import Ledger
from lae_controller.parts import Core
from lae_controller.program import (
    Evaluation,
    Intervention,
    Measures,
    Reason,
    Record,
    Status,
    Usage,
    is_baseline,
)
from lae_controller.resume import archive_rows
from lae_controller.sandbox.snapshot import survey, take
from lae_controller.state import Asked, RunState, ask_event


def took(charge: float, seconds: float) -> Evaluation:
    """Return what a further run cost."""
    return Evaluation(Status.EVALUATED, charge=charge, seconds=seconds)


SETTINGS = """\
metric: val_acc
metric_direction: {direction}
run_cmd: "python train.py --epochs {{budget}} --seed {{seed}}"
editable_files: [model.py]
gate: epochs
budget: 10
total_budget: {total}
concurrency: 4
env: {{API_HOST: secret.example}}
mutator: {{backend: offline, max_cost_usd: 20}}
evolution: {{algorithm: {algorithm}, num_islands: {islands}, num_bins: {bins}}}
"""

WORDS = {
    Intervention.ARCHITECTURE: "a residual connection around the second block",
    Intervention.OPTIMISER: "momentum 0.9 and a rate of 3e-3",
    Intervention.SCHEDULE: "cosine decay after a short warm-up",
    Intervention.DATA: "random crops & flips; <b>bold</b> and </script><script>alert(1)</script>",
    Intervention.REGULARISATION: "dropout 0.1 -> 0.3 in the head",
    Intervention.INIT: "He initialisation of the first layer",
    Intervention.OTHER: "HIDDEN 16 -> 32 in model.py",
}
FAILURES = (
    (Reason.EXIT, "train.py line 12: RuntimeError: shapes (16,) and (32,) do not fit"),
    (Reason.DUPLICATE, "the same program as g1-i0-a0"),
    (Reason.NON_FINITE, "val_acc: nan"),
    (Reason.TIMEOUT, "killed after 61 s"),
    (Reason.BAD_DIFF, "SEARCH matches nothing; nearest: <module> line 3"),
)


@dataclass(frozen=True)
class Made:
    """How a run is made up; shares are in [0, 1]."""

    children: int = 40
    seed: int = 1
    failing: float = 0.15
    dropped: float = 0.2
    islands: int = 4
    bins: int = 10
    sigma: float = 0.004
    paid: bool = True
    direction: str = "maximize"
    algorithm: str = "islands"
    programs: bool = True
    stop: str | None = "budget"
    claims: int = 2


class _Maker:
    def __init__(self, settings: Settings, made: Made) -> None:
        self.made = made
        self.rng = random.Random(made.seed)
        self.settings = settings
        self.state = RunState(build.search_for(settings))
        self.events: list[dict[str, object]] = []
        self.elapsed = 30.0
        self.sign = 1.0 if made.direction == "maximize" else -1.0
        self.truth: dict[str, float] = {}

    def start(self, metrics: tuple[float, ...]) -> None:
        self.add({"event": "concurrency", "from": None, "to": 4, "configured": 4, "reason": "set"})
        for island in range(self.settings.evolution.num_islands):
            child = f"g0-i{island}-a0"
            self.ask(child, None)
            record = self.record(child, None, 0, island)
            mean = sum(metrics) / len(metrics)
            record = replace(
                record, metric=mean, repeats=metrics, charge=0.0 if island else 3.0, usage=None
            )
            self.truth[child] = mean
            self.tell(replace(record, measures=Measures(1210.0, "params", 0.0)))

    def add(self, event: dict[str, object]) -> None:
        self.state.apply(event)
        self.events.append(event)

    def ask(self, child: str, parent: str | None) -> None:
        asked = Asked(child, 0, 4, parent, "global_best")
        minutes = len(self.events)
        at = f"2026-03-{1 + minutes // 1440 % 28:02d}T{minutes // 60 % 24:02d}:{minutes % 60:02d}"
        self.add(ask_event(asked, f"{at}:00+00:00"))

    def tell(self, record: Record) -> None:
        event, _ = self.state.tell(record)
        self.events.append(event)

    def record(self, child: str, parent: str | None, gen: int, island: int) -> Record:
        kind = self.rng.choice(list(WORDS))
        return made_record(
            child,
            parent_id=parent,
            gen=gen,
            island=island,
            summary=WORDS[kind] if parent else "",
            intervention=kind if parent else Intervention.OTHER,
            operator=self.rng.choice(["scale-number", "swap", "statement"]) if parent else "-",
            rule="global_best",
            digest=f"digest-{child}",
            charge=1.1,
            seconds=self.rng.uniform(20, 40),
            elapsed=self.elapsed,
            tier="bwrap",
            usage=self.usage() if self.made.paid else None,
        )

    def usage(self) -> Usage:
        rng = self.rng
        sent, out = rng.randint(2000, 6000), rng.randint(200, 900)
        return Usage("claude-sonnet-5-5", 1, sent, 1500, 0, out, sent * 3e-6 + out * 15e-6, 4.0)

    def child(self, number: int) -> None:
        (child,) = self.state.next_ids(4)[:1]
        gen, island = int(child[1:].split("-")[0]), int(child.split("-i")[1].split("-")[0])
        parent = self.state.search.ask(child, island).parent_id
        self.ask(child, parent)
        self.elapsed += self.rng.uniform(5, 12)
        record = self.record(child, parent, gen, island)
        drawn = self.rng.random()
        if drawn < self.made.failing:
            reason, detail = self.rng.choice(FAILURES)
            ran = reason in (Reason.EXIT, Reason.NON_FINITE, Reason.TIMEOUT)
            charge, seconds = (0.6, record.seconds / 2) if ran else (0.0, 0.0)
            record = replace(record, status=Status.CRASH, reason=reason, detail=detail)
            record = replace(record, charge=charge, seconds=seconds, digest=None)
        elif drawn < self.made.failing + self.made.dropped:
            record = replace(
                record, status=Status.SMOKE_DROPPED, smoke_metric=0.3, charge=0.1, seconds=3.0
            )
        else:
            record = self.finished(record, parent)
        self.tell(record)
        if self.state.migration_due:
            self.events.append(self.state.migrate())
        self.maybe_again(number)

    def finished(self, record: Record, parent: str) -> Record:
        rng = self.rng
        step = rng.gauss(-0.01, 0.02) if rng.random() < 0.9 else rng.gauss(-0.2, 0.1)
        value = self.truth[parent] + self.sign * step * (1.0 - min(0.95, self.truth[parent]))
        self.truth[record.child_id] = min(0.99, max(0.05, value))
        metric = self.truth[record.child_id] + rng.gauss(0, self.made.sigma)
        return replace(
            record,
            metric=metric,
            smoke_metric=metric * 0.8,
            repeats=(metric,),
            measures=Measures(1210.0 * 10 ** rng.gauss(0.2, 0.3), "params", rng.betavariate(2, 6)),
        )

    def maybe_again(self, number: int) -> None:
        """Run the best once more, now and then, as a contest does."""
        best = self.state.search.global_best()
        if number % 12 or best is None or best.parent_id is None or not self.made.sigma:
            return
        known = self.state.repeats.get(best.child_id) or (best.metric,)
        run = self.truth[best.child_id] + self.rng.gauss(0, self.made.sigma)
        if len(known) < 3:
            self.events.append(self.state.rerun(best.child_id, (*known, run), took(1.0, 30.0)))

    def end(self) -> None:
        best = self.state.search.global_best()
        if best is not None and best.parent_id is not None:
            for _ in range(self.made.claims):
                mine = self.truth[best.child_id] + self.rng.gauss(0, self.made.sigma)
                base = self.truth["g0-i0-a0"] + self.rng.gauss(0, self.made.sigma)
                self.events.append(self.state.claim(best.child_id, (mine, base), took(2.0, 60.0)))
        if self.made.stop:
            self.add({"event": "stop", "reason": self.made.stop, "elapsed": self.elapsed + 60})


def make_run(folder: Path, made: Made) -> Path:
    """Write a run of made-up children; returns its project."""
    project = folder / "project"
    project.mkdir(parents=True)
    (project / "model.py").write_text("VALUE = 0\n")
    (project / "train.py").write_text("import model\n")
    text = SETTINGS.format(
        direction=made.direction,
        total=max(5, round(made.children * 1.1)),
        islands=made.islands,
        bins=made.bins,
        algorithm=made.algorithm,
    )
    (project / "loop.run.yaml").write_text(text)
    settings = config.load(project)
    for name in ("programs", "results", "runs", "tasks"):
        (settings.lae_dir / name).mkdir(parents=True)
    metrics = (0.602, 0.598, 0.6) if made.sigma else (0.6, 0.6, 0.6)
    _write_base(settings, metrics)
    maker = _Maker(settings, made)
    maker.start(metrics)
    for number in range(1, made.children + 1):
        maker.child(number)
    maker.end()
    ledger = Ledger(settings.lae_dir, lambda _: None)
    ledger.append(maker.events)
    ledger.append_history(maker.state.rows)
    ledger.write_archive(archive_rows(maker.state.search, settings.evolution.num_islands))
    if made.programs:
        _write_programs(settings, maker.state)
    return project


def load(project: Path) -> Core:
    """Return the run as ``lae report`` reads it."""
    return build.view(config.load(project), lambda _: None)


def _write_programs(settings: Settings, state: RunState) -> None:
    for number, row in enumerate(state.rows):
        folder = settings.lae_dir / "programs" / row.child_id
        folder.mkdir()
        value = 0 if is_baseline(row.child_id) else number
        (folder / "model.py").write_text(f'VALUE = {value}  # <script> & "quotes"\n')
        (folder / "train.py").write_text("import model\n")


def baseline(metrics: tuple[float, ...]) -> Baseline:
    """Return a baseline of these full runs."""
    return made_baseline(
        *metrics, digest="digest-g0-i0-a0", smoke_metric=0.3, params=1210, full_seconds=30.0,
        smoke_seconds=3.0, tier="bwrap", seconds=93.0,
    )  # fmt: skip


def _write_base(settings: Settings, metrics: tuple[float, ...]) -> None:
    snapshot = survey(settings.root, skip=[settings.sandbox_dir])
    take(settings.root, snapshot, settings.lae_dir / "base")
    value = {
        "fixed": settings.fixed(),
        "snapshot": snapshot.to_json(),
        "baseline": encode(baseline(metrics)),
    }
    (settings.lae_dir / "base.json").write_text(json.dumps(value))

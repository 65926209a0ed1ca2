"""What has to be known before any child: does the project train here, and how does it score?

The runs made here are charged to the budget and kept, so that ``check`` and ``run`` share them.
"""

from __future__ import annotations

import hashlib
import json
import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from lae_controller.change.evolve_blocks import find_blocks
from lae_controller.change.normal_form import digest as digest_of
from lae_controller.codec import decode, encode
from lae_controller.config import Gate, Settings
from lae_controller.errors import ConfigError, LedgerError, RefusedError
from lae_controller.evaluators import Evaluator, Measurement, Stage
from lae_controller.evaluators.cascade import Plan
from lae_controller.evaluators.leftovers import Leftovers, find_leftovers
from lae_controller.files import read_json, remove_tree, write_json
from lae_controller.machine.slots import Slot
from lae_controller.outputs.artifacts import max_step
from lae_controller.program import Artifacts, Evaluation, Reason, Status, child_id
from lae_controller.sandbox.command import check_keys, number_text
from lae_controller.sandbox.programs import build, editable_paths, read_program
from lae_controller.sandbox.snapshot import Snapshot, survey, take

Say = Callable[[str], None]
EvaluatorFor = Callable[[Snapshot, tuple[str, ...]], Evaluator]
"""Makes the Evaluator for programs of a snapshot, given the editable files."""

BASELINE_ID = child_id(0, 0, 0)
_SHORTEST_LIMIT_S = 60.0
_LIMIT_FACTOR = 5.0
_SHORTEST_STARTUP_S = 5.0


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
        notes: what was left out or linked, and why.
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
    notes: tuple[str, ...]
    artifacts: Artifacts

    @property
    def metric(self) -> float:
        """The run on the first seed, which is the one that every child is run on.

        Not the mean: a child without any effect would seem to gain whatever the first seed is
        luckier than the others.
        """
        return self.metrics[0]

    @property
    def spread(self) -> float | None:
        """Standard deviation of the full runs; None if there was only one."""
        return statistics.stdev(self.metrics) if len(self.metrics) > 1 else None

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
            tier=self.tier,
            fingerprint=self.fingerprint,
            proven=True,
            efficiency=self.efficiency,
            artifacts=self.artifacts,
        )

    def plan(self, settings: Settings) -> Plan:
        """Return how every child is to be measured."""
        seed = settings.evolution.seed
        smoke = None
        counted = settings.gate is Gate.EPOCHS  # under a time budget a faster child goes further
        if self.smoke_metric is not None:
            limit = _limit(settings, self.smoke_budget, self.limit)
            smoke = Stage("smoke", self.smoke_budget, seed, limit, None, self.smoke_lines)
            smoke = replace(smoke, max_step=self.smoke_steps if counted else None)
        steps = self.full_steps if counted else None
        return Plan(
            smoke=smoke,
            full=Stage("full", settings.budget, seed, self.limit, steps, self.metric_lines),
            smoke_charge=min(1.0, self.smoke_budget / settings.budget) if smoke else 0.0,
            direction=settings.direction,
        )


@dataclass(frozen=True, slots=True)
class Prepared:
    """A snapshot of the project with its baseline."""

    snapshot: Snapshot
    baseline: Baseline


def load_prepared(settings: Settings) -> Prepared | None:
    """Return what an earlier ``check`` or ``run`` prepared; None if nothing is there yet.

    Raises:
        ConfigError: if settings that make metrics comparable were changed since.
        LedgerError: if the file is there but is not what this version writes.
    """
    path = settings.lae_dir / "base.json"
    if not path.exists():
        return None
    try:
        value = json.loads(path.read_bytes())
        _check_fixed(settings, value["fixed"])
        snapshot = Snapshot.from_json(value["snapshot"])
        return Prepared(snapshot, decode(Baseline, value["baseline"]))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise LedgerError(
            f"{path}: cannot be read ({type(error).__name__}: {error}); expected what `lae check` "
            "of this version writes. Was it torn, or written by another version? Move "
            f"{settings.lae_dir} away to begin anew, or use the version that wrote it"
        ) from None


def _check_fixed(settings: Settings, then: dict[str, Any]) -> None:
    now = settings.fixed()
    for key, value in now.items():
        if then.get(key) != value:
            raise ConfigError(
                f"{settings.path.name}: {key} is {value!r}, but this run began with "
                f"{then.get(key)!r}; metrics measured under both could not be compared. Put the "
                "old value back, or choose another sandbox_root to begin anew"
            )


def prepare(settings: Settings, evaluators: EvaluatorFor, slot: Slot, say: Say) -> Prepared:
    """Take the snapshot and run the baseline, or load both if that was done before.

    Raises:
        ConfigError: if the settings do not fit the project.
        RefusedError: if the baseline gives no metric.
    """
    there = load_prepared(settings)
    if there is not None:
        return there
    preparation = _Preparation(settings, evaluators, slot, say)
    prepared = preparation.run()
    write_json(
        settings.lae_dir / "base.json",
        {
            "fixed": settings.fixed(),
            "snapshot": prepared.snapshot.to_json(),
            "baseline": encode(prepared.baseline),
        },
    )
    remove_tree(settings.lae_dir / "runs" / BASELINE_ID)
    return prepared


class _Preparation:
    """The steps of ``prepare``, with what they share."""

    def __init__(self, settings: Settings, evaluators: EvaluatorFor, slot: Slot, say: Say) -> None:
        self.settings = settings
        self.evaluators = evaluators
        self.slot = slot
        self.say = say
        self.base = settings.lae_dir / "base"
        self.program = settings.lae_dir / "programs" / BASELINE_ID
        self.runs = settings.lae_dir / "runs" / BASELINE_ID
        self.charge = 0.0
        self.digest = ""
        self.content = ""
        self.editable: tuple[str, ...] = ()

    def run(self) -> Prepared:
        settings = self.settings
        snapshot, created, smoke_budget, smoke = self.without_leftovers()
        metrics, full, slowest = self.full_runs()
        whole = smoke_budget >= settings.budget
        baseline = Baseline(
            editable=self.editable,
            digest=self.digest,
            smoke_budget=smoke_budget,
            smoke_metric=None if whole else smoke.metric,
            metrics=metrics,
            params=full.params,
            limit=_limit(settings, settings.budget, _derived_limit(settings, slowest)),
            full_seconds=full.seconds,
            smoke_seconds=smoke.seconds,
            smoke_lines=smoke.metric_lines,
            metric_lines=full.metric_lines,
            smoke_steps=max_step(smoke.artifacts.curve),
            full_steps=max_step(full.artifacts.curve),
            tier=full.tier,
            fingerprint=full.fingerprint,
            efficiency=full.efficiency,
            entered=smoke.entered,
            budget_effect=None if whole else _differ(smoke, full),
            outputs=tuple(created),
            charge=self.charge,
            notes=snapshot.notes,
            artifacts=full.artifacts,
        )
        return Prepared(snapshot, baseline)

    def without_leftovers(self) -> tuple[Snapshot, list[str], float, Measurement]:
        """Take a snapshot without what runs write, and run the smoke stage on it.

        What they write is found by a first run and written down, so that an interrupted
        preparation does not begin from the start.

        Returns:
            the snapshot, what runs create, the smoke budget and the smoke run.
        """
        note = self.settings.lae_dir / "leftovers.json"
        known = read_json(note)
        stale = tuple(known["stale"] if known else self.settings.outputs or ())
        snapshot = self.settle(stale)
        budget = known["smoke_budget"] if known else self.settings.derived_smoke_budget
        budget, smoke = self.smoke(budget)
        if known is not None:
            self.charge += known["charge"]
            return snapshot, known["created"], budget, smoke
        left = self.leftovers()
        if not left.stale or self.settings.outputs is not None:
            return snapshot, list(left.created), budget, smoke
        self.say(f"left out of every program, as runs write them: {', '.join(left.stale)}")
        value = {**encode(left), "smoke_budget": budget, "charge": self.charge}
        snapshot = self.settle(left.stale)
        remove_tree(self.runs)  # that run began from what is now left out
        write_json(note, value)
        budget, smoke = self.smoke(budget)
        return snapshot, list(left.created), budget, smoke

    def settle(self, outputs: tuple[str, ...]) -> Snapshot:
        """Take the snapshot without ``outputs`` and build the baseline's program from it."""
        settings = self.settings
        snapshot = survey(
            settings.root,
            data_paths=settings.data_paths,
            leave_out=(*settings.exclude, *outputs),
            skip=[settings.sandbox_dir],
        )
        self.editable = tuple(editable_paths(snapshot, settings.editable_files))
        take(settings.root, snapshot, self.base)
        build(snapshot, self.base, self.program)
        files = read_program(self.program, snapshot, self.editable)
        for path, text in files.items():
            find_blocks(path, text)  # malformed markers are named before anything runs
        problems = check_keys(settings, self.program)
        if problems:
            raise ConfigError(f"{settings.path.name}: {problems[0]}")
        self.digest = digest_of(files)
        self.content = f"{self.digest} {_content(snapshot)}"
        self.evaluator = self.evaluators(snapshot, self.editable)
        return snapshot

    def smoke(self, budget: float) -> tuple[float, Measurement]:
        """Run the smoke stage, with twice the budget as long as no metric appears."""
        while True:
            seed, limit = self.settings.evolution.seed, _limit(self.settings, budget, None)
            # Noting calls takes time, which under a time budget would be the program's own.
            calls = self.settings.gate is Gate.EPOCHS
            stage = Stage("smoke", budget, seed, limit, calls=calls)
            found = self.measure(stage)
            self.charge += min(1.0, budget / self.settings.budget)
            if found.metric is not None:
                return budget, found
            if found.reason is not Reason.NO_METRIC or budget >= self.settings.budget:
                raise RefusedError(self._refusal("smoke", budget, found))
            budget = min(self.settings.budget, budget * 2)
            self.say(f"no metric in the smoke run; its budget goes up to {number_text(budget)}")

    def measure(self, stage: Stage) -> Measurement:
        """Run the baseline once; a run that failed is not kept, so that it can be mended."""
        found = self.evaluator.measure(self.program, self.content, self.runs, stage, self.slot)
        if found.metric is None:
            remove_tree(self.runs / stage.name)
        return found

    def full_runs(self) -> tuple[tuple[float, ...], Measurement, float]:
        """Run the baseline in full, ``baseline_runs`` times on consecutive seeds.

        Returns:
            the metrics, the first run, and the seconds of the slowest.
        """
        settings = self.settings
        found: list[Measurement] = []
        for repeat in range(settings.confirm.baseline_runs):
            name = "full" if repeat == 0 else f"full-{repeat + 1}"
            seconds = found[0].seconds if found else None
            limit = _limit(settings, settings.budget, _derived_limit(settings, seconds))
            stage = Stage(name, settings.budget, settings.evolution.seed + repeat, limit)
            run = self.measure(stage)
            self.charge += 1.0
            if run.metric is None:
                raise RefusedError(self._refusal(name, settings.budget, run))
            self.say(f"baseline {name}: {settings.metric} {run.metric:g} in {run.seconds:.1f} s")
            found.append(run)
        metrics = tuple(run.metric for run in found if run.metric is not None)
        return metrics, found[0], max(run.seconds for run in found)

    def leftovers(self) -> Leftovers:
        """Return what the smoke run left behind in its copy."""
        keys = (self.settings.budget_key or "", self.settings.seed_key or "")
        edited = {key.split(":")[0] for key in keys} | set(self.editable)
        return find_leftovers(self.runs / "smoke" / "work", self.program, edited)

    def _refusal(self, stage: str, budget: float, found: Measurement) -> str:
        reason = found.reason.value if found.reason else "unknown"
        hint = ""
        if "Read-only file system" in found.detail:
            hint = "Runs may write anywhere in their own copy, but not to data_paths. "
        return (
            f"the baseline's {stage} run (budget {number_text(budget)}) gave no usable "
            f"{self.settings.metric}: {reason}: {found.detail}\n"
            f"Expected {self.settings.run_cmd!r} to train and to report {self.settings.metric!r}. "
            f"{hint}Mend the settings or the project; nothing was spent on children"
        )


def _content(snapshot: Snapshot) -> str:
    """Return a digest of all that a snapshot copies: a run is only good for what it ran."""
    text = "\n".join(f"{entry.path} {entry.kind} {entry.sha256}" for entry in snapshot.entries)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _differ(smoke: Measurement, full: Measurement) -> bool:
    """Say whether two runs of unlike budgets show in any way that they were unlike."""
    return (
        smoke.metric != full.metric
        or smoke.artifacts.curve != full.artifacts.curve
        or smoke.metric_lines != full.metric_lines
        or full.seconds > 1.5 * smoke.seconds + 1.0
    )


def _derived_limit(settings: Settings, seconds: float | None) -> float | None:
    """Return the limit of a full run, given how long the baseline took; None if not yet known."""
    if settings.run_timeout is not None:
        return settings.run_timeout
    if settings.gate is Gate.TIME:
        beyond = 0.0 if seconds is None else max(0.0, seconds - settings.budget)
        return settings.budget + max(_SHORTEST_STARTUP_S, 0.1 * settings.budget, 1.5 * beyond)
    return None if seconds is None else max(_SHORTEST_LIMIT_S, _LIMIT_FACTOR * seconds)


def _limit(settings: Settings, budget: float, full: float | None) -> float:
    """Return the seconds a run of ``budget`` may take.

    Args:
        full: the limit of a full run; None if nothing is known yet: then a day.
    """
    full = _derived_limit(settings, None) if full is None else full
    if full is None:
        return 86400.0
    if settings.gate is Gate.TIME and settings.run_timeout is None:
        return budget + (full - settings.budget)
    return full

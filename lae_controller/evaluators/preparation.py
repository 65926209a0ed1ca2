"""Before any child: take the snapshot, and find out how the project trains and scores here.

The runs made here are charged to the budget and kept, so that ``check`` and ``run`` share them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from lae_controller.change.evolve_blocks import find_blocks
from lae_controller.change.normal_form import digest as digest_of
from lae_controller.codec import encode
from lae_controller.config import Gate, Settings
from lae_controller.errors import ConfigError, RefusedError
from lae_controller.evaluators import Evaluator, Measurement, Stage
from lae_controller.evaluators.baseline import BASELINE_ID, Baseline, Prepared, load_prepared
from lae_controller.evaluators.frozen import without_frozen
from lae_controller.evaluators.leftovers import Leftovers, find_leftovers
from lae_controller.evaluators.limits import allowance, is_told, limit_of
from lae_controller.evaluators.shards import Shards, refuse_thin, shard_stage
from lae_controller.files import read_json, remove_tree, write_json
from lae_controller.machine.slots import Slot
from lae_controller.outputs.artifacts import max_step
from lae_controller.program import Files, Reason, Usage, added
from lae_controller.quantities import number_text
from lae_controller.remarks import Say
from lae_controller.sandbox.command import check_keys
from lae_controller.sandbox.programs import build, editable_paths, read_program
from lae_controller.sandbox.snapshot import Snapshot, matches, survey, take
from lae_controller.scoring import SCRIPT

EvaluatorFor = Callable[[Snapshot, tuple[str, ...]], Evaluator]
"""Makes the Evaluator for programs of a snapshot, given the editable files."""


_PATIENCE_S = 60.0
"""What a program that knows its time budget may take beyond it the first time."""


def prepare(
    settings: Settings,
    evaluators: EvaluatorFor,
    slot: Slot,
    say: Say,
    check_cost: Callable[[Files], None],
) -> Prepared:
    """Take the snapshot and run the baseline, or load both if that was done before.

    Args:
        check_cost: is given the program before anything is run, and raises if that could cost more
            money than may be spent.

    Raises:
        ConfigError: if the settings do not fit the project.
        RefusedError: if the baseline gives no metric.
    """
    there = load_prepared(settings)
    if there is not None:
        return there
    if not settings.scoring.trains:
        refuse_thin(settings.scoring.shards, settings.scoring.mode)
    preparation = _Preparation(settings, evaluators, slot, say, check_cost)
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

    def __init__(
        self,
        settings: Settings,
        evaluators: EvaluatorFor,
        slot: Slot,
        say: Say,
        check_cost: Callable[[Files], None],
    ) -> None:
        self.settings = settings
        self.check_cost = check_cost
        self.evaluators = evaluators
        self.slot = slot
        self.say = say
        self.base = settings.lae_dir / "base"
        self.program = settings.lae_dir / "programs" / BASELINE_ID
        self.runs = settings.lae_dir / "runs" / BASELINE_ID
        self.charge = 0.0
        self.seconds = 0.0
        self.grading: Usage | None = None
        self.digest = ""
        self.content = ""
        self.editable: tuple[str, ...] = ()
        self.known: float | None = None
        self.settled = False

    def run(self) -> Prepared:
        settings = self.settings
        snapshot, created, smoke_budget, smoke = self.without_leftovers()
        found = self.full_runs()
        full, slowest = found[0], max(run.seconds for run in found)
        varies = any(_shown(run) != _shown(full) for run in found)
        whole = smoke_budget >= settings.budget
        alike = whole or not settings.scoring.trains  # then no budget was injected to be compared
        artifacts = replace(full.artifacts, per_class=self.unit_scores(full))
        smokes = self.further_smokes(smoke_budget) if varies and not whole else ()
        baseline = Baseline(
            editable=self.editable,
            digest=self.digest,
            smoke_budget=smoke_budget,
            smoke_metric=None if whole else smoke.metric,
            metrics=tuple(run.metric for run in found if run.metric is not None),
            params=full.params,
            limit=limit_of(settings, settings.budget, self.known or slowest),
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
            budget_effect=None if alike else _differ(smoke, full),
            outputs=tuple(created),
            charge=self.charge,
            seconds=self.seconds,
            notes=snapshot.notes,
            artifacts=artifacts,
            further=full.metrics,
            smokes=smokes,
            varies=varies,
            grading=self.grading,
        )
        for name in (it.name for it in settings.metrics if it.name not in full.metrics):
            self.say(
                f"the baseline's full run shows no usable {name}: what lacks one of the further "
                "metrics is left out of the Pareto front"
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
            leave_out=(*settings.exclude, *outputs, *settings.scoring.withheld),
            skip=_sandbox_of(settings),
        )
        for path in set(settings.data_paths) - set(settings.scoring.withheld):
            if not any(matches(entry.path, [path]) for entry in snapshot.entries):
                raise ConfigError(
                    f"{settings.path.name}: data_paths holds {path!r}, but the project has nothing "
                    "of that name; expected a path or glob relative to the project root"
                )
        found = editable_paths(snapshot, settings.editable_files)
        self.editable = without_frozen(settings, found)
        take(settings.root, snapshot, self.base)
        build(snapshot, self.base, self.program)
        files = read_program(self.program, snapshot, self.editable)
        for path, text in files.items():
            find_blocks(path, text)  # malformed markers are named before anything runs
        problems = check_keys(settings, self.program)
        if problems:
            raise ConfigError(f"{settings.path.name}: {problems[0]}")
        self.check_cost(files)
        self.digest = digest_of(files)
        self.content = f"{self.digest} {_content(snapshot)}"
        self.evaluator = self.evaluators(snapshot, self.editable)
        return snapshot

    def smoke(self, budget: float) -> tuple[float, Measurement]:
        """Run the smoke stage, with twice the budget as long as no metric appears.

        A smoke run of more than half a full one would save nothing: then there is none.
        """
        settings = self.settings
        # Noting calls takes time, which under a time budget would be the program's own.
        calls = settings.gate is Gate.EPOCHS and settings.scoring.trains
        if settings.gate is Gate.TIME and self.known is None:
            self.known = allowance(settings) + (_PATIENCE_S if is_told(settings) else 0.0)
        while True:
            limit = limit_of(settings, budget, self.known)
            stage = Stage("smoke", budget, settings.evolution.seed, limit, calls=calls)
            found = self.measure(stage)
            self.charge += min(1.0, budget / settings.budget)
            if settings.gate is Gate.TIME and self.settle_allowance(budget, found):
                continue
            if found.metric is not None:
                return budget, found
            short = found.reason is Reason.NO_METRIC and settings.scoring.trains
            if not short or budget >= settings.budget:
                raise RefusedError(self._refusal("smoke", budget, found))
            budget = budget * 2 if budget * 4 <= settings.budget else settings.budget
            self.say(f"no metric in the smoke run; its budget goes up to {number_text(budget)}")

    def settle_allowance(self, budget: float, found: Measurement) -> bool:
        """Settle, by the first run, what every run is allowed beyond a time budget.

        A program that ends by itself is given half as much again as it needed; one that has to be
        told by SIGTERM gets the default, and its first run, which was given more, is made again.

        Returns:
            whether the run has to be made again.
        """
        least = allowance(self.settings)
        if self.settled or self.settings.run_timeout is not None:
            return False
        self.settled = True
        patient, self.known = self.known, least
        if not found.stopped:
            self.known = max(least, 1.5 * (found.seconds - budget))
            return False
        if patient == least:
            return False
        remove_tree(self.runs / "smoke")
        return True

    def measure(self, stage: Stage) -> Measurement:
        """Run the baseline once; a run that failed is not kept, so that it can be mended."""
        found = self.evaluator.measure(self.program, self.content, self.runs, stage, self.slot)
        self.seconds += found.seconds
        self.grading = added(self.grading, found.grading)
        if found.metric is None:
            remove_tree(self.runs / stage.name)
        return found

    def further_smokes(self, budget: float) -> tuple[float, ...]:
        """Run the smoke stage on further seeds, as many as full runs: the gate leaves room for it.

        A further smoke run that gives no metric is said; the spread is that of the others.
        """
        settings, found = self.settings, []
        for repeat in range(1, settings.confirm.baseline_runs):
            limit = limit_of(settings, budget, self.known)
            seed = settings.evolution.seed + repeat
            run = self.measure(Stage(f"smoke-{repeat + 1}", budget, seed, limit))
            self.charge += min(1.0, budget / settings.budget)
            if run.metric is None:
                self.say(f"baseline smoke-{repeat + 1}: no {settings.metric}: {run.detail}")
            else:
                found.append(run.metric)
        return tuple(found)

    def full_runs(self) -> list[Measurement]:
        """Run the baseline in full, ``baseline_runs`` times on consecutive seeds."""
        settings = self.settings
        found: list[Measurement] = []
        for repeat in range(settings.confirm.baseline_runs):
            name = "full" if repeat == 0 else f"full-{repeat + 1}"
            known = self.known or (found[0].seconds if found else None)
            limit = limit_of(settings, settings.budget, known)
            stage = Stage(name, settings.budget, settings.evolution.seed + repeat, limit)
            run = self.measure(stage)
            self.charge += 1.0
            if run.metric is None:
                raise RefusedError(self._refusal(name, settings.budget, run))
            self.say(f"baseline {name}: {settings.metric} {run.metric:g} in {run.seconds:.1f} s")
            found.append(run)
        return found

    def unit_scores(self, full: Measurement) -> Mapping[str, float]:
        """Return how the baseline does on each unit, where a run reports their mean alone.

        Measured one by one, which costs as much as one full run more; it shows units that are tied
        or cannot lie between failure and success.
        """
        if self.settings.scoring.mode != SCRIPT:
            return full.artifacts.per_class
        gate = Shards(self.settings.scoring.shards).gate
        base = Stage("full", self.settings.budget, self.settings.evolution.seed, None)
        base = replace(base, limit=limit_of(self.settings, self.settings.budget, full.seconds))
        found = {n: self.measure(shard_stage(base, n)).metric for n in gate}
        self.charge += 1.0
        return {f"shard {n}": metric for n, metric in found.items() if metric is not None}

    def leftovers(self) -> Leftovers:
        """Return what the smoke run left behind in its copy."""
        keys = (self.settings.budget_key or "", self.settings.seed_key or "")
        edited = {key.split(":")[0] for key in keys} | set(self.editable)
        return find_leftovers(self.runs / "smoke" / "work", self.program, edited)

    def _refusal(self, stage: str, budget: float, found: Measurement) -> str:
        reason = found.reason.value if found.reason else "unknown"
        help_with = hint(found.detail, self.settings.root)
        return (
            f"the baseline's {stage} run (budget {number_text(budget)}) gave no usable "
            f"{self.settings.metric}: {reason}: {found.detail}\n"
            f"Expected {_what_is_run(self.settings)} to report {self.settings.metric!r}. "
            f"{help_with}Mend the settings or the project; nothing was spent on children"
        )


def hint(detail: str, root: Path) -> str:
    """Return a sentence that helps with a failure that is often seen; empty for any other."""
    if "Read-only file system" in detail:
        return "Runs may write anywhere in their own copy, but not to data_paths. "
    lacking = re.search(r"No module named '(\w+)", detail)
    if lacking is None:
        return ""
    name = lacking[1]
    if (root / name).is_dir() or (root / f"{name}.py").is_file():
        return f"{name} lies in the project: `env: {{PYTHONPATH: .}}` lets runs find it. "
    return f"Is {name} installed for the Python of run_cmd? "


def _what_is_run(settings: Settings) -> str:
    if settings.scoring.trains:
        return f"{settings.run_cmd!r} to train and"
    return settings.scoring.describe(settings.run_cmd)


def _sandbox_of(settings: Settings) -> list[Path]:
    """Return what belongs to the runs and not to the project.

    That is ``lae/``, and the folder around it unless it holds something of the project too.
    """
    folder = settings.sandbox_dir
    only_ours = folder.is_dir() and all(item.name == "lae" for item in folder.iterdir())
    return [settings.lae_dir, *([folder] if only_ours else [])]


def _content(snapshot: Snapshot) -> str:
    """Return a digest of all that a snapshot copies: a run is only good for what it ran."""
    text = "\n".join(f"{entry.path} {entry.kind} {entry.sha256}" for entry in snapshot.entries)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _shown(run: Measurement) -> tuple[object, ...]:
    """Return what a run reports that shows a difference between seeds if there is one.

    Not the further metrics: a time among them always differs.
    """
    return run.metric, run.artifacts.curve, dict(run.artifacts.per_class)


def _differ(smoke: Measurement, full: Measurement) -> bool:
    """Say whether two runs of unlike budgets show in any way that they were unlike."""
    return (
        smoke.metric != full.metric
        or smoke.artifacts.curve != full.artifacts.curve
        or smoke.metric_lines != full.metric_lines
        or full.seconds > 1.5 * smoke.seconds + 1.0
    )

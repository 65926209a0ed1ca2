"""``loop.run.yaml`` as typed settings: the defaults live here, once; the schema bounds them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

from lae_controller.codec import encode
from lae_controller.errors import ConfigError
from lae_controller.evolution import EvolutionSettings, check_evolution, evolution_settings
from lae_controller.program import Direction
from lae_controller.quantities import TotalBudget, parse_duration, parse_size, parse_total
from lae_controller.scoring import JUDGE, ScoringSettings, typed_scoring, with_derived
from lae_controller.tracking import TrackerSettings, tracker_settings
from lae_controller.validation import validate
from lae_controller.yaml_text import load_yaml

FILE_NAME = "loop.run.yaml"
_ALIASES = {"openevolve": "islands"}


class Gate(str, Enum):
    """Unit of the budget."""

    EPOCHS = "epochs"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class MutatorSettings:
    """Who proposes changes; see the schema for what each key means.

    Attributes:
        model: None for the backend's own default.
        command: of the ``agent`` backend: a command line, or the name of a preset.
        max_cost_usd: of all model calls of the run; None for no limit.
        timeout: seconds of one proposal.
        thinking: ``off``, or the effort: ``low``, ``medium``, ``high``.
        repair_attempts: further tries for a change that does not apply or a child that crashes.
        reply: ``diff`` or ``files``.
        context: what models are told about the project, in its user's words.
    """

    backend: str = "offline"
    model: str | None = None
    command: str | None = None
    max_cost_usd: float | None = None
    max_tokens: int = 8192
    timeout: float = 600.0
    thinking: str = "off"
    repair_attempts: int = 2
    reply: str = "diff"
    context: str = ""


@dataclass(frozen=True, slots=True)
class ConfirmSettings:
    """How often results are repeated.

    Attributes:
        repeats: further runs of a challenger, and of whom it would displace, at most.
    """

    baseline_runs: int = 3
    repeats: int = 2


@dataclass(frozen=True, slots=True)
class ExecutorSettings:
    """Where evaluations run; all but ``kind`` is of the cluster.

    Attributes:
        address: of the cluster; ``auto`` for the one that this machine belongs to.
        num_cpus, num_gpus: of one child; None to derive them from the nodes.
        accelerator: the only type of accelerator that children may run on; None for any.
        mixed: whether runs of equal time may meet unlike accelerators.
        node_dir: where nodes keep their copies; None for their temporary folder.
        lifeline: seconds without a sign of the controller after which a node ends its work.
    """

    kind: str = "local"
    address: str = "auto"
    num_cpus: float | None = None
    num_gpus: float | None = None
    accelerator: str | None = None
    mixed: bool = False
    node_dir: str | None = None
    lifeline: float = 3.0


@dataclass(frozen=True, slots=True)
class FurtherMetric:
    """A metric beside the one that ranks, for the Pareto front."""

    name: str
    direction: Direction


@cache
def _resolved(root: Path, folder: str) -> Path:
    """Return a folder of a project without links; asked for hundreds of times for each child."""
    return (root / folder).resolve()


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a run is told, with paths resolved against the project root.

    Attributes:
        path: the file it came from.
        root: the project root, the directory of that file.
        run_timeout: seconds; None to derive it from the baseline's own time.
        outputs: None to take what the baseline run creates.
        concurrency: None to derive it from the machine.
        reserve: full runs; None for 10 %, at least 2.
        memory_limit: such as ``12GiB``; None for no limit.
    """

    path: Path
    root: Path
    metric: str
    direction: Direction
    run_cmd: str
    editable_files: tuple[str, ...]
    gate: Gate
    budget: float
    total_budget: TotalBudget
    reserve: int | None = None
    entrypoint: str | None = None
    budget_key: str | None = None
    seed_key: str | None = None
    smoke_budget: float | None = None
    run_timeout: float | None = None
    stop_grace: float = 10.0
    metric_pattern: str | None = None
    metric_file: str | None = None
    params_pattern: str | None = None
    metrics: tuple[FurtherMetric, ...] = ()
    data_paths: tuple[str, ...] = ()
    outputs: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    forbidden_calls: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    sandbox_root: str = "./sandbox"
    concurrency: int | None = None
    memory_limit: str | None = None
    isolation: str = "auto"
    network: bool = False
    keep: str = "none"
    host: str = "other"
    lease: str = "2h"
    mutator: MutatorSettings = MutatorSettings()
    scoring: ScoringSettings = field(default_factory=ScoringSettings)
    evolution: EvolutionSettings = field(default_factory=EvolutionSettings)
    confirm: ConfirmSettings = ConfirmSettings()
    executor: ExecutorSettings = ExecutorSettings()
    trackers: TrackerSettings = field(default_factory=TrackerSettings)

    @property
    def lae_dir(self) -> Path:
        """The directory that holds everything the run writes."""
        return self.sandbox_dir / "lae"

    @property
    def sandbox_dir(self) -> Path:
        """``sandbox_root``, resolved against the project root."""
        return _resolved(self.root, self.sandbox_root)

    @property
    def budget_unit(self) -> str:
        """What ``budget`` counts, in words."""
        if not self.scoring.trains:
            return "gate shards"
        return "s" if self.gate is Gate.TIME else "epochs or steps"

    @property
    def takes_seed(self) -> bool:
        """Whether runs are told a seed; without a training command LAE_SEED always holds it."""
        return not self.scoring.trains or self.seed_key is not None or "{seed}" in self.run_cmd

    @property
    def scored_by_clients(self) -> bool:
        """Whether nothing is run here: the programs of a served experiment."""
        return self.scoring.trains and not self.run_cmd

    @property
    def objective(self) -> str:
        """Where the metric comes from, in words."""
        if self.scored_by_clients:
            return "the clients that acquire programs"
        return self.scoring.describe(self.run_cmd)

    @property
    def derived_smoke_budget(self) -> float:
        """Budget of a smoke run, in the unit of ``gate``."""
        if self.smoke_budget is not None:
            return self.smoke_budget
        if self.gate is Gate.TIME:
            return self.budget / 10
        return 1.0 if self.budget <= 50 else float(max(1, round(self.budget / 10)))

    @property
    def smoke_charge(self) -> float:
        """What one smoke run costs, in full runs."""
        return min(1.0, self.derived_smoke_budget / self.budget)

    def fixed(self) -> dict[str, Any]:
        """Return the settings that may not change between sessions of one run.

        Metrics measured under different values of these could not be compared.
        """
        scoring = {} if self.scoring.trains else {"scoring": encode(self.scoring)}
        return {
            **scoring,
            "metric": self.metric,
            "metric_direction": self.direction.value,
            "run_cmd": self.run_cmd,
            "editable_files": list(self.editable_files),
            "gate": self.gate.value,
            "budget": self.budget,
            "smoke_budget": self.smoke_budget,
            "budget_key": self.budget_key,
            "seed_key": self.seed_key,
            "metric_pattern": self.metric_pattern,
            "metric_file": self.metric_file,
            "metrics": {it.name: it.direction.value for it in self.metrics} or None,
            "env": dict(self.env),
            "algorithm": _ALIASES.get(self.evolution.algorithm, self.evolution.algorithm),
            "num_islands": self.evolution.num_islands,
            "num_bins": self.evolution.num_bins,
            "migration_interval": self.evolution.migration_interval,
            "diversity_reference_size": self.evolution.diversity_reference_size,
            "pop_per_island": self.evolution.pop_per_island,
            "seed": self.evolution.seed,
        }

    def num_generations(self, concurrency: int) -> int | None:
        """Return the planned number of generations; None if the budget is a time."""
        runs = self.total_budget.runs
        return None if runs is None else math.ceil(runs / concurrency)


def find_config(path: Path) -> Path:
    """Return the ``loop.run.yaml`` that ``path`` means.

    Args:
        path: the file itself, a directory that holds one, or the ``lae/`` directory of a run.

    Raises:
        ConfigError: if there is none.
    """
    if path.is_file():
        return path.resolve()
    if (path / FILE_NAME).is_file():
        return (path / FILE_NAME).resolve()
    for config in _of_run(path):
        if config.is_file() and _lae_of(config) == path.resolve():
            return config.resolve()
    raise ConfigError(
        f"{path}: no {FILE_NAME} there; expected that file, a directory that holds one or the lae/ "
        f"directory of a run. `lae init {path if path.is_dir() else '.'}` proposes one"
    )


def _of_run(path: Path) -> Iterator[Path]:
    """Yield where the file of a run's ``lae/`` directory may be: as noted, or above it."""
    note = path / "project"
    if note.is_file():
        yield Path(note.read_text(encoding="utf-8").strip())
        yield from (parent / FILE_NAME for parent in path.resolve().parents[:4])


def _lae_of(config: Path) -> Path | None:
    """Return the ``lae/`` directory that a file means; None if it cannot be told.

    A run that was copied or moved with its project must not be taken for the original's.
    """
    try:
        return load(config).lae_dir
    except ConfigError:
        return None


def load(path: Path, *, algorithm: str | None = None) -> Settings:
    """Read and check ``loop.run.yaml``.

    Args:
        path: what ``find_config`` takes.
        algorithm: takes the place of ``evolution.algorithm``; None for what the file says.

    Raises:
        ConfigError: if the file cannot be read or a setting is not what the schema allows.
    """
    path = find_config(path)
    return parse(read_text(path), path, algorithm=algorithm)


def read_text(path: Path) -> str:
    """Return the text of a settings file.

    Raises:
        ConfigError: if it cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read ({error}); expected a UTF-8 text file") from None


def parse(text: str, path: Path, *, algorithm: str | None = None) -> Settings:
    """Turn the text of a ``loop.run.yaml`` into settings.

    Raises:
        ConfigError: naming the file, the key, what was found and what was expected.
    """
    values = load_yaml(text, path.name)
    if not isinstance(values, dict):
        raise ConfigError(f"{path.name}: the file holds no mapping; expected `key: value` lines")
    if algorithm is not None:
        values["evolution"] = {**(values.get("evolution") or {}), "algorithm": algorithm}
    validate(values, "run", path.name)
    settings = _typed(with_derived(values, path.name), path)
    _check_together(settings)
    return settings


def _typed(values: dict[str, Any], path: Path) -> Settings:
    plain: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in values.items()
        if key not in _CONVERTED
    }
    sections: dict[str, Any] = {
        key: kind(**values[key]) for key, kind in _SECTIONS.items() if key in values
    }
    return Settings(
        path=path,
        root=path.parent,
        direction=Direction(values["metric_direction"]),
        gate=Gate(values["gate"]),
        budget=float(values["budget"]),
        total_budget=parse_total(values["total_budget"]),
        metrics=tuple(
            FurtherMetric(it["name"], Direction(it["direction"]))
            for it in values.get("metrics", ())
        ),
        env={key: _env_text(value) for key, value in values.get("env", {}).items()},
        **plain,
        **sections,
    )


_SECTIONS: dict[str, Any] = {
    "mutator": MutatorSettings,
    "scoring": typed_scoring,
    "evolution": evolution_settings,
    "confirm": ConfirmSettings,
    "executor": ExecutorSettings,
    "trackers": tracker_settings,
}
_CONVERTED = {
    *("metric_direction", "gate", "budget", "total_budget", "metrics", "env"),
    *_SECTIONS,
}


def _env_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_together(settings: Settings) -> None:
    """Check what one schema line cannot say: settings against each other."""
    where = settings.path.name
    parse_duration(settings.lease)
    if settings.memory_limit is not None and not parse_size(settings.memory_limit):
        raise ConfigError(f"{where}: memory_limit is {settings.memory_limit!r}; expected above 0")
    runs = settings.total_budget.runs
    if runs is not None and settings.reserve is not None and settings.reserve >= runs:
        raise ConfigError(
            f"{where}: reserve is {settings.reserve}; expected less than total_budget ({runs})"
        )
    if settings.smoke_budget is not None and settings.smoke_budget > settings.budget:
        raise ConfigError(
            f"{where}: smoke_budget is {settings.smoke_budget:g}; expected at most the budget "
            f"({settings.budget:g})"
        )
    notebooks = [path for path in settings.editable_files if path.endswith(".ipynb")]
    if notebooks:
        raise ConfigError(
            f"{where}: editable_files holds the notebook {notebooks[0]}; expected source files. "
            f"`jupyter nbconvert --to script {notebooks[0]}` exports it to .py"
        )
    inside = [("editable_files", path) for path in settings.editable_files]
    if settings.metric_file is not None:
        inside.append(("metric_file", settings.metric_file))
    for key, path in inside:
        if Path(path).is_absolute() or ".." in Path(path).parts:
            raise ConfigError(f"{where}: {key} holds {path!r}; expected a path inside the project")
    names = [settings.metric, *(it.name for it in settings.metrics)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ConfigError(f"{where}: metrics holds {twice!r} again; expected each metric once")
    check_evolution(settings.evolution, where, metrics=len(names), gate=settings.gate.value)
    if settings.executor.kind != "local" and settings.scoring.mode == JUDGE:
        raise ConfigError(
            f"{where}: executor.kind is {settings.executor.kind}, but a judge runs nothing that "
            "could be sent to other machines; expected executor.kind local with llm_judge"
        )
    needs_key = settings.gate is Gate.EPOCHS and "{budget}" not in settings.run_cmd
    if needs_key and settings.budget_key is None and settings.scoring.trains:
        raise ConfigError(
            f"{where}: budget_key is missing and run_cmd has no {{budget}}; expected one of them, "
            "or a child could train as long as it likes"
        )

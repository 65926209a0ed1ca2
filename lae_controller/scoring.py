"""How programs are scored: the ``scoring`` section, and what follows from its mode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lae_controller.errors import ConfigError
from lae_controller.skill_files import load_schema

COMMAND = "command"
DATASET = "dataset_metric"
TESTS = "test_gate"
SCRIPT = "custom_script"
JUDGE = "llm_judge"

GRADING_TRIES = 2
"""How often a judge may be asked for one grading."""

MINIMISED = ("mae", "rmse", "seconds")
MAXIMISED = ("accuracy", "r2")
"""Metrics of ``dataset_metric``."""

_OWN = {
    COMMAND: frozenset(["test_cmd", "test_metric", "test_paths"]),
    DATASET: frozenset(["shards", "dataset", "target", "fit_share", "normaliser", "entry"]),
    TESTS: frozenset(["shards", "tests", "frozen"]),
    SCRIPT: frozenset(["shards", "script", "entry"]),
    JUDGE: frozenset(["shards", "rubric", "scale", "judge"]),
}
"""The keys of ``scoring`` that each mode reads."""

_NEEDED = {
    COMMAND: (),
    DATASET: ("dataset", "target"),
    TESTS: (),
    SCRIPT: ("script",),
    JUDGE: ("rubric",),
}
_TRAINING = ("run_cmd", "gate", "budget")
TRAINING_ONLY = (
    *("run_cmd", "gate", "budget", "smoke_budget", "budget_key", "seed_key", "entrypoint"),
    *("metric_pattern", "metric_file", "params_pattern"),
)
"""Keys that say how a training command is run; ``test_gate`` may have a ``run_cmd`` of its own."""


@dataclass(frozen=True, slots=True)
class ShardCounts:
    """How many units of measurement each stage reads; no unit is read by two stages.

    Attributes:
        rollout: of the smoke stage.
        gate: of the full stage, the only one that ranks.
        test: read once, at the end.
    """

    rollout: int = 4
    gate: int = 8
    test: int = 4

    @property
    def total(self) -> int:
        """All of them together."""
        return self.rollout + self.gate + self.test


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """Who grades in the mode ``llm_judge``.

    Attributes:
        backend: ``anthropic`` (the Messages API) or ``command``.
        model: None for the backend's own default.
        command: of the backend ``command``: reads ``{prompt_file}``, prints its reply.
        timeout: seconds of one grading.
    """

    backend: str = "anthropic"
    model: str | None = None
    command: str | None = None
    max_tokens: int = 1024
    timeout: float = 120.0


@dataclass(frozen=True, slots=True)
class ScoringSettings:
    """The ``scoring`` section; see the schema for what each key means.

    Attributes:
        test_metric: the metric that ``test_cmd`` reports; None for the search's own.
        fit_share: share of the rows that a candidate learns from, 0 to 1.
        entry: the file that is imported; None where there is only one choice.
        scale: lowest and highest grade.
    """

    mode: str = COMMAND
    shards: ShardCounts = ShardCounts()
    test_cmd: str | None = None
    test_metric: str | None = None
    test_paths: tuple[str, ...] = ()
    dataset: str | None = None
    target: str | None = None
    fit_share: float = 0.5
    normaliser: str = "identity"
    entry: str | None = None
    tests: tuple[str, ...] = ()
    frozen: tuple[str, ...] = ()
    script: str | None = None
    rubric: str | None = None
    scale: tuple[float, ...] = (0, 10)
    judge: JudgeSettings = JudgeSettings()

    @property
    def trains(self) -> bool:
        """Whether the score is what a training command of the user reports."""
        return self.mode == COMMAND

    @property
    def withheld(self) -> tuple[str, ...]:
        """What no program may hold, relative to the project: answers, and held-out data."""
        return ((self.dataset,) if self.dataset is not None else ()) + self.test_paths

    def describe(self, run_cmd: str) -> str:
        """Say in a few words where the score comes from."""
        words = {
            COMMAND: f"`{run_cmd}`",
            DATASET: f"{self.dataset} (column {self.target})",
            TESTS: f"the tests (`{run_cmd or 'pytest'}`)",
            SCRIPT: f"{self.script}",
            JUDGE: f"a judge with {self.rubric}",
        }
        return words[self.mode]


def typed_scoring(**values: Any) -> ScoringSettings:
    """Return the section as typed settings."""
    plain: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
    plain["shards"] = ShardCounts(**values.get("shards", {}))
    plain["judge"] = JudgeSettings(**values.get("judge", {}))
    return ScoringSettings(**plain)


def with_derived(values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Check which keys the mode needs and has a use for; add those that follow from it.

    A full run of a mode without a training command is one pass over the gate shards, and its
    smoke run one over the rollout shards: their numbers are the budgets.

    Args:
        values: the whole file, valid by the schema.

    Raises:
        ConfigError: naming the key that is missing, or has no meaning in this mode.
    """
    section = values.get("scoring", {})
    mode = section.get("mode", COMMAND)
    if mode == COMMAND:
        _require(values, _TRAINING, where, "")
        _refuse_foreign(section, mode, where)
        return dict(values)
    _refuse_training(values, mode, where)
    _refuse_foreign(section, mode, where)
    _require(section, _NEEDED[mode], where, "scoring.")
    _check_mode(values, section, mode, where)
    shards = ShardCounts(**section.get("shards", {}))
    derived = {"gate": "epochs", "budget": shards.gate, "run_cmd": ""}
    return {**derived, **values, "smoke_budget": min(shards.rollout, shards.gate)}


def _require(section: Mapping[str, Any], keys: tuple[str, ...], where: str, prefix: str) -> None:
    missing = next((key for key in keys if key not in section), None)
    if missing is not None:
        schema = load_schema("run")
        schema = schema["properties"]["scoring"] if prefix else schema
        about = schema["properties"][missing]["description"]
        raise ConfigError(f"{where}: {prefix}{missing} is missing; expected {about}")


def _refuse_training(values: Mapping[str, Any], mode: str, where: str) -> None:
    """Refuse settings of a training command where none is run: they would do nothing."""
    allowed = ("run_cmd",) if mode == TESTS else ()
    found = next((key for key in TRAINING_ONLY if key in values and key not in allowed), None)
    if found is not None:
        raise ConfigError(
            f"{where}: {found} has no meaning under scoring.mode {mode}; expected it only where a "
            "training command is run. Take it out"
        )
    if "metrics" in values and mode != SCRIPT:
        raise ConfigError(
            f"{where}: metrics has no meaning under scoring.mode {mode}, which gives one number; "
            "expected it only where a training command or a script reports several. Take it out"
        )


def _refuse_foreign(section: Mapping[str, Any], mode: str, where: str) -> None:
    for key in section:
        if key != "mode" and key not in _OWN[mode]:
            modes = ", ".join(name for name, keys in _OWN.items() if key in keys)
            raise ConfigError(
                f"{where}: scoring.{key} has no meaning under scoring.mode {mode}; expected it "
                f"only under {modes}. Take it out"
            )


def _check_mode(
    values: Mapping[str, Any], section: Mapping[str, Any], mode: str, where: str
) -> None:
    for key in ("dataset", "script", "rubric"):
        path = section.get(key)
        if path is not None and (Path(path).is_absolute() or ".." in Path(path).parts):
            raise ConfigError(
                f"{where}: scoring.{key} is {path!r}; expected a path inside the project"
            )
        if path is not None and path in values["editable_files"]:
            raise ConfigError(
                f"{where}: editable_files holds {path!r}, which decides the score (scoring.{key}); "
                "expected the candidate's own files only. Take it out"
            )
    if mode == TESTS and "run_cmd" in values and "{junit}" not in values["run_cmd"]:
        raise ConfigError(
            f"{where}: run_cmd has no {{junit}}; expected the place of the JUnit XML file in it. "
            "Leave run_cmd out to have pytest run"
        )
    if mode == JUDGE:
        _check_judge(section, where)
    _check_direction(values, section, mode, where)


def _check_judge(section: Mapping[str, Any], where: str) -> None:
    judge = JudgeSettings(**section.get("judge", {}))
    if judge.backend == "command" and judge.command is None:
        raise ConfigError(
            f"{where}: scoring.judge.command is missing; expected a command line that reads "
            "{prompt_file} and prints a reply"
        )
    low, high = section.get("scale", (0, 10))
    if not low < high:
        raise ConfigError(f"{where}: scoring.scale is [{low}, {high}]; expected a lower and a "
                          "higher grade")  # fmt: skip


def _check_direction(
    values: Mapping[str, Any], section: Mapping[str, Any], mode: str, where: str
) -> None:
    """Check that the direction is that of the number which is ranked."""
    metric, right, why = values["metric"], "maximize", f"scores of {mode} grow with quality"
    if mode == DATASET:
        if metric not in (*MAXIMISED, *MINIMISED):
            known = ", ".join((*MAXIMISED, *MINIMISED))
            raise ConfigError(
                f"{where}: metric is {metric!r}; expected one of {known} under scoring.mode {mode}"
            )
        turned = section.get("normaliser", "identity") in ("reciprocal", "relative_to_baseline")
        right = "minimize" if metric in MINIMISED and not turned else "maximize"
        why = f"{metric} with normaliser {section.get('normaliser', 'identity')} is so ranked"
    if values["metric_direction"] != right:
        raise ConfigError(
            f"{where}: metric_direction is {values['metric_direction']!r}; expected {right!r}: "
            f"{why}"
        )

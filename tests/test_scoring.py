from __future__ import annotations

from pathlib import Path

import pytest

from lae_controller import config
from lae_controller.errors import ConfigError

PATH = Path("/project/loop.run.yaml")
DATASET = """\
metric: mae
metric_direction: minimize
editable_files: [model.py]
total_budget: 20
scoring: {mode: dataset_metric, dataset: d.csv, target: y}
"""
TESTS = """\
metric: passing
metric_direction: maximize
editable_files: [code.py]
total_budget: 20
scoring: {mode: test_gate}
"""
JUDGE = """\
metric: grade
metric_direction: maximize
editable_files: [text.md]
total_budget: 20
scoring: {mode: llm_judge, rubric: rubric.md}
"""


def test_without_a_training_command_the_shards_are_the_budget() -> None:
    settings = config.parse(DATASET, PATH)
    assert (settings.run_cmd, settings.budget, settings.derived_smoke_budget) == ("", 8.0, 4.0)
    assert settings.smoke_charge == 0.5
    assert settings.objective == "d.csv (column y)"
    assert settings.fixed()["scoring"]["dataset"] == "d.csv"


def test_a_test_command_is_the_run_command() -> None:
    text = TESTS + 'run_cmd: "ctest --output-junit {junit}"\n'
    assert config.parse(text, PATH).run_cmd == "ctest --output-junit {junit}"


@pytest.mark.parametrize("key", ["run_cmd", "gate", "budget"])
def test_a_training_command_still_needs_what_it_needs(key: str) -> None:
    lines = {
        "metric": "metric: acc",
        "metric_direction": "metric_direction: maximize",
        "run_cmd": "run_cmd: train {budget}",
        "editable_files": "editable_files: [model.py]",
        "gate": "gate: epochs",
        "budget": "budget: 4",
        "total_budget": "total_budget: 40",
    }
    del lines[key]
    with pytest.raises(ConfigError, match=f"{key} is missing; expected "):
        config.parse("\n".join(lines.values()), PATH)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (DATASET + "budget: 3\n", "budget has no meaning under scoring.mode dataset_metric"),
        (DATASET + "run_cmd: train\n", "run_cmd has no meaning under scoring.mode dataset_metric"),
        (DATASET.replace(", target: y", ""), "scoring.target is missing; expected the column"),
        (DATASET.replace("target: y", "target: y, script: s.py"), "script has no meaning .* only "
         "under custom_script"),
        (DATASET.replace("metric: mae", "metric: loss"), "expected one of accuracy, r2, mae"),
        (DATASET.replace("minimize", "maximize"), "expected 'minimize': mae with normaliser ident"),
        (DATASET.replace("target: y", "target: y, normaliser: reciprocal"), "expected 'maximize'"),
        (DATASET.replace("d.csv", "/tmp/d.csv"), "expected a path inside the project"),
        (DATASET.replace("d.csv", "model.py"), "which decides the score"),
        (DATASET.replace("target: y", "target: y, fit_share: 1"), "at least 0 and below 1"),
        (DATASET.replace("target", "taget"), "the nearest known key is target"),
        (TESTS.replace("maximize", "minimize"), "expected 'maximize': scores of test_gate grow"),
        (TESTS + "run_cmd: make test\n", "run_cmd has no {junit}"),
        (TESTS + "metrics: [{name: n, direction: maximize}]\n", "which gives one number"),
        (JUDGE.replace("rubric.md", "rubric.md, scale: [10, 0]"), "expected a lower and a higher"),
        (JUDGE.replace("rubric.md", "rubric.md, judge: {backend: command}"), "judge.command is m"),
        (JUDGE.replace("rubric: rubric.md", "scale: [0, 1]"), "scoring.rubric is missing"),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_mode_is_named(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config.parse(text, PATH)


def test_a_training_command_takes_no_shards() -> None:
    text = (
        "metric: acc\nmetric_direction: maximize\nrun_cmd: t {budget}\neditable_files: [m.py]\n"
        "gate: epochs\nbudget: 4\ntotal_budget: 40\nscoring: {shards: {gate: 9}}\n"
    )
    with pytest.raises(ConfigError, match="shards has no meaning under scoring.mode command"):
        config.parse(text, PATH)
    held_out = text.replace("shards: {gate: 9}", "test_cmd: test, test_paths: [held]")
    assert config.parse(held_out, PATH).scoring.withheld == ("held",)

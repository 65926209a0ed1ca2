from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from lae_controller import config, evolution, quantities
from lae_controller.errors import ConfigError
from lae_controller.program import Direction
from lae_controller.skill_files import load_schema, skill_root

BASE = """\
metric: acc
metric_direction: maximize
run_cmd: python train.py --epochs {budget}
editable_files: [model.py]
gate: epochs
budget: 4
total_budget: 40
"""
PATH = Path("/project/loop.run.yaml")


def parse(extra: str = "", base: str = BASE) -> config.Settings:
    return config.parse(base + extra, PATH)


def test_required_keys_are_typed() -> None:
    settings = parse()
    assert settings.direction is Direction.MAXIMIZE
    assert settings.total_budget == config.TotalBudget(40, None)
    assert settings.budget == 4.0
    assert settings.lae_dir == Path("/project/sandbox/lae")


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ("evolution: {num_islands: 0}", "evolution.num_islands is 0; expected an integer of at le"),
        ("evolution: {migration_intreval: 3}", "the nearest known key is migration_interval"),
        ("reserve: 50", "reserve is 50; expected less than total_budget"),
        ("smoke_budget: 9", "smoke_budget is 9; expected at most the budget"),
        ("host: vim", "host is 'vim'; expected one of claude-code, other"),
        ("env: [1]", "env is .1.; expected a mapping"),
        ("confirm: {baseline_runs: 2.5}", "confirm.baseline_runs is 2.5; expected an integer"),
        ("budget: 5", "loop.run.yaml:8: found duplicate key"),
        ("metric_file: /tmp/m.json", "metric_file holds '/tmp/m.json'; expected a path inside"),
        ("metric_file: ../m.json", "metric_file holds '../m.json'; expected a path inside"),
        ("memory_limit: 0GiB", "memory_limit is '0GiB'; expected above 0"),
        ("evolution: {selection: {global_best: 0, island_best: 0}}", "no share above 0"),
        ("evolution: {c_puct: 11}", "c_puct is 11; expected a number of at least 0 and at most 10"),
        ("evolution: {prior_exponent: 4.5}", "prior_exponent is 4.5; expected a number of at le"),
        ("evolution: {pareto_probability: 0.2}", "is 0.2, but there is one metric; expected 0, or"),
        ("evolution: {algorithm: mcts}", "is 'mcts'; expected one of islands, openevolve, puct"),
        (
            "evolution: {early_stop: {margin: 0.5}}",
            "margin is 0.5; expected a number of at least 1",
        ),
        ("evolution: {early_stop: {mrgin: 2}}", "the nearest known key is margin"),
        ("metrics: [{name: acc, direction: minimize}]", "metrics holds 'acc' again; expected each"),
        ("metrics: [{name: f1}]", "metrics.0.direction is missing; expected whether more or less"),
        ("metrics: [{name: f1, direction: up}]", "metrics.0.direction is 'up'; expected one of"),
    ],
)
def test_a_wrong_setting_is_named(extra: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse(extra)


@pytest.mark.parametrize("key", ["metric", "run_cmd", "editable_files", "budget", "total_budget"])
def test_a_missing_key_is_named(key: str) -> None:
    base = "\n".join(line for line in BASE.splitlines() if not line.startswith(key)) + "\n"
    with pytest.raises(ConfigError, match=f"{key} is missing; expected "):
        parse(base=base)


def test_a_number_with_an_exponent_is_a_number() -> None:
    assert parse(base=BASE.replace("budget: 4\n", "budget: 1e1\n")).budget == 10.0


@pytest.mark.parametrize(
    ("text", "seconds"), [("90m", 5400), ("8h", 28800), ("1h30m", 5400), ("45s", 45), ("1.5m", 90)]
)
def test_durations(text: str, seconds: float) -> None:
    assert quantities.parse_duration(text) == seconds
    base = BASE.replace("total_budget: 40", f"total_budget: {text}")
    assert parse(base=base).total_budget == config.TotalBudget(None, seconds)


@pytest.mark.parametrize("text", ["", "m", "90", "8 h", "-3m", "1y", "0s", "0m0s"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ConfigError, match="duration"):
        quantities.parse_duration(text)


@pytest.mark.parametrize(
    ("text", "size"), [("12GiB", 12 << 30), ("500MB", 500_000_000), ("1024", 1024), ("2K", 2000)]
)
def test_sizes(text: str, size: int) -> None:
    assert quantities.parse_size(text) == size


@pytest.mark.parametrize(("budget", "smoke"), [(4, 1), (50, 1), (60, 6), (300, 30), (0.5, 1)])
def test_smoke_budget_of_epochs(budget: float, smoke: float) -> None:
    settings = parse(base=BASE.replace("budget: 4\n", f"budget: {budget}\n"))
    assert settings.derived_smoke_budget == smoke


def test_smoke_budget_of_time_is_a_tenth() -> None:
    base = BASE.replace("gate: epochs", "gate: time").replace("budget: 4\n", "budget: 300\n")
    assert parse(base=base).derived_smoke_budget == 30


def test_epochs_without_a_place_for_the_budget_are_refused() -> None:
    with pytest.raises(ConfigError, match="budget_key is missing and run_cmd has no {budget}"):
        parse(base=BASE.replace(" --epochs {budget}", ""))


def test_further_metrics_are_typed_and_may_not_change_within_a_run() -> None:
    settings = parse("metrics: [{name: params, direction: minimize}]")
    assert settings.metrics == (config.FurtherMetric("params", Direction.MINIMIZE),)
    assert settings.fixed()["metrics"] == {"params": "minimize"}
    assert parse().fixed()["metrics"] is None


def test_early_stop_is_off_unless_it_is_true_or_a_map() -> None:
    def early(text: str) -> evolution.EarlyStopSettings:
        return parse(text).evolution.early_stop

    assert not early("").enabled
    assert not early("evolution: {early_stop: false}").enabled
    assert early("evolution: {early_stop: true}") == evolution.EarlyStopSettings(enabled=True)
    assert early("evolution: {early_stop: {}}").enabled
    assert early("evolution: {early_stop: {margin: 3}}") == evolution.EarlyStopSettings(
        enabled=True, margin=3
    )


def test_early_stop_needs_equal_steps() -> None:
    base = BASE.replace("gate: epochs", "gate: time")
    with pytest.raises(ConfigError, match="early_stop is on under gate: time; expected gate: ep"):
        parse("evolution: {early_stop: true}", base=base)


def test_a_tree_is_one_island_whatever_the_file_says() -> None:
    text = "evolution: {num_islands: 7, num_top: 1}"
    assert parse(text).evolution.num_islands == 7
    tree = config.parse(BASE + text, PATH, algorithm="puct").evolution
    assert (tree.algorithm, tree.num_islands, tree.num_top) == ("puct", 1, 1)
    assert config.parse(BASE, PATH, algorithm="openevolve").evolution.num_islands == 4


@pytest.mark.parametrize("path", ["/etc/passwd", "../other.py"])
def test_editable_files_lie_inside_the_project(path: str) -> None:
    with pytest.raises(ConfigError, match="inside the project"):
        parse(base=BASE.replace("[model.py]", f"['{path}']"))


def test_a_notebook_is_refused_with_the_remedy() -> None:
    with pytest.raises(ConfigError, match="nbconvert --to script nb.ipynb"):
        parse(base=BASE.replace("model.py", "nb.ipynb"))


def test_number_of_generations_is_rounded_up() -> None:
    assert parse().num_generations(3) == 14


def test_a_config_is_found_by_file_folder_or_run(tmp_path: Path) -> None:
    path = tmp_path / "loop.run.yaml"
    path.write_text(BASE)
    run = tmp_path / "sandbox" / "lae"
    run.mkdir(parents=True)
    (run / "project").write_text(f"{path}\n")
    assert {config.find_config(p) for p in (path, tmp_path, run)} == {path.resolve()}
    with pytest.raises(ConfigError, match="lae init"):
        config.find_config(tmp_path / "sandbox")


def test_a_copied_or_moved_run_is_its_own_project_s(tmp_path: Path) -> None:
    original, copied = tmp_path / "a", tmp_path / "b"
    for root in (original, copied):
        (root / "sandbox" / "lae").mkdir(parents=True)
        (root / "loop.run.yaml").write_text(BASE)
        (root / "sandbox" / "lae" / "project").write_text(f"{original / 'loop.run.yaml'}\n")
    found = config.find_config(copied / "sandbox" / "lae")
    assert found == (copied / "loop.run.yaml").resolve()


def test_the_example_shows_every_key_and_is_valid() -> None:
    path = skill_root() / "examples" / "run.example.yaml"
    settings = config.load(path)
    assert settings.evolution == evolution.EvolutionSettings()
    text = path.read_text()
    for key in load_schema("run")["properties"]:
        assert f"\n{key}:" in text or f"\n# {key}:" in text, key


def _defaults(schema: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, part in schema["properties"].items():
        if part.get("properties"):
            found.update(_defaults(part, f"{prefix}{key}."))
        elif "default" in part:
            found[prefix + key] = part["default"]
    return found


def test_defaults_of_schema_and_settings_are_the_same() -> None:
    settings = parse()
    for key, default in _defaults(load_schema("run")).items():
        value: Any = settings
        for part in key.split("."):
            value = getattr(value, part)
        assert (list(value) if isinstance(value, tuple) else value) == default, key


def test_every_setting_has_a_key_in_the_schema() -> None:
    known = set(load_schema("run")["properties"])
    fields = {field.name for field in dataclasses.fields(config.Settings)}
    assert fields - known == {"path", "root", "direction"}
    assert known - fields == {"metric_direction"}
    section = load_schema("run")["properties"]["evolution"]["properties"]
    assert set(section) == {f.name for f in dataclasses.fields(evolution.EvolutionSettings)}

"""Money: the most that a child can cost is set aside, whoever proposes and whoever grades it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from mutator_tasks import make_task
from scored_project import Scored

from lae_controller import build
from lae_controller.config import MutatorSettings, Settings
from lae_controller.errors import ConfigError
from lae_controller.program import Usage
from lae_controller.purse import (
    Purse,
    affords,
    affords_runs,
    affords_stage,
    check_baseline_cost,
    check_grading_limit,
    worst_gradings,
)
from lae_controller.sandbox.launch import Lifelines
from lae_controller.state import RunState

SETTINGS = """\
metric: grade
metric_direction: maximize
editable_files: [letter.md]
scoring: {mode: llm_judge, rubric: rubric.md, judge: {backend: anthropic, model: MODEL}}
"""
DEAR, CHEAP = "claude-opus-5-5", "claude-haiku-5-5"


def judged(root: Path, limit: float, model: str = "claude-sonnet-5-5") -> Settings:
    text = SETTINGS.replace("MODEL", model)
    scored = Scored(root, text, {"letter.md": "Sorry.\n", "rubric.md": "Be kind.\n"})
    return replace(scored.settings, mutator=MutatorSettings(max_cost_usd=limit))


def state(settings: Settings, spent: float = 0.0) -> RunState:
    found = RunState(build.search_for(settings))
    found.usage = Usage(cost_usd=spent)
    return found


def test_what_grading_a_child_can_cost_is_set_aside(tmp_path: Path) -> None:
    settings = judged(tmp_path, 20.0)
    most = worst_gradings(settings, 1000.0, 12)
    assert most is not None
    assert most > 12 * 1024 * 1e-6  # replies alone, were a token to cost a millionth
    task = make_task({"letter.md": "Sorry.\n"})
    assert Purse(settings, state(settings)).commit(task, MutatorSettings())
    full = Purse(settings, state(settings, 19.999))
    assert not full.commit(task, MutatorSettings())
    assert full.is_empty


def test_further_runs_are_paid_from_the_same_purse(tmp_path: Path) -> None:
    settings = judged(tmp_path, 20.0)
    files = {"letter.md": "Sorry.\n"}
    assert affords_runs(settings, 0.0, 1, files)
    assert not affords_runs(settings, 19.999, 1, files)
    assert not affords_runs(settings, 0.0, 100000, files)


def test_a_child_is_priced_by_the_model_that_is_asked_for_it(tmp_path: Path) -> None:
    settings = judged(tmp_path, 20.0)
    settings = replace(settings, scoring=replace(settings.scoring, mode="command"))
    asked = MutatorSettings(backend="anthropic", model=CHEAP, max_cost_usd=20.0)
    cheap, dear = Purse(settings, state(settings)), Purse(settings, state(settings))
    task = make_task({"letter.md": "Sorry.\n"})
    assert cheap.commit(task, asked)
    assert dear.commit(task, replace(asked, model=DEAR))
    assert sum(dear._committed.values()) > sum(cheap._committed.values()) > 0.0


def test_what_is_not_known_may_be_begun_until_the_limit_is_reached(tmp_path: Path) -> None:
    settings = judged(tmp_path, 20.0)
    assert affords(settings, 19.999, None)
    assert not affords(settings, 20.0, None)
    assert affords(settings, 19.0, 1.0)
    assert not affords(settings, 19.0, 1.001)


def test_one_run_costs_what_its_stage_grades(tmp_path: Path) -> None:
    settings, files = judged(tmp_path, 20.0), {"letter.md": "Sorry.\n"}
    smoke, full = (worst_gradings(settings, 7.0, count) or 0.0 for count in (4, 8))
    assert (settings.scoring.shards.rollout, settings.scoring.shards.gate) == (4, 8)
    for stage, most in (("smoke", smoke), ("full", full), ("full-2", full)):
        assert affords_stage(settings, 20.0 - 1.01 * most, stage, files)
        assert not affords_stage(settings, 20.0 - 0.99 * most, stage, files)


def test_the_baseline_is_not_graded_past_the_limit(tmp_path: Path) -> None:
    settings = judged(tmp_path, 0.05)
    with pytest.raises(
        ConfigError, match=r"grading the baseline \d+ times can cost .*Nothing was run"
    ):
        build.prepared_run(settings, Lifelines(), [].append)
    assert not (settings.lae_dir / "runs" / "g0-i0-a0").exists()
    assert not (settings.lae_dir / "base.json").exists()
    check_baseline_cost(replace(settings, mutator=MutatorSettings(max_cost_usd=500.0)), {})


def test_a_judge_of_unknown_price_is_refused_where_money_is_limited(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the price of the judge 'somebody' is not in the table"):
        check_grading_limit(judged(tmp_path, 1.0, "somebody"))

"""Each example that ships is run from its first check to its closing words, on a small budget."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from lae_controller import checks, config
from lae_controller.build import view
from lae_controller.quantities import TotalBudget
from lae_controller.session import run_search
from lae_controller.skill_files import skill_root


@pytest.mark.parametrize(
    ("name", "start", "runs", "said"),
    [
        ("houses", 0.5, 3, "dataset_metric: 4 rollout, 8 gate and 4 test shards of 20 rows"),
        ("slugs", 0.375, 3, "test_gate: 4 rollout, 8 gate and 4 test shards of 2 or more of 42"),
        ("packing", 0.85746, 4, "custom_script: 4 rollout, 8 gate and 4 test shards"),
        ("bread", 1.77, 3, "every child costs 4 gradings, and 8 more in full"),
    ],
)
def test_an_example_runs_whole(
    tmp_path: Path, name: str, start: float, runs: int, said: str
) -> None:
    project = tmp_path / name
    ignored = shutil.ignore_patterns("sandbox", "__pycache__", ".pytest_cache")
    shutil.copytree(skill_root() / "examples" / name, project, ignore=ignored)
    settings = config.load(project)
    settings = replace(
        settings,
        total_budget=TotalBudget(runs, None),
        reserve=0,
        confirm=replace(settings.confirm, baseline_runs=1),
        evolution=replace(settings.evolution, num_islands=1),
    )
    stop, synthesis = run_search(settings, lambda _: None)
    assert stop.reason == "budget"
    seen = view(settings, print)
    assert seen.prepared.baseline.metric == pytest.approx(start, abs=1e-4)
    told = [record for child, record in seen.state.told.items() if child != "g0-i0-a0"]
    assert told
    if name == "packing":  # each unit was measured alone, to see that they differ
        assert len(seen.prepared.baseline.artifacts.per_class) == 8
    assert "Baseline: " in synthesis
    lines = [check.text for check in checks.report(settings, seen.prepared)]
    assert any(said in line for line in lines)

"""The algorithms as a user meets them: through the command line, in the ledgers."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner
from tiny_project import make_project

from lae_controller.cli import cli
from lae_controller.errors import ConfigError


def test_a_tree_has_one_island_no_cells_and_its_own_views(project: Path) -> None:
    words = ["run", str(project), "--yes", "--algorithm", "puct", "--total-budget", "8"]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    rows = [
        line.split("\t")
        for line in (project / "sandbox/lae/history.tsv").read_text().splitlines()[1:]
    ]
    assert {(row[1], row[-1]) for row in rows} == {("0", "-")}
    assert {row[2] for row in rows} > {"-", "g0-i0-a0"}
    assert "gen 1/4" in done.output
    # The file says nothing of puct; the run does.
    status = json.loads(CliRunner().invoke(cli, ["status", str(project), "--json"]).stdout)
    evaluated = sum(row[6] == "evaluated" for row in rows)
    assert status["cells"] == evaluated
    assert "| 0      | " in (project / "sandbox/lae/leaderboard.md").read_text()


def test_a_tree_that_would_stay_flat_is_refused_before_anything_is_created(project: Path) -> None:
    words = ["run", str(project), "--yes", "--algorithm", "puct", "--total-budget", "7"]
    done = CliRunner().invoke(cli, words)
    assert isinstance(done.exception, ConfigError)
    assert "gets 7 expansions for 2 workers; expected at least 4 x 2 = 8" in str(done.exception)
    assert not (project / "sandbox").exists()


def test_further_metrics_reach_the_ledgers(tmp_path: Path) -> None:
    extra = "metrics: [{name: params, direction: minimize}, {name: nowhere, direction: maximize}]\n"
    root = make_project(tmp_path / "project", extra)
    done = CliRunner().invoke(cli, ["run", str(root), "--yes", "--total-budget", "5"])
    assert done.exit_code == 0, done.output
    assert "the baseline's full run shows no usable nowhere" in done.output
    result = json.loads((root / "sandbox/lae/results/g0-i0-a0.json").read_bytes())
    assert result["artifacts"]["metrics"] == {"params": 80.0}
    journal = (root / "sandbox/lae/journal.jsonl").read_text().splitlines()
    told = [event["record"] for event in map(json.loads, journal) if event["event"] == "told"]
    children = [it["metrics"] for it in told if it["metric"] is not None and it["gen"] > 0]
    assert children
    assert all(set(metrics) == {"params"} for metrics in children)

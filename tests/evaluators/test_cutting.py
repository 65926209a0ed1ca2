from __future__ import annotations

import json
from pathlib import Path

import pytest
from sessions import state_of
from tiny_project import make_project

from lae_controller import config, session
from lae_controller.evaluators import cutting
from lae_controller.sandbox import launch

SLOW = """\
import argparse
import time

import model

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int)
epochs = parser.parse_args().epochs
for epoch in range(epochs):
    loss = 1.0 / (epoch + 1) + (9.0 if model.RATE > 0.5 and epoch else 0.0)
    print(f"epoch {epoch + 1} val_loss: {loss + 1e-9 * model.WIDTH}", flush=True)
    time.sleep(0.0 if model.RATE <= 0.5 or epochs < 40 else 0.1)
"""
EVOLUTION = "evolution:\n  early_stop: {grace: 0.1, min_curves: 2}\n"


def test_a_run_that_cannot_catch_up_is_ended_and_its_child_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cutting, "_EVERY_S", 0.2)
    monkeypatch.setattr(launch, "_CUT_TICK_S", 0.1)
    project = make_project(tmp_path / "project", "isolation: none\nsmoke_budget: 1\n")
    (project / "train.py").write_text(SLOW)
    path = project / "loop.run.yaml"
    text = path.read_text().replace("evolution:\n", EVOLUTION).replace("budget: 4", "budget: 40")
    path.write_text(text.replace("total_budget: 10", "total_budget: 14"))
    (project / "model.py").write_text("RATE = 0.5\nWIDTH = 8\n")
    session.run_search(config.load(project), [].append)
    lines = (project / "sandbox/lae/journal.jsonl").read_text().splitlines()
    told = [e["record"] for e in map(json.loads, lines) if e["event"] == "told"]
    cut = [record for record in told if record["detail"].startswith("cut at step")]
    assert cut
    assert {record["status"] for record in cut} == {"smoke_dropped"}
    assert all(record["metric"] is None and record["charge"] > 1.0 for record in cut)
    assert all(record["seconds"] < 3.6 and record["gen"] > 1 for record in cut)
    assert "ended early" in (project / "sandbox/lae/leaderboard.md").read_text()
    said: list[str] = []
    assert state_of(project, said).cut > 0  # what was cut is folded as it was lived
    assert said == []

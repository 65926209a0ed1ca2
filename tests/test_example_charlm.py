"""The torch example: whole, in a short form; its harness refuses what would make it lie."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from lae_controller import config
from lae_controller.build import view
from lae_controller.quantities import TotalBudget
from lae_controller.session import run_search
from lae_controller.skill_files import skill_root

pytestmark = pytest.mark.torch
pytest.importorskip("torch")


@pytest.fixture
def charlm(tmp_path: Path) -> Path:
    ignored = shutil.ignore_patterns("sandbox", "__pycache__")
    source = skill_root() / "examples/charlm"
    return Path(shutil.copytree(source, tmp_path / "charlm", ignore=ignored))


def trained(project: Path, *before: str, steps: int = 4) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, *before, "train.py", "--steps", str(steps), "--device", "cpu"]
    return subprocess.run(words, cwd=project, capture_output=True, text=True, check=False)


def loss_of(done: subprocess.CompletedProcess[str]) -> float:
    assert done.returncode == 0, done.stderr
    return float(re.findall(r"^val_loss: (\S+)$", done.stdout, re.MULTILINE)[0])


def test_it_runs_whole_in_a_short_form(charlm: Path) -> None:
    settings = config.load(charlm)
    settings = replace(
        settings,
        budget=12.0,
        smoke_budget=3.0,
        total_budget=TotalBudget(5, None),
        reserve=1,
        confirm=replace(settings.confirm, baseline_runs=2, repeats=0),
        evolution=replace(settings.evolution, num_islands=1),
    )
    stop, synthesis = run_search(settings, lambda _: None)
    assert stop.reason == "budget"
    seen = view(settings, print)
    baseline = seen.prepared.baseline
    assert 3.0 < baseline.metric < 4.5  # between a little learnt and nothing at all (log of 72)
    assert baseline.params == 65_856
    told = [record for child, record in seen.state.told.items() if child[:2] != "g0"]
    assert told
    assert "Baseline: " in synthesis
    assert seen.state.tests  # the held-out split was read, once, at the end


def test_two_processes_train_as_one(charlm: Path) -> None:
    text = (charlm / "config.yaml").read_text()
    (charlm / "config.yaml").write_text(text.replace("dropout: 0.1", "dropout: 0.0"))
    alone = loss_of(trained(charlm))
    two = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    assert loss_of(trained(charlm, *two)) == pytest.approx(alone, abs=2e-4)


@pytest.mark.parametrize(
    ("path", "old", "new", "said"),
    [
        ("model.py", "is_causal=True", "is_causal=False", "the model looks ahead"),
        ("config.yaml", "width: 48", "width: 128", "expected at most 250000"),
    ],
)
def test_the_harness_refuses_what_would_win_unfairly(
    charlm: Path, path: str, old: str, new: str, said: str
) -> None:
    text = (charlm / path).read_text()
    assert old in text
    (charlm / path).write_text(text.replace(old, new))
    done = trained(charlm)
    assert done.returncode != 0
    assert said in done.stderr

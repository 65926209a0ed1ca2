"""Gains within the noise: a host's children get the further runs that ``run`` gives them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hosting import command, ledgers, mutate
from tiny_project import make_project

from lae_controller import build, config, load, session
from lae_controller.api import Loop
from lae_controller.hosted.evaluate import evaluate_here
from lae_controller.sandbox.launch import Lifelines

NOISE = """\
loss += options.seed * 37 % 10 / 10
print(f"params: {int(model.WIDTH) * 10}")
"""


def noisy(root: Path, total: int = 14) -> Path:
    """Write a project whose metric hangs on the seed, by more than a small gain is."""
    counts = root.with_name(f"{root.name}-runs")
    project = make_project(root, f"isolation: none\nenv: {{COUNT_FILE: {str(counts)!r}}}\n")
    train, settings = project / "train.py", project / "loop.run.yaml"
    text = train.read_text()
    train.write_text(text.replace('print(f"params: {int(model.WIDTH) * 10}")\n', NOISE))
    text = settings.read_text().replace("--epochs {budget}", "--epochs {budget} --seed {seed}")
    settings.write_text(text.replace("total_budget: 10", f"total_budget: {total}"))
    return project


def measured(project: Path) -> Loop:
    """Measure the baseline as `check` does, without its probes: they see that it is too noisy."""
    build.prepared_run(config.load(project), Lifelines(), [].append)
    return load(project)


def runs(project: Path, seed: int) -> list[str]:
    """Return what was run on a seed in full, a digest of the code for each run."""
    lines = project.with_name(f"{project.name}-runs").read_text().splitlines()
    return [line.split()[0] for line in lines if line.endswith(f" 4 {seed}")]


def events(project: Path, *kinds: str) -> list[dict[str, Any]]:
    """Return the events of these kinds, without what hangs on clocks."""
    lines = (project / "sandbox/lae/journal.jsonl").read_text().splitlines()
    found = [event for event in map(json.loads, lines) if event["event"] in kinds]
    for event in found:
        event.pop("seconds", None)
        event.pop("elapsed", None)
    return found


def stepped(loop: Loop) -> None:
    """See a search to its end in steps, whoever is last in a generation evaluated first."""
    while tasks := loop.ask().tasks:
        for task in reversed(tasks):
            mutate(task)
            assert evaluate_here(loop.settings, task.child_id) is not None
        for task in reversed(tasks):
            loop.tell(task.child_id, task.token)


def test_step_by_step_repeats_what_run_repeats(tmp_path: Path) -> None:
    ran, by_host = noisy(tmp_path / "ran"), noisy(tmp_path / "host")
    for project in (ran, by_host):
        measured(project)
    session.run_search(config.load(ran), [].append)
    stepped(load(by_host))
    reruns = events(by_host, "rerun")
    told = [event["record"] for event in events(by_host, "told")]
    assert reruns or any(len(record["repeats"]) > 1 for record in told if record["gen"])
    assert sorted(runs(by_host, 43)) == sorted(runs(ran, 43))
    assert ledgers(by_host) == ledgers(ran)
    assert reruns == events(ran, "rerun")
    said: list[str] = []
    session.run_search(config.load(by_host), said.append)  # for the claim: no child is made
    assert ledgers(by_host) == ledgers(ran)
    assert events(by_host, "claim") == events(ran, "claim") != []


@pytest.fixture
def loop(tmp_path: Path) -> Loop:
    """Return a noisy run, told as its children finish, in which a first child is evaluated."""
    project = noisy(tmp_path / "project", 20)
    text = (project / "loop.run.yaml").read_text()
    (project / "loop.run.yaml").write_text(text.replace("generational", "async"))
    return measured(project)


def contender(loop: Loop, more: str = "") -> str:
    """Evaluate a child that gains a little and has to be run again; return its id."""
    (task,) = loop.ask(1).tasks
    model = task.directory / "model.py"
    model.write_text(model.read_text().replace("DECAY = 0.25", "DECAY = 0.2") + more)
    assert loop.evaluate(task.child_id) is not None
    telling = loop.tell(task.child_id, wait=0)
    assert telling.pending
    assert telling.runs == (f"{task.child_id} full-2",)
    return task.child_id


def wait_until(path: Path) -> None:
    until = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < until, path
        time.sleep(0.02)


def test_telling_does_not_wait_longer_than_it_is_told_to(tmp_path: Path, loop: Loop) -> None:
    gate = tmp_path / "gate"
    child = _held_at_the_gate(loop, gate)
    words = ("tell", child, "--run", str(loop.settings.root), "--json", "--wait", "0.1")
    waiting = command(*words)
    assert waiting.returncode == 7
    assert f"a gain lies within the noise; still runs: {child} full-2." in waiting.stderr
    assert json.loads(waiting.stdout)["pending"]
    gate.touch()
    told = loop.tell(child)
    assert (told.pending, told.runs) == (False, ())
    assert loop.tell(child) == told


def test_a_further_run_outlives_whoever_asked_for_it_and_is_made_once(loop: Loop) -> None:
    child = contender(loop)  # this process waits for nothing more
    place = loop.settings.lae_dir / "runs" / child / "full-2.json"
    wait_until(place)
    written = place.stat().st_mtime_ns
    with ThreadPoolExecutor(2) as pool:  # two hosts
        first, second = pool.map(loop.tell, [child, child])
    assert first == second
    assert not first.pending
    if place.exists():
        assert place.stat().st_mtime_ns == written
    result = json.loads((loop.settings.lae_dir / "results" / f"{child}.json").read_text())
    repeats = result["artifacts"]["repeats"]
    assert len(repeats) > 1
    assert result["metric"] == pytest.approx(sum(repeats) / len(repeats))
    assert result["artifacts"]["charge"] == pytest.approx(1.25 + len(repeats) - 1)


def test_a_further_run_that_was_killed_is_made_again(tmp_path: Path, loop: Loop) -> None:
    gate = tmp_path / "gate"
    child = _held_at_the_gate(loop, gate)
    for pid in _working_on(child):
        os.kill(pid, signal.SIGKILL)
    assert not (loop.settings.lae_dir / "runs" / child / "full-2.json").exists()
    gate.touch()
    told = loop.tell(child)
    assert not told.pending
    told_events = events(loop.settings.root, "told")
    assert [it["record"]["child_id"] for it in told_events].count(child) == 1
    last = next(it["record"] for it in told_events if it["record"]["child_id"] == child)
    assert len(last["repeats"]) > 1


def _held_at_the_gate(loop: Loop, gate: Path) -> str:
    """Have a further run started that goes on until the gate is there."""
    wait = (
        "import os, sys, time\n"
        f"while sys.argv[-1] != '42' and not os.path.exists({str(gate)!r}):\n    time.sleep(0.02)\n"
    )
    child = contender(loop, wait)
    wait_until(loop.settings.lae_dir / "runs" / child / "full-2" / "output.log")
    return child


def _working_on(child: str) -> list[int]:
    """Return the processes that make a further run of a child."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if child.encode() in words and b"--further" in words:
            found.append(int(path.parent.name))
    assert found
    return found


def test_run_waits_for_what_a_host_began(tmp_path: Path, loop: Loop) -> None:
    gate = tmp_path / "gate"
    child = _held_at_the_gate(loop, gate)
    said = tmp_path / "said"
    with said.open("wb") as stream:
        words = [sys.executable, "-m", "lae_controller", "run", str(loop.settings.root), "--yes"]
        running = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=stream)
    until = time.monotonic() + 30
    while f"waiting for what a host has begun to evaluate: {child}" not in said.read_text():
        assert time.monotonic() < until
        time.sleep(0.02)
    gate.touch()
    assert running.wait(60) == 0
    made = runs(loop.settings.root, 43)
    assert len(made) == len(set(made))

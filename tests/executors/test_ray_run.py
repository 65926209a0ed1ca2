"""Whole runs on clusters that lose and gain nodes, and controllers that die."""

from __future__ import annotations

import importlib.util
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clusters import DRIVER, WAITS, add_node, cluster, gone, on, wait_until
from executor_bench import ECHO, made_bench
from sessions import processes
from tiny_project import make_project

from lae_controller.errors import PrerequisiteError
from lae_controller.executors import ray_packing

pytestmark = [
    pytest.mark.ray,
    # Asked for here, so that nothing is run in vain; it is imported where a cluster is begun.
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed"),
]

LEDGERS = ("history.tsv", "archive.tsv")
CHILDREN = 60


def start(project: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "lae_controller", "run", str(project), "--yes"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def lae(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "lae_controller", *words],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def ledgers(project: Path) -> list[str]:
    return [(project / "sandbox/lae" / name).read_text() for name in LEDGERS]


def children(project: Path) -> int:
    """Return how many children were told so far, those of generation 0 included."""
    history = project / "sandbox/lae/history.tsv"
    return len(history.read_text().splitlines()) - 1 if history.exists() else 0


def reached(project: Path, count: int, controller: subprocess.Popen[str]) -> Callable[[], bool]:
    """Return what says whether so many children were told, or the controller has ended."""
    return lambda: children(project) >= count or controller.poll() is not None


def longer(project: Path, total: int) -> Path:
    path = project / "loop.run.yaml"
    path.write_text(path.read_text().replace("total_budget: 10", f"total_budget: {total}"))
    return project


# -- nodes that leave and join ---------------------------------------------------------------------


def test_a_run_survives_a_node_and_takes_in_another(tmp_path: Path) -> None:
    local = longer(make_project(tmp_path / "local"), 36)
    text = (local / "loop.run.yaml").read_text().replace("concurrency: 2", "concurrency: 3")
    (local / "loop.run.yaml").write_text(text)
    lae("run", str(local), "--yes")
    assert children(local) >= CHILDREN
    rng = random.Random(time.time_ns())
    kill_at, add_at = (rng.randint(5, CHILDREN - 5) for _ in range(2))
    with cluster(1, 1, 1, connect=False) as made:
        far = tmp_path / "far"
        shutil.copytree(local, far, ignore=shutil.ignore_patterns("sandbox"))
        with (far / "loop.run.yaml").open("a") as stream:
            stream.write(on(made, tmp_path))
        controller = start(far)
        for moment, what in sorted([(kill_at, "kill"), (add_at, "add")]):
            wait_until(reached(far, moment, controller))
            if what == "kill":
                made.remove_node(rng.choice(made.workers), allow_graceful=False)
            else:
                add_node(made, 1)
        _, said = controller.communicate(timeout=400)
        assert controller.returncode == 0, said
    assert ledgers(far) == ledgers(local)
    rows = ledgers(far)[0].splitlines()[1:]
    assert set(Counter(row.split("\t")[3] for row in rows).values()) == {1}
    assert gone(str(tmp_path), 10.0), processes(str(tmp_path))
    assert list((tmp_path / "nodes").glob("*/runs/*/lae/runs/*")) == []


# -- controllers that die --------------------------------------------------------------------------


def begun_driver(folder: Path, made: Any, marker: str, go: Path) -> subprocess.Popen[bytes]:
    """Start a controller with three evaluations under way; only what they hide bears the marker."""
    model = WAITS.format(marker=marker, begun=str(folder / "begun"), go=str(go))
    script = folder / "driver.py"
    script.write_text(
        DRIVER.format(
            paths=[str(Path(__file__).parent), str(Path(__file__).parents[1])],
            root=str(folder / "project"),
            settings=on(made, folder, num_cpus=2, lifeline=3),
            model=model,
        )
    )
    driver = subprocess.Popen([sys.executable, str(script)])
    wait_until(lambda: len(processes(marker)) == 3 or driver.poll() is not None)
    return driver


def test_the_death_of_the_controller_ends_all_work(tmp_path: Path, shared_cluster: Any) -> None:
    marker = f"orphan-{tmp_path.name}"
    driver = begun_driver(tmp_path, shared_cluster, marker, tmp_path / "never")
    driver.send_signal(signal.SIGKILL)
    assert driver.wait() == -signal.SIGKILL
    assert gone(marker, 10.0)  # 5 s are promised, and measured in benchmarks/cluster.py


def test_a_stopped_controller_ends_all_work_and_goes_on_later(
    tmp_path: Path, shared_cluster: Any
) -> None:
    marker = f"stopped-{tmp_path.name}"
    driver = begun_driver(tmp_path, shared_cluster, marker, tmp_path / "never")
    try:
        driver.send_signal(signal.SIGSTOP)  # nobody's death, so nobody but we can see it
        assert gone(marker, 30.0)
        driver.send_signal(signal.SIGCONT)
        wait_until(lambda: len(processes(marker)) == 3)
    finally:
        driver.kill()
        driver.wait()
    assert gone(marker, 10.0)


def test_a_killed_run_goes_on_and_writes_the_same_ledgers(
    tmp_path: Path, shared_cluster: Any
) -> None:
    local = make_project(tmp_path / "local")
    lae("run", str(local), "--yes")
    far = make_project(tmp_path / "far", on(shared_cluster, tmp_path))
    controller = start(far)
    wait_until(lambda: children(far) >= 4 or controller.poll() is not None)
    controller.kill()
    controller.communicate()
    assert controller.returncode == -signal.SIGKILL
    lae("run", str(far), "--yes")
    assert ledgers(far) == ledgers(local)
    assert gone(str(far), 10.0)


# -- nodes that do not fit -------------------------------------------------------------------------


def test_another_build_on_a_node_is_refused(
    tmp_path: Path, shared_cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_packing, "code_digest", lambda: "of another build")
    bench = made_bench(tmp_path / "project", shared_cluster.settings)
    attempt = bench.executor.submit(bench.job("g1-i0-a0", ECHO))
    wait_until(lambda: bench.executor.poll(0.2) == (attempt,))
    with pytest.raises(PrerequisiteError, match="another build of it; expected .*pip install"):
        bench.executor.collect(attempt)
    bench.executor.close()


# -- what a person sees ----------------------------------------------------------------------------


@pytest.mark.parametrize("example", ["houses", "slugs", "packing"])
def test_every_scoring_mode_that_runs_code_works_there(
    example: str, tmp_path: Path, shared_cluster: Any
) -> None:
    source = Path(__file__).resolve().parents[2] / "examples" / example
    found = []
    for name, more in (("local", ""), ("far", on(shared_cluster, tmp_path))):
        project = tmp_path / name
        shutil.copytree(source, project, ignore=shutil.ignore_patterns("sandbox", "__pycache__"))
        path = project / "loop.run.yaml"
        lines = [
            line
            for line in path.read_text().splitlines()
            if not line.startswith(("total_budget", "concurrency", "executor"))
        ]
        path.write_text("\n".join([*lines, "total_budget: 9", "concurrency: 2", more]))
        text = path.read_text()
        if "schedule:" not in text:
            new = "evolution:\n  schedule: generational\n"
            text = text.replace("evolution:\n", new) if "\nevolution:\n" in text else text + new
        path.write_text(text)
        lae("run", str(project), "--yes")
        found.append(ledgers(project))
    assert found[0] == found[1]


def test_status_shows_the_nodes(tmp_path: Path, shared_cluster: Any) -> None:
    far = make_project(tmp_path / "far", on(shared_cluster, tmp_path))
    controller = start(far)
    try:
        wait_until(lambda: children(far) >= 2 or controller.poll() is not None)
        wait_until(
            lambda: (
                bool(json.loads(lae("status", str(far), "--json"))["nodes"])
                or controller.poll() is not None
            )
        )
        shown = json.loads(lae("status", str(far), "--json"))["nodes"]
        assert len(shown) == 3
        assert {node["cpus"] for node in shown} == {2.0}
        assert {node["state"] for node in shown} <= {"joining", "ready"}
    finally:
        controller.send_signal(signal.SIGINT)
        controller.communicate(timeout=60)
    assert json.loads(lae("status", str(far), "--json"))["nodes"] == []

"""Nodes that leave, join and share nothing: each test has a cluster, and is its driver."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from clusters import WAITS, add_node, cluster, gone, on, processes, wait_until
from executor_bench import made_bench

from lae_controller.program import Status
from lae_controller.sandbox.tiers import probe_tiers

pytestmark = pytest.mark.ray


def test_what_was_lost_with_its_node_is_evaluated_again_and_charged_once(tmp_path: Path) -> None:
    marker, begun, go = f"lost-{tmp_path.name}", tmp_path / "begun", tmp_path / "go"
    with cluster(0, 1, 1) as made:
        bench = made_bench(tmp_path / "project", on(made, tmp_path))
        model = WAITS.format(marker=marker, begun=str(begun), go=str(go))
        attempt = bench.executor.submit(bench.job("g1-i0-a0", model))
        wait_until(lambda: bench.executor.poll(0.1) == () and begun.exists())
        wait_until(lambda: bench.executor.poll(0.1) == () and bool(bench.executor.running()))
        first = processes(marker)
        assert first
        shown = json.loads((bench.settings.lae_dir / "nodes.json").read_text())
        (busy,) = (node["node"] for node in shown if node["running"])
        (victim,) = (each for each in made.workers if each.node_id.startswith(busy))
        begun.unlink()
        made.remove_node(victim, allow_graceful=False)
        wait_until(lambda: bench.executor.poll(0.1) == () and begun.exists())
        assert not set(first) & set(processes(marker)), "the old tree is still there"
        go.touch()
        found = bench.finish(attempt)[attempt]
        assert (found.status, found.metric, found.charge) == (Status.EVALUATED, 42.0, 1.0)
        bench.executor.close()
        assert gone(marker, 10.0)


def test_capacity_follows_the_cluster_unless_it_is_set(tmp_path: Path) -> None:
    with cluster(2, 1) as made:
        follows = made_bench(tmp_path / "a", on(made, tmp_path, num_cpus=1))
        fixed = made_bench(tmp_path / "b", on(made, tmp_path) + "concurrency: 7\n")
        assert (follows.executor.capacity(), fixed.executor.capacity()) == (3, 7)
        added = add_node(made, 3)
        wait_until(lambda: follows.executor.capacity() == 6)
        made.remove_node(added, allow_graceful=False)
        wait_until(lambda: follows.executor.capacity() == 3)
        assert fixed.executor.capacity() == 7


def test_a_node_without_the_project_gets_everything_it_needs(tmp_path: Path) -> None:
    bwrap = probe_tiers().bubblewrap
    if bwrap is None:
        pytest.skip("bubblewrap does not work on this machine")
    data = tmp_path / "project" / "data.bin"
    reads = (
        "from pathlib import Path\n\ndef run(seed):\n"
        "    return float(len(Path('data.bin').read_bytes()))\n"
    )
    with cluster(0) as made:
        words = f"{sys.executable} -m ray.scripts.scripts start --block --num-cpus 1".split()
        words += ["--address", made.address, "--node-ip-address", "127.0.0.1"]
        words += ["--object-store-memory", str(80 << 20)]
        hide = ["--dev-bind", "/", "/", "--tmpfs", str(tmp_path / "project")]
        (tmp_path / "project").mkdir()
        node = subprocess.Popen([str(bwrap.binary), *hide, "--", *words], stdout=subprocess.DEVNULL)
        try:
            settings = on(made, tmp_path, num_cpus=1) + "data_paths: [data.bin]\nconcurrency: 1\n"
            bench = made_bench(tmp_path / "project", settings, {"data.bin": b"x" * 1000})
            assert data.is_file()
            attempt = bench.executor.submit(bench.job("g1-i0-a0", reads))
            found = bench.finish(attempt, within=120.0)[attempt]
            assert found.metric == 1000.0
            (mirror,) = (tmp_path / "nodes").glob("*/runs/*")
            assert (mirror / "project").is_dir()
            bench.executor.close()
        finally:
            node.terminate()
            node.wait(timeout=60)

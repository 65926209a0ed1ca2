"""Nodes that leave, join and share nothing: each test has a cluster, and is its driver."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from clusters import WAITS, add_node, cluster, gone, on, wait_until
from executor_bench import made_bench
from sessions import processes

from lae_controller.program import Status

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

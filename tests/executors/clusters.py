"""Clusters on this machine, and what is left of them in the process table."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sessions import processes

OBJECT_STORE = 80 << 20
_TRIES = 3
SMALL = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # Ray's word for: the loopback alone
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_prestart_worker_first_driver": "0",  # no processes that nobody asked for
    "RAY_enable_worker_prestart": "0",
}


DRIVER = """\
import sys
from pathlib import Path
sys.path[:0] = {paths!r}
from executor_bench import made_bench

bench = made_bench(Path({root!r}), {settings!r})
for number in range(3):
    bench.executor.submit(bench.job(f"g1-i0-a{{number}}", {model!r}))
while True:
    bench.executor.poll(0.2)
"""

WAITS = """\
import os, subprocess, sys, time
from pathlib import Path

def run(seed):
    words = [sys.executable, "-c", "import time; time.sleep(600)", {marker!r}]
    subprocess.Popen(words, start_new_session=True)
    Path({begun!r}).touch()
    while not Path({go!r}).exists():
        time.sleep(0.05)
    return float(seed)
"""


@contextmanager
def cluster(*cpus: float, connect: bool = True) -> Iterator[Any]:
    """Run a cluster on the loopback, one node for each of ``cpus``; the first is its head.

    Args:
        connect: whether this process joins it; else only others do, by ``address``.
    """
    os.environ.update(SMALL)
    pytest.importorskip("ray")
    import ray
    from ray.cluster_utils import Cluster

    made = Cluster()
    try:
        add_node(made, cpus[0], include_dashboard=False)
        made.workers = [add_node(made, each) for each in cpus[1:]]
        if connect:
            ray.init(made.address, namespace="lae", log_to_driver=False, configure_logging=False)
        yield made
    finally:
        ray.shutdown()
        made.shutdown()


def add_node(made: Any, cpus: float, **more: Any) -> Any:
    """Add a node to a cluster; one that a busy machine starts too slowly is begun again."""
    for _ in range(_TRIES - 1):
        with contextlib.suppress(Exception):
            return made.add_node(**node_of(cpus), **more)
    return made.add_node(**node_of(cpus), **more)


def node_of(cpus: float) -> dict[str, Any]:
    """Return the parameters of one node.

    Its ports are given: a node waits half a minute at most for agents that choose their own.
    """
    ports = "metrics_agent_port metrics_export_port dashboard_agent_listen_port".split()
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in (*ports, "")]
    found = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    given = dict(zip((*ports, "runtime_env_agent_port"), found, strict=True))
    place = {"node_ip_address": "127.0.0.1", "object_store_memory": OBJECT_STORE}
    return {**place, **given, "num_cpus": cpus}


def gone(marker: str, within: float) -> bool:
    """Wait until no process speaks of ``marker``; says whether that came true in time."""
    until = time.monotonic() + within
    while processes(marker):
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


def on(made: Any, folder: Path, **more: object) -> str:
    """Return the settings that send a run to a cluster; busy machines are given patience."""
    given = {"kind": "ray", "address": f"'{made.address}'", "node_dir": folder / "nodes"}
    given = {**given, "lifeline": 30, **more}
    return "executor: {" + ", ".join(f"{key}: {value}" for key, value in given.items()) + "}\n"


def wait_until(happened: Callable[[], bool], within: float = 300.0) -> None:
    until = time.monotonic() + within
    while not happened():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.05)

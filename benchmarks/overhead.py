"""What one sandboxed run costs over the plain command: median of many runs of ``/bin/true``.

    python benchmarks/overhead.py --runs 30

Compares the plain command, the warden alone, and the warden with each tier of isolation that works
here, in turns within one process, so that noise falls on all alike.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from lae_controller.sandbox.bubblewrap import make_nodes
from lae_controller.sandbox.launch import Command, Lifelines, run
from lae_controller.sandbox.tiers import probe_tiers, wrap
from lae_controller.sandbox.view import Tier, View


def plain() -> None:
    """Run the command as a shell would."""
    subprocess.run(["/bin/true"], check=True)


def sandboxed(tier: Tier, folder: Path) -> Callable[[], None]:
    """Return what runs the command once in ``tier`` under a warden."""
    work, scratch, proof = (folder / name for name in ("work", "tmp", "proof"))
    for path in (work, scratch, proof):
        path.mkdir(parents=True, exist_ok=True)
    root = folder / "project"
    root.mkdir(exist_ok=True)
    nodes = make_nodes(folder / "dev", ()) if tier is Tier.BWRAP else None
    wrapped = wrap(tier, View(work, root, scratch, proof, nodes=nodes), ["/bin/true"])
    env = {**os.environ, **wrapped.env}
    cwd = wrapped.cwd if wrapped.cwd.is_dir() else Path("/")
    command = Command(wrapped.argv, cwd, env, folder / "output.log", 60.0, 1.0)

    def once() -> None:
        ended = run(command, Lifelines())
        assert ended.status == 0, ended

    return once


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=30)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="lae-overhead-"))
    tiers = [Tier.NONE, *(found.tier for found in probe_tiers().found if found.works)]
    ways = {"plain": plain, **{t.value: sandboxed(t, folder / t.value) for t in tiers}}
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(options.runs):
        for name, once in ways.items():
            began = time.perf_counter()
            once()
            times[name].append((time.perf_counter() - began) * 1e3)
    base = statistics.median(times["plain"])
    for name, values in times.items():
        median = statistics.median(values)
        print(f"{name:<9} median {median:6.1f} ms   over the plain command {median - base:6.1f} ms")


if __name__ == "__main__":
    main()

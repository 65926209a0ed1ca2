"""What a cluster costs: submission to start of a child of 5 MB, and the end of a killed controller.

    python benchmarks/cluster.py --runs 30

Starts a Ray cluster of three nodes on this machine (needs the extra ``ray``). The "training"
command prints the time at which it starts, so the metric is the figure. The first children of a
node wait for a worker process and for the harness; they are shown apart. Then a controller with
three hostile children under way is killed with SIGKILL, again and again. Exits 1 if the median of
the start is not under 150 ms, or if anything lives longer than 5 s.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "executors")]
from clusters import DRIVER, cluster  # noqa: E402 - the same small things as the suite's
from executor_bench import CONFIG, Bench, made_bench  # noqa: E402
from sessions import processes  # noqa: E402

START_MS, END_S = 150.0, 5.0
MEGABYTES = 5
DATED = CONFIG.replace(
    'run_cmd: "{python} train.py {seed} {budget}"',
    "run_cmd: 'date +val_loss:\\ %s.%N'\nbudget_key: env:BUDGET",
)
HIDES = """\
import subprocess, sys, time

def run(seed):
    words = [sys.executable, "-c", "import time; time.sleep(600)", {marker!r}]
    subprocess.Popen(words, start_new_session=True)
    time.sleep(600)
"""


def dated(folder: Path, where: str) -> Bench:
    """Make a project of 5 MB in 100 files whose metric is the time at which it starts."""
    rng = random.Random(1)
    each = MEGABYTES * 1_000_000 // 100
    files: dict[str, str | bytes] = {f"lib/m{n}.bin": rng.randbytes(each) for n in range(100)}
    return made_bench(folder, where, files, DATED)


def starts(bench: Bench, runs: int) -> list[float]:
    """Return milliseconds from submission to start, one child after the other."""
    found = []
    for number in range(runs):
        job = bench.job(f"g{number}-i0-a0")
        began = time.time()
        attempt = bench.executor.submit(job)
        evaluation = bench.finish(attempt)[attempt]
        if evaluation.metric is None:
            raise SystemExit(f"{attempt}: {evaluation.detail}")
        found.append((evaluation.metric - began) * 1e3)
    return found


def ends(folder: Path, where: str) -> float:
    """Kill a controller with three children under way; return seconds until nothing lives."""
    marker = f"of-{folder.name}"
    script = folder.with_suffix(".py")  # only what the children hide bears the marker
    script.write_text(
        DRIVER.format(
            paths=[str(TESTS), str(TESTS / "executors")],
            root=str(folder),
            settings=where,
            model=HIDES.format(marker=marker),
        )
    )
    driver = subprocess.Popen([sys.executable, str(script)])
    _wait(lambda: len(processes(marker)) == 3 or driver.poll() is not None)
    driver.send_signal(signal.SIGKILL)
    began = time.monotonic()
    driver.wait()
    _wait(lambda: not processes(marker))
    return time.monotonic() - began


def _wait(happened: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not happened():
        if time.monotonic() > until:
            raise SystemExit("it did not happen within 120 s")
        time.sleep(0.02)


def show(name: str, values: list[float], unit: str) -> float:
    """Print median and extremes; returns the median."""
    median = statistics.median(values)
    low, high = min(values), max(values)
    print(f"{name:<34} median {median:8.1f} {unit}  ({low:.1f} to {high:.1f}, {len(values)} runs)")
    return median


def main() -> None:
    """Measure, print, and say whether the limits hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--kills", type=int, default=5)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="lae-cluster-"))
    here = dated(folder / "here", "concurrency: 1\n")
    show("start on this machine", starts(here, options.runs), "ms")
    here.executor.close()
    with cluster(1, 1, 1) as made:
        own = f"kind: ray, address: '{made.address}', node_dir: {folder / 'nodes'}"
        where = f"executor: {{{own}}}\n"
        far = dated(folder / "far", where)
        show("start on a cluster, first three", starts(far, 3), "ms")
        median = show("start on a cluster", starts(far, options.runs), "ms")
        far.executor.close()
        gone = [ends(folder / f"kill-{n}", where) for n in range(options.kills)]
        show("kill -9 until nothing lives", gone, "s")
    left = processes(str(folder))
    print(f"processes left: {len(left)}")
    if median >= START_MS or max(gone) > END_S or left:
        raise SystemExit(1)


if __name__ == "__main__":
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    main()

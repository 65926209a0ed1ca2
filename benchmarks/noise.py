"""How often does a run claim a gain that is not there, and how often does it miss one that is?

Simulated runs: the metric of a program is its true value plus noise with a standard deviation of 1.
Search, repeats on paired seeds, reserve and claim are the real ones. Beside each stands the naive
rule: the best single run against the baseline's first, as a hill climber would report it.

    python benchmarks/noise.py [--runs 200] [--total 72] [--where FOLDER]

A total budget of 72 full runs is about 40 children with their repeats, and 7 or 8 runs in reserve.

Prints one line for pure noise and one for a single gain of three standard deviations among the
children. Exits 1 if more than 5 % of the former claim a gain (beyond what chance allows in so many
runs), or fewer than 80 % of the latter find and keep theirs.
"""

from __future__ import annotations

import argparse
import math
import random
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tests")]

from synthetic import World, synthetic_run  # noqa: E402

GAIN = 3.0


@dataclass
class Count:
    """How many runs ended how."""

    claimed: int = 0
    naive: int = 0
    best_is_true: int = 0
    kept: int = 0
    children: int = 0


def simulate(folder: Path, number: int, total: int, gain: float, count: Count) -> None:
    """See one run to its end, with one program of ``gain`` among its children."""
    lucky = random.Random(number).randrange(1, max(2, total // 2))

    def truth(value: int) -> float:
        return gain if value == lucky else 0.0

    state, _ = synthetic_run(folder, World(truth, 1.0), total=total, seed=1000 * number)
    shutil.rmtree(folder)
    best = state.search.global_best()
    assert best is not None
    found = state.claimed(best.child_id, 1.0)
    holds = found is not None and found.holds
    is_true = state.told[best.child_id].summary == f"value {lucky}"
    count.claimed += holds
    count.children += state.children
    count.best_is_true += is_true
    count.kept += holds and is_true
    base = World(truth, 1.0).measure(0, 1000 * number, 0)
    singles = [row.full_metric for row in state.rows if row.gen and row.full_metric is not None]
    count.naive += max(singles) > base


def main() -> int:
    """Simulate, print, and say whether the figures are good enough."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--total", type=int, default=72, help="full runs of each search")
    parser.add_argument("--where", type=Path, help="a folder in memory is quickest")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.where) as place:
        noise, gain = Count(), Count()
        for number in range(options.runs):
            simulate(Path(place) / "run", number, options.total, 0.0, noise)
            simulate(Path(place) / "run", number, options.total, GAIN, gain)
    runs = options.runs
    print(f"{noise.children / runs:.0f} children a run")
    print(f"pure noise: {noise.claimed}/{runs} claim a gain (naive rule: {noise.naive}/{runs})")
    print(
        f"one gain of {GAIN:g} sd: best is the true one in {gain.best_is_true}/{runs}, claimed in "
        f"{gain.kept}/{runs} (any claim: {gain.claimed}/{runs})"
    )
    allowed = 0.05 * runs + 2 * math.sqrt(0.05 * 0.95 * runs)
    return 0 if noise.claimed <= allowed and gain.kept >= 0.8 * runs else 1


if __name__ == "__main__":
    sys.exit(main())

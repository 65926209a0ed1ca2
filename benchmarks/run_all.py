"""Run the benchmarks of the search and of a run's own work, and print one table for the docs.

    python benchmarks/run_all.py
    python benchmarks/run_all.py --openevolve V/bin/openevolve-run

About 25 minutes on two quiet cores, 35 with the peer (see ``peer.py`` for how to install it). The
lines are those that the runners print; a runner that fails is named, and the others go on.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
RULES = ("default", "global best", "island's best", "by rank", "uniform", "puct", "hill climbing")
PARTS: dict[str, list[list[str]]] = {
    "selection": [
        ["selection.py", "--seeds", "20", "--problems", problem, "--rules", *RULES]
        for problem in ("separable", "rotated", "noisy")
    ]
    + [["selection.py", "--seeds", "20", "--evaluations", "100", "--slots", "4"]],
    "search": [["search_scale.py", "--children", "100000"]],
    "diversity": [["diversity_time.py"]],
    "controller": [["scale.py", "--children", "100000"]],
    "overhead": [["overhead.py", "--runs", "20"]],
    "peer": [["peer.py"], ["peer.py", "busy", "--sleep", "5", "--latency", "10"]],
}


def run(words: list[str], more: list[str]) -> None:
    """Run one runner and print what it prints, under its command and duration."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, str(HERE / words[0]), *words[1:], *more],
        capture_output=True,
        text=True,
        check=False,
    )
    took = time.perf_counter() - began
    print(f"\n$ python benchmarks/{' '.join([*words, *more])}    # {took:.0f} s")
    print(done.stdout.rstrip(), flush=True)
    if done.returncode:
        print(
            f"FAILED with exit status {done.returncode}: {done.stderr.strip()[-500:]}", flush=True
        )


def main() -> None:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help=f"{', '.join(PARTS)}; all if left out")
    parser.add_argument("--openevolve", help="the peer's openevolve-run")
    options = parser.parse_args()
    for part in options.parts or PARTS:
        more = ["--openevolve", options.openevolve] if part == "peer" and options.openevolve else []
        for words in PARTS[part]:
            run(words, more)


if __name__ == "__main__":
    main()

"""What the search itself takes per child as the history grows: time, and memory in the end.

    python benchmarks/search_scale.py --children 100000 --algorithms islands puct

No programs and no files: synthetic records are asked for and told. The metric drifts upwards, so
that elites keep being displaced, and two further metrics keep a Pareto front busy. Times are
processor time, so that other work on the machine does not show.
"""

from __future__ import annotations

import argparse
import importlib
import random
import subprocess
import sys
import time
from collections import deque
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from made import made_record

from lae_controller.evolution import SelectionSettings
from lae_controller.program import (
    Direction,
    Measures,
    Record,
    Status,
    child_id,
    parse_child_id,
)
from lae_controller.search import SEARCHES, Search, SearchSettings

SLOTS = 8
FURTHER = {"size": Direction.MINIMIZE, "speed": Direction.MAXIMIZE}
WINDOWS = (500, 2_000, 10_000, 100_000)
SPAN = 500


def search_of(algorithm: str) -> Search:
    """Return a fresh Search with default settings and three metrics."""
    module, _, name = SEARCHES[algorithm].partition(":")
    shares = SelectionSettings()
    islands = 1 if algorithm == "puct" else 4
    settings = SearchSettings(islands, 3, 2, 10, 5, 40, 42, shares, FURTHER, 0.1, 1.0, 1.0)
    search: Search = getattr(importlib.import_module(module), name)(settings, Direction.MAXIMIZE)
    return search


def record(child: str, parent: str | None, number: int, rng: random.Random) -> Record:
    """Make a plausible evaluated child; one in ten failed."""
    failed = parent is not None and rng.random() < 0.1
    metric = None if failed else rng.gauss(0, 1) + number / 20_000
    return made_record(
        child,
        parent_id=parent,
        status=Status.CRASH if failed else Status.EVALUATED,
        metric=metric,
        summary="RATE 0.5 -> 0.29 in model.py",
        operator="scale",
        measures=None if failed else Measures(10 ** rng.uniform(2, 6), "params", rng.random()),
        elapsed=float(number),
        metrics={"size": rng.random(), "speed": rng.random()},
        promise=float(rng.randint(1, 10)),
    )


def drive(search: Search, children: int) -> dict[int, float]:
    """Ask for and tell so many children, a few in flight.

    Returns:
        processor seconds of one child, over the last 500 before each of ``WINDOWS``.
    """
    rng = random.Random(0)
    for island in sorted({search.island_of_ordinal(number) for number in range(64)}):
        search.tell(record(child_id(0, island, 0), None, 0, rng))
    flying: deque[tuple[str, str]] = deque()
    began, found = 0.0, {}
    for number in range(children):
        if number + SPAN in WINDOWS:
            began = time.process_time()
        child = child_id(1 + number // SLOTS, search.island_of_ordinal(number), number % SLOTS)
        _, island, _ = parse_child_id(child)
        flying.append((child, search.ask(child, island, [it[1] for it in flying]).parent_id))
        if len(flying) == SLOTS:
            _land(search, record(*flying.popleft(), number, rng))
        if number + 1 in WINDOWS:
            found[number + 1] = (time.process_time() - began) / SPAN
    return found


def _land(search: Search, told: Record) -> None:
    search.tell(told)
    gen, _, slot = parse_child_id(told.child_id)
    if slot == SLOTS - 1 and search.migrates_after(gen):
        search.migrate()


def of_records() -> float:
    """Return the seconds that making one record takes, which is no part of the search."""
    rng = random.Random(1)
    began = time.process_time()
    for number in range(5000):
        record(f"g{number}-i0-a0", "g0-i0-a0", number, rng)
    return (time.process_time() - began) / 5000


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--children", type=int, default=100_000)
    parser.add_argument("--algorithms", nargs="+", default=["islands", "puct"])
    options = parser.parse_args()
    if len(options.algorithms) > 1:  # a process each, so that memory is its own
        for algorithm in options.algorithms:
            words = ["--children", str(options.children), "--algorithms", algorithm]
            subprocess.run([sys.executable, __file__, *words], check=True)
        return
    (algorithm,) = options.algorithms
    search, before = search_of(algorithm), psutil.Process().memory_info().rss
    for end, seconds in drive(search, options.children).items():
        taken = (seconds - of_records()) * 1e3
        print(f"{algorithm:<8} {taken:.3f} ms a child after {end:>6} children", flush=True)
    held = (psutil.Process().memory_info().rss - before) / 1e6
    print(f"{algorithm:<8} {held:.1f} MB more than before after {options.children}", flush=True)


if __name__ == "__main__":
    main()

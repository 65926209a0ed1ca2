"""Does the controller's own work grow with the history? Resume and list a long run, and tell more.

    python benchmarks/scale.py --children 10000

Writes a synthetic run (no training), then measures in one process: the seconds that one more told
child takes after 1 %, 10 % and all of the history; a resume (journal read, state rebuilt, views
checked); and `lae status` and `lae best` as a person would call them.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from made import made_record
from tiny_project import make_project

from lae_controller import build, config
from lae_controller.ledger import Ledger
from lae_controller.program import Intervention, Measures, Record, child_id
from lae_controller.resume import archive_rows, load_state
from lae_controller.sandbox.launch import Lifelines
from lae_controller.state import Asked, RunState, ask_event


def quiet(_: str) -> None:
    """Say nothing."""


def record(number: int, islands: int, parent: str, rng: random.Random) -> Record:
    """Make one evaluated child with plausible values."""
    metric = 5.0 + rng.gauss(0, 1) - number / 5000
    return made_record(
        child_id(number, number % islands, 0),
        parent_id=parent,
        smoke_metric=metric + 1,
        metric=metric,
        summary="RATE 0.5 -> 0.29; WIDTH 32 -> 64 in model.py",
        intervention=Intervention.OPTIMISER,
        operator="scale",
        rule="global_best",
        digest=f"{rng.getrandbits(128):032x}",
        measures=Measures(10 ** rng.uniform(2, 6), "params", rng.random()),
        charge=1.25,
        elapsed=float(number),
        repeats=(metric,),
    )


def tell(ledger: Ledger, state: RunState, number: int, rng: random.Random) -> float:
    """Do all that the loop does for one child, but run it; returns seconds."""
    began = time.perf_counter()
    chosen = state.search.ask(child_id(number, number % 2, 0), number % 2)
    told = record(number, 2, chosen.parent_id, rng)
    asked = Asked(told.child_id, 0, 1, told.parent_id, chosen.rule, chosen.top, chosen.diverse)
    ask = ask_event(asked, "2026-01-01T00:00:00+00:00")
    ledger.append([ask])
    state.apply(ask)
    ledger.append([state.tell(told)])
    ledger.append_history(state.rows[-1:])
    ledger.write_archive(archive_rows(state.search, 2))
    return time.perf_counter() - began


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--children", type=int, default=10_000)
    options = parser.parse_args()
    project = make_project(Path(tempfile.mkdtemp(prefix="lae-scale-")) / "project")
    settings = config.load(project)
    prepared = build.prepared_run(settings, Lifelines(), quiet)
    ledger = Ledger(settings.lae_dir, quiet)
    state = load_state(settings, ledger, build.search_for(settings), prepared.baseline, mend=True)
    rng = random.Random(0)
    for island in range(2):
        first = record(0, 1, "", rng)
        child = child_id(0, island, 0)
        state.apply(ask_event(Asked(child, 0, 2, None, "baseline", (), ()), "-"))
        ledger.append([ask_event(Asked(child, 0, 2, None, "baseline", (), ()), "-")])
        values = {f: getattr(first, f) for f in first.__slots__}
        values |= {"child_id": child, "parent_id": None, "island": island, "gen": 0}
        ledger.append([state.tell(Record(**values))])
        ledger.append_history(state.rows[-1:])
    times = [tell(ledger, state, n, rng) for n in range(1, options.children + 1)]
    for share in (0.01, 0.1, 1.0):
        end = int(options.children * share)
        window = times[max(0, end - 200) : end]
        print(f"one child more after {end:>7}: median {statistics.median(window) * 1e3:.2f} ms")
    began = time.perf_counter()
    again = load_state(settings, ledger, build.search_for(settings), prepared.baseline, mend=True)
    print(f"resume of {len(again.rows)} rows: {time.perf_counter() - began:.2f} s")
    same = again.rows == state.rows and again.search.elites(0) == state.search.elites(0)
    print(f"the same state: {same}")
    for words in (["status"], ["best", "--top", "10"]):
        command = [sys.executable, "-m", "lae_controller", words[0], str(project), *words[1:]]
        began = time.perf_counter()
        done = subprocess.run([*command, "--json"], capture_output=True, check=True)
        json.loads(done.stdout)
        print(f"lae {' '.join(words)}: {time.perf_counter() - began:.2f} s")


if __name__ == "__main__":
    main()

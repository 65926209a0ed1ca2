"""Does the controller's own work grow with the history? Told children, a resume, memory, listings.

    python benchmarks/scale.py --children 100000

Writes a synthetic run (no training) with the real writers: asked for, told, shown in the views.
Printed: the processor time of one child after 500, 2,000, 10,000 and all children (without what
waiting for the disk takes); what the process then holds; and, each in a process of its own, what
taking the run up again takes at 2,000 children and at the end, and ``lae status`` and ``lae best``
as a person would call them. Memory is the largest that the process ever held.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from made import made_record
from tiny_project import make_project

from lae_controller import build, config
from lae_controller.ledger import Ledger
from lae_controller.program import Intervention, Measures, Record, child_id
from lae_controller.remarks import silent
from lae_controller.resume import ArchiveView, load_state
from lae_controller.sandbox.launch import Lifelines
from lae_controller.state import Asked, RunState, ask_event

SIZES = (500, 2_000, 10_000, 100_000)
SPAN = 400
SLOTS = 8


def record(child: str, parent: str | None, number: int, rng: random.Random) -> Record:
    """Make one evaluated child with plausible values."""
    metric = 5.0 + rng.gauss(0, 1) - number / 20_000
    return made_record(
        child,
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
        fingerprint=f"{rng.getrandbits(128):032x}",
        tier="bwrap",
    )


@dataclass
class Run:
    """A synthetic run under way."""

    project: Path
    islands: int
    ledger: Ledger
    state: RunState
    archive: ArchiveView
    rng: random.Random

    @staticmethod
    def begin(folder: Path) -> Run:
        """Make a project, run its baseline, tell it on every island."""
        project = make_project(folder / "project")
        settings = config.load(project)
        prepared = build.prepared_run(settings, Lifelines(), silent)
        ledger = Ledger(settings.lae_dir, silent)
        search = build.search_for(settings)
        state = load_state(settings, ledger, search, prepared.baseline, mend=True)
        islands = settings.evolution.num_islands
        view = ArchiveView(ledger, islands)
        run = Run(project, islands, ledger, state, view, random.Random(0))
        for island in range(run.islands):
            child = child_id(0, island, 0)
            run.ask(Asked(child, 0, run.islands, None, "baseline"))
            told = record(child, None, 0, run.rng)
            run.tell(replace(told, gen=0, island=island))
        return run

    def ask(self, asked: Asked) -> None:
        """Ask for a child, in the journal and in the state."""
        event = ask_event(asked, "2026-01-01T00:00:00+00:00")
        self.ledger.append([event], durable=False)
        self.state.apply(event)

    def tell(self, told: Record) -> None:
        """Place a child and show it in the views."""
        event, _ = self.state.tell(told)
        self.ledger.append([event], durable=False)
        self.ledger.append_history(self.state.rows[-1:])
        self.archive.show(self.state.search)

    def child(self, number: int) -> None:
        """Do all that the loop does for one child but prepare and run it."""
        size = SLOTS if self.state.gen_asked >= self.state.gen_size else self.state.gen_size
        (child,) = self.state.next_ids(size)[:1]
        gen, island, _ = (int(part[1:]) for part in child.split("-"))
        chosen = self.state.search.ask(child, island, ())
        self.ask(Asked(child, 0, size, chosen.parent_id, chosen.rule, chosen.top, chosen.diverse))
        told = record(child, chosen.parent_id, number, self.rng)
        self.tell(replace(told, gen=gen, island=island))
        if self.state.migration_due:
            self.ledger.append([self.state.migrate()], durable=False)


def grow(run: Run, children: int, folder: Path) -> None:
    """Tell so many children; print what one takes, and keep a copy of the run on the way."""
    began = 0.0
    for number in range(1, children + 1):
        if number + SPAN in (*SIZES, children):
            began = time.process_time()
        run.child(number)
        if number in (*SIZES, children):
            each = (time.process_time() - began) / SPAN - _of_record(run.rng)
            print(f"one child more after {number:>7}: {each * 1e3:.2f} ms", flush=True)
        if number == min(2_000, children):
            run.ledger.sync_all()
            shutil.copytree(run.project, folder / "early", symlinks=True)
    run.ledger.sync_all()


def _of_record(rng: random.Random) -> float:
    """Return the seconds that making one record takes, which is no part of the controller."""
    began = time.process_time()
    for number in range(500):
        record("g1-i0-a0", "g0-i0-a0", number, rng)
    return (time.process_time() - began) / 500


RESUME = """\
import json, resource, sys, time
began = time.perf_counter()
from pathlib import Path
from lae_controller import build, config
from lae_controller.evaluators.baseline import load_prepared
from lae_controller.ledger import Ledger
from lae_controller.resume import load_state
from lae_controller.state import Asked
settings = config.load(Path(sys.argv[1]))
prepared = load_prepared(settings)
ledger = Ledger(settings.lae_dir, print)
search = build.search_for(settings)
state = load_state(settings, ledger, search, prepared.baseline, mend=True)
state.search.ask(state.next_ids(8)[0], 0, ())
found = {
    "seconds": time.perf_counter() - began,
    "cpu": time.process_time(),
    "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    "rows": len(state.rows),
    "best": state.search.global_best().child_id,
}
print(json.dumps(found))
"""


def resumed(project: Path) -> Mapping[str, object]:
    """Take a run up in a process of its own, as far as the first child that is asked for."""
    words = [sys.executable, "-c", RESUME, str(project)]
    done = subprocess.run(words, capture_output=True, check=True, text=True)
    *said, last = done.stdout.splitlines()
    assert not said, f"views were not as the journal says: {said}"
    found: Mapping[str, object] = json.loads(last)
    return found


def listed(project: Path, words: Sequence[str]) -> float:
    """Return the seconds of a command as a person would call it."""
    command = [sys.executable, "-m", "lae_controller", words[0], str(project), *words[1:]]
    began = time.perf_counter()
    done = subprocess.run([*command, "--json"], capture_output=True, check=True)
    json.loads(done.stdout)
    return time.perf_counter() - began


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--children", type=int, default=10_000)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="lae-scale-"))
    run = Run.begin(folder)
    grow(run, options.children, folder)
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"memory of the process that told them: {held / 1e6:.0f} MB", flush=True)
    for project in (folder / "early", run.project):
        found = resumed(project)
        print(
            f"taking up {found['rows']:>7} rows: {found['seconds']:.2f} s "
            f"({found['cpu']:.2f} s of a processor), {found['rss'] / 1e6:.0f} MB",
            flush=True,
        )
    best = run.state.search.global_best()
    same = len(run.state.rows) == found["rows"] and best and best.child_id == found["best"]
    print(f"the same state: {bool(same)}")
    for words in (["status"], ["best", "--top", "10"]):
        print(f"lae {' '.join(words)}: {listed(run.project, words):.2f} s", flush=True)


if __name__ == "__main__":
    main()

"""Let 5 % of the children of a run hang in the worst way and see what it costs the others.

A hanging child sleeps for ever, is deaf to SIGTERM and has a grandchild in a session of its own.
The changes are scripted, so that exactly every twentieth child hangs and every other one is a
little better than its parent; all else is a real run of the suite's small project. The same is done
once without hangs. Lost is what a hanging child holds: its own slot until its time limit and grace
are over, and, as a generation is told as a whole, the other slots from when they are done with it.

    python benchmarks/hanging.py [--children 200] [--isolation auto] [--where FOLDER]

Exits 1 if a healthy child was not evaluated, a hanging one was not stopped at its limit, or a
process was left.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tests")]

from tiny_project import make_project  # noqa: E402

from lae_controller import build, config  # noqa: E402
from lae_controller.children import Children  # noqa: E402
from lae_controller.codec import decode  # noqa: E402
from lae_controller.evaluators.cascade import evaluate  # noqa: E402
from lae_controller.executors.local import LocalExecutor  # noqa: E402
from lae_controller.ledger import Ledger  # noqa: E402
from lae_controller.loop import Controller  # noqa: E402
from lae_controller.machine.slots import Slot  # noqa: E402
from lae_controller.parts import Parts  # noqa: E402
from lae_controller.program import Intervention, Reason, Record, Status  # noqa: E402
from lae_controller.remarks import silent  # noqa: E402
from lae_controller.resume import load_state  # noqa: E402
from lae_controller.sandbox.launch import Lifelines  # noqa: E402
from lae_controller.task import Mutation  # noqa: E402

EVERY = 20
SLOTS = 4
TIMEOUT_S, GRACE_S = 2.5, 0.3
MARK = f"53.{os.getpid():07d}"
SETTINGS = f"""\
run_timeout: {TIMEOUT_S}
stop_grace: {GRACE_S}
isolation: {{isolation}}
"""
HANG = f"""
import signal, subprocess, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen(["sleep", "{MARK}"], start_new_session=True)
while True: time.sleep(60)
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the children of one run.

    Attributes:
        healthy, evaluated: how many should be evaluated, and how many of them were.
        hung, stopped: how many should hang, and how many of them were stopped at the limit.
        held: seconds that the hanging children held their slots.
        orphans: processes that were left.
        seconds: wall-clock from the first child to the last.
        wrong: how each child ended that should have been evaluated and was not -> how many.
    """

    healthy: int
    evaluated: int
    hung: int
    stopped: int
    held: float
    orphans: int
    seconds: float
    wrong: Counter[str]

    def line(self, name: str) -> str:
        """Return the row of the table."""
        return (
            f"{name:14}{self.evaluated:6d}/{self.healthy:<8d}{self.stopped:4d}/{self.hung:<6d}"
            f"{self.orphans:7d}{self.seconds:10.1f}{60 * self.evaluated / self.seconds:12.0f}"
        )


class Scripted(Children):
    """Children whose Mutator is a rule instead of a process: all improve, and some hang."""

    hangs: Callable[[int], bool]
    numbers: dict[str, int]

    def mutate(self, child_id: str) -> Mutation:
        """Lower the error of the parent a little; at some numbers, hang as well."""
        task = json.loads((self.folder(child_id) / "task.json").read_text())["task"]
        lines = task["files"]["model.py"].splitlines()
        old = next(line for line in lines if line.startswith("RATE = "))
        number = self.numbers[child_id]
        new = f"RATE = {0.1 + 0.4 * (1 - (number + 1) / 10_000)!r}"
        new += HANG if self.hangs(number) else ""
        change = f"model.py\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"
        return Mutation(change, "scripted", Intervention.OTHER, "-")

    def directory(self, child_id: str) -> Path:
        """Number the children in the order in which they are first spoken of."""
        if not child_id.startswith("g0-"):
            self.numbers.setdefault(child_id, len(self.numbers))
        return super().directory(child_id)


def left() -> list[int]:
    """Return the processes of hanging children that are still there, wherever they hid."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if MARK.encode() in words.split(b"\0") or str(ROOT).encode() in words:
                found.append(int(entry.name))
    return found


ROOT = Path()


def one_run(project: Path, children: int, isolation: str, hangs: Callable[[int], bool]) -> Outcome:
    """Evaluate so many children, generation by generation, as a controller does."""
    make_project(project, SETTINGS.format(isolation=isolation))
    path = project / "loop.run.yaml"
    text = path.read_text().replace("total_budget: 10", f"total_budget: {10 * children}")
    path.write_text(text.replace("concurrency: 2", f"concurrency: {SLOTS}"))
    settings = config.load(project)
    lifelines = Lifelines()
    prepared = build.prepared_run(settings, lifelines, silent)
    evaluator = build.evaluator_for(
        settings, lifelines, {}, prepared.snapshot, prepared.baseline.editable
    )
    slots = [Slot(f"cpu {n}") for n in range(SLOTS)]
    executor = LocalExecutor(lambda job, slot: evaluate(job, slot, evaluator), slots, lifelines)
    ledger = Ledger(settings.lae_dir, silent)
    state = load_state(settings, ledger, build.search_for(settings), prepared.baseline, mend=True)
    scripted = Scripted(settings, prepared, lifelines)
    scripted.hangs, scripted.numbers = hangs, {}
    parts = Parts(settings, prepared, state, ledger, scripted, executor, lambda _: None, silent)
    controller = Controller(parts)
    try:
        controller._concurrency.note_configured()
        controller.steps.begin(variants=0)
        began = time.monotonic()
        while len(scripted.numbers) < children:
            controller._ask_more()
            controller._carry_out(list(state.asked.values()))
            controller.steps.migrate_if_due()
        seconds = time.monotonic() - began
    finally:
        controller.close()
    time.sleep(1)
    return outcome(ledger, scripted, seconds)


def outcome(ledger: Ledger, scripted: Scripted, seconds: float) -> Outcome:
    """Count how the children ended, from the journal, and what is left of them."""
    records = [
        decode(Record, event["record"])
        for event in map(json.loads, ledger.journal.read_text().splitlines())
        if event["event"] == "told" and not event["record"]["child_id"].startswith("g0-")
    ]
    hung = [r for r in records if scripted.hangs(scripted.numbers[r.child_id])]
    healthy = [r for r in records if not scripted.hangs(scripted.numbers[r.child_id])]
    evaluated = [r for r in healthy if r.status is Status.EVALUATED]
    missed = [r for r in healthy if r.status is not Status.EVALUATED]
    return Outcome(
        healthy=len(scripted.numbers) - len(hung),
        evaluated=len(evaluated),
        hung=len(hung),
        stopped=sum(r.reason is Reason.TIMEOUT for r in hung),
        held=sum(r.seconds for r in hung),
        orphans=len(left()),
        seconds=seconds,
        wrong=Counter(
            f"{r.status.value} {r.reason and r.reason.value}: {r.detail}" for r in missed
        ),
    )


def main() -> int:
    """Print both runs and what the hangs cost; return 1 if something is wrong."""
    global ROOT  # noqa: PLW0603 (what the search for orphans looks for)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--children", type=int, default=200)
    parser.add_argument("--isolation", default="auto")
    parser.add_argument("--where", type=Path, default=None)
    options = parser.parse_args()
    ROOT = Path(tempfile.mkdtemp(prefix="lae-hanging-", dir=options.where))
    try:
        calm, hanging = (
            one_run(ROOT / name, options.children, options.isolation, rule)
            for name, rule in (
                ("without", lambda _: False),
                ("with", lambda number: number % EVERY == EVERY // 2),
            )
        )
    finally:
        for pid in left():
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(ROOT, ignore_errors=True)
    print(f"{'':14}{'evaluated':>12}{'stopped':>10}{'orphans':>10}{'seconds':>10}{'a minute':>12}")
    print(calm.line("without hangs"))
    print(hanging.line(f"{100 // EVERY} % hang"))
    share = hanging.evaluated / hanging.seconds / (calm.evaluated / calm.seconds)
    lost = hanging.seconds - calm.seconds
    print(f"throughput of healthy children: {share:.2f} of that without hangs")
    print(
        f"lost {lost:.1f} s; slots held {hanging.held:.1f} s, "
        f"which over {SLOTS} slots is {hanging.held / SLOTS:.1f} s"
    )
    failures = [*calm.wrong.items(), *hanging.wrong.items()]
    for text, times in failures[:5]:
        print(f"{times} healthy: {text}")
    good = (
        not failures
        and calm.evaluated == calm.healthy
        and hanging.evaluated == hanging.healthy
        and hanging.stopped == hanging.hung > 0
        and not calm.orphans + hanging.orphans
    )
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())

"""Kill the controller (or its Mutators) with SIGKILL at random moments and resume, many times.

    python benchmarks/kill_resume.py --kills 30
    python benchmarks/kill_resume.py --kills 30 --victim mutator

A reference run is never disturbed. The other is killed again and again until ``--kills`` have
happened (a fresh run begins whenever one ends earlier). At its end each must hold every child once,
have ledgers byte-identical to the reference's, have completed no training run twice, and have left
no process behind. Exits 1 if any of this fails.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from sessions import processes  # as the suite looks for them
from tiny_project import make_project  # the same small project as the suite's

SLOW = "import time\ntime.sleep(0.15)\n"
LEDGERS = ("history.tsv", "archive.tsv")


def start(project: Path) -> subprocess.Popen[bytes]:
    """Start a controller on the project."""
    return subprocess.Popen(
        [sys.executable, "-m", "lae_controller", "run", str(project), "--yes"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def mutators(marker: str) -> list[int]:
    """Return the Mutator processes of this project."""
    found = []
    for pid in processes(marker):
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if b"\0mutate\0" in line and b"warden" not in line:
            found.append(pid)
    return found


def fresh(root: Path, total: int) -> Path:
    """Make a project whose training runs take a moment and count themselves when they end."""
    shutil.rmtree(root, ignore_errors=True)
    count = root.with_suffix(".count")
    count.unlink(missing_ok=True)
    make_project(root, f"isolation: none\nenv: {{COUNT_FILE: {count}}}\n")
    (root / "train.py").write_text(SLOW + (root / "train.py").read_text())
    text = (
        (root / "loop.run.yaml").read_text().replace("total_budget: 10", f"total_budget: {total}")
    )
    (root / "loop.run.yaml").write_text(text)
    return root


def disturb(project: Path, victim: str, rng: random.Random, kills: int) -> int:
    """Run the project to its end, killing on the way; returns how many kills happened."""
    done = 0
    while True:
        controller = start(project)
        while controller.poll() is None and done < kills:
            time.sleep(rng.uniform(0.2, 2.5))
            if victim == "controller":
                if controller.poll() is None:
                    controller.send_signal(signal.SIGKILL)
                    done += 1
                break
            for pid in mutators(str(project))[:1]:
                os.kill(pid, signal.SIGKILL)
                done += 1
        _, said = controller.communicate()
        if controller.returncode == 0:
            return done
        if controller.returncode != -signal.SIGKILL:
            raise SystemExit(f"exit {controller.returncode}: {said.decode()[-2000:]}")


def check(project: Path, reference: Path) -> list[str]:
    """Return what is wrong with a disturbed run; empty if nothing."""
    wrong = []
    for name in LEDGERS:
        ours, theirs = (root / "sandbox/lae" / name for root in (project, reference))
        if ours.read_bytes() != theirs.read_bytes():
            wrong.append(f"{name} differs from the reference")
    rows = (project / "sandbox/lae/history.tsv").read_text().splitlines()[1:]
    twice = [child for child, n in Counter(row.split("\t")[3] for row in rows).items() if n > 1]
    wrong += [f"{child} stands in the history more than once" for child in twice]
    runs, wanted = (
        Counter(root.with_suffix(".count").read_text().splitlines())
        for root in (project, reference)
    )
    wrong += [f"{run!r} was completed {n} times" for run, n in runs.items() if n != wanted[run]]
    time.sleep(0.5)
    wrong += [f"process {pid} is left" for pid in processes(str(project))]
    return wrong


def main() -> int:
    """Run the experiment and print one line a run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--victim", choices=["controller", "mutator"], default="controller")
    parser.add_argument("--total-budget", type=int, default=12)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    rng = random.Random(options.seed)
    print(f"seed {options.seed}")
    root = Path(tempfile.mkdtemp(prefix="lae-kill-"))
    reference = fresh(root / "reference", options.total_budget)
    assert start(reference).wait() == 0
    done, failures, run = 0, 0, 0
    while done < options.kills:
        project = fresh(root / f"run{run}", options.total_budget)
        kills = disturb(project, options.victim, rng, options.kills - done)
        done += kills
        wrong = check(project, reference)
        failures += bool(wrong)
        verdict = "; ".join(wrong) or "as the reference"
        print(f"run {run}: {kills} kills of the {options.victim}: {verdict}")
        run += 1
    shutil.rmtree(root, ignore_errors=True)
    print(f"{done} kills, {failures} runs wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

"""Whose code really runs, by every way there is to start it, and is the verdict right?

    python benchmarks/shadows.py
    python benchmarks/shadows.py --python python3.8 --python python3.13 --bwrap "$(which bwrap)"
    python benchmarks/shadows.py --overhead

Each line is one training run of a small project whose files say whose they are: what it printed,
what the proof of what ran says, and whether that is right. With ``--bwrap`` the leaks are run once
more with the run copy mounted over the project. ``--overhead`` measures what the recorder costs.
Exits 1 if a run printed something unexpected or a verdict is wrong.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "sandbox"))
from shadow_cases import CURED_BY_A_MOUNT, SHADOWS, Case, Outcome, beside, inside

from lae_controller.sandbox.record import recorder_env

RUNS = 20
MODULES = 50
FUNCTION = '''
def work_{n}(first, second={n}, *others, **named):
    """Stand for the functions of a real project."""
    values = [first, second, {n}]
    return values if first in {{1, 2, "three"}} else (first, "text", {n}.5, None)
'''


def right(case: Case, outcome: Outcome, said: str, ok: bool) -> bool:
    """Say whether a run printed what it should and was judged as it should."""
    proven = ok if case.proven is None else case.proven
    found = (outcome.said, outcome.errors, outcome.verdict.ok, outcome.verdict.proven)
    return found == (said, "", ok, proven)


def matrix(python: Path) -> Iterator[tuple[Case, Outcome, bool]]:
    """Run every case."""
    for case in SHADOWS:
        with tempfile.TemporaryDirectory() as folder:
            outcome = case.go(inside(Path(folder).resolve()), python)
            yield case, outcome, right(case, outcome, case.said, case.ok)


def mounted(python: Path, bwrap: Path) -> Iterator[tuple[Case, Outcome, bool]]:
    """Run the leaks with the run copy over the project: each becomes the child's own code."""
    for case in SHADOWS:
        if case.name in CURED_BY_A_MOUNT:
            with tempfile.TemporaryDirectory() as folder:
                outcome = case.go(beside(Path(folder).resolve()), python, bwrap)
                yield case, outcome, right(case, outcome, case.said.replace("repo", "mine"), True)


def show(rows: Iterator[tuple[Case, Outcome, bool]]) -> int:
    """Print the rows; return how many are wrong."""
    wrong = 0
    for case, outcome, is_right in rows:
        verdict = outcome.verdict
        word = "proven" if verdict.proven else "ok" if verdict.ok else "NOT PLACED"
        said = " ".join(outcome.said.split())
        print(f"{'right' if is_right else 'WRONG'}  {case.name:<46} {said:<34} {word}")
        if not is_right:
            wrong += 1
            print(f"       {verdict.sentence}\n{outcome.errors}")
    return wrong


def seconds(words: Sequence[str], folder: Path, env: Mapping[str, str]) -> float:
    """Time one run of a command."""
    started = time.perf_counter()
    subprocess.run(words, cwd=folder, env=env, check=True)
    return time.perf_counter() - started


def overhead(python: Path) -> None:
    """Print what the recorder adds to a process, and to one that imports a project's modules."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        work, cache = folder / "work", folder / "bytecode"
        (folder / "proof").mkdir()
        work.mkdir()
        text = "".join(FUNCTION.format(n=n) for n in range(30))
        for n in range(MODULES):
            (work / f"part_{n}.py").write_text(text)
        (work / "train.py").write_text("".join(f"import part_{n}\n" for n in range(MODULES)))
        plain = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        plain["PYTHONPYCACHEPREFIX"] = str(cache)
        recorded = {**plain, **recorder_env(folder / "proof", [work], [folder / "project"], "")}
        for title, words, fresh in (
            ("an empty process", ["-c", "pass"], False),
            (f"{MODULES} modules from bytecode", ["train.py"], False),
            (f"{MODULES} modules from source", ["train.py"], True),
        ):
            times: tuple[list[float], list[float]] = ([], [])
            for run in range(RUNS + 1):
                for env, taken in zip((plain, recorded), times, strict=True):
                    if fresh:
                        shutil.rmtree(cache, ignore_errors=True)
                    once = seconds([str(python), *words], work, env)
                    if run:  # the first fills the caches
                        taken.append(once * 1000)
            without, with_it = (statistics.median(taken) for taken in times)
            print(
                f"{title:<28} {without:7.1f} ms, recorded {with_it:7.1f} ms "
                f"({with_it - without:+.1f}; fastest {min(times[1]) - min(times[0]):+.1f})"
            )


def main() -> int:
    """Run what is asked for; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", action="append", default=[], help="interpreter of the runs")
    parser.add_argument("--bwrap", type=Path, help="run the leaks under this bubblewrap, too")
    parser.add_argument("--overhead", action="store_true", help="measure, run no matrix")
    options = parser.parse_args()
    wrong = 0
    for word in options.python or [sys.executable]:
        python = Path(shutil.which(word) or word)
        print(f"\n{python}")
        if options.overhead:
            overhead(python)
            continue
        wrong += show(matrix(python))
        if options.bwrap is not None:
            print("\nwith the run copy mounted over the project")
            wrong += show(mounted(python, options.bwrap))
    if wrong:
        print(f"\n{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

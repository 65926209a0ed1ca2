"""The search against simpler ones on a task that really trains, at equal budgets of training.

    python benchmarks/real_task.py --seeds 10
    python benchmarks/real_task.py --project examples/charlm --seeds 3 --total 20

Each rule sees the same project, the same offline Mutator and the same ``total_budget``, which
counts smoke runs by their share. A rule is a few settings of the search:

    islands        as it comes
    puct           one flat tree, as it comes
    hill climbing  one program, replaced by every child that is better
    random         children of the baseline alone

Of each run are told: the metric of its winner as the search saw it; the mean of the same program
over ten training seeds that no search saw, which is what counts; and how many different good
programs were found, on one grid for all rules (lines of code x distance from the start, ten bins
each, edges at the percentiles of all programs of all rules): coverage, the share of the cells that
any rule reached, and the QD score, the sum of (metric - the worst seen) over the cells, each with
its best.
"""

from __future__ import annotations

import argparse
import math
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))

from rapidfuzz.distance import Levenshtein  # noqa: E402

from lae_controller import config, session  # noqa: E402
from lae_controller.config import Settings, TotalBudget  # noqa: E402
from lae_controller.evaluators.baseline import BASELINE_ID  # noqa: E402
from lae_controller.evolution import EvolutionSettings, SelectionSettings  # noqa: E402
from lae_controller.ledger import Ledger  # noqa: E402
from lae_controller.outputs.metric import find_metric  # noqa: E402
from lae_controller.program import Status  # noqa: E402
from lae_controller.remarks import silent  # noqa: E402
from lae_controller.rows import HistoryRow  # noqa: E402

BINS = 10
FRESH_SEEDS = range(9000, 9010)
NEVER = 10**9
GREEDY = SelectionSettings(1.0, 0.0, 0.0, 0.0, 0.0, NEVER, NEVER)


def rules(budget: int) -> dict[str, dict[str, Any]]:
    """Return the settings of each rule for a budget of so many full runs."""
    one = {"num_islands": 1, "num_bins": 1, "selection": GREEDY}
    return {
        "islands": {},
        "puct": {"algorithm": "puct"},
        "hill climbing": one,
        "random": {**one, "initial_variants": budget},
    }


@dataclass(frozen=True)
class Made:
    """One program of a run: its fitness (higher is better), and where it lies on the grid."""

    fitness: float
    lines: int
    distance: float


@dataclass(frozen=True)
class Ran:
    """What one run came to, in the metric's own units."""

    best: float
    winner: float
    made: tuple[Made, ...]


def run(project: Path, rule: dict[str, Any], seed: int, total: int, slots: int) -> Ran:
    """See one run to its end in a copy of the project."""
    with tempfile.TemporaryDirectory(prefix="real-task-") as place:
        copy = Path(place) / "project"
        shutil.copytree(project, copy, ignore=shutil.ignore_patterns("sandbox", "__pycache__"))
        settings = config.load(copy)
        evolution: EvolutionSettings = replace(settings.evolution, seed=seed, **rule)
        settings = replace(
            settings,
            evolution=evolution,
            total_budget=TotalBudget(total, None),
            concurrency=slots,
        )
        session.run_search(settings, silent)
        return judged(settings, slots)


def judged(settings: Settings, slots: int) -> Ran:
    """Read what a run left, and train its winner anew, ``slots`` runs at a time."""
    ledger = Ledger(settings.lae_dir, silent)
    elites = ledger.read_archive(mend=False) or []
    best = max(elites, key=lambda elite: settings.direction.fitness(elite.metric))
    with ThreadPoolExecutor(slots) as pool:
        again = list(pool.map(partial(retrained, settings, best.child_id), FRESH_SEEDS))
    made = tuple(_made(settings, ledger.read_history(mend=False) or []))
    return Ran(best.metric, statistics.mean(again), made)


def _made(settings: Settings, history: list[HistoryRow]) -> Iterator[Made]:
    """Yield every program that ran to the end."""
    start = text_of(settings, BASELINE_ID)
    for row in history:
        if row.full_metric is None or row.status != Status.EVALUATED.value:
            continue
        text = text_of(settings, row.child_id)
        distance = Levenshtein.normalized_distance(start, text)
        yield Made(settings.direction.fitness(row.full_metric), text.count("\n"), distance)


def text_of(settings: Settings, child: str) -> str:
    """Return the editable files of a program as one text."""
    folder = settings.lae_dir / "programs" / child
    return "\0".join((folder / path).read_text("utf-8") for path in settings.editable_files)


def retrained(settings: Settings, child: str, seed: int) -> float:
    """Return the metric of one more full run of a program."""
    words = [
        part.format(python=sys.executable, budget=f"{settings.budget:g}", seed=seed)
        for part in shlex.split(settings.run_cmd)
    ]
    ended = subprocess.run(
        words,
        cwd=settings.lae_dir / "programs" / child,
        env={**os.environ, **settings.env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    value = find_metric(ended.stdout, settings.metric).value
    return math.nan if value is None else value


def edges(values: Sequence[float]) -> list[float]:
    """Return the percentiles that part the values into ``BINS`` bins."""
    ranked = sorted(values)
    return [ranked[len(ranked) * k // BINS] for k in range(1, BINS)]


def grid(found: dict[str, list[Ran]]) -> dict[str, list[tuple[float, float]]]:
    """Return (coverage, QD score) of every run, on one grid for all."""
    pooled = [made for runs in found.values() for ran in runs for made in ran.made]
    lines, distances = edges([m.lines for m in pooled]), edges([m.distance for m in pooled])
    floor = min(m.fitness for m in pooled)

    def cell(made: Made) -> tuple[int, int]:
        return bisect_right(lines, made.lines), bisect_right(distances, made.distance)

    reached = len({cell(made) for made in pooled})
    shares: dict[str, list[tuple[float, float]]] = {}
    for rule, runs in found.items():
        for ran in runs:
            best: dict[tuple[int, int], float] = {}
            for made in ran.made:
                best[cell(made)] = max(best.get(cell(made), floor), made.fitness)
            score = sum(value - floor for value in best.values())
            shares.setdefault(rule, []).append((len(best) / reached, score))
    return shares


def spread(values: Sequence[float], digits: int) -> str:
    """Return mean ± standard error."""
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return f"{statistics.mean(values):.{digits}f} ± {error:.{digits}f}"


def main() -> None:
    """Run every rule with every seed and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--project", type=Path, default=REPOSITORY / "examples" / "digits")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--total", type=int, default=40, help="full runs of each search")
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--rules", nargs="+", default=list(rules(1)), choices=list(rules(1)))
    options = parser.parse_args()
    found: dict[str, list[Ran]] = {rule: [] for rule in options.rules}
    for seed in range(options.seeds):
        for rule in options.rules:
            how = rules(options.total)[rule]
            ran = run(options.project, how, seed, options.total, options.slots)
            found[rule].append(ran)
            print(
                f"seed {seed} {rule}: best {ran.best:.4f}, on fresh seeds {ran.winner:.4f},"
                f" {len(ran.made)} programs",
                file=sys.stderr,
                flush=True,
            )
    shares = grid(found)
    print("rule            best seen          on ten fresh seeds  coverage       QD score")
    for rule, runs in found.items():
        coverage, score = zip(*shares[rule], strict=True)
        print(
            f"{rule:<14}  {spread([r.best for r in runs], 4):<17}"
            f"  {spread([r.winner for r in runs], 4):<18}"
            f"  {spread(coverage, 3):<13}  {spread(score, 2)}"
        )


if __name__ == "__main__":
    main()

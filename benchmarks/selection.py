"""Compare parent rules on programs that cost nothing to train.

A program is a text of ten numbers; a change rewrites one of them; the metric is Rastrigin's
function of the numbers (lower is better, 0 is the optimum, the start is near 270):

    separable   as it is: every number can be put right by itself
    rotated     after a random rotation: the numbers depend on each other
    structural  separable, beside a choice among four architectures with optima of their own
    noisy       separable, measured with an error of 5; what counts is the true value of the
                program that seems best

The children go through the real Search with C slots. ``generational``: the C children of a
generation do not see each other. ``async``: every child is told as it ends and the slot gets the
next at once, so that each child was chosen without knowing the C - 1 before it. Usage:

    python benchmarks/selection.py --seeds 20
    python benchmarks/selection.py --problems rotated --rules default puct --slots 8
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rastrigin import ARCHITECTURES, DIMENSIONS, START, Program, mutate, rastrigin

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from made import made_record

from lae_controller.evolution import SelectionSettings
from lae_controller.program import (
    Direction,
    Measures,
    Record,
    child_id,
    parse_child_id,
    rng_for,
)
from lae_controller.search import Search, SearchSettings
from lae_controller.search.diversity import choose_references, mean_distance
from lae_controller.search.islands import Islands
from lae_controller.search.niche import RunningAxis, bin_of
from lae_controller.search.puct import Puct

NOISE = 5.0

NEVER = 10**9
DEFAULT = SelectionSettings()
RULES = {
    "default": DEFAULT,
    "no stall rule": replace(DEFAULT, quality_patience=NEVER, coverage_patience=NEVER),
    "global best": SelectionSettings(1.0, 0.0, 0.0, 0.0, 0.0, NEVER, NEVER),
    "island's best": SelectionSettings(0.0, 1.0, 0.0, 0.0, 0.0, NEVER, NEVER),
    "by rank": SelectionSettings(0.0, 0.0, 1.0, 0.0, 0.0, NEVER, NEVER),
    "uniform": SelectionSettings(0.0, 0.0, 0.0, 1.0, 0.0, NEVER, NEVER),
}
TREES = {"puct": 1.0, "puct c=0.3": 0.3, "puct c=2.5": 2.5}
HILL_CLIMBING = "hill climbing"


def rotation(rng: random.Random) -> list[list[float]]:
    """Return a random orthogonal matrix by Gram-Schmidt."""
    rows: list[list[float]] = []
    while len(rows) < DIMENSIONS:
        row = [rng.gauss(0, 1) for _ in range(DIMENSIONS)]
        for done in rows:
            along = sum(a * b for a, b in zip(row, done, strict=True))
            row = [a - along * b for a, b in zip(row, done, strict=True)]
        length = math.sqrt(sum(a * a for a in row))
        rows.append([a / length for a in row])
    return rows


def objective(problem: str, seed: int) -> Callable[[Program], float]:
    """Return the metric of a problem; rotation and optima depend on the seed alone."""
    rng = random.Random(f"{problem}:{seed}")
    if problem in ("separable", "noisy"):
        return lambda program: rastrigin(program.numbers)
    if problem == "rotated":
        matrix = rotation(rng)
        return lambda program: rastrigin(
            [sum(a * x for a, x in zip(row, program.numbers, strict=True)) for row in matrix]
        )
    optima = {a: [rng.uniform(-3, 3) for _ in range(DIMENSIONS)] for a in ARCHITECTURES}
    floors = {a: 10.0 * i for i, a in enumerate(rng.sample(ARCHITECTURES, len(ARCHITECTURES)))}

    def structural(program: Program) -> float:
        optimum = optima[program.architecture]
        shifted = [x - o for x, o in zip(program.numbers, optimum, strict=True)]
        return floors[program.architecture] + rastrigin(shifted)

    return structural


def search_for(rule: str, seed: int) -> Search:
    """Return a fresh Search that follows a rule."""
    common = SearchSettings(4, 3, 2, 10, 5, 40, seed, DEFAULT, {}, 0.0, 1.0, 0.0)
    if rule in TREES:
        return Puct(replace(common, num_islands=1, c_puct=TREES[rule]), Direction.MINIMIZE)
    return Islands(replace(common, selection=RULES[rule]), Direction.MINIMIZE)


class Run:
    """One search on one problem."""

    def __init__(self, rule: str, problem: str, seed: int) -> None:
        self.seed = seed
        self.problem = problem
        self.islands = 1 if rule in TREES else 4
        self.measure = objective(problem, seed)
        self.programs: dict[str, Program] = {}
        self.texts: dict[str, str] = {}
        self.search = search_for(rule, seed)
        self.seen: list[float] = []
        for island in range(self.islands):
            self._tell(child_id(0, island, 0), None)

    def go(self, evaluations: int, slots: int, schedule: str) -> None:
        """Evaluate so many children in so many slots."""
        flying: deque[tuple[str, str]] = deque()
        for ordinal in range(evaluations):
            if len(flying) == slots:
                for _ in range(1 if schedule == "async" else slots):
                    self._land(*flying.popleft(), slots)
            gen, slot = 1 + ordinal // slots, ordinal % slots
            child = child_id(gen, self.search.island_of_ordinal(ordinal), slot)
            flying.append((child, self._bear(child, [parent for _, parent in flying])))
        while flying:
            self._land(*flying.popleft(), slots)

    def _bear(self, child: str, in_flight: Sequence[str]) -> str:
        _, island, _ = parse_child_id(child)
        parent = self.search.ask(child, island, in_flight).parent_id
        rng = rng_for(self.seed, child, "mutate")
        self.programs[child] = mutate(self.programs[parent], self.problem == "structural", rng)
        return parent

    def _land(self, child: str, parent: str, slots: int) -> None:
        self._tell(child, parent)
        gen, _, slot = parse_child_id(child)
        if slot == slots - 1 and self.search.migrates_after(gen):
            self.search.migrate()

    def _tell(self, child: str, parent: str | None) -> None:
        program = self.programs.setdefault(child, START)
        _, island, _ = parse_child_id(child)
        held = [elite.child_id for _, elite in self.search.elites(island)]
        drawn = choose_references(held, 10, rng_for(self.seed, child, "diversity"))
        text = self.texts[child] = program.text
        others = [self.texts[other] for other in drawn] or [START.text]
        measures = Measures(len(text), "loc", mean_distance(text, others))
        self.seen.append(measures.diversity)
        noise = NOISE if self.problem == "noisy" and parent is not None else 0.0
        error = rng_for(self.seed, child, "noise").gauss(0, noise)
        metric = self.measure(program) + error
        self.search.tell(_record(child, parent, island, metric, measures))

    def bins(self) -> tuple[int, int]:
        """Return (diversity bins in which an elite is held, bins that any program fell into)."""
        axis = RunningAxis()
        for value in self.seen:
            axis.add(value)
        edges = axis.edges()
        elites = [elite for k in range(self.islands) for _, elite in self.search.elites(k)]
        held = {bin_of(elite.measures.diversity, edges, 10) for elite in elites}
        return len(held), len({bin_of(value, edges, 10) for value in self.seen})


def _record(
    child: str, parent: str | None, island: int, metric: float, measures: Measures
) -> Record:
    return made_record(child, parent_id=parent, island=island, metric=metric, measures=measures)


@dataclass(frozen=True)
class Outcome:
    """What one search came to: best true metric, cells per island, diversity bins held and met."""

    best: float
    cells: float = 1.0
    held: int = 1
    met: int = 1


@dataclass(frozen=True)
class Setting:
    """What a rule is tried on."""

    problem: str
    evaluations: int
    slots: int
    schedule: str


def search(rule: str, setting: Setting, seed: int) -> Outcome:
    """Run one search to its end."""
    if rule == HILL_CLIMBING:
        return Outcome(climb(setting.problem, seed, setting.evaluations))
    run = Run(rule, setting.problem, seed)
    run.go(setting.evaluations, setting.slots, setting.schedule)
    best = run.search.global_best()
    assert best is not None
    cells = sum(len(run.search.elites(k)) for k in range(run.islands)) / run.islands
    return Outcome(run.measure(run.programs[best.child_id]), cells, *run.bins())


def climb(problem: str, seed: int, evaluations: int) -> float:
    """Return what one program reaches that is replaced by every child that is no worse."""
    measure, rng = objective(problem, seed), random.Random(f"climb:{seed}")
    noise = NOISE if problem == "noisy" else 0.0
    program, best = START, measure(START)
    for _ in range(evaluations):
        child = mutate(program, problem == "structural", rng)
        if (metric := measure(child) + rng.gauss(0, noise)) <= best:
            program, best = child, metric
    return measure(program)


def row(rule: str, setting: Setting, seeds: int) -> str:
    """Return one line of the table."""
    found = [search(rule, setting, seed) for seed in range(seeds)]
    best = [outcome.best for outcome in found]
    error = statistics.stdev(best) / math.sqrt(seeds) if seeds > 1 else math.nan
    cells = statistics.mean(outcome.cells for outcome in found)
    held, met = (sum(getattr(outcome, name) for outcome in found) for name in ("held", "met"))
    return (
        f"{setting.problem:<11} {setting.evaluations:>5} {setting.slots:>3}  {rule:<14}"
        f" {statistics.mean(best):>7.1f} ± {error:<5.1f} {cells:>6.1f}  {held}/{met}"
    )


def main() -> None:
    """Run the comparison and print a table."""
    parser = argparse.ArgumentParser(description="Compare parent rules on cheap programs.")
    parser.add_argument("--seeds", type=int, default=5, help="runs per row (default 5)")
    parser.add_argument("--evaluations", type=int, default=500)
    parser.add_argument("--slots", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--schedule", choices=["generational", "async"], default="async")
    parser.add_argument("--problems", nargs="+", default=["separable", "rotated"])
    parser.add_argument("--rules", nargs="+", default=[*RULES, *TREES, HILL_CLIMBING])
    args = parser.parse_args()
    print(
        "problem     evals   C  rule            best f (mean ± se)  cells  diversity bins held/met"
    )
    for problem in args.problems:
        for slots in args.slots:
            for rule in args.rules:
                setting = Setting(problem, args.evaluations, slots, args.schedule)
                print(row(rule, setting, args.seeds), flush=True)


if __name__ == "__main__":
    main()

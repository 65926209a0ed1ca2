"""Does the rule of claims hold for other shapes of noise than the normal one?

A whole run in a millisecond or two: no processes and no files, but the real judging, pooling and
claiming (``lae_controller.noise``) in the order in which the controller uses them. A child is
compared with the holder of its cell and with the best; while its gain is open, both go on to the
next paired seed; the rest of the budget is spent on fresh pairs of the best and the baseline.

    python benchmarks/noise_shapes.py [--runs 1000] [--total 72]

Prints, for each shape of noise (of standard deviation 1) and number of baseline runs, the share of
runs on pure noise that report a gain, and the share of runs with one program of three standard
deviations that find and claim it. Exits 1 if, by more than so many runs allow,
the former is above 5 % for any shape, or the latter below 80 % for those of ``FOUND`` with three
baseline runs or more.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))

from lae_controller.noise import Noise, Verdict, claim, mean_of, pooled  # noqa: E402

GAIN = 3.0
CELLS, REPEATS, FRESH = 25, 2, 1000
Shape = Callable[[random.Random, float], float]
"""Draws the noise of one run, given a number from 0 to 1 that is the program's own."""


def normal(rng: random.Random, _own: float) -> float:
    """Draw from the normal distribution."""
    return rng.gauss(0.0, 1.0)


def heavy(rng: random.Random, _own: float) -> float:
    """Student's t with three degrees of freedom, scaled."""
    return rng.gauss(0.0, 1.0) / math.sqrt(rng.gammavariate(1.5, 2.0 / 3.0)) / math.sqrt(3.0)


def outliers(rng: random.Random, _own: float) -> float:
    """One run in twenty goes far off, either way."""
    return rng.gauss(0.0, 1.0) * (4.0 if rng.random() < 0.05 else 0.5)


def lucky(rng: random.Random, _own: float) -> float:
    """A long tail on the good side."""
    return rng.expovariate(1.0) - 1.0


def diverging(rng: random.Random, _own: float) -> float:
    """A long tail on the bad side."""
    return 1.0 - rng.expovariate(1.0)


def uneven(rng: random.Random, own: float) -> float:
    """Each program has a spread of its own, from a third to three times the baseline's."""
    return rng.gauss(0.0, 3.0 ** (2.0 * own - 1.0))


def calm_start(rng: random.Random, own: float) -> float:
    """Every child is twice as noisy as the baseline, whose own number is 0.5."""
    return rng.gauss(0.0, 0.5 if own == 0.5 else 1.0)


def coarse(rng: random.Random, _own: float) -> float:
    """A metric in steps of one standard deviation: many ties."""
    return float(round(rng.gauss(0.0, 1.0)))


def very_coarse(rng: random.Random, _own: float) -> float:
    """A metric in steps of two standard deviations: most runs tie."""
    return 2.0 * round(rng.gauss(0.0, 1.0) / 2.0)


SHAPES: tuple[Shape, ...] = (
    *(normal, heavy, outliers, lucky, diverging),
    *(uneven, calm_start, coarse, very_coarse),
)


FOUND = (normal, heavy, diverging, calm_start, coarse, very_coarse)
"""Where a gain of three standard deviations stands out from the luckiest of forty children."""


@dataclass
class Program:
    """A program under test: its true gain, what is its own, and its runs, first seed first."""

    number: int
    gain: float
    own: float
    runs: list[float] = field(default_factory=list)

    @property
    def mean(self) -> float:
        """What the archive holds."""
        return mean_of(self.runs)


class Run:
    """One simulated run; every draw comes from its number, the program and the seed."""

    def __init__(self, shape: Shape, number: int, baseline_runs: int, total: int) -> None:
        self.shape, self.number, self.total = shape, number, total
        self.baseline = Program(0, 0.0, 0.5)
        self.spent = 0
        for seed in range(baseline_runs):
            self.measure(self.baseline, seed)
        self.reserve = max(2, math.ceil(0.1 * total))
        self.programs = [self.baseline]
        self.best = self.baseline
        self.cells: dict[int, Program] = {0: self.baseline}

    def draw(self, program: Program, seed: int) -> float:
        """Return the metric of a program on a seed."""
        rng = random.Random(f"{self.number}:{program.number}:{seed}")
        return program.gain + self.shape(rng, program.own)

    def measure(self, program: Program, seed: int) -> None:
        """Run a program on a seed, and pay for it."""
        self.spent += 1
        program.runs.append(self.draw(program, seed))

    def noise(self, *more: Program) -> Noise:
        """Return the pooled noise; runs differ in what the metric may not show."""
        return pooled((it.runs for it in (*self.programs, *more)), varies=True)

    def search(self, gain: float, lucky_one: int) -> None:
        """Try children until only the reserve is left."""
        rng, noise = random.Random(f"{self.number}:children"), self.noise()
        reserve = self.reserve if noise.is_real else 0
        while self.spent + 1 <= self.total - reserve:
            count = len(self.programs)
            child = Program(count, gain if count == lucky_one else 0.0, rng.random())
            self.measure(child, 0)
            cell = rng.randrange(CELLS)
            holder = self.cells.get(cell)
            rivals = [holder] if holder is not None else []
            if self.best is not holder:
                rivals.append(self.best)
            self.contest(child, rivals, self.total - reserve)
            self.programs.append(child)
            if holder is None or child.mean > holder.mean:
                self.cells[cell] = child
            self.best = max((self.best, *self.cells.values()), key=lambda it: it.mean)

    def contest(self, child: Program, rivals: list[Program], limit: int) -> None:
        """Give both sides further seeds while a gain is open."""
        if not self.noise().is_real:
            return
        while True:
            noise = self.noise(child)
            for rival in rivals:
                verdict = noise.judge(child.runs, rival.runs)
                if verdict is Verdict.LOSES:
                    return
                pairs = min(len(child.runs), len(rival.runs))
                short = [it for it in (child, rival) if len(it.runs) <= pairs]
                if verdict is Verdict.OPEN and pairs <= REPEATS:
                    if self.spent + len(short) > limit:
                        return
                    for each in short:
                        self.measure(each, pairs)
                    break
            else:
                return

    def claims(self) -> bool:
        """Say whether a gain is reported at the end."""
        noise, best = self.noise(), self.best
        if best is self.baseline:
            return False
        pairs = [
            (self.draw(best, FRESH + n), self.draw(self.baseline, FRESH + n))
            for n in range((self.total - self.spent) // 2)
        ]
        found = claim("g1-i0-a0", pairs, noise, 1.0, (best.runs, self.baseline.runs))
        return found is not None and found.holds


def simulate(
    shape: Shape, runs: int, baseline_runs: int, total: int, where: tuple[int, int] = (1, 20)
) -> tuple[float, float]:
    """Return the shares of false claims, and of true gains that are found and claimed."""
    false = true = 0
    for number in range(runs):
        run = Run(shape, number, baseline_runs, total)
        run.search(0.0, -1)
        false += run.claims()
        run = Run(shape, number, baseline_runs, total)
        run.search(GAIN, random.Random(number).randrange(*where))
        true += run.best.gain > 0 and run.claims()
    return false / runs, true / runs


def main() -> int:
    """Simulate, print, and say whether the figures are good enough."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--total", type=int, default=72, help="full runs of each search")
    options = parser.parse_args()
    bad = 0
    for shape in SHAPES:
        for baseline_runs in (2, 3, 5):
            false, true = simulate(shape, options.runs, baseline_runs, options.total)
            said = f"{shape.__name__:12} {baseline_runs} baseline runs: "
            print(f"{said}{false:6.1%} false, {true:6.1%} true", flush=True)
            bad += false > 0.05 + 2.0 * math.sqrt(0.05 * 0.95 / options.runs)
            least = 0.8 - 2.0 * math.sqrt(0.8 * 0.2 / options.runs)
            bad += baseline_runs > 2 and shape in FOUND and true < least
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

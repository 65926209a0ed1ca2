"""Ten numbers as a program text, a change to one of them, and Rastrigin's function of them.

Standard library only: it also runs in a peer's environment.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

DIMENSIONS = 10
BOUND = 5.12
ARCHITECTURES = "abcd"
Numbers = tuple[float, ...]

_LINE = re.compile(r"^x(\d) = (-?\d+\.(\d+))$", re.MULTILINE)


@dataclass(frozen=True)
class Program:
    """A point of the search space and its text."""

    architecture: str
    numbers: Numbers
    digits: tuple[int, ...]

    @property
    def text(self) -> str:
        """Return the program as it would stand in a file."""
        return "\n".join([f"arch = '{self.architecture}'", *self.lines, ""])

    @property
    def lines(self) -> list[str]:
        """Return the lines of its numbers."""
        pairs = zip(self.numbers, self.digits, strict=True)
        return [f"x{i} = {x:.{d}f}" for i, (x, d) in enumerate(pairs)]


START = Program("a", tuple(4.235 if i % 2 else -4.235 for i in range(DIMENSIONS)), (3,) * 10)


def parse(text: str) -> Program:
    """Read a program from its text, whatever stands around it.

    Raises:
        ValueError: if it does not hold each number once.
    """
    found = {int(index): (float(x), len(d)) for index, x, d in _LINE.findall(text)}
    if sorted(found) != list(range(DIMENSIONS)):
        raise ValueError(f"numbers {sorted(found)} are there; expected x0 to x{DIMENSIONS - 1}")
    numbers, digits = zip(*(found[index] for index in range(DIMENSIONS)), strict=True)
    return Program("a", numbers, digits)


def mutate(parent: Program, structural: bool, rng: random.Random) -> Program:
    """Rewrite one number; one change in ten swaps the architecture where there is a choice."""
    if structural and rng.random() < 0.1:
        other = rng.choice([a for a in ARCHITECTURES if a != parent.architecture])
        return Program(other, parent.numbers, parent.digits)
    index, digits = rng.randrange(DIMENSIONS), rng.randint(1, 6)
    if rng.random() < 0.75:
        value = parent.numbers[index] + rng.gauss(0, rng.choice([0.05, 0.2, 1.0]))
    else:
        value = rng.uniform(-BOUND, BOUND)
    numbers = list(parent.numbers)
    numbers[index] = round(min(BOUND, max(-BOUND, value)), digits)
    places = list(parent.digits)
    places[index] = digits
    return Program(parent.architecture, tuple(numbers), tuple(places))


def rastrigin(numbers: Sequence[float]) -> float:
    """Return Rastrigin's function: 0 at the origin, a local optimum near every integer."""
    return sum(x * x + 10 - 10 * math.cos(2 * math.pi * x) for x in numbers)

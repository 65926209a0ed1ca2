"""What it takes to measure a child's diversity: the real code of this package against ten elites.

    python benchmarks/diversity_time.py

The elites and the child are the same text with a share of its lines changed, as in one lineage;
``unrelated`` is a child that has nothing in common with them. Processor time, best of five.
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path

from lae_controller.search.diversity import mean_distance

PACKAGE = Path(__file__).resolve().parents[1] / "lae_controller"
REFERENCES = 10


def changed(text: str, share: float, rng: random.Random) -> str:
    """Return a text with so many of its lines changed, removed or added."""
    lines = text.splitlines(keepends=True)
    for _ in range(max(1, round(share * len(lines)))):
        place = rng.randrange(len(lines))
        kind = rng.random()
        if kind < 0.4:
            lines[place] = lines[place].replace("e", "0.25", 1)
        elif kind < 0.7:
            lines.insert(place, f"    x = self.layer({rng.randrange(999)})\n")
        else:
            del lines[place]
    return "".join(lines)


def seconds(code: str, others: list[str], tries: int) -> tuple[float, float]:
    """Return (least seconds, mean distance)."""
    least = float("inf")
    for _ in range(tries):
        began = time.process_time()
        distance = mean_distance(code, others)
        least = min(least, time.process_time() - began)
    return least, distance


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tries", type=int, default=5)
    options = parser.parse_args()
    rng = random.Random(0)
    whole = "".join(path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py")))
    for size in (20_000, 200_000):
        text, unrelated = whole[:size], whole[size : 2 * size]
        for share in (0.001, 0.01, 0.05):
            others = [changed(text, share, rng) for _ in range(REFERENCES)]
            took, distance = seconds(changed(text, share, rng), others, options.tries)
            print(
                f"{size // 1000:>4} kB, {share:6.1%} of the lines: distance {distance:.4f}, "
                f"{took * 1e3:6.1f} ms a child",
                flush=True,
            )
        if size < 100_000:
            others = [changed(text, 0.05, rng) for _ in range(REFERENCES)]
            took, distance = seconds(unrelated, others, options.tries)
            print(
                f"{size // 1000:>4} kB, unrelated: distance {distance:.4f}, {took * 1e3:.1f} ms",
                flush=True,
            )


if __name__ == "__main__":
    main()

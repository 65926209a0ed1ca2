"""The search metric and the held-out test side by side."""

from __future__ import annotations

from collections.abc import Sequence

from lae_controller.evaluators.heldout import parted
from lae_controller.program import Direction
from lae_controller.views.text import short, signed, table

Pair = tuple[float | None, float | None]
"""(baseline, best); None where a run gave no metric."""


def held_out(
    metric: str, direction: Direction, search: tuple[float, float], test: Pair, trouble: str = ""
) -> list[str]:
    """Return the lines of the synthesis that compare what was searched on with what was not.

    Args:
        trouble: why the test of one of the two gave no metric.
    """
    rows = [_row(f"search ({metric})", search), _row("held-out test", test)]
    lines = table(["", "baseline", "best", "gain"], rows)
    before, after = test
    if before is None or after is None:
        return [*lines, "", f"The held-out test could not be read: {trouble or 'no metric'}."]
    sentence = parted(search, (before, after), direction)
    return [*lines, "", f"Warning: {sentence}."] if sentence else lines


def _row(name: str, pair: Sequence[float | None]) -> list[str]:
    before, after = pair
    gain = "-" if before is None or after is None else signed(after - before)
    return [name, short(before), short(after), gain]

"""Numbers and maps as people like to read them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from lae_controller.program import Cell, Elite, Usage
from lae_controller.rows import complexity_text

_SHADES = "123456789"


def short(value: float | None) -> str:
    """Write a metric with the digits that matter; ``-`` for none."""
    return "-" if value is None else f"{value:.6g}"


def printable(text: str) -> str:
    """Return the text without what would steer a terminal, such as an escape sequence."""
    return "".join(char if char.isprintable() else " " for char in text)


def signed(value: float) -> str:
    """Write a difference with its sign."""
    return f"{value:+.4g}"


def gain_text(gain: float, error: float) -> str:
    """Write a gain with its standard error: ``+0.400 ± 0.037``, no digit that chance decides."""
    if error <= 0.0 or not math.isfinite(error):
        return f"{signed(gain)} ± {error:g}"
    digits = max(0, 1 - math.floor(math.log10(error)))
    if digits > 6:
        return f"{gain:+.3g} ± {error:.2g}"
    return f"{gain:+.{digits}f} ± {error:.{digits}f}"


def seconds_text(seconds: float) -> str:
    """Write a duration: ``48 s``, ``12.5 min``, ``3.2 h``."""
    if seconds < 120:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def plural(count: int, word: str, words: str = "") -> str:
    """Write a number of things; ``words`` is for more than one, where an s does not make it."""
    return f"{count} {word if count == 1 else words or word + 's'}"


def usage_text(usage: Usage, limit: float | None) -> str:
    """Return tokens and money in words; empty if no model was asked."""
    if not usage.calls:
        return ""
    sent = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    most = f" of at most {limit:g}" if limit is not None else ""
    cost = f"; {usage.cost_usd or 0.0:.2f}{most} USD" if usage.cost_usd or limit else ""
    return f"{count_text(sent)} tokens in, {count_text(usage.output_tokens)} out{cost}"


def count_text(count: float) -> str:
    """Write a count with three digits: ``812``, ``12.4k``, ``3.1M``."""
    for factor, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= factor:
            return f"{count / factor:.3g}{suffix}"
    return f"{count:.0f}"


def clock(seconds: float) -> str:
    """Write a duration as a clock shows it: ``0:42``, ``12:05``, ``3:00:12``."""
    whole = max(0, int(seconds))
    hours, minutes = divmod(whole // 60, 60)
    head = f"{hours}:{minutes:02d}" if hours else f"{minutes}"
    return f"{head}:{whole % 60:02d}"


def where_text(elite: Elite) -> str:
    """Write where an elite lies: its complexity and diversity."""
    measures = elite.measures
    size = complexity_text(measures.complexity, measures.unit)
    return f"{size} div {measures.diversity:.2f}"


def ascii_map(cells: Mapping[Cell, float], num_bins: int) -> list[str]:
    """Draw a map of fitness: 9 the best tenth of the range, 1 the worst, ``*`` the very best.

    Complexity grows to the right, diversity upwards; ``.`` is an empty cell.
    """
    lowest, highest = (min(cells.values()), max(cells.values())) if cells else (0.0, 0.0)

    def mark(cell: Cell) -> str:
        if cell not in cells:
            return "."
        if cells[cell] == highest:
            return "*"
        share = (cells[cell] - lowest) / (highest - lowest)
        return _SHADES[min(len(_SHADES) - 1, int(share * len(_SHADES)))]

    lines = [
        f"  d{d:<2} " + " ".join(mark((c, d)) for c in range(num_bins))
        for d in reversed(range(num_bins))
    ]
    return [*lines, "   c  " + " ".join(str(c % 10) for c in range(num_bins))]


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a Markdown table whose columns also line up in a terminal."""
    everything = [list(header), *(list(row) for row in rows)]
    widths = [max(len(row[i]) for row in everything) for i in range(len(header))]

    def line(row: Sequence[str]) -> str:
        return "| " + " | ".join(t.ljust(w) for t, w in zip(row, widths, strict=True)) + " |"

    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return [line(everything[0]), rule, *(line(row) for row in everything[1:])]

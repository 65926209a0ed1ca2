"""What every chart of the report has in common: plain data for plotly, colours by name.

A colour that begins with ``@`` is looked up in the style sheet, so that one chart serves light and
dark. The palette is that of Okabe and Ito, which colour-blind people can tell apart; shapes differ
as well.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lae_controller.search.niche import percentile

Trace = dict[str, Any]

_HOVER_WIDTH = 56  # characters
COLUMNS, ROWS = 480, 160
"""Points that fall into one cell of a grid this fine cannot be told apart; one is drawn."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One chart.

    Attributes:
        key: names it in the page.
        label: what it shows, in a sentence, for who does not see it.
        height: pixels.
        units: (name, title) of the x axes that can be chosen; empty if there is one.
    """

    key: str
    label: str
    traces: list[Trace]
    layout: dict[str, Any]
    height: int = 340
    units: tuple[tuple[str, str], ...] = ()
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return what the page's script needs."""
        return {
            "traces": self.traces,
            "layout": self.layout,
            "units": dict(self.units),
        }


@dataclass
class Points:
    """Points of one trace, as they are collected.

    Attributes:
        xs: unit -> the values on that x axis.
    """

    ys: list[float] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    xs: dict[str, list[float]] = field(default_factory=dict)

    def add(self, x: dict[str, float], y: float, text: str) -> None:
        """Add one point."""
        self.ys.append(y)
        self.texts.append(text)
        for unit, value in x.items():
            self.xs.setdefault(unit, []).append(value)

    def trace(self, **more: Any) -> Trace:
        """Return the points as a trace, hover text included."""
        xs = {unit: rounded(values) for unit, values in self.xs.items()}
        first = next(iter(xs.values()), [])
        trace: Trace = {"type": "scatter", "x": first, "y": rounded(self.ys), "text": self.texts}
        return {**trace, "xs": xs, "hoverinfo": "text", **more}


def hover(*lines: str) -> str:
    """Return text for a hover box: escaped, as plotly reads markup in it, and broken into lines."""
    broken = (part for line in lines if line for part in textwrap.wrap(line, _HOVER_WIDTH)[:4])
    return "<br>".join(html.escape(part, quote=False) for part in broken)


def rounded(values: Sequence[float]) -> list[float]:
    """Return values with the digits that a chart can show."""
    return [float(f"{value:.6g}") for value in values]


def thinned(xs: Sequence[float], ys: Sequence[float]) -> list[int]:
    """Return which points to draw: the first of all that would lie on the same spot."""
    if not xs:
        return []
    left, bottom = min(xs), min(ys)
    wide, high = (max(xs) - left) or 1.0, (max(ys) - bottom) or 1.0
    spots: dict[tuple[int, int], int] = {}
    for index, (x, y) in enumerate(zip(xs, ys, strict=True)):
        spot = (int((x - left) / wide * COLUMNS), int((y - bottom) / high * ROWS))
        spots.setdefault(spot, index)
    return list(spots.values())


def frame_of(values: Sequence[float], always: Sequence[float]) -> tuple[float, float] | None:
    """Return a range that shows what matters: a few outliers must not flatten all others.

    Args:
        values: what is drawn; the outer twentieth of it may lie outside.
        always: what must be seen.
    """
    everything = sorted(values)
    seen = list(always)
    if everything:
        seen += [percentile(everything, 0.05), percentile(everything, 0.95)]
    if not seen:
        return None
    low, high = min(seen), max(seen)
    margin = (high - low) * 0.08 or abs(high) * 0.01 or 1.0
    return low - margin, high + margin


def counting(most: int) -> dict[str, Any]:
    """Return an x axis that counts from 0 to ``most``, in whole steps where plotly would part them.

    Beyond ten its own steps are whole.
    """
    return {"rangemode": "tozero", **({"dtick": 1} if most <= 10 else {})}


def into(value: float, frame: tuple[float, float]) -> float:
    """Return the value, or the edge of the frame beyond which it lies."""
    return min(max(value, frame[0]), frame[1])

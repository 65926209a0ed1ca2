"""Draw the course of a run as an SVG for the README: ``python docs/make_picture.py RUN OUT.svg``.

RUN is a project with a finished run, or its lae/ directory. All that is drawn is in its journal.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from lae_controller import build, config
from lae_controller.parts import Core
from lae_controller.trackers.story import Chapter, Story, Tail

WIDTH, HEIGHT = 760, 320
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 44, 44

_STYLE = """
text { font: 12px system-ui, sans-serif; fill: #57606a }
.strong { font-weight: 600; fill: #24292f }
.axis { stroke: #8c959f } .grid { stroke: #8c959f; stroke-opacity: .25 }
.band { fill: #8c959f; fill-opacity: .22 }
.best { fill: none; stroke: #0969da; stroke-width: 2.5 }
.kept { fill: #0969da } .other { fill: none; stroke: #8250df; stroke-width: 1.5 }
.none { stroke: #8c959f; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
  text { fill: #9da7b3 } .strong { fill: #e6edf3 }
  .best { stroke: #58a6ff } .kept { fill: #58a6ff } .other { stroke: #bc8cff }
}
"""


class Scale:
    """From a child's place in the run and its metric to a place in the picture."""

    def __init__(self, count: int, values: Sequence[float]) -> None:
        low, high = min(values), max(values)
        room = (high - low) * 0.08 or abs(high) * 0.1 or 1.0
        self.low, self.high, self._count = low - room, high + room, max(1, count)

    def x(self, order: float) -> float:
        """Return the place along the picture."""
        return LEFT + (WIDTH - LEFT - RIGHT) * order / self._count

    def y(self, value: float) -> float:
        """Return the place from the top."""
        share = (value - self.low) / (self.high - self.low)
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share


def picture(core: Core) -> str:
    """Return the SVG."""
    story = Story(core.settings.direction)
    story.take(Tail(core.ledger.journal).new())
    chapters = list(story.chapters.values())
    baseline = core.prepared.baseline
    measured = [it.record.metric for it in chapters if it.record.metric is not None]
    scale = Scale(len(chapters) - 1, [*measured, *baseline.metrics])
    last = chapters[-1]
    winner = max(
        (it for it in chapters if it.metric is not None),
        key=lambda it: core.settings.direction.fitness(it.metric or 0.0),
    )
    change = winner.record.summary or "the baseline"
    title = (
        f"{core.settings.metric}: {baseline.metric:.4g} at the start, {last.best:.4g} after "
        f"{last.order} children"
    )
    parts = [
        *_axes(scale, chapters),
        *_band(scale, baseline.metrics),
        *_points(scale, chapters[1:]),
        _line(scale, chapters),
        f'<text class="strong" x="{LEFT}" y="16">{escape(title)}</text>',
        f'<text x="{LEFT}" y="33">the best: {escape(change)}</text>',
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(title)}"><style>{_STYLE}</style>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _ticks(low: float, high: float) -> list[float]:
    """Return four to eight round numbers in between."""
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    first = math.ceil(low / step)
    return [number * step for number in range(first, math.floor(high / step) + 1)]


def _axes(scale: Scale, chapters: list[Chapter]) -> Iterator[str]:
    for value in _ticks(scale.low, scale.high):
        y = scale.y(value)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:.3g}</text>'
    floor = HEIGHT - BOTTOM
    yield f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{floor}" y2="{floor}"/>'
    end = len(chapters) - 1
    for order in range(0, end + 1, max(1, end // 6)):
        x = scale.x(order)
        yield f'<text x="{x:.1f}" y="{floor + 18}" text-anchor="middle">{order}</text>'
    legend = (
        "children as they were told: ● kept, ○ not kept, | dropped after the smoke run or failed; "
        "grey: baseline runs"
    )
    yield f'<text x="{LEFT}" y="{HEIGHT - 8}">{legend}</text>'


def _band(scale: Scale, metrics: Sequence[float]) -> Iterator[str]:
    top, low = scale.y(max(metrics)), scale.y(min(metrics))
    height = max(2.0, low - top)
    width = WIDTH - LEFT - RIGHT
    yield f'<rect class="band" x="{LEFT}" y="{top:.1f}" width="{width}" height="{height:.1f}"/>'


def _points(scale: Scale, chapters: list[Chapter]) -> Iterator[str]:
    for it in chapters:
        x = f"{scale.x(it.order):.1f}"
        if it.record.metric is None:
            floor = HEIGHT - BOTTOM
            yield f'<line class="none" x1="{x}" x2="{x}" y1="{floor - 7}" y2="{floor}"/>'
            continue
        kind = "kept" if it.kept else "other"
        tip = escape(f"{it.record.child_id}: {it.record.metric:.4g}, {it.record.summary}")
        y = f"{scale.y(it.record.metric):.1f}"
        yield f'<circle class="{kind}" cx="{x}" cy="{y}" r="4"><title>{tip}</title></circle>'


def _line(scale: Scale, chapters: list[Chapter]) -> str:
    steps = []
    for it in chapters:
        if it.best is not None:
            y = f"{scale.y(it.best):.1f}"
            steps.append(f"M{LEFT} {y}" if not steps else f"H{scale.x(it.order):.1f}V{y}")
    return f'<path class="best" d="{"".join(steps)}"/>'


if __name__ == "__main__":
    core = build.unread(config.load(Path(sys.argv[1])), print)
    Path(sys.argv[2]).write_text(picture(core), encoding="utf-8")

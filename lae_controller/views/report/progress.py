"""Two charts over the course of a run: the best so far, and the line of the winner."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from lae_controller.config import Settings
from lae_controller.evaluators.baseline import Baseline
from lae_controller.program import is_baseline
from lae_controller.views.report.figures import (
    Figure,
    Points,
    Trace,
    counting,
    frame_of,
    hover,
    into,
    rounded,
    thinned,
)
from lae_controller.views.report.history import Best, Child, Cost, History, is_finished
from lae_controller.views.report.lineage import family
from lae_controller.views.text import plural, short

_MOST_SIBLINGS = 1500


class Axes:
    """The x axes that a run can be shown over."""

    def __init__(self, history: History) -> None:
        self._per, word = time_unit(history.elapsed)
        self.units = [
            ("evaluations", "children told"),
            ("runs", "full runs spent"),
            ("time", f"active time, {word}"),
        ]
        if history.spent.usd:
            self.units.append(("money", "USD paid for models"))

    def at(self, number: float, spent: Cost, elapsed: float) -> dict[str, float]:
        """Return where a moment lies on each of them."""
        where = {
            "evaluations": number,
            "runs": spent.runs,
            "time": elapsed / self._per,
            "money": spent.usd,
        }
        return {unit: where[unit] for unit, _ in self.units}


def time_unit(seconds: float) -> tuple[float, str]:
    """Return the unit that suits a duration: its length in seconds, and its name."""
    if seconds >= 7200:
        return 3600.0, "hours"
    return (60.0, "minutes") if seconds >= 120 else (1.0, "seconds")


def progress(history: History, settings: Settings, baseline: Baseline) -> Figure:
    """Return the chart of the best so far over evaluations and over compute."""
    axes = Axes(history)
    finished = [child for child in history.tried if is_finished(child.record)]
    metrics = [child.record.metric or 0.0 for child in finished]
    spread = baseline.spread or 0.0
    always = [best.metric for best in history.bests]
    always += [baseline.metric - spread, baseline.metric + spread]
    frame = frame_of(metrics, always) or (0.0, 1.0)
    sigma = history.state.noise.sigma or 0.0
    outside = sum(not frame[0] <= value <= frame[1] for value in metrics)
    nothing = _nothing(history, axes)
    traces = [
        _dots(finished, axes, frame, kept=False),
        _dots(finished, axes, frame, kept=True),
        nothing,
        _best_line(history, axes, sigma),
    ]
    layout: dict[str, Any] = {
        "xaxis": {"title": {"text": axes.units[0][1]}, **counting(len(history.tried))},
        "yaxis": {"title": {"text": settings.metric}, "range": list(frame)},
        "shapes": _baseline_shapes(baseline),
        "annotations": [_baseline_name(baseline)],
    }
    note = f"{outside} lie outside and are drawn at the edge. " if outside else ""
    if nothing["x"]:
        layout["xaxis"]["anchor"] = "y2"
        layout["yaxis"]["domain"] = [0.1, 1]
        layout["yaxis2"] = {"domain": [0, 0.06], "visible": False, "range": [-1, 1]}
        note += "Marks below the chart are children that gave no metric."
    return Figure(
        "progress",
        _progress_label(history, settings, baseline),
        [trace for trace in traces if trace["x"]],
        layout,
        height=420,
        units=tuple(axes.units),
        note=note,
    )


def _progress_label(history: History, settings: Settings, baseline: Baseline) -> str:
    first, told = short(baseline.metric), len(history.tried)
    if not told:
        return f"Best {settings.metric} so far: {first} of the baseline; no child was told yet."
    if not history.bests or is_baseline(history.bests[-1].child_id):
        return (
            f"Best {settings.metric} so far: {first} of the baseline, still after "
            f"{plural(told, 'child', 'children')}."
        )
    return (
        f"Best {settings.metric} so far: from {first} of the baseline to "
        f"{short(history.bests[-1].metric)} after {plural(told, 'child', 'children')}."
    )


def _dots(
    finished: Sequence[Child],
    axes: Axes,
    frame: tuple[float, float],
    *,
    kept: bool,
) -> Trace:
    mine = [child for child in finished if child.kept is kept]
    ys = [into(child.record.metric or 0.0, frame) for child in mine]
    points = Points()
    for index in thinned([child.number for child in mine], ys):
        child = mine[index]
        points.add(axes.at(child.number, child.spent, child.elapsed), ys[index], told(child))
    style = {"color": "@accent", "size": 6} if kept else {"color": "@muted", "size": 5}
    symbol = "circle" if kept else "circle-open"
    name = "entered a map" if kept else "finished, not kept"
    return points.trace(mode="markers", name=name, marker={**style, "symbol": symbol})


def _nothing(history: History, axes: Axes) -> Trace:
    mine = [child for child in history.tried if not is_finished(child.record)]
    points = Points()
    for index in thinned([child.number for child in mine], [0.0] * len(mine)):
        child = mine[index]
        points.add(axes.at(child.number, child.spent, child.elapsed), 0.0, told(child))
    marker = {"symbol": "line-ns-open", "color": "@warm", "size": 9}
    return points.trace(mode="markers", name="failed or dropped", marker=marker, yaxis="y2")


def told(child: Child) -> str:
    """Return a child for a hover box."""
    record = child.record
    head = f"{record.child_id}  {short(record.metric)}"
    if record.reason is not None:
        head = f"{record.child_id}  {record.reason.value}"
    return hover(head, record.summary or "the baseline")


def _best_line(history: History, axes: Axes, sigma: float) -> Trace:
    points = Points()
    for best in history.bests:
        points.add(
            axes.at(best.number, best.spent, best.elapsed), best.metric, _took(best, history)
        )
    if history.bests:
        end = axes.at(len(history.tried), history.spent, history.elapsed)
        points.add(end, history.bests[-1].metric, hover("the end of what is known"))
    errors = [sigma / math.sqrt(best.runs) for best in history.bests]
    bars = {
        "type": "data",
        "array": rounded([*errors, 0.0]),
        "thickness": 1,
        "width": 3,
        "color": "@best",
        "visible": bool(sigma) and len(errors) <= 60,
    }
    line = {"color": "@best", "width": 3, "shape": "hv"}
    marker = {"color": "@best", "size": 7, "symbol": "diamond"}
    mode = "lines+markers" if len(errors) <= 60 else "lines"
    return points.trace(mode=mode, name="best so far", line=line, marker=marker, error_y=bars)


def _took(best: Best, history: History) -> str:
    summary = history.state.told[best.child_id].summary or "the baseline"
    runs = "one run" if best.runs == 1 else f"mean of {best.runs} runs"
    how = "" if best.accepted else "after further runs"
    return hover(f"best: {best.child_id}  {short(best.metric)}, {runs}", how, summary)


def _baseline_shapes(baseline: Baseline) -> list[dict[str, Any]]:
    line = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": baseline.metric}
    shapes = [
        {
            **line,
            "y1": baseline.metric,
            "layer": "below",
            "line": {"color": "@muted", "dash": "dash", "width": 1},
        }
    ]
    if baseline.spread:
        low, high = baseline.metric - baseline.spread, baseline.metric + baseline.spread
        band = {"type": "rect", "xref": "paper", "x0": 0, "x1": 1, "y0": low, "y1": high}
        shapes.append({**band, "fillcolor": "@band", "line": {"width": 0}, "layer": "below"})
    return shapes


def _baseline_name(baseline: Baseline) -> dict[str, Any]:
    spread = " ± its spread" if baseline.spread else ""
    return {
        "xref": "paper",
        "x": 1,
        "y": baseline.metric + (baseline.spread or 0.0),
        "text": f"baseline{spread}",
        "xanchor": "right",
        "yanchor": "bottom",
        "yshift": 2,  # clear of the line of the best, which may lie there
        "showarrow": False,
        "font": {"color": "@muted", "size": 11},
    }


# -- the line of the winner ------------------------------------------------------------------------


def lineage(line: Sequence[Child], children: Mapping[str, Child], settings: Settings) -> Figure:
    """Return the tree around the winner: its ancestors, and what else came of each of them."""
    families = family(children)
    mine = {child.record.child_id for child in line}
    beside = [
        (parent, child)
        for parent in line
        for child in families[parent.record.child_id]
        if child.record.child_id not in mine and is_finished(child.record)
    ]
    others = len(beside)
    beside = sorted(beside, key=lambda it: (not it[1].kept, it[1].number))[:_MOST_SIBLINGS]
    seen = [*line, *(child for _, child in beside)]
    metrics = [child.record.metric or 0.0 for _, child in beside]
    always = [child.record.metric or 0.0 for child in line]
    frame = frame_of(metrics, always) or (0.0, 1.0)
    around = [_branches(beside, frame), _siblings(beside, frame)] if beside else []
    traces = [*around, _trunk(line)]
    layout = {
        "xaxis": {"title": {"text": "children told"}, **counting(max(it.number for it in seen))},
        "yaxis": {"title": {"text": settings.metric}, "range": list(frame)},
    }
    steps = len(line) - 1
    label = (
        f"Lineage of {line[-1].record.child_id}: {plural(steps, 'change')} from "
        f"the baseline; {others} other finished children of its ancestors beside it."
    )
    drawn = f"{len(beside)} of these are drawn. " if len(beside) < others else ""
    note = f"{drawn}Each stands at the metric with which it was told, before any further runs."
    return Figure("lineage", label, traces, layout, height=380, note=note)


def _trunk(line: Sequence[Child]) -> Trace:
    points = Points()
    for child in line:
        points.add({"evaluations": child.number}, child.record.metric or 0.0, told(child))
    return points.trace(
        mode="lines+markers",
        name="the winner's line",
        line={"color": "@best", "width": 3},
        marker={"color": "@best", "size": 9, "symbol": "diamond"},
    )


def _siblings(beside: Sequence[tuple[Child, Child]], frame: tuple[float, float]) -> Trace:
    points = Points()
    for _, child in beside:
        y = into(child.record.metric or 0.0, frame)
        points.add({"evaluations": child.number}, y, told(child))
    marker = {"color": "@muted", "size": 5, "symbol": "circle-open"}
    return points.trace(mode="markers", name="other children of its ancestors", marker=marker)


def _branches(beside: Sequence[tuple[Child, Child]], frame: tuple[float, float]) -> Trace:
    xs: list[float | None] = []
    ys: list[float | None] = []
    for parent, child in beside:
        xs += [parent.number, child.number, None]
        ends = (parent.record.metric or 0.0, into(child.record.metric or 0.0, frame))
        ys += [*rounded(ends), None]
    line = {"color": "@line", "width": 1}
    return {
        "type": "scatter",
        "x": xs,
        "y": ys,
        "mode": "lines",
        "line": line,
        "hoverinfo": "skip",
        "showlegend": False,
    }

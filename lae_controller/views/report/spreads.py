"""Charts of how values spread: change against the parent by kind, and repeated runs."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lae_controller.evaluators.baseline import BASELINE_ID
from lae_controller.program import Direction, is_baseline
from lae_controller.state import RunState
from lae_controller.views.report.figures import Figure, Trace, hover, rounded
from lae_controller.views.report.tallies import Spread, Tally
from lae_controller.views.text import short

_MOST_REPEATED = 15


@dataclass(frozen=True, slots=True)
class Repeated:
    """One program that was run more than once.

    Attributes:
        runs: its metric on each seed of the search, first seed first.
        fresh: on each seed that is kept for claims.
    """

    child_id: str
    runs: tuple[float, ...]
    fresh: tuple[float, ...]

    @property
    def spread(self) -> float | None:
        """Standard deviation over the seeds of the search; None if there was one."""
        return statistics.stdev(self.runs) if len(self.runs) > 1 else None


def repeated(state: RunState, baseline: Sequence[float], direction: Direction) -> list[Repeated]:
    """Return the programs that were run more than once, the baseline first, then the best."""
    fresh: dict[str, list[float]] = {}
    for child, pairs in state.claims.items():
        fresh.setdefault(child, []).extend(mine for mine, _ in pairs)
        fresh.setdefault(BASELINE_ID, []).extend(base for _, base in pairs)
    runs: Mapping[str, Sequence[float]] = {BASELINE_ID: baseline, **state.repeats}
    names = {child for child in {*runs, *fresh} if not is_baseline(child) or child == BASELINE_ID}
    found = [
        Repeated(
            child, tuple(runs.get(child, ())) or _told(state, child), tuple(fresh.get(child, ()))
        )
        for child in names
    ]
    found = [it for it in found if len(it.runs) > 1 or it.fresh or it.child_id == BASELINE_ID]
    return sorted(
        found,
        key=lambda it: (it.child_id != BASELINE_ID, -direction.fitness(statistics.fmean(it.runs))),
    )


def _told(state: RunState, child: str) -> tuple[float, ...]:
    metric = state.told[child].metric
    return (metric or 0.0,)


def noise(programs: Sequence[Repeated], metric: str) -> Figure | None:
    """Return the chart of repeated runs; None if nothing was run twice."""
    shown = [it for it in programs if len(it.runs) + len(it.fresh) > 1][:_MOST_REPEATED]
    if not shown:
        return None
    names = [_name(it) for it in shown]
    layout = {
        "xaxis": {"title": {"text": metric}},
        "yaxis": {"categoryorder": "array", "categoryarray": names[::-1], "automargin": True},
    }
    traces = [
        _seeds(shown, "seeds of the search", "circle", "@accent", fresh=False),
        _seeds(shown, "fresh seeds", "diamond", "@best", fresh=True),
        _means(shown),
    ]
    label = "Programs that were run more than once; each mark is one run."
    return Figure("noise", label, [it for it in traces if it["x"]], layout, 110 + 34 * len(shown))


def _name(program: Repeated) -> str:
    return "baseline" if program.child_id == BASELINE_ID else program.child_id


def _seeds(
    programs: Sequence[Repeated], name: str, symbol: str, colour: str, *, fresh: bool
) -> Trace:
    xs: list[float] = []
    ys: list[str] = []
    texts: list[str] = []
    for program in programs:
        for seed, value in enumerate(program.fresh if fresh else program.runs, start=1):
            xs.append(value)
            ys.append(_name(program))
            kind = "fresh seed" if fresh else "seed"
            texts.append(hover(f"{program.child_id} on {kind} {seed}: {short(value)}"))
    marker = {"symbol": symbol, "color": colour, "size": 10, "opacity": 0.85}
    return {
        "type": "scatter",
        "mode": "markers",
        "x": rounded(xs),
        "y": ys,
        "text": texts,
        "name": name,
        "marker": marker,
        "hoverinfo": "text",
    }


def _means(programs: Sequence[Repeated]) -> Trace:
    xs = [statistics.fmean(program.runs) for program in programs]
    texts = [
        hover(f"mean of {len(it.runs)}: {short(x)}") for it, x in zip(programs, xs, strict=True)
    ]
    marker = {"symbol": "line-ns-open", "color": "@ink", "size": 18, "line": {"width": 2}}
    return {
        "type": "scatter",
        "mode": "markers",
        "x": rounded(xs),
        "y": [_name(program) for program in programs],
        "text": texts,
        "name": "mean, seeds of the search",
        "marker": marker,
        "hoverinfo": "text",
    }


def changes(tallies: Sequence[Tally], direction: Direction, metric: str) -> Figure | None:
    """Return the chart of change against the parent, by kind; None if no child finished."""
    found = [(tally, tally.change) for tally in tallies if tally.change is not None]
    if not found:
        return None
    names = [tally.name for tally, _ in found]
    turned = [_turned(spread, direction) for _, spread in found]
    ends = [value for spread in turned for value in (spread.low, spread.high)]
    box: Trace = {
        "type": "box",
        "orientation": "h",
        "y": names,
        "lowerfence": rounded([spread.low for spread in turned]),
        "q1": rounded([spread.first for spread in turned]),
        "median": rounded([spread.median for spread in turned]),
        "q3": rounded([spread.third for spread in turned]),
        "upperfence": rounded([spread.high for spread in turned]),
        "line": {"color": "@accent"},
        "fillcolor": "@band",
        "hoverinfo": "x",
        "showlegend": False,
    }
    zero = {
        "type": "line",
        "x0": 0,
        "x1": 0,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"color": "@ink", "width": 1, "dash": "dot"},
    }
    side = "to the right" if direction is Direction.MAXIMIZE else "to the left"
    layout = {
        "xaxis": {
            "title": {"text": f"change of {metric}"},
            "range": _around(ends),
        },
        "yaxis": {"categoryorder": "array", "categoryarray": names[::-1], "automargin": True},
        "shapes": [zero],
    }
    label = f"Change of {metric} against the parent by kind of intervention; better is {side}."
    return Figure("changes", label, [box], layout, 110 + 42 * len(names))


def _turned(spread: Spread, direction: Direction) -> Spread:
    if direction is Direction.MAXIMIZE:
        return spread
    return Spread(-spread.high, -spread.third, -spread.median, -spread.first, -spread.low)


def _around(ends: Sequence[float]) -> list[float]:
    low, high = min([*ends, 0.0]), max([*ends, 0.0])
    margin = (high - low) * 0.06 or 1.0
    return [low - margin, high + margin]

"""The maps of the report: complexity by diversity, for each island and for all together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lae_controller.config import Settings
from lae_controller.program import Cell, Direction, Measures
from lae_controller.rows import complexity_text
from lae_controller.search.niche import Edges, RunningAxis, percentile
from lae_controller.views.report.figures import Figure, Trace, hover, rounded
from lae_controller.views.report.history import History
from lae_controller.views.summary import Placed
from lae_controller.views.text import short

_SCALE = [[0, "#3f5fa8"], [0.33, "#7a87a0"], [0.67, "#b5a97a"], [1, "#ffe945"]]
"""From blue to yellow, ever lighter, as cividis; its dark end can be told from a dark page."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What all maps of a run share.

    Attributes:
        scale: the ends of the colour scale.
        metric: its name.
        best: id of the best program of the run; empty if there is none.
    """

    bins: int
    edges: tuple[Edges, Edges]
    unit: str
    scale: tuple[float, float]
    metric: str
    direction: Direction
    best: str


def ground_of(
    history: History, everywhere: Sequence[Placed], settings: Settings, best: str
) -> Ground:
    """Return what the maps share; the edges are those under which the cells were last binned."""
    metrics = sorted(placed.elite.metric for placed in everywhere)
    low, high = (percentile(metrics, 0.05), percentile(metrics, 0.95)) if metrics else (0.0, 1.0)
    if settings.direction is Direction.MAXIMIZE:
        high = metrics[-1] if metrics else high
    else:
        low = metrics[0] if metrics else low
    unit = everywhere[0].elite.measures.unit if everywhere else "loc"
    edges = edges_of(measures_of(history))
    bins = settings.evolution.num_bins
    return Ground(bins, edges, unit, (low, high), settings.metric, settings.direction, best)


def measures_of(history: History) -> list[Measures]:
    """Return the measures that moved the edges: of all evaluated programs, the baseline once."""
    tried = [child.record.measures for child in history.tried]
    first = [child.record.measures for child in history.children if not child.number][:1]
    return [measures for measures in (*first, *tried) if measures is not None]


def edges_of(seen: Iterable[Measures]) -> tuple[Edges, Edges]:
    """Return the outer edges of both axes."""
    axes = (RunningAxis(), RunningAxis())
    for measures in seen:
        axes[0].add(measures.log_complexity)
        axes[1].add(measures.diversity)
    return axes[0].edges(), axes[1].edges()


def maps(everywhere: Sequence[Placed], ground: Ground, islands: int) -> list[Figure]:
    """Return the map of all islands together, and then one for each if there are several."""
    if any(placed.cell is None for placed in everywhere):
        return [_cloud(everywhere, ground)]
    together = best_of_each(everywhere, ground.best)
    found = [_map("map-all", "all islands together", together, ground, 460)]
    if islands > 1:
        for island in range(islands):
            alone = (placed for placed in everywhere if placed.island == island)
            mine = best_of_each(alone, ground.best)
            found.append(_map(f"map-{island}", f"island {island}", mine, ground, 290))
    return found


def best_of_each(placed: Iterable[Placed], best: str) -> dict[Cell, Placed]:
    """Return the elite of each cell with the best metric; the best of the run wherever it is.

    Args:
        placed: elites of one island or of several.
        best: id of the best of the run. On fewer seeds another may seem better.
    """

    def rank(it: Placed) -> tuple[bool, float]:
        return it.elite.child_id == best, it.elite.fitness

    cells: dict[Cell, Placed] = {}
    for it in placed:
        if it.cell is not None and (it.cell not in cells or rank(it) > rank(cells[it.cell])):
            cells[it.cell] = it
    return cells


def _map(key: str, name: str, cells: Mapping[Cell, Placed], ground: Ground, height: int) -> Figure:
    bins, large = ground.bins, key == "map-all"
    values: list[list[float | None]] = [[None] * bins for _ in range(bins)]
    texts = [[""] * bins for _ in range(bins)]
    for (column, row), placed in cells.items():
        values[row][column] = rounded([placed.elite.metric])[0]
        texts[row][column] = elite_text(placed)
    heat: Trace = {
        "type": "heatmap",
        "z": values,
        "text": texts,
        "hoverinfo": "text",
        "hoverongaps": False,
        "xgap": 3,
        "ygap": 3,
        **_colours(ground),
        "showscale": large and ground.scale[0] < ground.scale[1],
    }
    layout = {
        "title": {"text": f"{name}: {len(cells)} of {bins * bins} cells"},
        "xaxis": _axis("complexity", ground, 0, large=large),
        "yaxis": _axis("diversity", ground, 1, large=large),
        "showlegend": False,
    }
    best = [cell for cell, placed in cells.items() if placed.elite.child_id == ground.best]
    first = [cell for cell, placed in cells.items() if placed.elite.parent_id is None]
    marks = [
        _mark(best, "star", "best of the run", 15 if large else 11),
        _mark([cell for cell in first if cell not in best], "circle", "baseline", 10),
    ]
    hold = "holds" if len(cells) == 1 else "hold"
    label = f"Map of {name}: {len(cells)} of {bins * bins} cells {hold} a program."
    traces = [_grid(cells, bins), heat, *(mark for mark in marks if mark)]
    return Figure(key, label, traces, layout, height=height)


def _grid(cells: Mapping[Cell, Placed], bins: int) -> Trace:
    """Return what lies behind the map: every empty cell, and a rim around each that is held."""
    held = [[int((column, row) in cells) for column in range(bins)] for row in range(bins)]
    return {
        "type": "heatmap",
        "z": held,
        "zmin": 0,
        "zmax": 1,
        "colorscale": [[0, "@raised"], [1, "@muted"]],
        "xgap": 1,
        "ygap": 1,
        "showscale": False,
        "hoverinfo": "skip",
    }


def elite_text(placed: Placed) -> str:
    """Return an elite for a hover box."""
    elite = placed.elite
    runs = f", mean of {len(elite.runs)} runs" if len(elite.runs) > 1 else ""
    where = f"{_complexity(elite.measures.log_complexity, elite.measures.unit)}, "
    return hover(
        f"{elite.child_id}  {short(elite.metric)}{runs}",
        f"{where}diversity {elite.measures.diversity:.3f}",
        placed.summary or "the baseline",
    )


def _colours(ground: Ground) -> dict[str, Any]:
    low, high = ground.scale
    if low == high:  # nothing to compare with: the best there is
        far = abs(low) or 1.0
        low, high = (
            (low - far, high) if ground.direction is Direction.MAXIMIZE else (low, low + far)
        )
    return {
        "colorscale": _SCALE,
        "reversescale": ground.direction is Direction.MINIMIZE,
        "zmin": low,
        "zmax": high,
        "colorbar": {"title": {"text": ground.metric}, "thickness": 14, "outlinewidth": 0},
    }


def _mark(cells: Sequence[Cell], symbol: str, name: str, size: int) -> Trace | None:
    if not cells:
        return None
    marker = {
        "symbol": symbol,
        "size": size,
        "color": "#ffffff",
        "line": {"color": "#000000", "width": 1.5 if symbol == "star" else 3},
    }
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [cell[0] for cell in cells],
        "y": [cell[1] for cell in cells],
        "name": name,
        "marker": marker,
        "hoverinfo": "skip",
    }


def _axis(title: str, ground: Ground, which: int, *, large: bool) -> dict[str, Any]:
    """Return an axis whose ticks stand at the edges of bins and name their values."""
    edges, bins = ground.edges[which], ground.bins
    parts = 4 if large else 2
    if edges.low == edges.high:
        places = {0.0: edges.low}
    else:
        shares = [part / parts for part in range(parts + 1)]
        places = {
            share * bins - 0.5: edges.low + share * (edges.high - edges.low) for share in shares
        }
    words = [
        _complexity(value, ground.unit) if which == 0 else f"{value:.2g}"
        for value in places.values()
    ]
    unit = {"params": "parameters", "loc": "lines of code"}[ground.unit]
    name = f"{title} ({unit})" if which == 0 and large else title
    return {
        "title": {"text": name},
        "range": [-0.5, bins - 0.5],
        "tickvals": list(places),
        "ticktext": words,
        "constrain": "domain",
        "showgrid": False,
        "ticklabeloverflow": "allow",
        "zeroline": False,
    }


def _complexity(log_value: float, unit: str) -> str:
    return complexity_text(10**log_value, unit)


def _cloud(everywhere: Sequence[Placed], ground: Ground) -> Figure:
    """Return the archive of a tree, which has no cells: every program where it lies."""
    measures = [placed.elite.measures for placed in everywhere]
    colours = _colours(ground)
    marker = {
        "color": rounded([placed.elite.metric for placed in everywhere]),
        "colorscale": colours["colorscale"],
        "reversescale": colours["reversescale"],
        "cmin": colours["zmin"],
        "cmax": colours["zmax"],
        "colorbar": colours["colorbar"],
        "size": [15 if it.elite.child_id == ground.best else 9 for it in everywhere],
        "symbol": ["star" if it.elite.child_id == ground.best else "circle" for it in everywhere],
        "line": {"color": "@ink", "width": 1},
    }
    trace: Trace = {
        "type": "scatter",
        "mode": "markers",
        "x": rounded([10**it.log_complexity for it in measures]),
        "y": rounded([it.diversity for it in measures]),
        "text": [elite_text(placed) for placed in everywhere],
        "hoverinfo": "text",
        "marker": marker,
        "showlegend": False,
    }
    unit = {"params": "parameters", "loc": "lines of code"}[ground.unit]
    layout = {
        "xaxis": {"title": {"text": f"complexity ({unit})"}, "type": "log"},
        "yaxis": {"title": {"text": "diversity"}},
    }
    label = f"The {len(everywhere)} programs of the archive, by complexity and diversity."
    return Figure("map-all", label, [trace], layout, height=460)

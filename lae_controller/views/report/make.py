"""The report as one HTML text: what the other modules found, put into the page."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lae_controller import __version__
from lae_controller.errors import PrerequisiteError
from lae_controller.parts import Core
from lae_controller.program import is_baseline
from lae_controller.views.report import costs, facts, tallies
from lae_controller.views.report.figures import Figure
from lae_controller.views.report.history import History, read_history
from lae_controller.views.report.lineage import diff_of, line_of, steps_of
from lae_controller.views.report.listing import listing
from lae_controller.views.report.maps import ground_of, maps
from lae_controller.views.report.progress import lineage, progress
from lae_controller.views.report.spreads import changes, noise, repeated
from lae_controller.views.summary import Placed, placed_all, summarise

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_PAGE = Path(__file__).parent / "page"
_FOLDERS = (_PAGE, Path(__file__).parents[1] / "dashboard" / "page")
_MOST_ELITES = 200
_MOST_GAINS = 200


@dataclass(frozen=True, slots=True)
class Sections:
    """Everything that is shown of a run, as the report and the dashboard have it.

    Attributes:
        html: header and sections, without the page around them; it holds no script and no style.
        data: what the page's script draws, as plain data.
    """

    html: str
    data: dict[str, Any]
    title: str


@dataclass(frozen=True, slots=True)
class Report:
    """One report.

    Attributes:
        html: the whole page; it loads nothing.
        standing: whether the run goes on (see ``facts.Standing``).
    """

    html: str
    children: int
    standing: str


def report(core: Core, now: str) -> Report:
    """Make the report of a run that lies on disk, going on or not.

    Args:
        core: the run, its state still empty (see ``build.unread``).
        now: the time it is made, as it is to be shown.

    Raises:
        PrerequisiteError: if what the page is made with is not installed.
    """
    script = plotly_text()
    history = read_history(core)
    standing = facts.standing(core.settings, history)
    made = sections(core, history, now, standing, core.settings.root.name)
    html = render(
        "page.html.j2",
        title=made.title,
        sections=made.html,
        data=embedded(made.data),
        plotly=script,
        style=page_text("style.css"),
        script=page_text("script.js"),
    )
    return Report(html, len(history.tried), standing.word)


def sections(
    core: Core,
    history: History,
    now: str,
    standing: facts.Standing,
    name: str,
    *,
    live: bool = False,
) -> Sections:
    """Return what is shown of a run.

    Args:
        core: the run.
        history: its journal (see ``read_history``), from which its state comes as well.
        now: the time, as it is to be shown.
        standing: whether the run goes on.
        name: of the project.
        live: whether it is for the dashboard, where programs can be opened and data come in.
    """
    page = content(core, history)
    figures: list[Figure] = page["figures"]
    data = {
        "figures": {figure.key: figure.to_json() for figure in figures},
        "children": page.pop("children"),
        "metric": core.settings.metric,
    }
    title = f"{core.settings.metric} of {name}"
    html = render(
        "sections.html.j2",
        **page,
        figure={figure.key: figure for figure in figures},
        title=title,
        now=now,
        standing=standing,
        live=live,
    )
    return Sections(html, data, title)


def content(core: Core, history: History) -> dict[str, Any]:
    """Return everything that the page shows, by the names that the template uses."""
    settings, baseline, state = core.settings, core.prepared.baseline, history.state
    summary = summarise(settings, baseline, state)
    everywhere = placed_all(settings, state)
    by_id = history.by_id
    best = summary.best.elite.child_id if summary.best else ""
    fitness = summary.best.elite.fitness if summary.best else math.inf
    kinds = tallies.interventions(by_id, history.bests, settings.direction)
    repeats = repeated(state, baseline.metrics, settings.direction)
    line = line_of(best, by_id)
    ground = ground_of(history, everywhere, settings, best)
    figures = [progress(history, settings, baseline)]
    figures += maps(everywhere, ground, settings.evolution.num_islands)
    figures += [lineage(line, by_id, settings)] if len(line) > 1 else []
    more = (changes(kinds, settings.direction, settings.metric), noise(repeats, settings.metric))
    figures += [figure for figure in more if figure is not None]
    return {
        "settings": settings,
        "baseline": baseline,
        "summary": summary,
        "history": history,
        "headline": facts.headline(summary, baseline, settings),
        "held_out": facts.held_out(summary, baseline, settings),
        "cards": facts.cards(summary, baseline, settings, history),
        "figures": figures,
        "maps": [figure for figure in figures if figure.key.startswith("map-")],
        "outshone": any(it.elite.fitness > fitness for it in everywhere),
        "elites": elites(everywhere)[:_MOST_ELITES],
        "steps": steps_of(core, line, by_id) if len(line) > 1 else [],
        "whole": diff_of(core, best, line[0].record.child_id) if len(line) > 2 else None,
        "kinds": kinds,
        "operators": tallies.operators(by_id, history.bests, settings.direction),
        "noise": facts.noise_sentences(summary, history),
        "repeats": repeats,
        "claims": [(child, pairs) for child, pairs in state.claims.items()],
        "failures": tallies.failures(history.tried),
        "meanings": tallies.MEANINGS,
        "ledger": costs.lines(history),
        "gains": costs.gains(history.bests, history.baseline)[-_MOST_GAINS:],
        "num_gains": sum(step.accepted for step in history.bests),
        "settings_table": facts.settings_table(settings, baseline, summary),
        "machine_table": facts.machine_table(settings, history, __version__),
        "children": listing(_listed(history), by_id, settings.direction),
    }


def _listed(history: History) -> list[Any]:
    """Return every child, and the baseline once."""
    first = history.children[0].record.child_id if history.children else ""
    return [
        child
        for child in history.children
        if child.record.child_id == first or not is_baseline(child.record.child_id)
    ]


def elites(everywhere: Sequence[Placed]) -> list[tuple[Placed, list[int]]]:
    """Return the programs of the maps, best first, each with the islands where it stands."""
    islands: dict[str, list[int]] = {}
    first: dict[str, Placed] = {}
    for placed in sorted(everywhere, key=lambda it: (-it.elite.fitness, it.island)):
        elite = placed.elite
        key = "" if elite.parent_id is None else elite.child_id
        islands.setdefault(key, []).append(placed.island)
        first.setdefault(key, placed)
    return [(placed, islands[key]) for key, placed in first.items()]


def embedded(data: Any) -> str:
    """Return JSON that can stand inside a script element, whatever texts it holds.

    Line and paragraph separators (U+2028, U+2029) are escaped by ``ensure_ascii``.
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


@cache
def plotly_text() -> str:
    """Return the text of plotly.js.

    Raises:
        PrerequisiteError: if plotly, or what fills the page, is not installed.
    """
    try:
        import jinja2  # noqa: F401 - asked for here, so that nothing is made in vain
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise PrerequisiteError(
            f"report: {error.name} is not installed; expected the extra `report`. "
            "`pip install 'lae-controller[report]'` installs it"
        ) from None
    text: str = get_plotlyjs()
    return text


def code(text: str) -> Markup:
    """Return text in which what stands between backquotes is shown as something to type."""
    from markupsafe import Markup, escape

    parts = str(escape(text)).split("`")
    if len(parts) % 2 == 0:  # one that is not closed belongs to the text
        return escape(text)
    words = [f"<code>{part}</code>" if place % 2 else part for place, part in enumerate(parts)]
    return Markup("".join(words))


def render(template: str, **values: Any) -> str:
    """Return a template, filled in.

    Raises:
        PrerequisiteError: if what fills it is not installed.
    """
    plotly_text()
    text: str = _environment().get_template(template).render(**values)
    return text


def page_text(name: str) -> str:
    """Return one of the files that belong to the page."""
    return (_PAGE / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from lae_controller.views import text

    environment = Environment(
        loader=FileSystemLoader(_FOLDERS),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = {
        "short": text.short,
        "signed": text.signed,
        "seconds": text.seconds_text,
        "clock": text.clock,
        "count": text.count_text,
        "money": facts.money,
        "where": text.where_text,
        "when": facts.when,
        "code": code,
    }
    environment.filters.update(filters)
    return environment

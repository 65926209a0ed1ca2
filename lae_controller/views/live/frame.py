"""One picture of a run under way, as a value: made by the controller's thread, drawn by another."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lae_controller.budget import Budget
from lae_controller.config import Settings
from lae_controller.evaluators.baseline import Baseline
from lae_controller.program import Cell, Status
from lae_controller.rows import HistoryRow
from lae_controller.state import RunState
from lae_controller.views.summary import Summary, summarise
from lae_controller.views.text import clock, printable, short, signed, usage_text

MOST_BINS = 10
"""So many rows and columns of the map are drawn; cells of a finer one are taken together."""


@dataclass(frozen=True, slots=True)
class SlotLine:
    """What runs in one slot.

    Attributes:
        stage: ``smoke``, ``full``, or the name of a further run; empty while it is not known.
        seconds: since this stage began.
        expected: what the baseline took for it; None if that says nothing.
    """

    child_id: str
    stage: str
    seconds: float
    expected: float | None


@dataclass(frozen=True, slots=True)
class Latest:
    """How one child ended: ``kept``, ``not kept``, ``smoke dropped``, or a reason.

    Attributes:
        metric: of its full runs, or of its smoke run if that dropped it; None if it gave none.
    """

    child_id: str
    metric: float | None
    outcome: str
    kind: str
    summary: str


@dataclass(frozen=True, slots=True)
class Spend:
    """What was spent of a total budget.

    Attributes:
        share: in [0, 1].
        text: the same in words.
        left: seconds until it is spent, roughly; None while that cannot be told.
        model: tokens and money; empty where no model was asked.
    """

    share: float
    text: str
    left: float | None
    model: str


@dataclass(frozen=True, slots=True)
class Picture:
    """What a run has come to, for the terminal; changes only when a child is told.

    Attributes:
        best: metric and spread of the best so far; None before the baseline is told.
        gain: of the best over the baseline; empty while that is the best.
        change: who the best is, and what it changed.
        cells: fitness of the best program of each cell, all islands taken together.
        bins: rows and columns of ``cells``.
        coverage: cells held and cells in all, over all islands.
        islands: cells held by each island.
    """

    progress: str
    best: str | None
    gain: str
    change: str
    children: str
    cells: Mapping[Cell, float]
    bins: int
    coverage: tuple[int, int]
    islands: tuple[int, ...]
    latest: tuple[Latest, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """Everything that the terminal shows at one moment.

    Attributes:
        elapsed: active seconds of the run, over all sessions.
        capacity: how many slots are in use.
        proposing, ready: children that wait for their Mutator, and for a slot.
        picture: None while the baseline is measured.
    """

    title: str
    elapsed: float
    slots: tuple[SlotLine, ...] = ()
    capacity: int = 0
    proposing: int = 0
    ready: int = 0
    picture: Picture | None = None
    spend: Spend | None = None


def picture_of(settings: Settings, baseline: Baseline, state: RunState, lines: int) -> Picture:
    """Return what the run has come to, with the last ``lines`` children told."""
    summary = summarise(settings, baseline, state)
    bins = settings.evolution.num_bins
    held, cells = map(sum, zip(*summary.coverage, strict=True))
    counted = ", ".join(f"{count} {word}" for word, count in summary.statuses)
    told = f"{summary.children}: {counted}; {summary.kept} kept" if counted else "none told yet"
    return Picture(
        progress=_progress(summary),
        best=best_text(summary),
        gain=_gain(summary),
        change=_change(summary),
        children=told,
        cells=union_cells(summary, bins),
        bins=-(-bins // _merged(bins)),
        coverage=(held, cells),
        islands=tuple(count for count, _ in summary.coverage),
        latest=tuple(latest(state, lines)),
    )


def _gain(summary: Summary) -> str:
    if summary.best is None or summary.best.elite.parent_id is None:
        return ""
    return signed(summary.best.gain)


def _change(summary: Summary) -> str:
    best = summary.best
    what = f"{best.elite.child_id}  {best.summary or 'the baseline'}" if best else ""
    return printable(what)


def _progress(summary: Summary) -> str:
    planned = f"/{summary.num_generations}" if summary.num_generations else ""
    return f"gen {summary.gen}{planned}, {summary.mode}"


def best_text(summary: Summary) -> str | None:
    """Return the best metric with its spread: of its own runs, or else of one run of any."""
    if summary.best is None:
        return None
    elite = summary.best.elite
    runs, metric = len(elite.runs), short(elite.metric)
    if runs > 1:
        spread = statistics.stdev(elite.runs)
        return f"{metric} ± {spread:.3g} over {runs} runs" if spread else f"{metric}, {runs} runs"
    if summary.noise.sigma:
        return f"{metric} ± {summary.noise.sigma:.3g}, one run"
    return f"{metric}, one run"


def union_cells(summary: Summary, bins: int) -> dict[Cell, float]:
    """Return the best fitness of each cell over all islands; neighbours together in a fine map."""
    width = _merged(bins)
    cells: dict[Cell, float] = {}
    for placed in summary.placed:
        if placed.cell is not None:
            cell = (placed.cell[0] // width, placed.cell[1] // width)
            cells[cell] = max(cells.get(cell, placed.elite.fitness), placed.elite.fitness)
    return cells


def _merged(bins: int) -> int:
    """Return how many rows of the map are drawn as one."""
    return -(-bins // MOST_BINS)


def latest(state: RunState, lines: int) -> Iterator[Latest]:
    """Yield how the last children ended, the newest first."""
    for row in state.rows[: -lines - 1 : -1]:
        if row.parent_id is not None:
            yield _latest(row, state)


def _latest(row: HistoryRow, state: RunState) -> Latest:
    known = (it for it in state.tried(row.parent_id or "") if it.child_id == row.child_id)
    tried = next(known, None)
    outcome = tried.outcome if tried else row.status
    kind = tried.intervention.value if tried else ""
    summary = printable(state.told[row.child_id].summary)
    metric = row.smoke_metric if outcome == Status.SMOKE_DROPPED.value else row.full_metric
    return Latest(row.child_id, metric, outcome.replace("_", " "), kind, summary)


def spend_of(settings: Settings, budget: Budget, state: RunState, elapsed: float) -> Spend:
    """Return what was spent and what is left, by the pace of the run so far."""
    total, reserve = settings.total_budget, budget.reserve
    left = time_left(budget, state, elapsed)
    model = usage_text(state.usage, settings.mutator.max_cost_usd)
    if total.runs is None:
        share, text = elapsed / (total.seconds or 1.0), f"of {clock(total.seconds or 0.0)}"
        kept = clock(reserve)
    else:
        share, text = state.spent / total.runs, f"{state.spent:.1f} of {total.runs} runs"
        kept = f"{reserve:g}"
    text += f", {kept} kept back" if reserve else ""
    return Spend(min(1.0, share), text, left, model)


def time_left(budget: Budget, state: RunState, elapsed: float) -> float | None:
    """Return the seconds until the total budget is spent, by the pace since the baseline.

    None before there is a pace, for a budget of runs.
    """
    total, baseline = budget.settings.total_budget, budget.baseline
    if total.runs is None:
        return max(0.0, (total.seconds or 0.0) - elapsed)
    runs, seconds = state.spent - baseline.charge, elapsed - baseline.seconds
    if runs <= 0 or seconds <= 0:
        return None
    return max(0.0, total.runs - state.spent) * seconds / runs


def slot_lines(
    running: Sequence[str],
    stages: Mapping[str, str],
    since: Mapping[str, float],
    now: float,
    baseline: Baseline,
) -> tuple[SlotLine, ...]:
    """Return what runs in the slots.

    Args:
        running: attempts that hold a slot.
        stages: attempt -> its stage, as far as it is known.
        since: attempt -> when that stage began, on the clock of ``now``.
        now: seconds.
        baseline: for what a stage takes.
    """
    return tuple(
        SlotLine(
            attempt.rpartition(".")[0] or attempt,
            stages.get(attempt, ""),
            now - since.get(attempt, now),
            _expected(stages.get(attempt, ""), baseline),
        )
        for attempt in running
    )


def _expected(stage: str, baseline: Baseline) -> float | None:
    seconds = baseline.smoke_seconds if stage == "smoke" else baseline.full_seconds
    return seconds if stage and seconds > 0 else None

"""``leaderboard.md`` and the closing words of a run, from one summary."""

from __future__ import annotations

import statistics

from lae_controller.config import Settings
from lae_controller.evaluators.baseline import Baseline
from lae_controller.noise import Claim
from lae_controller.program import Cell
from lae_controller.rows import cell_text
from lae_controller.views.held_out import held_out
from lae_controller.views.summary import Placed, Summary
from lae_controller.views.text import (
    ascii_map,
    gain_text,
    plural,
    seconds_text,
    short,
    signed,
    table,
    where_text,
)

_ROWS = 20


def status_line(summary: Summary) -> str:
    """Return the one line that is printed after each generation."""
    planned = f"/{summary.num_generations}" if summary.num_generations else ""
    cells = sum(held for held, _ in summary.coverage)
    parts = [f"gen {summary.gen}{planned}", f"best {_best(summary)}"]
    parts.append(f"cells {cells}")
    parts.append(f"kept {summary.kept}/{summary.children}")
    parts.append(f"spent {_spent(summary)}")
    parts.append(summary.mode)
    return "  ".join(parts)


def _best(summary: Summary) -> str:
    best = summary.best
    if best is None:
        return "-"
    return f"{short(best.elite.metric)} ({best.elite.child_id} {signed(best.gain)})"


def _spent(summary: Summary) -> str:
    if summary.total is None:
        return f"{summary.spent:.1f} runs in {seconds_text(summary.elapsed)}"
    return f"{summary.spent:.1f}/{summary.total}"


def leaderboard(summary: Summary, baseline: Baseline, settings: Settings) -> str:
    """Return the text of ``leaderboard.md``."""
    lines = [f"# Leaderboard: {settings.metric} ({settings.direction.value})", ""]
    lines += _headline(summary, baseline, settings)
    lines += _held_out(summary, baseline, settings)
    lines += ["", "## Coverage", "", *_coverage(summary)]
    lines += ["", "## Archive", "", *_archive(summary)]
    lines += ["", "## Diverse runners-up", "", *_runners_up(summary)]
    lines += _front(summary, settings)
    lines += _suspects(summary)
    lines += ["", "## Map of all islands", "", "```", *union_map(summary, settings), "```"]
    lines += ["", "## Spend", "", *_spend(summary), ""]
    return "\n".join(lines)


def synthesis(summary: Summary, baseline: Baseline, settings: Settings) -> str:
    """Return the report that ends a run, for a terminal."""
    lines = _headline(summary, baseline, settings)
    lines += _held_out(summary, baseline, settings)
    lines += ["", "Best of each island:", *_island_lines(summary)]
    lines += ["", "Diverse runners-up:", *_runners_up(summary)]
    lines += _suspects(summary)
    lines += ["", "Map of all islands:", *union_map(summary, settings)]
    lines += ["", *_spend(summary)]
    best = summary.best
    if best is not None and best.elite.parent_id is not None:
        lines += ["", f"`lae diff {best.elite.child_id}` shows the change, "]
        lines[-1] += f"`lae export {best.elite.child_id} -o best.patch` writes it for `git apply`."
    return "\n".join(lines)


def _headline(summary: Summary, baseline: Baseline, settings: Settings) -> list[str]:
    best = summary.best
    noise = _noise(baseline, seeded=summary.seeded)
    start = f"Baseline: {short(baseline.metric)} ({noise})."
    if best is None:
        return [start]
    if best.elite.parent_id is None:
        return [start, "No child is better than the baseline so far."]
    runs = max(1, len(best.elite.runs))
    return [
        f"Global best: **{short(best.elite.metric)}** by {best.elite.child_id} "
        f"({signed(best.gain)} against the baseline, {plural(runs, 'run')}): "
        f"{best.summary}",
        *verdict(summary),
        f"Its program: `{settings.sandbox_root}/lae/programs/{best.elite.child_id}`",
        start,
    ]


def _held_out(summary: Summary, baseline: Baseline, settings: Settings) -> list[str]:
    """Return what the held-out test says, beside what was searched on; nothing without one."""
    if summary.best is None or summary.tested is None:
        return []
    test, trouble = summary.tested
    search = (baseline.metric, summary.best.elite.metric)
    lines = held_out(settings.metric, settings.direction, search, test, trouble)
    return ["", "Held-out test, read once:", "", *lines]


def verdict(summary: Summary) -> list[str]:
    """Say how far the gain of the best program can be believed."""
    noise = summary.noise
    if summary.claim is not None:
        return [_claimed(summary.claim)]
    if summary.by_clients:
        return ["Each score is one evaluation by a client: a small gain may be luck."]
    if noise.sigma is None:
        return ["Noise was not measured (confirm.baseline_runs is 1): the gain may be luck."]
    if noise.is_real:
        return ["Not confirmed on fresh seeds yet: the gain may still be luck."]
    if not summary.seeded:
        return ["Its spread over seeds was not measured: the project takes no seed (seed_key)."]
    return []


def _claimed(found: Claim) -> str:
    size = f"{gain_text(found.gain, found.error)} on {plural(found.pairs, 'fresh seed')}"
    word = "Confirmed" if found.holds else "No improvement beyond noise"
    return f"{word}: {size} that the search never saw."


def _noise(baseline: Baseline, *, seeded: bool) -> str:
    if baseline.spread is None:
        return "one run; noise not measured"
    runs = f"{len(baseline.metrics)} runs"
    if baseline.spread == 0.0 and baseline.varies:
        return f"{runs} that tie and yet differ: what the metric does not show may be luck"
    if baseline.spread == 0.0:
        return f"{runs}, no spread" + (": deterministic" if seeded else ", no seed to vary")
    return f"mean of {runs}, spread {baseline.spread:.3g}; less may be luck"


def _coverage(summary: Summary) -> list[str]:
    rows = [
        [str(island), f"{held}/{cells}", short(best.elite.metric), best.elite.child_id]
        for island, ((held, cells), best) in enumerate(
            zip(summary.coverage, summary.island_best, strict=True)
        )
    ]
    return table(["island", "cells", "best", "by"], rows)


def _archive(summary: Summary) -> list[str]:
    rows = [
        _row(rank, placed, summary) for rank, placed in enumerate(summary.placed[:_ROWS], start=1)
    ]
    lines = table(["rank", "metric", "n", "±", "child", "island", "cell", "where", "change"], rows)
    rest = len(summary.placed) - _ROWS
    return [*lines, "", f"… and {rest} more in archive.tsv."] if rest > 0 else lines


def _row(rank: int, placed: Placed, summary: Summary) -> list[str]:
    elite = placed.elite
    change = (placed.summary or "the baseline").replace("|", "/")[:80]
    if placed.warnings:
        change += f" [{'; '.join(placed.warnings)}]"
    return [
        str(rank),
        short(elite.metric),
        str(max(1, len(elite.runs))),
        _spread(summary.runs.get(elite.child_id, ())),
        elite.child_id,
        str(placed.island),
        cell_text(placed.cell),
        where_text(elite),
        change,
    ]


def _spread(runs: tuple[float, ...]) -> str:
    return short(statistics.stdev(runs)) if len(runs) > 1 else "-"


def _island_lines(summary: Summary) -> list[str]:
    return [
        f"  {island}: {short(best.elite.metric):>9}  {best.elite.child_id:<12} "
        f"{held} cells  {best.summary or 'the baseline'}"
        for island, ((held, _), best) in enumerate(
            zip(summary.coverage, summary.island_best, strict=True)
        )
    ]


def _runners_up(summary: Summary) -> list[str]:
    if not summary.runners_up:
        return ["None yet."]
    return [
        f"- {placed.elite.child_id}: {short(placed.elite.metric)} in {cell_text(placed.cell)}, "
        f"{where_text(placed.elite)}: {placed.summary}"
        for placed in summary.runners_up
    ]


def _front(summary: Summary, settings: Settings) -> list[str]:
    """Return the Pareto front, as a section; nothing if there is one metric."""
    if not settings.metrics:
        return []
    names = [further.name for further in settings.metrics]
    directions = ", ".join(f"{it.name} ({it.direction.value})" for it in settings.metrics)
    rows = [
        [short(elite.metric), *(short(elite.metrics[name]) for name in names), elite.child_id, what]
        for elite, what in ((it, text or "the baseline") for it, text in summary.front[:_ROWS])
    ]
    lines = ["", "## Pareto front", "", f"Beside {settings.metric}: {directions}.", ""]
    return [*lines, *table(["metric", *names, "child", "change"], rows)]


def union_map(summary: Summary, settings: Settings) -> list[str]:
    """Draw the best fitness of each cell over all islands."""
    cells: dict[Cell, float] = {}
    for placed in summary.placed:
        if placed.cell is None:
            return ["With algorithm puct there are no cells to draw."]
        cells[placed.cell] = max(cells.get(placed.cell, placed.elite.fitness), placed.elite.fitness)
    lines = ascii_map(cells, settings.evolution.num_bins)
    return [*lines, "   complexity to the right, diversity upwards; * best, 9 good, 1 poor"]


def _spend(summary: Summary) -> list[str]:
    total = f" of {summary.total}" if summary.total is not None else ""
    reserve = f"; {summary.reserve:g} kept in reserve" if summary.reserve else ""
    statuses = ", ".join(f"{count} {word}" for word, count in summary.statuses) or "no child yet"
    lines = [
        f"{summary.spent:.1f}{total} full runs spent{reserve}, "
        f"{seconds_text(summary.elapsed)} of active time.",
        f"{summary.children} children: {statuses}; {summary.kept} kept.",
    ]
    if summary.cut:
        lines.append(f"{summary.cut} full runs were ended early: their curve could not catch up.")
    if summary.reasons:
        failed = ", ".join(f"{count} {word}" for word, count in summary.reasons)
        lines.append(f"Failures by reason: {failed}.")
    lines += [f"Isolation: {_TIERS[tier]} ({count} children)." for tier, count in summary.tiers]
    if summary.forced:
        names = ", ".join(summary.forced)
        lines.append(f"A refusal of `lae check` was overruled with --force: {names}.")
    return lines


_TIERS = {
    "bwrap": "bubblewrap; the child stood where the project stands",
    "landlock": "Landlock; reads and the network are open",
    "seatbelt": "sandbox-exec",
    "none": "none; children could read and write whatever this user can",
}


def _suspects(summary: Summary) -> list[str]:
    """Return the children that are held back, as a section; nothing if there are none."""
    if not summary.suspects:
        return []
    lines = [f"- {child}: {short(metric)}: {why}" for child, metric, why in summary.suspects]
    return ["", "## Suspect, not placed (`lae accept ID` places one)", "", *lines]

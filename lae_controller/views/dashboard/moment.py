"""What runs at this moment, from the files of a run: for who looks on from another process."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from lae_controller.budget import Budget
from lae_controller.lock import holder
from lae_controller.parts import Core
from lae_controller.results import path_of
from lae_controller.sandbox.launch import is_worked_in
from lae_controller.views.live.frame import Frame, Picture, picture_of, slot_lines, spend_of

LATEST = 12
"""So many of the last children are listed."""


@dataclass(frozen=True, slots=True)
class Running:
    """A training run under way.

    Attributes:
        since: when it began, in seconds since the epoch.
    """

    child_id: str
    stage: str
    since: float


def running(lae_dir: Path) -> list[Running]:
    """Return the training runs under way in a sandbox, whoever started them."""
    return [found for folder in _folders(lae_dir / "runs") for found in _runs_of(Path(folder))]


def _runs_of(child: Path) -> Iterable[Running]:
    for folder in map(Path, _folders(child)):
        try:
            since = folder.stat().st_mtime
            if is_worked_in(folder):
                yield Running(child.name, folder.name, since)
        except OSError:  # gone between two looks
            continue


def _folders(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.path for entry in entries if entry.is_dir())
    except OSError:
        return []


def picture(core: Core) -> Picture | None:
    """Return what a run has come to; None before its baseline is told on every island."""
    islands = range(core.settings.evolution.num_islands)
    if not all(core.state.search.elites(island) for island in islands):
        return None
    return picture_of(core.settings, core.prepared.baseline, core.state, LATEST)


def frame(core: Core, seen: Picture | None, now: float, *, held: bool) -> Frame:
    """Return everything that is shown of this moment.

    Args:
        core: the run, its state as of the last look at the journal.
        seen: what ``picture`` gave for that state.
        now: seconds since the epoch.
        held: whether a controller works on it.
    """
    settings, baseline, state = core.settings, core.prepared.baseline, core.state
    under_way = running(settings.lae_dir)
    busy = {it.child_id for it in under_way}
    waiting = [
        child
        for child in (state.asked if held else ())
        if child not in busy and not path_of(settings.lae_dir, child).exists()
    ]
    ready = sum(
        (settings.lae_dir / "tasks" / child / "mutation.json").exists() for child in waiting
    )
    elapsed = state.elapsed + (_since_last(core, now) if held else 0.0)
    budget = Budget(settings, baseline, baseline.plan(settings).smoke_charge)
    spend = spend_of(settings, budget, state, elapsed)
    return Frame(
        title="",
        elapsed=elapsed,
        slots=slot_lines(
            [it.child_id for it in under_way],
            {it.child_id: it.stage for it in under_way},
            {it.child_id: it.since for it in under_way},
            now,
            baseline,
        ),
        capacity=state.concurrency or 1,
        proposing=len(waiting) - ready,
        ready=ready,
        picture=seen,
        spend=spend if held else replace(spend, left=None),
    )


def _since_last(core: Core, now: float) -> float:
    """Return the seconds since the latest event, or since the session began if that is later."""
    began = float(holder(core.settings.lae_dir).get("since", 0.0))
    try:
        latest = core.ledger.journal.stat().st_mtime
    except OSError:
        latest = now
    return max(0.0, now - max(began, latest))

"""From the files of a run back to its state; the same code serves a fresh run."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from lae_controller import results
from lae_controller.codec import encode
from lae_controller.config import Settings
from lae_controller.errors import LedgerError
from lae_controller.evaluators.baseline import BASELINE_ID, Baseline
from lae_controller.ledger import Event, Ledger
from lae_controller.noise import mean_of
from lae_controller.program import (
    Cell,
    Elite,
    Intervention,
    Measures,
    Reason,
    Record,
    Status,
    is_baseline,
    sort_key,
)
from lae_controller.rows import (
    ArchiveRow,
    HistoryRow,
    archive_bytes,
    complexity_text,
    history_bytes,
    parse_complexity,
)
from lae_controller.search import Search
from lae_controller.state import RunState


def load_state(
    settings: Settings, ledger: Ledger, search: Search, baseline: Baseline, *, mend: bool
) -> RunState:
    """Return the state that the ledgers describe.

    Args:
        mend: whether this process holds the lock and may repair torn files and stale views.

    Raises:
        LedgerError: if a ledger is damaged beyond a torn last line.
    """
    with _without_collections():
        events: Iterable[Event] | None = ledger.events(mend=mend)
        if events is None:
            rows = ledger.read_history(mend=mend)
            elites = ledger.read_archive(mend=mend)
            events = restored = _from_views(settings, rows or [], elites or [], baseline)
            if restored and mend:
                ledger.append(restored)
        state = fold(ledger, search, events)
    _check_views(settings, ledger, state, mend=mend)
    return state


@contextmanager
def _without_collections() -> Iterator[None]:
    """Put off the search for cycles while much is made that stays: it would find none of them."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def _check_views(settings: Settings, ledger: Ledger, state: RunState, *, mend: bool) -> None:
    """Compare the views with the state, and rebuild them if they differ.

    A view that differs is read first: what is neither torn nor stale but does not parse at all
    is for a person to look at.

    Raises:
        LedgerError: if a view does not parse.
    """
    archive = archive_rows(state.search, settings.evolution.num_islands)
    history_text, archive_text = history_bytes(state.rows), archive_bytes(archive)
    if not ledger.holds(ledger.history, history_text):
        ledger.read_history(mend=mend)
    if not ledger.holds(ledger.archive, archive_text):
        ledger.read_archive(mend=mend)
    if mend and state.rows:
        ledger.mend_view(ledger.history, history_text, f"{len(state.rows)} rows")
        ledger.mend_view(ledger.archive, archive_text, f"{len(archive)} elites")


def fold(ledger: Ledger, search: Search, events: Iterable[Event]) -> RunState:
    """Apply all events to a fresh state.

    Raises:
        LedgerError: naming the line of an event that this version does not understand.
    """
    state = RunState(search)
    for number, event in enumerate(events, start=1):
        try:
            state.apply(event)
        except (KeyError, ValueError, TypeError, IndexError) as error:
            raise LedgerError(
                f"{ledger.journal}:{number}: the event {event.get('event')!r} cannot be applied "
                f"({type(error).__name__}: {error}). Nothing was overwritten; was it written by "
                "another version, or edited by hand?"
            ) from error
    return state


def archive_rows(search: Search, num_islands: int) -> list[ArchiveRow]:
    """Return the current elites, island by island, as ``archive.tsv`` shows them."""
    return [
        ArchiveRow(
            island=island,
            cell=cell,
            metric=elite.metric,
            child_id=elite.child_id,
            parent_id=elite.parent_id,
            sandbox_path=f"lae/programs/{elite.child_id}",
            complexity=complexity_text(elite.measures.complexity, elite.measures.unit),
            diversity=elite.measures.diversity,
        )
        for island in range(num_islands)
        for cell, elite in search.elites(island)
    ]


class ArchiveView:
    """Keeps ``archive.tsv`` as the archives are; most children change nothing there."""

    def __init__(self, ledger: Ledger, num_islands: int) -> None:
        self._ledger = ledger
        self._islands = num_islands
        self._shown: list[tuple[int, Cell | None, Elite]] | None = None

    def show(self, search: Search) -> None:
        """Write the current elites, unless they are those that were written last."""
        islands = range(self._islands)
        held = [(island, *found) for island in islands for found in search.elites(island)]
        if held != self._shown:
            self._ledger.write_archive(archive_rows(search, self._islands))
            self._shown = held


# -- a run without a journal ---------------------------------------------------------------------


def _from_views(
    settings: Settings, rows: list[HistoryRow], elites: list[ArchiveRow], baseline: Baseline
) -> list[Event]:
    """Return the events that stand for what ``history.tsv`` and ``archive.tsv`` hold."""
    if not rows:
        return []
    told = {row.child_id: results.read(settings.lae_dir, row.child_id) for row in rows}
    placed = {elite.child_id: _measures(elite, told.get(elite.child_id)) for elite in elites}
    children = [_child(row, told[row.child_id], settings, baseline, placed) for row in rows]
    gen = max(row.gen for row in rows)
    asked = [row for row in rows if row.gen > 0]
    baseline_measures = next(
        (m for child, m in placed.items() if child == BASELINE_ID), _baseline_measures(baseline)
    )
    seen = [m for child, m in placed.items() if not is_baseline(child)]
    return [
        {
            "event": "restored",
            "children": children,
            "archives": _archives(elites, placed, settings),
            "seen": encode([baseline_measures, *seen]),
            "gen": gen,
            "gen_size": sum(1 for row in rows if row.gen == gen),
            "ordinal": len(asked),
        }
    ]


def _baseline_measures(baseline: Baseline) -> Measures:
    unit = "loc" if baseline.params is None else "params"
    return Measures(float(baseline.params or 1), unit, 0.0)


def _measures(elite: ArchiveRow, result: results.Result | None) -> Measures:
    value, unit = parse_complexity(elite.complexity)
    exact = result.evaluation.params if result else None
    return Measures(float(exact) if unit == "params" and exact else value, unit, elite.diversity)


def _archives(
    elites: list[ArchiveRow], placed: dict[str, Measures], settings: Settings
) -> list[Any]:
    islands: list[list[Any]] = [[] for _ in range(settings.evolution.num_islands)]
    for row in sorted(elites, key=lambda row: sort_key(row.child_id)):
        fitness = settings.direction.fitness(row.metric)
        result = results.read(settings.lae_dir, row.child_id)
        further = result.evaluation.metrics if result is not None else {}
        measures = placed[row.child_id]
        known = result.evaluation.repeats if result is not None else ()
        runs = tuple(settings.direction.fitness(run) for run in known)
        if not runs or mean_of(known) != row.metric:  # later runs stood in the journal alone
            runs = (fitness,)
        elite = Elite(row.child_id, row.parent_id, fitness, row.metric, measures, further, runs)
        islands[row.island].append([encode(row.cell), encode(elite)])
    return islands


def _child(
    row: HistoryRow,
    result: results.Result | None,
    settings: Settings,
    baseline: Baseline,
    placed: dict[str, Measures],
) -> Event:
    evaluation = result.evaluation if result else None
    record = Record(
        child_id=row.child_id,
        parent_id=row.parent_id,
        gen=row.gen,
        island=row.island,
        status=Status(row.status),
        smoke_metric=row.smoke_metric,
        metric=row.full_metric,
        reason=evaluation.reason if evaluation else _reason_of(row),
        detail=evaluation.detail if evaluation else "",
        summary=result.summary if result else "",
        intervention=result.intervention if result else Intervention.OTHER,
        operator=result.operator if result else "-",
        rule="-",
        digest=result.digest if result else None,
        measures=placed.get(row.child_id),
        params=evaluation.params if evaluation else None,
        charge=evaluation.charge if evaluation else _charge(row, settings, baseline),
        seconds=evaluation.seconds if evaluation else 0.0,
        elapsed=0.0,
    )
    return {"record": encode(record), "kept": row.kept, "cell": encode(row.cell)}


def _reason_of(row: HistoryRow) -> Reason | None:
    return Reason.EXIT if row.status == Status.CRASH.value else None


def _charge(row: HistoryRow, settings: Settings, baseline: Baseline) -> float:
    """Return what a child must have cost, from its row alone."""
    if row.gen == 0 and is_baseline(row.child_id):
        return baseline.charge if row.child_id == BASELINE_ID else 0.0
    smoke = settings.smoke_charge
    return smoke if row.status == Status.SMOKE_DROPPED.value else smoke + 1.0

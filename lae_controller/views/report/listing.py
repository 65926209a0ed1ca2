"""Every child of a run as columns, for the table that the page's own script shows a part of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lae_controller.program import Direction, Status, one_line
from lae_controller.views.report.history import Child, cost_of
from lae_controller.views.report.lineage import gain_over
from lae_controller.views.report.tallies import reason_of
from lae_controller.views.text import short

_DETAIL = 160


def listing(
    children: Sequence[Child], by_id: Mapping[str, Child], direction: Direction
) -> dict[str, Any]:
    """Return the children as columns; words that come again and again are written once.

    Columns: ``id``, ``parent`` (its place among ``id``; -1 for none), ``metric`` (of full runs
    alone: that of a smoke run tells less), ``change`` against the parent in the metric's own
    direction, ``outcome``, ``kind``, ``summary``, ``runs``, ``seconds``, ``usd``.
    """
    places = {child.record.child_id: place for place, child in enumerate(children)}
    outcomes, kinds = _Words(), _Words()
    return {
        "id": [child.record.child_id for child in children],
        "parent": [places.get(child.record.parent_id or "", -1) for child in children],
        "metric": [_digits(child.record.metric) for child in children],
        "change": [_digits(_change(child, by_id, direction)) for child in children],
        "outcome": [outcomes.place(outcome_of(child)) for child in children],
        "kind": [kinds.place(child.record.intervention.value) for child in children],
        "summary": [_summary(child) for child in children],
        "runs": [_digits(child.record.charge) for child in children],
        "seconds": [round(child.record.seconds, 1) for child in children],
        "usd": [_digits(cost_of(child.record).usd) for child in children],
        "outcomes": outcomes.known,
        "kinds": kinds.known,
    }


class _Words:
    """Words by their places, in the order in which they first came."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    @property
    def known(self) -> list[str]:
        return list(self._places)

    def place(self, word: str) -> int:
        return self._places.setdefault(word, len(self._places))


def _digits(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def _change(child: Child, by_id: Mapping[str, Child], direction: Direction) -> float | None:
    parent = by_id.get(child.record.parent_id or "")
    gain = gain_over(child, parent, direction) if parent else None
    return None if gain is None else direction.fitness(gain)


def outcome_of(child: Child) -> str:
    """Return how a child ended: ``kept``, ``not kept``, ``baseline``, or why it gave nothing."""
    if not child.number:
        return "baseline"
    return reason_of(child) or ("kept" if child.kept else "not kept")


def _summary(child: Child) -> str:
    """Return what a child changed and, if it gave no metric that counts, why."""
    record = child.record
    dropped = record.status is Status.SMOKE_DROPPED
    if record.reason is None and not dropped:
        return record.summary
    detail = one_line(record.detail, _DETAIL)
    if dropped and not detail:
        detail = f"{short(record.smoke_metric)} in its smoke run"
    return " | ".join(part for part in (record.summary, detail) if part)

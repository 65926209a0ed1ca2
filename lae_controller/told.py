"""What the state keeps of a told child, and how it is written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lae_controller.codec import encode
from lae_controller.program import Evaluation, Placement, Record
from lae_controller.rows import HistoryRow


@dataclass(frozen=True, slots=True)
class Told:
    """What later children need to know of a told one.

    Attributes:
        summary: what it changed; empty for the baseline.
        params: by which it was placed, if the baseline reports parameters.
        warnings: remarks on its run, such as a non-finite number in the output.
    """

    summary: str
    smoke_metric: float | None
    metric: float | None
    params: int | None
    warnings: tuple[str, ...]


def known_runs(
    child: str, told: Mapping[str, Told], repeats: Mapping[str, tuple[float, ...]]
) -> tuple[float, ...]:
    """Return the metric of a told program on each seed, first seed first; empty if it has none.

    Args:
        repeats: of the programs that were run more than once.
    """
    metric = told[child].metric
    return repeats.get(child, () if metric is None else (metric,))


def row_of(record: Record, placement: Placement) -> HistoryRow:
    """Return the row of a told child in ``history.tsv``."""
    return HistoryRow(
        record.gen,
        record.island,
        record.parent_id,
        record.child_id,
        record.smoke_metric,
        record.metric,
        record.status.value,
        placement.kept,
        placement.cell,
    )


def cost_of_run(run: Evaluation) -> dict[str, Any]:
    """Return what a run took, as it stands in an event."""
    grading = {"grading": encode(run.grading)} if run.grading is not None else {}
    return {"charge": run.charge, "seconds": run.seconds, **grading}

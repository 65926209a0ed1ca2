"""One program as the dashboard opens it."""

from __future__ import annotations

from dataclasses import dataclass

from lae_controller.evaluators.baseline import BASELINE_ID
from lae_controller.parts import Core
from lae_controller.results import read as read_result
from lae_controller.views.report.history import Child, History
from lae_controller.views.report.lineage import Diff, diff_of, gain_over
from lae_controller.views.report.listing import outcome_of

_LOG_LINES = 60


@dataclass(frozen=True, slots=True)
class Opened:
    """One program.

    Attributes:
        outcome: ``kept``, ``not kept``, ``baseline`` or the reason of its failure.
        gain: in fitness, over its parent as both were told; None if one has no metric.
        diff: against its parent; None for the baseline.
        whole: against the baseline; None where that is the parent.
        log: the last lines of what its run printed; empty if nothing is kept of it.
    """

    child: Child
    outcome: str
    gain: float | None
    diff: Diff | None
    whole: Diff | None
    log: str


def opened(core: Core, history: History, child_id: str) -> Opened | None:
    """Return one program; None if no child of this id was told.

    Args:
        core: the run.
        history: its journal.
        child_id: as somebody wrote it; it is looked up, never made part of a path before.
    """
    child = history.by_id.get(child_id)
    if child is None:
        return None
    record = child.record
    if record.parent_id is None:
        return Opened(child, outcome_of(child), None, None, None, "")
    parent = history.by_id.get(record.parent_id)
    first = parent is None or parent.record.parent_id is None
    return Opened(
        child,
        outcome_of(child),
        None if parent is None else gain_over(child, parent, core.settings.direction),
        diff_of(core, record.child_id, record.parent_id),
        None if first else diff_of(core, record.child_id, BASELINE_ID),
        _log(core, record.child_id),
    )


def _log(core: Core, child_id: str) -> str:
    result = read_result(core.settings.lae_dir, child_id)
    if result is None:
        return ""
    return "\n".join(result.evaluation.artifacts.log_tail.splitlines()[-_LOG_LINES:])

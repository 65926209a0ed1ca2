"""Records and baselines with plausible values, for tests and benchmarks that care about a few."""

from __future__ import annotations

from typing import Any

from lae_controller.evaluators.baseline import Baseline
from lae_controller.program import Artifacts, Intervention, Record, Status, parse_child_id


def made_record(child_id: str, **changes: Any) -> Record:
    """Return an evaluated child without a metric; ``changes`` are fields of ``Record``."""
    gen, island, _ = parse_child_id(child_id)
    fields: dict[str, Any] = {
        "child_id": child_id,
        "parent_id": None if gen == 0 else "g0-i0-a0",
        "gen": gen,
        "island": island,
        "status": Status.EVALUATED,
        "smoke_metric": None,
        "metric": None,
        "reason": None,
        "detail": "",
        "summary": "",
        "intervention": Intervention.OTHER,
        "operator": "-",
        "rule": "",
        "digest": None,
        "measures": None,
        "params": None,
        "charge": 1.0,
        "seconds": 1.0,
        "elapsed": 0.0,
    }
    return Record(**{**fields, **changes})


def made_baseline(*metrics: float, **changes: Any) -> Baseline:
    """Return a baseline of these full runs; ``changes`` are fields of ``Baseline``."""
    fields: dict[str, Any] = {
        "editable": ("model.py",),
        "digest": "base",
        "smoke_budget": 1.0,
        "smoke_metric": None,
        "metrics": metrics,
        "params": None,
        "limit": 60.0,
        "full_seconds": 1.0,
        "smoke_seconds": 1.0,
        "smoke_lines": 1,
        "metric_lines": 1,
        "smoke_steps": None,
        "full_steps": None,
        "tier": "none",
        "fingerprint": "",
        "efficiency": 1.0,
        "entered": (),
        "budget_effect": True,
        "outputs": (),
        "charge": 3.0,
        "seconds": 3.0,
        "notes": (),
        "artifacts": Artifacts(),
    }
    return Baseline(**{**fields, **changes})

"""Settings and records for the tests of both algorithms."""

from __future__ import annotations

import random

from made import made_record

from lae_controller.evolution import SelectionSettings
from lae_controller.program import (
    Measures,
    Reason,
    Record,
    Status,
    child_id,
    parse_child_id,
)
from lae_controller.search import SearchSettings

SETTINGS = SearchSettings(
    num_islands=1,
    num_top=2,
    num_diverse=2,
    num_bins=6,
    migration_interval=4,
    pop_per_island=10,
    seed=7,
    selection=SelectionSettings(0.5, 0.2, 0.2, 0.1, 0.5, 8, 8),
    metrics={},
    pareto_probability=0.0,
    c_puct=1.0,
    prior_exponent=0.0,
)


def told(
    name: str,
    metric: float | None = 1.0,
    *,
    parent: str | None = "g0-i0-a0",
    status: Status = Status.EVALUATED,
    reason: Reason | None = None,
    diversity: float = 0.5,
    metrics: dict[str, float] | None = None,
    promise: float | None = None,
) -> Record:
    evaluated = status is Status.EVALUATED
    return made_record(
        name,
        parent_id=None if parse_child_id(name)[0] == 0 else parent,
        status=status,
        metric=metric,
        reason=reason,
        measures=Measures(1000.0, "params", diversity) if evaluated else None,
        metrics=metrics or {},
        promise=promise,
    )


def history(seed: int, count: int, num_islands: int = 1) -> list[Record]:
    """Return a run: baseline on every island, then children of earlier ones that did well."""
    rng = random.Random(seed)
    records = [told(child_id(0, k, 0), 0.0, diversity=0.0) for k in range(num_islands)]
    parents = ["g0-i0-a0"]
    for number in range(count):
        name = child_id(1 + number // 4, number % num_islands, number % 4)
        status = rng.choices(list(Status), weights=[8, 1, 1])[0]
        metric = round(rng.gauss(0, 1), 1) if status is Status.EVALUATED else None
        reason = Reason.SUSPECT if metric is not None and rng.random() < 0.1 else None
        record = told(
            name,
            metric,
            parent=rng.choice(parents),
            status=status,
            reason=reason,
            diversity=rng.random(),
            metrics={"size": float(rng.randrange(9))} if rng.random() < 0.9 else {},
            promise=rng.choice([None, 2.0, 5.0, 9.0]),
        )
        records.append(record)
        if metric is not None and reason is None:
            parents.append(name)
    return records

"""``results/<id>.json``: what one finished child gave, durable before it is told."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lae_controller.codec import decode, encode
from lae_controller.files import read_json, sync_file, write_json
from lae_controller.program import (
    Artifacts,
    Evaluation,
    Intervention,
    Reason,
    Status,
    Usage,
    one_line,
)
from lae_controller.validation import validate


@dataclass(frozen=True, slots=True)
class Result:
    """One finished child, told or not.

    Attributes:
        digest: normal form of its code; None if its change never applied.
        chance: a source of chance that its change brings in; empty if it brings in none.
    """

    child_id: str
    parent_id: str | None
    attempt: int
    summary: str
    intervention: Intervention
    operator: str
    digest: str | None
    evaluation: Evaluation
    usage: Usage | None = None
    chance: str = ""
    promise: float | None = None


def path_of(lae_dir: Path, child_id: str) -> Path:
    """Return where the result of a child lies."""
    return lae_dir / "results" / f"{child_id}.json"


def to_json(result: Result) -> dict[str, Any]:
    """Return the result in the form of ``result.schema.json``."""
    evaluation = result.evaluation
    return {
        "child_id": result.child_id,
        "parent_id": result.parent_id,
        "approach_summary": one_line(result.summary),
        "sandbox_path": f"lae/programs/{result.child_id}",
        "status": evaluation.status.value,
        "smoke_metric": evaluation.smoke_metric,
        "metric": evaluation.metric,
        "reason": evaluation.reason.value if evaluation.reason else None,
        "params": evaluation.params,
        "artifacts": {
            "detail": evaluation.detail,
            **encode(evaluation.artifacts),
            "seconds": evaluation.seconds,
            "charge": evaluation.charge,
            "repeats": list(evaluation.repeats),
            "metrics": dict(evaluation.metrics),
            "tier": evaluation.tier,
            "fingerprint": evaluation.fingerprint,
            "proven": evaluation.proven,
            "unseen": list(evaluation.unseen),
            "efficiency": evaluation.efficiency,
            "digest": result.digest,
            "attempt": result.attempt,
            "intervention": result.intervention.value,
            "operator": result.operator,
            "usage": encode(result.usage),
            "chance": result.chance,
            "promise": result.promise,
            "grading": encode(evaluation.grading),
        },
    }


def write(lae_dir: Path, result: Result) -> Result:
    """Check a result against its schema, write it durably, after its change, and return it."""
    path = path_of(lae_dir, result.child_id)
    sync_file(path.with_suffix(".diff"))
    write_to(path, result)
    return result


def write_to(path: Path, result: Result) -> None:
    """Check a result against its schema and write it durably to a place, a further run's say."""
    value = to_json(result)
    validate(value, "result", f"{path.parent.name}/{path.name}")
    write_json(path, value)


def read(lae_dir: Path, child_id: str) -> Result | None:
    """Return a child's result; None if it is missing or was torn before it was whole."""
    return read_from(path_of(lae_dir, child_id))


def read_from(path: Path) -> Result | None:
    """Return the result at a place; None if it is missing or was torn before it was whole."""
    value = read_json(path)
    if not isinstance(value, dict):
        return None
    extra = value.get("artifacts", {})
    return Result(
        child_id=value["child_id"],
        parent_id=value["parent_id"],
        attempt=extra.get("attempt", 0),
        summary=value["approach_summary"],
        intervention=Intervention(extra.get("intervention", "other")),
        operator=extra.get("operator", "-"),
        digest=extra.get("digest"),
        usage=decode(Usage, extra["usage"]) if extra.get("usage") else None,
        chance=extra.get("chance", ""),
        promise=extra.get("promise"),
        evaluation=Evaluation(
            status=Status(value["status"]),
            smoke_metric=value["smoke_metric"],
            metric=value["metric"],
            reason=Reason(value["reason"]) if value.get("reason") else None,
            detail=extra.get("detail", ""),
            params=value.get("params"),
            charge=extra.get("charge", 0.0),
            seconds=extra.get("seconds", 0.0),
            repeats=tuple(extra.get("repeats", ())),
            metrics=extra.get("metrics", {}),
            tier=extra.get("tier", ""),
            fingerprint=extra.get("fingerprint", ""),
            proven=extra.get("proven", False),
            unseen=tuple(extra.get("unseen", ())),
            efficiency=extra.get("efficiency", 0.0),
            artifacts=decode(Artifacts, extra),
            grading=decode(Usage, extra["grading"]) if extra.get("grading") else None,
        ),
    )


def claimed_by(outcomes: Iterable[Result]) -> dict[str, str]:
    """Return the programs that finished, untold children stand for: digest -> id."""
    return {
        result.digest: result.child_id
        for result in outcomes
        if result.digest is not None and result.evaluation.reason is not Reason.DUPLICATE
    }

"""From a run as it lies on disk to what its trackers are given; secrets are taken out here."""

from __future__ import annotations

import os
import statistics
import uuid
from collections.abc import Mapping
from pathlib import Path

from lae_controller import __version__, results
from lae_controller.config import Settings
from lae_controller.files import make_folder, read_json, write_json
from lae_controller.mutators.environment import Redactor
from lae_controller.parts import Core
from lae_controller.program import Status
from lae_controller.trackers.entry import Entry, Run
from lae_controller.trackers.story import Chapter

MOST_DIFF = 200_000
"""Characters of a diff that are passed on."""


MADE = "entries made or renewed: {}"
"""How the process of a tracker says what it did."""


def folder_of(settings: Settings) -> Path:
    """Return where the run keeps what its trackers need."""
    return settings.lae_dir / "trackers"


def run_of(settings: Settings) -> Run:
    """Return what all entries have in common; the run's key is made once and kept."""
    path = folder_of(settings) / "run.json"
    known = read_json(path)
    key = known["key"] if isinstance(known, dict) else uuid.uuid4().hex[:12]
    if known is None:
        make_folder(path.parent)
        write_json(path, {"key": key})
    evolution = settings.evolution
    params = {
        "metric": settings.metric,
        "metric_direction": settings.direction.value,
        "editable_files": " ".join(settings.editable_files),
        "scoring": settings.objective,
        "budget": f"{settings.budget:g} {settings.budget_unit}",
        "total_budget": str(settings.total_budget),
        "algorithm": evolution.algorithm,
        "schedule": evolution.schedule,
        "num_islands": str(evolution.num_islands),
        "seed": str(evolution.seed),
        "mutator": settings.mutator.backend,
        "model": settings.mutator.model or "",
        "lae": __version__,
    }
    hide = redactor(settings)
    return Run(key, settings.root.name, settings.metric, _texts(params, hide))


def redactor(settings: Settings) -> Redactor:
    """Return what hides the secrets of this environment and of ``loop.run.yaml``."""
    mlflow = settings.trackers.mlflow
    address = {"uri": mlflow.uri} if mlflow is not None and mlflow.uri is not None else {}
    return Redactor({**settings.env, **address, **os.environ})


def entry_of(core: Core, chapter: Chapter, hide: Redactor) -> Entry:
    """Return one child as a tracker is given it."""
    record = chapter.record
    result = results.read(core.settings.lae_dir, record.child_id)
    artifacts = result.evaluation.artifacts if result is not None else None
    curve = artifacts.curve if artifacts is not None else ()
    params = {
        "generation": str(record.gen),
        "operator": record.operator,
        "intervention": record.intervention.value,
        "rule": record.rule,
        "digest": record.digest or "",
    }
    return Entry(
        child_id=record.child_id,
        order=chapter.order,
        revision=chapter.revision,
        failed=record.status is Status.CRASH,
        params=_texts(params, hide),
        tags=_texts(_tags(chapter), hide),
        metrics=_metrics(core.settings.metric, chapter),
        curve_name=artifacts.curve_name if artifacts is not None and curve else "",
        curve=curve,
        summary=hide.text(record.summary or "the baseline"),
        diff=hide.text(_diff(core, chapter)),
    )


def _texts(found: Mapping[str, str], hide: Redactor) -> dict[str, str]:
    return {key: hide.text(value) for key, value in found.items() if value}


def _tags(chapter: Chapter) -> dict[str, str]:
    record = chapter.record
    return {
        "island": str(record.island),
        "cell": chapter.cell,
        "parent": record.parent_id or "-",
        "status": record.status.value,
        "reason": record.reason.value if record.reason else "",
        "kept": "y" if chapter.kept else "n",
        "standing": chapter.standing,
        "isolation": record.tier,
        "model": record.usage.model if record.usage else "",
    }


def _metrics(metric: str, chapter: Chapter) -> dict[str, float]:
    record = chapter.record
    found: dict[str, float | None] = {
        **record.metrics,
        metric: chapter.metric,
        f"{metric}_smoke": record.smoke_metric,
        f"{metric}_spread": statistics.stdev(chapter.runs) if len(chapter.runs) > 1 else None,
        "lae_runs": float(len(chapter.runs)),
        "lae_order": float(chapter.order),
        "lae_best": chapter.best,
        "lae_seconds": record.seconds,
        "lae_charge": record.charge,
    }
    if record.measures is not None:
        found[f"lae_complexity_{record.measures.unit}"] = record.measures.complexity
        found["lae_diversity"] = record.measures.diversity
    if record.usage is not None:
        found["lae_output_tokens"] = float(record.usage.output_tokens)
        found["lae_cost_usd"] = record.usage.cost_usd
    return {name: value for name, value in found.items() if value is not None}


def _diff(core: Core, chapter: Chapter) -> str:
    """Return what a child changed against its parent; empty where the programs are not there."""
    record, lae = chapter.record, core.settings.lae_dir
    if record.parent_id is None:
        return ""
    mine = core.children.directory(record.child_id)
    other = core.children.directory(record.parent_id)
    if not mine.is_dir() or not other.is_dir():
        proposed = results.path_of(lae, record.child_id).with_suffix(".diff")
        return proposed.read_text("utf-8", "replace")[:MOST_DIFF] if proposed.is_file() else ""
    return core.diff(other, mine).decode("utf-8", "replace")[:MOST_DIFF]

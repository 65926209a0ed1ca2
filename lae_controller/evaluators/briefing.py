"""How scoring works, in words: for the Mutator, and for whoever looks before a run is paid for."""

from __future__ import annotations

import ast
from pathlib import Path

from lae_controller.config import Settings
from lae_controller.evaluators.baseline import Baseline
from lae_controller.evaluators.shards import coarse_note, counts_note
from lae_controller.evaluators.table import FEW_ROWS
from lae_controller.files import read_json
from lae_controller.sandbox.command import entrypoint
from lae_controller.scoring import DATASET, JUDGE, SCRIPT, TESTS

_MOST = 6000


def project_brief(settings: Settings, base: Path) -> str:
    """Return what a Mutator is told about the project: its user's words, and how it is scored.

    Args:
        base: the snapshot of the project.

    Returns:
        Plain text; empty if neither ``mutator.context`` nor the scoring says anything.
    """
    parts = (settings.mutator.context.strip(), scoring_brief(settings, base))
    return "\n".join(part for part in parts if part)


def scoring_brief(settings: Settings, base: Path) -> str:
    """Return what a Mutator is told about how its candidate will be scored.

    Args:
        base: the snapshot of the project.

    Returns:
        Plain text. In mode ``command`` what the script that is started says of itself, which
        a Mutator does not see otherwise; empty if it says nothing or may be edited.
    """
    scoring = settings.scoring
    if scoring.mode == DATASET:
        return _dataset_brief(settings)
    if scoring.mode == TESTS:
        return (
            f"Scored by tests ({settings.objective}): the share of groups of test cases in which "
            "every case passes. Tests and their configuration are restored before every run."
        )
    if scoring.mode == SCRIPT:
        text = _docstring(base / (scoring.script or "")) or "(no docstring)"
        return f"Scored from 0 to 1 by a script that imports `candidate`. It says:\n{text}"[:_MOST]
    if scoring.mode == JUDGE:
        low, high = scoring.scale
        path = base / (scoring.rubric or "")
        rubric = path.read_text("utf-8", "replace") if path.is_file() else ""
        return (
            f"A blind judge grades the text from {low:g} to {high:g} by this rubric. Speaking to "
            f"the judge does not help.\n{rubric}"
        )[:_MOST]
    return _script_brief(settings, base)


def _script_brief(settings: Settings, base: Path) -> str:
    script = entrypoint(settings)
    if script is None or not script.endswith(".py") or script in settings.editable_files:
        return ""
    text = _docstring(base / script)
    return f"`{script}`, which stays as it is, says of itself:\n{text}"[:_MOST] if text else ""


def _dataset_brief(settings: Settings) -> str:
    scoring = settings.scoring
    fits = ""
    if scoring.fit_share > 0.0:
        fits = (
            " If there is `fit(rows, targets)`, it is called first with other rows, and what it "
            "returns is the second argument of `predict`."
        )
    return (
        f"Scored by {settings.metric} of predicting the column {scoring.target!r}. "
        "`predict(rows)` is given a list of dicts, column name to number, text or None, without "
        f"that column, and returns one prediction a row.{fits} The answers are not in reach."
    )


def _docstring(path: Path) -> str:
    """Return the docstring of a script; empty if there is none or it cannot be read."""
    try:
        return ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    except (OSError, ValueError, SyntaxError):
        return ""


def shape(settings: Settings) -> str:
    """Say what each stage measures."""
    counts = settings.scoring.shards
    text = (
        f"{settings.scoring.mode}: {counts.rollout} rollout, {counts.gate} gate and {counts.test} "
        "test shards"
    )
    split = read_json(settings.lae_dir / "scoring" / "split.json")
    if split is not None:
        text += f" of {split['unit']} rows; {split['fit']} of {split['rows']} rows to fit on"
    groups = read_json(settings.lae_dir / "scoring" / "cases.json")
    if groups is not None:
        cases = sum(map(len, groups))
        text += f" of {min(map(len, groups))} or more of {cases} test cases"
    if settings.scoring.mode == JUDGE:
        text += f"; every child costs {counts.rollout} gradings, and {counts.gate} more in full"
    return text


def scoring_notes(settings: Settings, baseline: Baseline) -> list[str]:
    """Return what about the scoring would rank badly, one sentence each."""
    scoring = settings.scoring
    noisy = scoring.mode == JUDGE or bool(baseline.spread)
    notes = [counts_note(scoring.shards, noisy=noisy)]
    if scoring.mode in (DATASET, SCRIPT):
        parts = baseline.artifacts.per_class
        notes.append(coarse_note(v for name, v in parts.items() if name.startswith("shard ")))
    if scoring.mode == TESTS and baseline.metric in (0.0, 1.0):
        how = "passes" if baseline.metric else "fails"
        notes.append(f"every group {how} on the starting point: nothing tells children apart")
    split = read_json(settings.lae_dir / "scoring" / "split.json")
    if split is not None and split["unit"] < FEW_ROWS:
        notes.append(
            f"{split['unit']} rows a shard make its score jump; {FEW_ROWS} or more are steadier"
        )
    if baseline.tier == "none" and scoring.mode == DATASET:
        notes.append("isolation none: a candidate could read the table with its answers")
    return [note for note in notes if note]

"""Data behind ``status``, ``best``, ``show``, ``diff`` and ``export``."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

from lae_controller import results
from lae_controller.change.patch import repository_prefix
from lae_controller.config import Settings
from lae_controller.errors import ConfigError
from lae_controller.files import read_json
from lae_controller.lock import holder, is_held
from lae_controller.parts import Core
from lae_controller.rows import HistoryRow
from lae_controller.views.summary import summarise
from lae_controller.views.text import short


def status(view: Core) -> dict[str, Any]:
    """Return what a run has come to, as plain data."""
    settings, baseline, state = view.settings, view.prepared.baseline, view.state
    summary = summarise(settings, baseline, state)
    running = is_held(settings.lae_dir)
    best = summary.best
    return {
        "running": running,
        "pid": holder(settings.lae_dir).get("pid") if running else None,
        "generation": summary.gen,
        "generations": summary.num_generations,
        "children": summary.children,
        "in_flight": sorted(state.asked),
        "best": best.elite.child_id if best else None,
        "best_metric": best.elite.metric if best else None,
        "baseline": baseline.metric,
        "cells": sum(held for held, _ in summary.coverage),
        "kept": summary.kept,
        "spent": round(summary.spent, 6),
        "total": summary.total,
        "reserve": summary.reserve,
        "seconds": round(summary.elapsed, 1),
        "last_stop": state.last_stop,
        "disk_bytes": _size(view),
        **_nodes(settings, running=running),
    }


def before_children(settings: Settings) -> dict[str, Any] | None:
    """Return the status of a run whose controller is still at its baseline; None if it is not."""
    if (settings.lae_dir / "base.json").exists() or not is_held(settings.lae_dir):
        return None
    pid = holder(settings.lae_dir).get("pid")
    nodes = _nodes(settings, running=True)
    return {"running": True, "pid": pid, "phase": "baseline", "children": 0, **nodes}


def _nodes(settings: Settings, *, running: bool) -> dict[str, Any]:
    """Return the machines that evaluate, as the controller noted them; nothing if it is this one.

    What a controller that was killed noted is no longer so.
    """
    noted = read_json(settings.lae_dir / "nodes.json")
    if settings.executor.kind == "local" or not isinstance(noted, list):
        return {}
    return {"nodes": noted if running else []}


def status_text(found: dict[str, Any]) -> str:
    """Write ``status`` for people: a line for each key, and one for each node."""
    lines = [f"{key:<12} {item}" for key, item in found.items() if key != "nodes"]
    for node in found.get("nodes", ()):
        kind = f", {node['gpus']:g} {node['accelerator'] or 'GPU'}" if node["gpus"] else ""
        running = ", ".join(node["running"]) or "nothing"
        what = f"{node['cpus']:g} CPUs{kind}, {node['state']}, runs {running}"
        lines.append(f"{'node':<12} {node['host']} ({node['node']}): {what}")
    return "\n".join(lines)


def _size(view: Core) -> int:
    return sum(p.lstat().st_size for p in view.settings.lae_dir.rglob("*") if p.is_file())


def best(view: Core, top: int) -> list[dict[str, Any]]:
    """Return the best program of the run and those of the next best metrics, ``top`` in all."""
    summary = summarise(view.settings, view.prepared.baseline, view.state)
    return [
        {
            "child_id": placed.elite.child_id,
            "metric": placed.elite.metric,
            "gain": placed.gain,
            "island": placed.island,
            "cell": list(placed.cell) if placed.cell else None,
            "summary": placed.summary,
            "path": str(view.children.directory(placed.elite.child_id)),
        }
        for placed in summary.placed[:top]
    ]


def best_text(found: list[dict[str, Any]]) -> str:
    """Write ``best`` for people."""
    return "\n".join(
        f"{short(item['metric']):>10}  {item['child_id']:<12} {item['gain']:+.4g}  "
        f"{item['summary'] or 'the baseline'}\n            {item['path']}"
        for item in found
    )


def child(view: Core, child_id: str) -> dict[str, Any]:
    """Return everything that is known of one child."""
    row = _row(view, child_id)
    result = results.read(view.settings.lae_dir, child_id)
    known = results.to_json(result) if result else {}
    return {
        **known,
        "gen": row.gen,
        "island": row.island,
        "child_id": child_id,
        "parent_id": row.parent_id,
        "status": row.status,
        "kept": row.kept,
        "cell": list(row.cell) if row.cell else None,
        "smoke_metric": row.smoke_metric,
        "metric": row.full_metric,
        "lineage": _lineage(view, child_id),
    }


def child_text(found: dict[str, Any]) -> str:
    """Write ``child`` for people: values first, then the log."""
    extra = dict(found.get("artifacts", {}))
    log = extra.pop("log_tail", "")
    curve = extra.pop("curve", [])
    lines = [f"{key:<16} {value}" for key, value in found.items() if key != "artifacts"]
    lines += [f"{key:<16} {value}" for key, value in extra.items() if value not in ("", [], {})]
    if curve:
        points = ", ".join(f"{step:g}: {value:.5g}" for step, value in curve[-8:])
        lines.append(f"{'curve':<16} {len(curve)} points, the last: {points}")
    return "\n".join([*lines, "", log]) if log else "\n".join(lines)


def diff(view: Core, child_id: str, against: str) -> bytes:
    """Return a unified diff of a child against its parent or the baseline."""
    row = _row(view, child_id)
    directory = _directory(view, child_id)
    old = view.settings.lae_dir / "base"
    if against == "parent" and row.parent_id is not None:
        old = _directory(view, row.parent_id)
    return view.diff(old, directory)


def export(view: Core, child_id: str) -> bytes:
    """Return the patch that turns the user's own tree into this child's program."""
    _row(view, child_id)
    directory = _directory(view, child_id)
    prefix = repository_prefix(view.settings.root)
    patch = view.diff(view.settings.lae_dir / "base", directory, prefix)
    if not patch:
        raise ConfigError(f"{child_id} is the baseline's own code; there is nothing to export")
    return patch


def _directory(view: Core, child_id: str) -> Path:
    directory = view.children.directory(child_id)
    if not directory.is_dir():
        raise ConfigError(f"{directory}: the program's directory is gone; expected it there")
    return directory


def _row(view: Core, child_id: str) -> HistoryRow:
    rows = {row.child_id: row for row in view.state.rows}
    if child_id not in rows:
        near = difflib.get_close_matches(child_id, rows, n=1, cutoff=0.0)
        hint = f"; the nearest is {near[0]}" if near else ""
        raise ConfigError(f"{child_id!r} is no child of this run{hint}")
    return rows[child_id]


def _lineage(view: Core, child_id: str) -> list[str]:
    parents = {row.child_id: row.parent_id for row in view.state.rows}
    line = [child_id]
    while (parent := parents.get(line[-1])) is not None:
        line.append(parent)
    return line

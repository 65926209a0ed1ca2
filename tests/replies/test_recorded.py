"""Replies of a real small model (Qwen2.5-Coder, 1.5 billion parameters, 4 bit), as they came.

Recorded with the project's own prompt on ``tests/data/replies``: most of them as it is, some at a
high temperature, some without the example turns, where few replies have the form that was asked
for. What each should come to was read by a person.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lae_controller.change.changed_lines import changed_lines
from lae_controller.change.diff import apply_change
from lae_controller.errors import ChildError
from lae_controller.replies import read_reply

DATA = Path(__file__).parents[1] / "data" / "replies"
FILES = {path: (DATA / path).read_text(encoding="utf-8") for path in ("net.py", "settings.yaml")}
ROWS = [json.loads(line) for line in (DATA / "replies.jsonl").read_text("utf-8").splitlines()]


def came_to(row: dict[str, Any]) -> dict[str, Any]:
    files = {path: FILES[path] for path in row["files"]}
    try:
        reply = read_reply(row["reply"], files, tuple(files), row["mode"])
    except ChildError as error:
        return {"outcome": error.reason.value, "detail": error.detail.splitlines()[0][:44]}
    applied = apply_change(files, reply.change, editable=tuple(files))
    assert not applied.repaired
    lines = [
        line
        for path in sorted(applied.files)
        for line in changed_lines(files.get(path, ""), applied.files[path])
    ]
    return {
        "outcome": "usable",
        "repaired": list(reply.repaired),
        "lines": lines,
        "kind": reply.intervention.value,
    }


@pytest.mark.parametrize("row", ROWS, ids=range(len(ROWS)))
def test_a_recorded_reply(row: dict[str, Any]) -> None:
    assert came_to(row) == row["expect"]


def test_the_recordings_are_many_and_varied() -> None:
    outcomes = Counter(row["expect"]["outcome"] for row in ROWS)
    repairs = Counter(slip for row in ROWS for slip in row["expect"].get("repaired", ()))
    assert outcomes["usable"] >= 55
    assert outcomes["bad_diff"] >= 15
    assert set(repairs) == {"indentation", "markers", "the path of a file", "whole file"}

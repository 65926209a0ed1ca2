"""Watches the curve of a run that is under way, and ends it when it cannot catch up."""

from __future__ import annotations

import time
from pathlib import Path

from lae_controller.evaluators.early_stop import EarlyStop
from lae_controller.files import read_json, write_json
from lae_controller.outputs.artifacts import read_artifacts

_NOTE = "cut.json"
_EVERY_S = 2.0


class Cutter:
    """Says of one run, again and again, whether it should end; notes why beside its log.

    Args:
        place: the folder of the run, with its ``output.log``.
        metric: the main metric's name.
    """

    def __init__(self, rule: EarlyStop, place: Path, metric: str) -> None:
        self._rule = rule
        self._place = place
        self._metric = metric
        self._next = time.monotonic() + _EVERY_S
        self._size = 0

    def __call__(self) -> bool:
        """Look at the curve so far, at most every two seconds."""
        now = time.monotonic()
        log = self._place / "output.log"
        if now < self._next or not log.exists() or log.stat().st_size == self._size:
            return False
        self._next = now + _EVERY_S
        self._size = log.stat().st_size
        found = read_artifacts(log.read_bytes(), self._metric)
        if found.curve_name != self._rule.name or not found.curve:
            return False
        steps, values = zip(*found.curve, strict=True)
        sentence = self._rule.verdict(steps, values)
        if sentence is not None:
            write_json(self._place / _NOTE, {"sentence": sentence})
        return sentence is not None


def why_cut(place: Path) -> str:
    """Return why a run was ended by its curve; empty if it was not."""
    note = read_json(place / _NOTE)
    return str(note["sentence"]) if isinstance(note, dict) else ""

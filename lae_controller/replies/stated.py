"""What a reply says about its own change: a summary, the kind of intervention, the promise."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lae_controller.program import Intervention, one_line

_LABEL = re.compile(r"[\s>*_#`-]*(summary|kind|promise)[*_`]*\s*[:=][\s*_`]*(.*?)[\s*_`]*$", re.I)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_OTHER_NAMES = {
    "optimizer": Intervention.OPTIMISER,
    "regularization": Intervention.REGULARISATION,
    "initialisation": Intervention.INIT,
    "initialization": Intervention.INIT,
}


@dataclass(frozen=True, slots=True)
class Stated:
    """The labelled lines of a reply; each may be missing.

    Attributes:
        summary: one line, empty if there was none.
        kind: None if none was named, or not by one of the known names.
        promise: from 1 to 10.
    """

    summary: str = ""
    kind: Intervention | None = None
    promise: float | None = None


def read_stated(text: str) -> Stated:
    """Return what the lines ``SUMMARY: …``, ``KIND: …`` and ``PROMISE: …`` say; the last of each."""
    found = {}
    for line in text.splitlines():
        match = _LABEL.match(line)
        if match:
            found[match[1].lower()] = match[2]
    return Stated(one_line(found.get("summary", "")), _kind(found.get("kind", "")), _promise(found))


def _kind(name: str) -> Intervention | None:
    word = name.strip(" .\"'").lower()
    known = {kind.value: kind for kind in Intervention} | _OTHER_NAMES
    return known.get(word)


def _promise(found: dict[str, str]) -> float | None:
    number = _NUMBER.match(found.get("promise", ""))
    value = float(number[0]) if number else 0.0
    return value if 1 <= value <= 10 else None

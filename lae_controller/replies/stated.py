"""What a reply says about its own change: a summary, the kind of intervention, the promise."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lae_controller.change.intervention import classify
from lae_controller.program import Intervention, one_line
from lae_controller.replies.markers import Mark, mark_of

_LABEL = re.compile(r"[\s>*_#`]*(summary|kind|promise)[*_`]*[ \t]*:(.*)", re.IGNORECASE)
_TRIM = " \t*_`"
_NUMBER = re.compile(r"(?<![\d.-])\d+(?:\.\d+)?")
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
    """Return what the last ``SUMMARY: …``, ``KIND: …`` and ``PROMISE: …`` lines say."""
    found = {match[1].lower(): match[2].strip(_TRIM) for _, match in _labelled(text.splitlines())}
    return Stated(one_line(found.get("summary", "")), _kind(found.get("kind", "")), _promise(found))


def without_stated(text: str) -> str:
    """Return the reply without its labelled lines, which would hide the path above a block."""
    lines = text.splitlines(keepends=True)
    gone = {at for at, _ in _labelled([line.rstrip("\r\n") for line in lines])}
    return "".join(line for at, line in enumerate(lines) if at not in gone)


def _labelled(lines: Sequence[str]) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield (position, match) of the labelled lines; code has lines of that look too.

    Within a block no line is one, within a code fence only one in capitals.
    """
    in_block = in_fence = False
    for at, line in enumerate(lines):
        mark = mark_of(line)
        if mark is Mark.OPEN_OLD:
            in_block = True
        elif mark is Mark.CLOSE_NEW:
            in_block = False
        elif mark is Mark.FENCE and (in_fence or not in_block):
            in_fence, in_block = not in_fence, False
        match = None if in_block else _LABEL.fullmatch(line)
        if match and (match[1].isupper() or not in_fence):
            yield at, match


def _kind(name: str) -> Intervention | None:
    """Return the kind that is named, in British or American spelling or by what belongs to it."""
    word = name.strip(" .\"'").lower()
    known = {kind.value: kind for kind in Intervention} | _OTHER_NAMES
    guess = classify(word, "")
    return known.get(word) or (None if guess is Intervention.OTHER else guess)


def _promise(found: dict[str, str]) -> float | None:
    number = _NUMBER.search(found.get("promise", ""))
    value = float(number[0]) if number else 0.0
    return value if 1 <= value <= 10 else None

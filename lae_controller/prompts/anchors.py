"""The line of a program that an idea is about, quoted so that the Mutator need not look for it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass

from lae_controller.change.evolve_blocks import blocks_only
from lae_controller.change.identifiers import setting, words
from lae_controller.change.protected import protected_lines
from lae_controller.task import Task, inert_line

_NOT_CODE = re.compile(r"[ \t]*(?:#|//|import\b|from\b|def\b|class\b|return$|\"\"\"|$)")
_FIXED = frozenset("seed seeds epoch epochs steps iters iterations classes version".split())
_LONGEST = 90  # characters of a line that is quoted


@dataclass(frozen=True, slots=True)
class Anchor:
    """A line of code that can change and that stands in the program only once.

    Attributes:
        line: without outer blanks.
    """

    path: str
    line: str


def anchors(task: Task, footholds: Container[str]) -> list[Anchor]:
    """Return lines that hold one of the words: those that give a number its name, else others."""
    found = list(_anchors(task))
    named = [at for at in found if (name := _named(at.line)) and _holds(name, footholds)]
    return named or [at for at in found if _holds(at.line, footholds)]


def constants(task: Task) -> list[Anchor]:
    """Return every line that gives a number its name, and that may be changed."""
    return [anchor for anchor in _anchors(task) if _named(anchor.line)]


def _anchors(task: Task) -> Iterator[Anchor]:
    lines = [
        (path, line)
        for path, text in sorted(task.files.items())
        for line in blocks_only(text).splitlines()
    ]
    count = Counter(line for _, line in lines)
    fixed = {
        line for text in task.files.values() for _, line in protected_lines(text, task.protected)
    }
    inert = frozenset(task.inert)
    for path, line in lines:
        bare = line.strip()
        quotable = len(bare) <= _LONGEST and "`" not in bare and bare not in fixed
        quotable = quotable and inert_line(path, line) not in inert
        if quotable and not _NOT_CODE.match(line) and count[line] == 1:
            yield Anchor(path, bare)


def _named(line: str) -> str:
    """Return the name that a line gives to a number; "" if it does not, or not for us to change."""
    name, value = setting(line) or ("", "")
    is_number = any(digit in value for digit in "0123456789") and value[0] not in "\"'"
    return name if is_number and not _holds(name, _FIXED) else ""


def _holds(text: str, footholds: Container[str]) -> bool:
    return any(word in footholds for word in words(text))

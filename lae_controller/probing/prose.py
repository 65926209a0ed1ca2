"""Texts for readers that are damaged: their words in another order, or hardly any left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath

from lae_controller.change.evolve_blocks import find_blocks
from lae_controller.change.source import split_lines

_SUFFIXES = frozenset(".md .markdown .rst .txt .prompt .tex".split())
_LEFT = 0.1


def is_prose(path: str) -> bool:
    """Say whether a file is written for readers, by its name."""
    return PurePosixPath(path).suffix.lower() in _SUFFIXES


def reversed_words(path: str, text: str) -> str:
    """Return the text with the words of each evolve block, or all of them, in reverse order."""
    return _inside(path, text, lambda words: words[::-1])


def cut_short(path: str, text: str) -> str:
    """Return the text with the first tenth of those words."""
    return _inside(path, text, lambda words: words[: max(1, int(_LEFT * len(words)))])


def _inside(path: str, text: str, change: Callable[[list[str]], list[str]]) -> str:
    lines = split_lines(text)
    places = [(block.start, block.end - 1) for block in find_blocks(path, text)]
    for start, end in reversed(places or [(0, len(lines))]):
        body = "".join(lines[start:end])
        lines[start:end] = [" ".join(change(body.split())) + body[len(body.rstrip()) :]]
    return "".join(lines)

"""Identifiers, taken apart into the words they are made of."""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def words(text: str) -> tuple[str, ...]:
    """Split identifiers into lower-case words: ``learningRate``, ``D_MODEL`` alike."""
    return tuple(word.lower() for word in _WORD.findall(text))

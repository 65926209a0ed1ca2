"""Identifiers: the words they are made of, and the settings they name."""

from __future__ import annotations

import re

_SETTING = re.compile(
    r"[ \t]*(?P<name>[A-Za-z_][\w.]*)(?:[ \t]*:[ \t]*\w+)?[ \t]*[=:][ \t]*"
    r"(?P<value>[-+]?\.?\d[\d_.eE+-]*|\"[^\"]*\"|'[^']*'|[Tt]rue|[Ff]alse|None|null)"
    r"[ \t]*,?(?:[ \t]+#.*)?"
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def words(text: str) -> tuple[str, ...]:
    """Split identifiers into lower-case words: ``learningRate``, ``D_MODEL`` alike."""
    return tuple(word.lower() for word in _WORD.findall(text))


def setting(line: str) -> tuple[str, str] | None:
    """Return (name, value) if all that a line of code does is give a literal its name.

    ``lr: float = 1e-3  # per step``, ``width: 16`` and ``kind='adam',`` do.
    """
    match = _SETTING.fullmatch(line)
    return (match["name"], match["value"]) if match else None

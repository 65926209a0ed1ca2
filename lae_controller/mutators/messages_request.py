"""A prompt as the fields of one Messages API request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from lae_controller.prompts import Turn

_CACHE_MARK = {"cache_control": {"type": "ephemeral"}}
_MOST_MARKS = 4  # the API's limit on cache marks, the system prompt's included
_BUDGETS = {"low": 1024, "medium": 4096, "high": 16384}
_ROOM = 512  # tokens that a thinking budget must leave for the reply

# How each optional part is called in a complaint about it.
_NAMES = {
    "cache": ("cache_control", "cache control"),
    "effort": ("effort", "output_config"),
    "thinking": ("thinking", "budget_tokens"),
}


@dataclass(frozen=True, slots=True)
class Extras:
    """The parts of a request that not every model and server knows.

    Attributes:
        cache: whether the parts that come again are marked for the prompt cache.
        thinking: ``adaptive``; ``enabled``, with a budget of tokens, for models before that;
            ``disabled``; empty to leave it to the server.
        effort: ``low``, ``medium`` or ``high``; empty to leave it to the server.
    """

    cache: bool = True
    thinking: str = "disabled"
    effort: str = ""

    @classmethod
    def asked(cls, level: str) -> Extras:
        """Return what the setting ``thinking`` asks for, in the newest form."""
        return cls() if level == "off" else cls(thinking="adaptive", effort=level)

    def without(self, complaint: str, *, max_tokens: int, known_api: bool) -> Extras | None:
        """Return what to ask for after a server refused these.

        Args:
            complaint: what it said.
            max_tokens: of the reply, in which a thinking budget has to fit.
            known_api: whether the server surely says what it minds; others are asked again with
                one part less each time.

        Returns:
            None if nothing optional is left, or the complaint is about something else.
        """
        words = complaint.lower()
        named = [part for part, names in _NAMES.items() if any(name in words for name in names)]
        other = known_api or "max_tokens" in words
        parts = named or ([] if other else list(_NAMES))
        return next((less for part in parts if (less := self._less(part, max_tokens))), None)

    def _less(self, part: str, max_tokens: int) -> Extras | None:
        if part == "cache" and self.cache:
            return replace(self, cache=False)
        if part == "effort" and self.effort and self.thinking != "enabled":
            return replace(self, effort="")
        if part == "thinking" and self.thinking == "disabled":
            return replace(self, thinking="")
        budget = _BUDGETS["low"] + _ROOM <= max_tokens
        if part == "thinking" and self.thinking == "adaptive" and budget:
            return replace(self, thinking="enabled")
        return None


def fields(
    system: str, turns: Sequence[Turn], extras: Extras, *, max_tokens: int, level: str
) -> dict[str, Any]:
    """Return a request but for its model.

    Args:
        level: the setting ``thinking``: ``off``, ``low``, ``medium`` or ``high``.
    """
    found: dict[str, Any] = {
        "max_tokens": max_tokens,
        "system": _content(system, marked=extras.cache),
        "messages": _messages(turns, cached=extras.cache),
    }
    if extras.thinking == "enabled":
        budget = min(_BUDGETS[level], max_tokens - _ROOM)
        found["thinking"] = {"type": "enabled", "budget_tokens": budget}
    elif extras.thinking:
        found["thinking"] = {"type": extras.thinking}
    if extras.effort and extras.thinking != "enabled":
        found["output_config"] = {"effort": extras.effort}
    return found


def _messages(turns: Sequence[Turn], *, cached: bool) -> list[dict[str, Any]]:
    last = [number for number, turn in enumerate(turns) if turn.cacheable][-(_MOST_MARKS - 1) :]
    return [
        {"role": turn.role, "content": _content(turn.text, marked=cached and number in last)}
        for number, turn in enumerate(turns)
    ]


def _content(text: str, *, marked: bool) -> Any:
    """Return a text as the plainest content that can carry what is asked."""
    return [{"type": "text", "text": text, **_CACHE_MARK}] if marked else text

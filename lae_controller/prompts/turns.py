"""A prompt as plain data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

_CHARS_A_TOKEN = 3.5
"""Code and English measured 3.2 to 4.1 characters a token with the tokenisers of common models."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the conversation.

    Attributes:
        text: never empty; user and assistant turns alternate, a user turn first and last.
        cacheable: everything up to the end of this turn is the same for every child of the run:
            the place for a cache mark. Set on one turn at most.
    """

    role: Literal["user", "assistant"]
    text: str
    cacheable: bool = False


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is sent for one proposal.

    Attributes:
        system: role, facts and rules; the same for every child of a run, so worth a cache mark.
        turns: example turns, the child's task, and for a repair what was answered before and what
            was wrong with it.
        dropped: what was shortened or left out to keep to the limit; the text says it too.
    """

    system: str
    turns: tuple[Turn, ...]
    dropped: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """Estimated length of the whole."""
        return estimate_tokens(self.system + "".join(turn.text for turn in self.turns))


def estimate_tokens(text: str) -> int:
    """Return about how many tokens ``text`` has: one for 3.5 characters, rounded up."""
    return math.ceil(len(text) / _CHARS_A_TOKEN)

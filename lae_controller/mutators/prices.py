"""What model calls cost: the price table, and the most that one proposal can come to.

Nothing here needs the SDK: the controller asks before it starts a proposal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lae_controller.config import MutatorSettings
from lae_controller.errors import ChildError, ConfigError
from lae_controller.program import Usage
from lae_controller.prompts import Turn, build_prompt
from lae_controller.task import Task

DEFAULT_MODEL = "claude-sonnet-5-5"
"""Asked by backend ``anthropic`` where ``mutator.model`` is not set."""

PROMPT_TOKENS = 100_000
"""Estimated tokens a prompt may have before anything is left out."""

PAID_CALLS = 2
"""Whole calls that one try may cost: the first, and one more for a reply that was cut off."""

_FILE = Path(__file__).with_name("prices.json")
_BYTES_A_TOKEN = 2.0  # code has 2.5 to 4; fewer, so that the bound holds
_REPAIR_TOKENS = 2_000  # what is said to the model about a failure
_VERSION = re.compile(r"[-@](\d{8}|latest)$")


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens.

    Attributes:
        cache_write, cache_read: of prompt tokens that go into the five-minute cache, or come
            from it.
    """

    input: float
    output: float
    cache_write: float
    cache_read: float


@cache
def _table() -> tuple[str, dict[str, Price]]:
    value = json.loads(_FILE.read_text(encoding="utf-8"))
    return value["as_of"], {name: Price(**price) for name, price in value["models"].items()}


def price_of(model: str) -> Price | None:
    """Return the price of a model; None if it is not in the table.

    A vendor's prefix (``anthropic/``) and a date or ``latest`` at the end do not matter.
    """
    return _table()[1].get(_VERSION.sub("", model.rpartition("/")[2]))


def cost_of(model: str, usage: Usage) -> float | None:
    """Return what calls cost in USD; None if the price of ``model`` is not known."""
    price = price_of(model)
    if price is None:
        return None
    return (
        usage.input_tokens * price.input
        + usage.cache_write_tokens * price.cache_write
        + usage.cache_read_tokens * price.cache_read
        + usage.output_tokens * price.output
    ) / 1e6


def check_cost_limit(settings: MutatorSettings) -> None:
    """Check that ``max_cost_usd`` can be kept.

    Raises:
        ConfigError: if it is set, but what the model costs is not known.
    """
    model = settings.model or DEFAULT_MODEL
    if settings.backend != "anthropic" or settings.max_cost_usd is None or price_of(model):
        return
    as_of, known = _table()
    raise ConfigError(
        f"mutator.max_cost_usd is {settings.max_cost_usd:g}, but the price of {model!r} is not in "
        f"the table of {as_of}; expected one of {', '.join(sorted(known))}. Choose one of them "
        "with mutator.model, or leave max_cost_usd out: tokens are counted all the same"
    )


def worst_call(model: str, prompt_tokens: float, max_tokens: int) -> float | None:
    """Return the most that one call can cost in USD: nothing cached, the longest reply."""
    price = price_of(model)
    if price is None:
        return None
    prompt = prompt_tokens * max(price.input, price.cache_write)
    return (prompt + max_tokens * price.output) / 1e6


def worst_try(model: str, prompt_tokens: float, max_tokens: int) -> float | None:
    """Return the most that one Mutator process spends: a call, and one more upon its reply."""
    longest = prompt_tokens + max_tokens + _REPAIR_TOKENS
    call = worst_call(model, longest, max_tokens)
    return None if call is None else PAID_CALLS * call


def worst_cost(task: Task, settings: MutatorSettings) -> float | None:
    """Return the most that one proposal can cost in USD, with all the repairs it has left.

    Args:
        task: with the failures so far, which count as repairs that were used.

    Returns:
        None if the price of the model is not known; 0.0 if no model is asked.
    """
    if settings.backend != "anthropic":
        return 0.0 if settings.backend == "offline" else None
    try:
        prompt = build_prompt(task, settings, token_limit=PROMPT_TOKENS)
    except ChildError:  # nothing will be sent
        return 0.0
    model, total = settings.model or DEFAULT_MODEL, 0.0
    left = max(0, settings.repair_attempts - len(task.failures))
    for repair in range(left + 1):
        grown = repair * (settings.max_tokens + _REPAIR_TOKENS)
        tokens = most_tokens(prompt.system, prompt.turns) + grown
        cost = worst_try(model, tokens, settings.max_tokens)
        if cost is None:
            return None
        total += cost
    return total


def most_tokens(system: str, turns: Sequence[Turn]) -> float:
    """Return more tokens than a prompt can well have, whatever the tokeniser."""
    texts = [system, *(turn.text for turn in turns)]
    return sum(len(text.encode("utf-8", "replace")) / _BYTES_A_TOKEN + 8 for text in texts)

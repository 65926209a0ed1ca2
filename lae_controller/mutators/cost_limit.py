"""The most that one proposal can cost, for ``mutator.max_cost_usd``.

Nothing here needs the SDK: the controller asks before it starts a proposal.
"""

from __future__ import annotations

from collections.abc import Sequence

from lae_controller.config import MutatorSettings
from lae_controller.errors import ChildError, ConfigError
from lae_controller.prices import BYTES_A_TOKEN, DEFAULT_MODEL, price_of, table, worst_call
from lae_controller.prompts import Turn, build_prompt
from lae_controller.task import Task

PROMPT_TOKENS = 100_000
"""Estimated tokens a prompt may have before anything is left out."""

PAID_CALLS = 2
"""Whole calls that one try may cost: the first, and one more for a reply that was cut off."""

_REPAIR_TOKENS = 2_000  # what is said to the model about a failure


def check_cost_limit(settings: MutatorSettings) -> None:
    """Check that ``max_cost_usd`` can be kept.

    Raises:
        ConfigError: if it is set, but what the model costs is not known.
    """
    model = settings.model or DEFAULT_MODEL
    if settings.backend != "anthropic" or settings.max_cost_usd is None or price_of(model):
        return
    as_of, known = table()
    raise ConfigError(
        f"mutator.max_cost_usd is {settings.max_cost_usd:g}, but the price of {model!r} is not in "
        f"the table of {as_of}; expected one of {', '.join(sorted(known))}. Choose one of them "
        "with mutator.model, or leave max_cost_usd out: tokens are counted all the same"
    )


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
    return sum(len(text.encode("utf-8", "replace")) / BYTES_A_TOKEN + 8 for text in texts)

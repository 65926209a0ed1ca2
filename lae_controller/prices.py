"""What model calls cost: the price table. Nothing here needs the SDK."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lae_controller.program import Usage

DEFAULT_MODEL = "claude-sonnet-5-5"
"""Asked by backends ``anthropic`` where no model is set."""

BYTES_A_TOKEN = 2.0
"""For bounds; code has 2.5 to 4, and with fewer the bound holds."""

_FILE = Path(__file__).with_name("prices.json")
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
def table() -> tuple[str, dict[str, Price]]:
    """Return as of when the prices are, and the price of each model."""
    value = json.loads(_FILE.read_text(encoding="utf-8"))
    return value["as_of"], {name: Price(**price) for name, price in value["models"].items()}


def price_of(model: str) -> Price | None:
    """Return the price of a model; None if it is not in the table.

    A vendor's prefix (``anthropic/``) and a date or ``latest`` at the end do not matter.
    """
    return table()[1].get(_VERSION.sub("", model.rpartition("/")[2]))


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


def worst_call(model: str, prompt_tokens: float, max_tokens: int) -> float | None:
    """Return the most that one call can cost in USD: nothing cached, the longest reply."""
    price = price_of(model)
    if price is None:
        return None
    prompt = prompt_tokens * max(price.input, price.cache_write)
    return (prompt + max_tokens * price.output) / 1e6

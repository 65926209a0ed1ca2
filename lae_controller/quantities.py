"""Durations, sizes and budgets as people write them, amounts as other programs report them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from lae_controller.errors import ConfigError

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True, slots=True)
class TotalBudget:
    """How much the whole run may cost: a number of full runs, or active seconds.

    Attributes:
        runs: None if the budget is a time.
        seconds: None if the budget is a number of runs.
    """

    runs: int | None
    seconds: float | None

    def __str__(self) -> str:
        """Say it as a person would."""
        return f"{self.runs} full runs" if self.runs is not None else f"{self.seconds:g} s"


def parse_total(value: int | str) -> TotalBudget:
    """Read a total budget: a number of full runs, or a duration.

    Raises:
        ConfigError: if it is neither.
    """
    if isinstance(value, int):
        return TotalBudget(runs=value, seconds=None)
    return TotalBudget(runs=None, seconds=parse_duration(value))


def parse_duration(text: str) -> float:
    """Return the seconds that a duration such as ``90m``, ``8h`` or ``1h30m`` means.

    Raises:
        ConfigError: if it is not a duration.
    """
    if not re.fullmatch(r"(?:\d+(?:\.\d+)?[smhd])+", text):
        raise ConfigError(f"{text!r} is not a duration; expected a form such as 90m, 8h or 1h30m")
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd])", text)
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if seconds <= 0:
        raise ConfigError(f"{text!r} is no time at all; expected a duration above 0")
    return seconds


def parse_size(text: str) -> int:
    """Return the bytes that a size such as ``12GiB`` or ``500MB`` means.

    Raises:
        ConfigError: if it is not a size.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?", text.strip(), re.IGNORECASE)
    if match is None:
        raise ConfigError(f"{text!r} is not a size; expected a form such as 12GiB or 500MB")
    number, unit, binary = match.groups()
    power = " KMGT".index(unit.upper() or " ")
    return int(float(number) * (1024 if binary else 1000) ** power)


def number_text(value: float) -> str:
    """Write a budget as a person would: ``4``, not ``4.0``."""
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def reported_amount(value: object) -> float | None:
    """Return a finite number from 0; None for anything else that a program may have reported."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    try:
        amount = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return None
    return amount if math.isfinite(amount) and amount >= 0 else None


def reported_count(value: object) -> int:
    """Return a whole number from 0; 0 for anything else that a program may have reported."""
    return int(reported_amount(value) or 0)

"""How long one run may take: the same for every program of a run."""

from __future__ import annotations

from lae_controller.config import Gate, Settings

_SHORTEST_LIMIT_S = 60.0
_LIMIT_FACTOR = 5.0
_SHORTEST_STARTUP_S = 5.0
_FIRST_LIMIT_S = 86400.0


def limit_of(settings: Settings, budget: float, known: float | None) -> float:
    """Return the seconds that a run of ``budget`` may take before SIGTERM.

    Args:
        known: for a budget of epochs, the seconds of the slowest full run so far; for a budget of
            time, what is allowed beyond it. None if nothing is known yet.
    """
    if settings.run_timeout is not None:
        return settings.run_timeout
    if settings.gate is Gate.TIME:
        return budget + (allowance(settings) if known is None else known)
    if known is None:
        return _FIRST_LIMIT_S
    return max(_SHORTEST_LIMIT_S, _LIMIT_FACTOR * known)


def allowance(settings: Settings) -> float:
    """Return the seconds beyond a time budget for start-up and evaluation, by default."""
    return max(_SHORTEST_STARTUP_S, 0.1 * settings.budget)


def is_told(settings: Settings) -> bool:
    """Say whether the program learns its budget and can be expected to end by itself."""
    return "{budget}" in settings.run_cmd or settings.budget_key is not None

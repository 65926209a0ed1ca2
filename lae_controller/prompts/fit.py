"""Keeping a prompt within its budget: what is shortened first, and what last."""

from __future__ import annotations

from collections.abc import Callable, Mapping

Levels = Mapping[str, int]
"""Part -> which of its versions is meant, 0 the longest; past the last one it is left out."""

TRIMMED = (
    "idle functions",
    "idle lines",
    "insights",
    "empty regions",
    "kinds of change",
    "earlier changes",
    "inspirations",
    "log",
    "insights",
    "last run",
    "earlier changes",
    "inspirations",
    "log",
    "earlier attempts",
    "examples",
    "earlier attempts",
)
"""Which part gives way by one version at each step; the code comes after all of them."""


def fit(versions: Mapping[str, int], length: Callable[[Levels], int], limit: int) -> dict[str, int]:
    """Choose a version of every part so that ``length`` of them is at most ``limit``.

    Args:
        versions: part -> how many versions it has.

    Returns:
        The levels. If even the last step is not enough, all parts are left out.
    """
    levels = dict.fromkeys(versions, 0)
    for name in TRIMMED:
        if length(levels) <= limit:
            break
        if levels.get(name, 0) < versions.get(name, 0):
            levels[name] += 1
    return levels


def dropped(versions: Mapping[str, int], levels: Levels) -> tuple[str, ...]:
    """Say in words what a choice of versions shortened or left out."""
    return tuple(
        f"{name} {'shortened' if levels[name] < count else 'left out'}"
        for name, count in versions.items()
        if levels[name] and count
    )

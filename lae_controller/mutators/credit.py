"""How well each mutation operator, or each kind of intervention, has done lately."""

from __future__ import annotations

from lae_controller.task import Credit

HALF_LIFE = 40.0
"""Children after which an observation counts half."""


class Credits:
    """A fold over told children: for each name, how many it made and how many were kept.

    The same children told in the same order give the same numbers, so that a replayed run
    goes on as an uninterrupted one.
    """

    def __init__(self, half_life: float = HALF_LIFE) -> None:
        self._decay = 0.5 ** (1.0 / half_life)
        self._told = 0
        self._known: dict[str, tuple[int, float, float, float]] = {}  # as of how many told, counts

    def tell(self, name: str, kept: bool, broken: bool = False) -> None:
        """Count one child of an operator or a kind; all earlier ones lose a little weight.

        Args:
            name: ``-`` for a child that none made.
        """
        if name in ("", "-"):
            return
        self._told += 1
        tried, paid, failed = self._now(name)
        self._known[name] = (self._told, tried + 1.0, paid + kept, failed + broken)

    def as_mapping(self) -> dict[str, Credit]:
        """Return the credit of every name told so far."""
        return {name: Credit(*self._now(name)) for name in sorted(self._known)}

    def _now(self, name: str) -> tuple[float, float, float]:
        """Return what is left of a name's counts."""
        since, tried, paid, failed = self._known.get(name, (self._told, 0.0, 0.0, 0.0))
        left = self._decay ** (self._told - since)
        return tried * left, paid * left, failed * left

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
        self._tried: dict[str, float] = {}
        self._paid: dict[str, float] = {}
        self._broken: dict[str, float] = {}

    def tell(self, name: str, kept: bool, broken: bool = False) -> None:
        """Count one child of an operator or a kind; all earlier ones lose a little weight.

        Args:
            name: ``-`` for a child that none made.
        """
        if name in ("", "-"):
            return
        for counts in (self._tried, self._paid, self._broken):
            for each in counts:
                counts[each] *= self._decay
        self._tried[name] = self._tried.get(name, 0.0) + 1.0
        self._paid[name] = self._paid.get(name, 0.0) + float(kept)
        self._broken[name] = self._broken.get(name, 0.0) + float(broken)

    def as_mapping(self) -> dict[str, Credit]:
        """Return the credit of every name told so far."""
        return {
            name: Credit(self._tried[name], self._paid[name], self._broken[name])
            for name in sorted(self._tried)
        }

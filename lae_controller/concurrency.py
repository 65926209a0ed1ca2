"""How many children run at a time, and when that turns out to be too many."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from lae_controller.parts import Parts
from lae_controller.program import Evaluation

_LONG_ENOUGH_S = 10.0
_STARVED_SHARE = 0.7


class Concurrency:
    """The number of slots in use; every change is an event of the journal and is said.

    A child's own configuration is never rewritten to make it fit: the machine's limits are real,
    and the comparison between children would be lost.
    """

    def __init__(self, parts: Parts) -> None:
        self._state = parts.state
        self._ledger = parts.ledger
        self._capacity = parts.executor.capacity
        self._say = parts.say
        self._is_derived = parts.settings.concurrency is None
        self._baseline_share = parts.prepared.baseline.efficiency
        self._starved_before = False

    @property
    def slots(self) -> int:
        """How many children a generation has."""
        return min(self._capacity(), self._state.concurrency or 1)

    def note_configured(self) -> None:
        """Write down the number of slots, unless a lower one was settled on under the same."""
        if self._state.configured != self._capacity():
            self._set(self._capacity(), "as configured or derived")

    def follow(self) -> None:
        """Take in that there is room for more, or for fewer, than before: nodes come and go.

        What was lowered stays lower by as much. A number that was set does not move.
        """
        room, before = self._capacity(), self._state.configured
        if self._is_derived and before is not None and room != before:
            lowered = before - (self._state.concurrency or before)
            self._set(max(1, room - lowered), f"room for {room} instead of {before}")
            self._say(f"concurrency {self._state.concurrency}: room for {room}, not {before}")

    def lower(self, reason: str) -> None:
        """Let one fewer run at a time from the next generation on."""
        now = self.slots
        if now > 1:
            self._set(now - 1, reason)
            self._say(f"concurrency {now} -> {now - 1}: {reason}")

    def watch(self, generation: Sequence[Evaluation]) -> None:
        """Lower it when children get under 70 % of the processor time that the baseline got.

        Only where the number was derived and not set, on runs long enough to tell, and only when
        it was so in two generations in a row.
        """
        shares = [
            evaluation.efficiency
            for evaluation in generation
            if evaluation.seconds >= _LONG_ENOUGH_S and evaluation.efficiency > 0
        ]
        starved = (
            self._is_derived
            and self.slots > 1
            and bool(shares)
            and statistics.median(shares) < _STARVED_SHARE * self._baseline_share
        )
        if starved and self._starved_before:
            self.lower("children got under 70 % of the processor time that the baseline got")
            starved = False
        self._starved_before = starved

    def _set(self, to: int, reason: str) -> None:
        event = {
            "event": "concurrency",
            "from": self._state.concurrency,
            "to": to,
            "configured": self._capacity(),
            "reason": reason,
        }
        self._ledger.append([event])
        self._state.apply(event)

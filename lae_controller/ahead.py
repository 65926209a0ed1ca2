"""How many children to have under way, so that no slot waits for a Mutator."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lae_controller.config import MutatorSettings
from lae_controller.mutators import MENDING
from lae_controller.overlap import Overlap
from lae_controller.results import Result
from lae_controller.task import ReplyTimes

_LEAST, _MOST = 1, 8
_UNKNOWN = 2.0  # more proposals a slot at most, before the first has come in
_WEIGHT = 0.2
_YIELD_WEIGHT = 0.05
_LEAST_YIELD = 0.5
_MEMORY = 0.98
_FEW, _ENOUGH = 3.5, 7.5  # calls, old ones counting less
_NEAR = 4.0
_LATE = 0.8


class Ahead:
    """Learns from finished children how long proposing takes against evaluating.

    A child that is asked for early is chosen from what was known then, so no more are asked ahead
    than it takes: with a proposal of L seconds and an evaluation of T, slots stay busy if L / T
    proposals a slot are under way beside what runs (Little's law); with L / T / y of them if only
    the share y of all proposals is a program that can be run.

    Args:
        evaluation_s: what one evaluation is expected to take: those of the baseline did.
    """

    def __init__(self, mutator: MutatorSettings, evaluation_s: float = 0.0) -> None:
        self._asks_a_model = mutator.backend in MENDING
        self._patience = _LATE * mutator.timeout
        self._proposal: float | None = None
        self._evaluation = evaluation_s or None
        self._yield = 1.0
        self._queueing = Queueing()
        self._overlap = Overlap()
        self._came_in = 0
        self._bearable = float(1 << 30)

    def proposed(
        self,
        crowd: int,
        seconds: float,
        *,
        usable: bool = True,
        replies: Sequence[ReplyTimes] = (),
    ) -> None:
        """Take in one proposal: how many were under way with it, and how long it took.

        One that came near its time limit was one of too many: half as many are borne from then on,
        and one more again for each round of those that come in time.
        """
        if not self._asks_a_model:
            return
        self._came_in += 1
        self._proposal = _blend(self._proposal, seconds)
        self._yield += _YIELD_WEIGHT * (usable - self._yield)
        if seconds >= self._patience:
            self._bearable = max(1.0, min(self._bearable, crowd) / 2)
            return
        self._bearable += 1.0 / self._bearable
        # A pause in which a service was unwell is no queue.
        self._queueing.note(crowd, sum(it.ended - it.sent for it in replies) or seconds)
        self._overlap.note(replies)

    def note(self, result: Result) -> None:
        """Take in one finished child."""
        if result.evaluation.seconds > 0:
            self._evaluation = _blend(self._evaluation, result.evaluation.seconds)

    def wanted(self, slots: int, waited_s: float = 0.0) -> int:
        """Return how many children should be under way, those in slots included.

        Args:
            waited_s: since when the oldest proposal has been under way. Before the first comes in,
                all that are asked for are chosen from the same knowledge, so it costs little to
                ask for more while slots would fall idle.
        """
        if not self._asks_a_model or not self._evaluation:
            return slots + max(1, slots // 2)
        if self._proposal is None:
            each = 0.5 + min(_UNKNOWN, waited_s / self._evaluation)
            return slots + max(1, int(slots * each))
        lead = self._proposal / max(_LEAST_YIELD, self._yield)
        each = min(_MOST, max(_LEAST, lead / self._evaluation))
        return slots + math.ceil(slots * each)

    def useful(self, slots: int) -> int:
        """Return how many proposals may be under way at a time: more would come no sooner.

        One for each slot always may where a proposal takes no longer than an evaluation: what it
        is chosen from is then hardly older, however they get in each other's way. What is under way
        grows by one for each that came in, so that a queue is noticed before it is long.
        """
        if not self._asks_a_model:
            return self.most(slots)
        grown = int(slots * (0.5 + _UNKNOWN)) + self._came_in
        quick = self._proposal is not None and self._proposal <= (self._evaluation or 0.0)
        queue = self._queueing.useful()
        if (overlap := self._overlap.useful()) is not None:
            queue = min(queue, overlap)
        queue = max(queue, slots if quick else 1)
        return min(self.most(slots), queue, int(self._bearable), grown)

    def most(self, slots: int) -> int:
        """Return how many proposals can be under way at the same time at most."""
        return slots * (1 + _MOST)


class Queueing:
    """How much longer a proposal takes for every other that is under way with it.

    A local server answers one after the other: what is asked early only waits there, and is chosen
    from what was known before. Seconds are taken as a + b n for n proposals under way, by least
    squares in which older calls count less; b is 0 unless it is more than twice its standard error,
    three times while there are few.
    """

    def __init__(self) -> None:
        self._count = self._n = self._t = self._nn = self._nt = self._tt = 0.0

    def note(self, crowd: int, seconds: float) -> None:
        """Take in a call that ran beside ``crowd - 1`` others."""
        new = (1.0, crowd, seconds, crowd * crowd, crowd * seconds, seconds * seconds)
        old = (self._count, self._n, self._t, self._nn, self._nt, self._tt)
        self._count, self._n, self._t, self._nn, self._nt, self._tt = (
            _MEMORY * before + value for before, value in zip(old, new, strict=True)
        )

    def useful(self) -> int:
        """Return the n at which n / (a + b n), proposals a second, is 4/5 of the most, 1 / b."""
        b = self._slope()
        if b <= 0.0:
            return 1 << 30
        a = max(0.0, (self._t - b * self._n) / self._count)
        return max(1, math.ceil(_NEAR * a / b))

    def _slope(self) -> float:
        """Return b; 0 if nothing can be said."""
        if self._count < _FEW:
            return 0.0
        mean_n, mean_t = self._n / self._count, self._t / self._count
        spread = self._nn / self._count - mean_n**2
        if spread < 1e-6 * mean_n**2:
            return 0.0  # always as many at a time
        slope = (self._nt / self._count - mean_n * mean_t) / spread
        left = max(0.0, self._tt / self._count - mean_t**2 - slope**2 * spread)
        error = math.sqrt(left / (spread * self._count))
        sure = 3.0 if self._count < _ENOUGH else 2.0
        return min(mean_t / mean_n, slope) if slope > sure * error else 0.0


def _blend(old: float | None, new: float) -> float:
    return new if old is None else old + _WEIGHT * (new - old)

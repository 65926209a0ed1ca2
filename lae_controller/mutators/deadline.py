"""The time one Mutator process has."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_MARGIN_S = 5.0


class OutOfTime(BaseException):
    """The time of this process is over; not an Exception, so that no library swallows it."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment by the monotonic clock, in seconds."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """Return the moment that lies ``seconds`` ahead."""
        return cls(time.monotonic() + seconds)

    @property
    def left(self) -> float:
        """Seconds until then; 0.0 if it has passed."""
        return max(0.0, self.at - time.monotonic())


def usable(timeout: float) -> float:
    """Return how much of a process's ``timeout`` to use: what is left is for its report."""
    return max(timeout / 2, timeout - _MARGIN_S)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise OutOfTime in the main thread if the block takes longer, even inside a system call."""

    def ring(_signal: int, _frame: object) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

"""Waiting for a service that is overloaded or away."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from lae_controller.errors import ChildError
from lae_controller.mutators.deadline import Deadline
from lae_controller.program import Reason


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a service is waited for.

    Attributes:
        first: seconds before the first repetition, doubled for each further one up to ``most``.
        tries: repetitions altogether.
        sleep: takes the seconds to wait.
    """

    first: float = 1.0
    most: float = 60.0
    tries: int = 8
    sleep: Callable[[float], None] = time.sleep


class Backoff:
    """The waits of one process: they grow, and none is quite like another's.

    Source: "equal jitter", Brooker, Exponential Backoff And Jitter (AWS, 2015).
    """

    def __init__(self, patience: Patience, rng: random.Random, deadline: Deadline) -> None:
        self._patience = patience
        self._rng = rng
        self._deadline = deadline
        self._tries = 0

    def wait(self, trouble: str, at_least: float = 0.0) -> None:
        """Wait before the same thing is tried once more.

        Args:
            at_least: seconds that the service itself asked for.

        Raises:
            ChildError: ENVIRONMENT, with the trouble, if it was tried often enough or no time
                is left.
        """
        patience = self._patience
        whole = min(patience.most, patience.first * 2**self._tries)
        delay = at_least + whole * self._rng.uniform(0.5, 1.0)
        if self._tries >= patience.tries:
            raise ChildError(Reason.ENVIRONMENT, f"{trouble}; tried {self._tries + 1} times")
        if delay >= self._deadline.left:
            about = f"the next try would be due in {delay:.0f} s, after mutator.timeout"
            raise ChildError(Reason.ENVIRONMENT, f"{trouble}; {about}")
        self._tries += 1
        patience.sleep(delay)

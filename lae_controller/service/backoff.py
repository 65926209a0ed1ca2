"""How long to wait before a request is sent once more: exponential, with full jitter."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """The pauses between tries, in seconds.

    Attributes:
        first: the longest that the first pause can be; each later one may be twice as long.
        most: what no pause exceeds.
        tries: requests in all; the last failure is the caller's.
    """

    first: float = 0.5
    most: float = 60.0
    tries: int = 8

    def pauses(self, rng: random.Random) -> Iterator[float]:
        """Yield a pause for each further try; drawn evenly, so that workers do not march in step.

        Source: "full jitter", Brooker, Exponential Backoff And Jitter (AWS, 2015).
        """
        for attempt in range(self.tries - 1):
            yield rng.uniform(0.0, min(self.most, self.first * 2**attempt))

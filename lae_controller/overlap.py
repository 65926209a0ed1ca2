"""How many replies a model server was seen to write at the same time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from statistics import median

from lae_controller.task import ReplyTimes

_KEPT, _WAITS = 64, 24  # replies, the latest
_ENOUGH = 4  # replies before anything is said
_FULL = 0.65  # of what it can; now and then it reads a prompt instead
_UNLIKELY = 5.0
_TAIL = 0.1  # of a reply: how late its end may be noticed

_Span = tuple[float, float]


class Overlap:
    """Tells a server that can write no more at a time from one that answers everybody at once.

    While others wait for their first word, the former writes nearly as many replies as it ever
    does. With the latter, which thinks while they wait, chance has that many together only once.
    """

    def __init__(self) -> None:
        self._latest: deque[_Span] = deque(maxlen=_KEPT)
        self._beside: deque[float] = deque(maxlen=_WAITS)
        self._most = 0
        self._one_by_one = False

    def note(self, replies: Iterable[ReplyTimes]) -> None:
        """Take in replies that have come in whole, the earliest first."""
        for it in replies:
            self._latest.append((it.began, it.ended))
            self._beside.append(_mean_number(self._latest, it.sent, it.began))
            self._most = max(self._most, _most_at_a_time(self._latest))
            self._one_by_one = self._most == 1 and (self._one_by_one or self._is_no_chance())

    def useful(self) -> int | None:
        """Return how many replies may be asked for at a time: for each that is written, one waits.

        None if that cannot be told. A server that can write more than was seen is found out, as
        twice as many are asked for.
        """
        return 2 * self._most if self._one_by_one or self._is_full() else None

    def _is_full(self) -> bool:
        """Return whether in most waits the server wrote nearly as many as it ever did.

        The median, as one that hung once was not idle all along.
        """
        known = len(self._beside) >= _ENOUGH
        return known and median(self._beside) >= _FULL * self._most

    def _is_no_chance(self) -> bool:
        """Return whether no reply began beside another where that was to be expected n times.

        Of one that answers everybody, e^-n is how likely that is.
        """
        return sum(self._beside) >= _UNLIKELY


def _mean_number(spans: Iterable[_Span], since: float, until: float) -> float:
    """Return how many of the spans are under way at a moment of a time; 0 of no time."""
    covered = sum(max(0.0, min(end, until) - max(begin, since)) for begin, end in spans)
    return covered / (until - since) if until > since else 0.0


def _most_at_a_time(spans: Sequence[_Span]) -> int:
    cut = [(begin, end - _TAIL * (end - begin)) for begin, end in spans]
    return max(sum(begin <= at < end for begin, end in cut) for at, _ in cut)

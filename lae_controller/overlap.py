"""How many replies a model server was seen to write at the same time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from statistics import median

from lae_controller.task import ReplyTimes

_KEPT, _WAITS = 64, 24  # replies, the latest
_ENOUGH = 4  # replies before anything is said
_AT_WORK = 0.4  # of a wait; the rest is what a server reads of a prompt before its first word
_UNLIKELY = 5.0
_TAIL = 0.1  # of a reply: how late its end may be noticed

_Span = tuple[float, float]


class Overlap:
    """Tells a server that can write no more at a time from one that answers everybody at once.

    While others wait for their first word, a server that writes all along writes as many replies
    as it can. One that answers everybody is seen to do so, or is mostly silent while they wait, as
    a model that thinks first.
    """

    def __init__(self) -> None:
        self._latest: deque[_Span] = deque(maxlen=_KEPT)
        self._shares: deque[float] = deque(maxlen=_WAITS)
        self._most = 0
        self._queues = False

    def note(self, replies: Iterable[ReplyTimes]) -> None:
        """Take in replies that have come in whole, the earliest first."""
        for it in replies:
            self._latest.append((it.began, it.ended - _TAIL * (it.ended - it.began)))
            written = sorted(self._latest)
            self._shares.append(_share(_together(written), it.sent, it.began))
            most = max(sum(begin <= at < end for begin, end in written) for at, _ in written)
            self._most = max(self._most, most)
            self._queues |= self._is_full()

    def useful(self) -> int | None:
        """Return how many replies may be asked for at a time: for each that is written, one waits.

        None if that cannot be told. A server that can write more than was seen is found out, as
        twice as many are asked for.
        """
        return 2 * self._most if self._queues else None

    def _is_full(self) -> bool:
        """Return whether the server wrote as many as it can, while others waited.

        It was at work in the usual wait: the median, as one that hung once was not idle all along.
        Or it never began to write beside another reply where that was to be expected n times: e^-n
        is how likely that is of one that answers everybody.
        """
        if len(self._shares) < _ENOUGH:
            return False
        by_chance = sum(self._shares)
        return median(self._shares) >= _AT_WORK or (self._most == 1 and by_chance >= _UNLIKELY)


def _together(spans: Iterable[_Span]) -> list[_Span]:
    """Return the times within any of the spans, which are in order, as spans without overlap."""
    found: list[_Span] = []
    for begin, end in spans:
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return found


def _share(spans: Iterable[_Span], since: float, until: float) -> float:
    """Return which share of a time the spans cover; 0 of no time."""
    covered = sum(max(0.0, min(end, until) - max(begin, since)) for begin, end in spans)
    return covered / (until - since) if until > since else 0.0

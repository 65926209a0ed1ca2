from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from lae_controller.errors import PrerequisiteError
from lae_controller.ledger import Event
from lae_controller.service.commits import CommitLog


def test_events_that_wait_share_a_write_and_keep_their_order() -> None:
    written: list[list[int]] = []
    begun, go = threading.Event(), threading.Event()

    def append(events: Sequence[Event]) -> None:
        begun.set()
        go.wait(10)
        written.append([event["n"] for event in events])

    with ThreadPoolExecutor(2) as pool:
        log = CommitLog(append, pool)
        first = log.add({"n": 0})
        assert begun.wait(10)
        later = [log.add({"n": n}) for n in range(1, 50)]
        assert not first.done()
        go.set()
        for future in (first, *later):
            future.result(10)
    assert written == [[0], list(range(1, 50))]


def test_every_caller_learns_of_a_failed_write() -> None:
    def append(_: Sequence[Event]) -> None:
        raise PrerequisiteError("full")

    with ThreadPoolExecutor(1) as pool:
        log = CommitLog(append, pool)
        failed = [log.add({"n": n}) for n in range(5)]
        assert all(future.exception(10) is not None for future in failed)
    assert log.broken

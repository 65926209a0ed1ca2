"""Many events, one fsync: whoever comes while the disk is busy shares the next write."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future

from lae_controller.errors import LaeError
from lae_controller.ledger import Event


class CommitLog:
    """Appends events in the order of ``add``, as many at a time as there are.

    Once an append has failed nothing more is taken: memory is ahead of the disk, and whoever owns
    both must read the ledger anew.

    Args:
        append: writes events durably, all or none (``Ledger.append``).
        pool: where it is called.
    """

    def __init__(self, append: Callable[[Sequence[Event]], None], pool: Executor) -> None:
        self._append = append
        self._pool = pool
        self._lock = threading.Lock()
        self._waiting: list[Event] = []
        self._batch: Future[None] = Future()
        self._writing = False
        self.broken = False

    def add(self, event: Event) -> Future[None]:
        """Queue an event; the future is done when it is durable, or holds why it is not."""
        with self._lock:
            self._waiting.append(event)
            batch = self._batch
            begin = not self._writing
            self._writing = True
        if begin:
            self._pool.submit(self._write)
        return batch

    def _write(self) -> None:
        while True:
            with self._lock:
                events, batch = self._waiting, self._batch
                if not events:
                    self._writing = False
                    return
                self._waiting, self._batch = [], Future()
            self._write_one(events, batch)

    def _write_one(self, events: list[Event], batch: Future[None]) -> None:
        error: Exception = LaeError("an event could not be written; nothing was changed")
        written = False
        try:
            if not self.broken:
                self._append(events)
                written = True
        except (LaeError, OSError) as trouble:
            error = trouble
        finally:  # whatever happened, nobody waits for ever
            if written:
                batch.set_result(None)
            else:
                self.broken = True
                batch.set_exception(error)

"""The signals that end a run in order: Ctrl-C, SIGTERM and SIGHUP."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn


class StopSignals:
    """Raises ``KeyboardInterrupt`` on a signal, and remembers it.

    Python throws away what is raised inside a destructor, and a signal may arrive in one: so
    whoever loops asks ``check`` too.
    """

    def __init__(self) -> None:
        self._arrived = False

    def interrupt(self, _number: int, _frame: FrameType | None) -> NoReturn:
        """Handle a signal.

        Raises:
            KeyboardInterrupt: always.
        """
        self._arrived = True
        raise KeyboardInterrupt

    def check(self) -> None:
        """Do nothing unless a signal arrived.

        Raises:
            KeyboardInterrupt: if one did.
        """
        if self._arrived:
            raise KeyboardInterrupt


@contextmanager
def stop_signals() -> Iterator[StopSignals]:
    """Turn all three signals into ``KeyboardInterrupt``, while this lasts."""
    stopping = StopSignals()
    before = {
        number: signal.signal(number, stopping.interrupt)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

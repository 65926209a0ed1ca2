"""The HTTP server around the application; the only place that knows uvicorn."""

from __future__ import annotations

import contextlib
import signal
import socket
import sys
from collections.abc import Callable, Iterator

import uvicorn

from lae_controller.service.access import App

_HEADER_BUFFER = 64 << 10
_KEEP_ALIVE_S = 75  # beyond the pause of any poller, or it would write into a closing connection
_GRACE_S = 10
_SWITCH_S = 0.001
"""How long a search may compute before a request gets its turn; Python's own 5 ms add up."""


def run_app(app: App, listening: socket.socket, ending: Callable[[], None]) -> None:
    """Serve an application on a bound socket until SIGINT or SIGTERM; in the main thread.

    Args:
        ending: called in the event loop when the end begins, so that long replies come to theirs.
    """
    config = uvicorn.Config(
        app,
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        h11_max_incomplete_event_size=_HEADER_BUFFER,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_GRACE_S,
    )
    sys.setswitchinterval(_SWITCH_S)
    _Server(config, ending).run(sockets=[listening])


class _Server(uvicorn.Server):
    """A server that returns when it is asked to stop, so that what lies behind can be closed."""

    def __init__(self, config: uvicorn.Config, ending: Callable[[], None]) -> None:
        super().__init__(config)
        self._ending = ending

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close everything; replies that would never end are ended first."""
        self._ending()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on a signal, without raising it once more at the end."""
        wanted = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in wanted}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

"""The near end of the warden server: one for each controller process, started when it is needed."""

from __future__ import annotations

import contextlib
import marshal
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lae_controller.sandbox.command import scrubbed_environment

_SCRIPT = str(Path(__file__).with_name("warden_server.py"))
_TRIES = 3


class Zygote:
    """Has wardens forked. Safe to use from several threads.

    A server that was killed is started anew: the wardens that it forked do not need it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._owner = 0

    def fork_warden(self, spec: Mapping[str, Any], life: int, done: int) -> None:
        """Have a warden forked that watches what ``spec`` says.

        Args:
            life: what becomes its lifeline, the reading end of a pipe.
            done: what it writes its last words to, and closes when it ends.

        Raises:
            OSError: if no server can be started.
        """
        payload = marshal.dumps(dict(spec))
        with self._lock:
            for attempt in range(_TRIES):
                try:
                    self._send(payload, [life, done])
                    return
                except PermissionError:  # a sandbox around us forbids sockets
                    self._forget()
                    _start_alone(payload, life, done)
                    return
                except OSError:
                    self._forget()
                    if attempt == _TRIES - 1:
                        raise

    def _send(self, payload: bytes, descriptors: Sequence[int]) -> None:
        if self._control is None or self._owner != os.getpid():  # a copy's server is not its own
            self._control, self._owner = _start(), os.getpid()
        socket.send_fds(self._control, [len(payload).to_bytes(8, "big")], descriptors)
        _write(self._control.fileno(), payload)

    def _forget(self) -> None:
        if self._control is not None:
            with contextlib.suppress(OSError):
                self._control.close()
        self._control = None


def _write(descriptor: int, data: bytes) -> None:
    """Write all of it. Not by ``send``, which sandboxes without a network forbid for any socket."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _start_alone(payload: bytes, life: int, done: int) -> None:
    """Start a process that becomes the one warden, where no server can be spoken to.

    Raises:
        OSError: if it cannot be started.
    """
    subprocess.run(
        [sys.executable, "-I", "-S", _SCRIPT, payload.hex()],
        stdin=life,
        stdout=subprocess.DEVNULL,
        stderr=done,
        cwd="/",
        env=scrubbed_environment(os.environ, Path(sys.executable)),
        check=False,
    )


def _start() -> socket.socket:
    """Start a server, which detaches itself; return our end of its socket."""
    ours, theirs = socket.socketpair()
    with theirs:
        subprocess.run(
            [sys.executable, "-I", "-S", _SCRIPT],
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=scrubbed_environment(os.environ, Path(sys.executable)),
            check=False,
        )
    return ours


WARDENS = Zygote()
"""Of this process."""

"""The far end of many Mutator processes: forks one for each task, so that none has to start anew.

Importing a client of a model service takes longer than many a training step. The server imports
once and forks; each proposal still has a process of its own, whose end is its own alone.
``python -m lae_controller mutate --serve FIFO BACKEND SECONDS`` (internal).

How a process ended is one line, ``NUMBER STATUS``, in a second pipe beside the first.
"""

from __future__ import annotations

import gc
import importlib
import os
import select
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from lae_controller.codec import learn
from lae_controller.config import MutatorSettings
from lae_controller.mutate import main as propose
from lae_controller.mutators import MUTATORS
from lae_controller.task import Mutation, MutatorFailure, Task

ENDED = "ended.fifo"
"""The second pipe: how processes ended."""

_WARMED_UP = {"anthropic": "lae_controller.mutators.messages_service"}


@dataclass(frozen=True, slots=True)
class _Working:
    """A process under way: its request's number, and until when it may run."""

    number: int
    until: float


def serve(fifo: Path, backend: str, seconds: float) -> int:
    """Fork a Mutator for each line ``NUMBER TASK`` that is written to the pipe; never returns.

    Args:
        seconds: after which a process is killed.
    """
    _prepare(backend)
    tasks = os.open(fifo, os.O_RDWR | os.O_CLOEXEC)  # written to by itself: it never sees an end
    ended = os.open(fifo.with_name(ENDED), os.O_WRONLY | os.O_CLOEXEC)
    wake = _wake_on_child()
    working: dict[int, _Working] = {}
    rest = b""
    while True:
        ready, _, _ = select.select([tasks, wake], [], [], _patience(working))
        if wake in ready:
            os.read(wake, 1 << 12)
        if tasks in ready:
            *lines, rest = (rest + os.read(tasks, 1 << 16)).split(b"\n")
            for line in lines:
                number, _, path = line.decode().partition(" ")
                pid = _fork(Path(path), (tasks, ended, wake))
                working[pid] = _Working(int(number), time.monotonic() + seconds)
        for pid, work in list(working.items()):
            if time.monotonic() > work.until:
                os.kill(pid, signal.SIGKILL)
        _collect(working, ended)


def _prepare(backend: str) -> None:
    """Load all that a proposal needs, once for all forks."""
    importlib.import_module(MUTATORS[backend].partition(":")[0])
    if backend in _WARMED_UP:
        importlib.import_module(_WARMED_UP[backend]).warm_up()
    learn(Task, MutatorSettings, Mutation, MutatorFailure)
    gc.collect()
    gc.freeze()  # or the first collection of each fork would copy all these pages


def _wake_on_child() -> int:
    """Return a descriptor that becomes readable whenever a child of this process ends."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return reading


def _patience(working: dict[int, _Working]) -> float | None:
    """Return the seconds until the first process is out of time; None if none is under way."""
    if not working:
        return None
    return max(0.0, min(work.until for work in working.values()) - time.monotonic()) + 0.01


def _fork(task: Path, ours: tuple[int, ...]) -> int:
    """Start the process of one task, which writes to a log of its own; returns its pid.

    Args:
        ours: descriptors that are the server's alone.
    """
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for descriptor in ours:
            os.close(descriptor)
        log = os.open(task.with_name("mutator.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        status = propose(task)
    except BaseException as error:  # noqa: BLE001 - a forked process must not go on as the server
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        sys.stderr.flush()
        os._exit(status)


def _collect(working: dict[int, _Working], ended: int) -> None:
    """Tell how the processes ended that did."""
    while working:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        line = f"{working.pop(pid).number} {os.waitstatus_to_exitcode(status)}\n"
        os.write(ended, line.encode())

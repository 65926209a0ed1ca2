"""The far end of many Mutator processes: forks one for each task, so that none has to start anew.

Importing a client of a model service takes longer than many a training step. The server imports
once and forks; each proposal still has a process of its own, whose end is its own alone.
``python -m lae_controller mutate --serve FIFO BACKEND SECONDS`` (internal).
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from lae_controller.files import write_atomic
from lae_controller.mutate import main as propose
from lae_controller.mutators import MUTATORS

EXIT_FILE = "mutator.exit.json"
"""Beside a task: how its process ended, ``{"number": …, "status": …}``."""

_PRELOADED = {"anthropic": ("anthropic", "lae_controller.mutators.messages_service")}
_TICK_S = 0.02
_IDLE_TICK_S = 1.0


@dataclass(frozen=True, slots=True)
class _Working:
    """A process under way: its request's number, its task, and until when it may run."""

    number: int
    task: Path
    until: float


def serve(fifo: Path, backend: str, seconds: float) -> int:
    """Fork a Mutator for each line ``NUMBER TASK`` that is written to the pipe; never returns.

    Args:
        seconds: after which a process is killed.
    """
    for name in (MUTATORS[backend].partition(":")[0], *_PRELOADED.get(backend, ())):
        importlib.import_module(name)
    pipe = os.open(fifo, os.O_RDWR | os.O_CLOEXEC)  # written to by itself: it never sees an end
    working: dict[int, _Working] = {}
    rest = b""
    while True:
        ready, _, _ = select.select([pipe], [], [], _TICK_S if working else _IDLE_TICK_S)
        if ready:
            *lines, rest = (rest + os.read(pipe, 1 << 16)).split(b"\n")
            for line in lines:
                number, _, path = line.decode().partition(" ")
                pid = _fork(Path(path), pipe)
                working[pid] = _Working(int(number), Path(path), time.monotonic() + seconds)
        for pid, work in list(working.items()):
            if time.monotonic() > work.until:
                os.kill(pid, signal.SIGKILL)
        _collect(working)


def _fork(task: Path, pipe: int) -> int:
    """Start the process of one task, which writes to a log of its own; returns its pid."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        os.close(pipe)
        log = os.open(task.with_name("mutator.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        status = propose(task)
    except BaseException as error:  # noqa: BLE001 - a forked process must not go on as the server
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        sys.stderr.flush()
        os._exit(status)


def _collect(working: dict[int, _Working]) -> None:
    """Write down how the processes ended that did."""
    while working:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        work = working.pop(pid)
        ended = {"number": work.number, "status": os.waitstatus_to_exitcode(status)}
        if work.task.parent.is_dir():
            write_atomic(work.task.with_name(EXIT_FILE), json.dumps(ended))

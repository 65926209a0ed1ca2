"""Start a command under a detached warden and wait for how it ended."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from lae_controller.errors import PrerequisiteError
from lae_controller.files import cannot_write, read_json
from lae_controller.lock import is_locked
from lae_controller.sandbox.memory_group import make_group
from lae_controller.sandbox.zygote import WARDENS

HEAD_BYTES = 4 << 20
TAIL_BYTES = 4 << 20
"""How much of a command's output is kept: this much of its beginning and of its end."""

_CUT_TICK_S = 0.5


@dataclass(frozen=True, slots=True)
class Command:
    """What to run and how long it may take.

    Attributes:
        limit: seconds until SIGTERM; None for no limit.
        grace: seconds from SIGTERM to SIGKILL.
        output: the log file; its folder also takes the outcome.
        memory: bytes that all its processes together may hold; None for no limit.
        disk: bytes that ``folders`` together may grow to; None for no limit.
    """

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    output: Path
    limit: float | None
    grace: float
    memory: int | None = None
    disk: int | None = None
    folders: tuple[Path, ...] = ()

    @property
    def exit_file(self) -> Path:
        """Where the warden writes the outcome."""
        return self.output.with_suffix(".exit.json")

    @property
    def lock(self) -> Path:
        """Held by the warden while it lives; beside the folder, which may be removed."""
        return lock_beside(self.output.parent)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended.

    Attributes:
        why: ``exit`` by itself, ``timeout``, ``memory`` or ``disk`` beyond its limit, or
            ``lifeline`` (cancelled, or the controller died).
        status: exit code, or minus the signal that ended it; None if it was not seen.
        seconds: wall-clock, measured outside the command.
        dropped: bytes of output that were not kept.
        termed: whether SIGTERM was sent at the limit.
        cpu_seconds: of all its processes that ended.
        peak_memory: bytes, as sampled; 0 if it ended before the first sample.
        oom_kills: processes of this machine that the kernel killed for memory meanwhile.
    """

    why: str
    status: int | None
    seconds: float
    dropped: int
    termed: bool
    cpu_seconds: float = 0.0
    peak_memory: int = 0
    oom_kills: int = 0


class Lifelines:
    """The lifelines of everything that runs now; cutting them ends it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: set[int] = set()
        self._further: list[Callable[[], None]] = []
        self.cut_all = False

    def hold(self, descriptor: int) -> bool:
        """Keep a lifeline; False (and closed at once) if everything is being ended."""
        with self._lock:
            if self.cut_all:
                os.close(descriptor)
                return False
            self._open.add(descriptor)
            return True

    def drop(self, descriptor: int) -> None:
        """Close one lifeline, if it is still open."""
        with self._lock:
            if descriptor in self._open:
                self._open.discard(descriptor)
                os.close(descriptor)

    def also(self, end: Callable[[], None]) -> None:
        """Call ``end``, too, when everything is ended: for what runs beyond this machine."""
        with self._lock:
            if not self.cut_all:
                self._further.append(end)
                return
        end()

    def end_all(self) -> None:
        """Cut every lifeline, and every later one as soon as it is held."""
        with self._lock:
            self.cut_all = True
            for descriptor in self._open:
                os.close(descriptor)
            self._open.clear()
            further, self._further = self._further, []
        for end in further:
            end()


def run(command: Command, lifelines: Lifelines, cut: Callable[[], bool] | None = None) -> Ended:
    """Run ``command`` to its end and return how it ended; blocks, safe in any thread.

    Args:
        cut: asked about twice a second; once it says yes, the lifeline is cut.

    Raises:
        PrerequisiteError: if the warden could not do its work (a broken machine, not a bad child).
    """
    command.exit_file.unlink(missing_ok=True)
    life_read, life_write = os.pipe()
    done_read, done_write = os.pipe()
    lifelines.hold(life_write)
    try:
        _start(command, life_read, done_write)
        os.close(done_write)
        done_write = -1
        if cut is not None:
            _watch(done_read, cut, lambda: lifelines.drop(life_write))
        said = _read_to_end(done_read)
    finally:
        lifelines.drop(life_write)
        for descriptor in (life_read, done_read, done_write):
            with contextlib.suppress(OSError):
                os.close(descriptor)
    ended = read_outcome(command.exit_file)
    if ended is None and os.strerror(errno.ENOSPC) in said:
        raise cannot_write(command.exit_file, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    if ended is None:
        raise PrerequisiteError(
            f"{command.exit_file}: the process that watches a run left no outcome; expected one. "
            f"It said: {said.strip() or 'nothing'}. Is the disk full, or was it killed?"
        )
    return ended


def lock_beside(folder: Path) -> Path:
    """Return the lock of the warden that works in ``folder``."""
    return folder.with_name(folder.name + ".lock")


def wait_for_warden(folder: Path, patience: float = 20.0) -> None:
    """Wait until no warden of an earlier session works in ``folder`` any more.

    One whose controller was killed still has its sweep to do; what it finds out counts.

    Raises:
        PrerequisiteError: if it does not end.
    """
    lock = lock_beside(folder)
    if not lock.exists():
        return  # no warden ever worked there: it makes the lock as it begins
    try:
        with FileLock(str(lock), timeout=patience):
            pass
    except Timeout:
        raise PrerequisiteError(
            f"{folder}: a process of an earlier session still works there after {patience:g} s; "
            "expected it to end by itself. Look for it with `ps`, end it, then go on"
        ) from None


def is_worked_in(folder: Path) -> bool:
    """Say whether a warden works in ``folder`` now."""
    return is_locked(lock_beside(folder))


def read_outcome(path: Path) -> Ended | None:
    """Return the outcome a warden wrote, or None if there is none."""
    value = read_json(path)
    return Ended(**value) if isinstance(value, dict) else None


def _start(command: Command, life: int, done: int) -> None:
    spec = {
        "argv": list(command.argv),
        "cwd": str(command.cwd),
        "env": dict(command.env),
        "output": str(command.output),
        "head": HEAD_BYTES,
        "tail": TAIL_BYTES,
        "limit": command.limit,
        "memory": command.memory,
        "group": make_group(command.memory, uuid.uuid4().hex) if command.memory else "",
        "disk": command.disk,
        "folders": [str(folder) for folder in command.folders],
        "grace": command.grace,
        "exit_file": str(command.exit_file),
        "lock": str(command.lock),
    }
    try:
        WARDENS.fork_warden(spec, life, done)
    except OSError as error:
        raise PrerequisiteError(
            f"{command.output.parent}: the process that watches a run could not be started "
            f"({error}); expected to start one. Are there too many processes, or is memory short?"
        ) from error


def _watch(done: int, cut: Callable[[], bool], end: Callable[[], None]) -> None:
    """Return when the warden has something to say; end the run before if it is to be cut."""
    while not select.select([done], [], [], _CUT_TICK_S)[0]:
        if cut():
            end()
            return


def _read_to_end(descriptor: int) -> str:
    parts: list[bytes] = []
    while data := os.read(descriptor, 1 << 12):
        parts.append(data)
    return b"".join(parts).decode("utf-8", "replace")

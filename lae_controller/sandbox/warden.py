"""Run one command and let nothing of it survive.

It is forked off ``warden_server.py`` (and once more, into a session of its own, so that whoever
kills the controller's children, its process group or the server does not reach it), becomes the
reaper of all its descendants, and watches the command, a deadline and the *lifeline*: a pipe on
fd 0 whose other end only the controller holds. Whatever ends first (the command by itself, the
deadline, the controller's life or its patience), every descendant is stopped and killed until none
is left, in whatever group or session it hid. Single-threaded, no imports of the package, and none
that are slow: ``json``, ``typing`` and ``signal`` would double the start-up of the server, and
what every fork of it carries.

Input: a dict:
    argv, cwd, env  the command, where it runs, and its whole environment
    output          file for its stdout and stderr; head and tail are kept, the middle dropped
    head, tail      bytes kept of each
    limit, grace    seconds until SIGTERM (null: none), and from there to SIGKILL
    memory          bytes that all its processes together may hold (null: no limit)
    group           a cgroup that bounds its memory too, removed at the end (empty: none)
    disk, folders   bytes that these folders together may grow to (null: no limit)
    exit_file       where the outcome is written, durably, before this process ends
    lock            held (flock) for the life of this process: who wants to use the same folder
                    again waits for it
"""

import ctypes
import fcntl
import os
import resource
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import Any

    from lae_controller.sandbox import processes

    Spec = dict[str, Any]
else:
    import _signal as signal

    import processes

_POLL_S = 1.0
_MEMORY_POLL_S = 0.2
_DISK_POLL_S = 2.0
_GIVE_UP_S = 10.0


def watch(spec: "Spec") -> None:
    """Run the command that ``spec`` describes; return once its outcome is on disk."""
    _hold(spec["lock"])
    _become_reaper()
    wake = _wake_on_child()
    started = time.monotonic()
    killed_before = processes.oom_kills()
    reading, writing = os.pipe()
    pid = _spawn(spec, reading, writing)
    os.close(writing)
    log = _Log(spec["output"], spec["head"], spec["tail"])
    run = _Watch(spec, pid, (wake, reading), log, started)
    why = run.until_end()
    seconds = time.monotonic() - started
    _sweep(run)
    if spec["group"]:
        why = "memory" if why == "exit" and processes.oom_killed(spec["group"]) else why
        processes.remove_group(spec["group"])
    run.drain()
    log.close()
    outcome: dict[str, str | int | float | None] = {
        "why": why,
        "status": run.status,
        "seconds": seconds,
        "dropped": log.dropped,
        "termed": run.termed,
        "cpu_seconds": sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]),
        "peak_memory": run.peak_memory,
        "oom_kills": processes.oom_kills() - killed_before,
    }
    _write_durably(spec["exit_file"], _json(outcome).encode())


def _json(outcome: "dict[str, str | int | float | None]") -> str:
    """Write a flat dict of words, numbers and None as JSON."""
    words = {"None": "null", "True": "true", "False": "false"}
    texts = []
    for key, value in outcome.items():
        plain = f'"{value}"' if isinstance(value, str) else words.get(repr(value), repr(value))
        texts.append(f'"{key}": {plain}')
    return "{" + ", ".join(texts) + "}"


def _hold(lock: str) -> None:
    """Hold a lock until this process ends; the descriptor is kept open on purpose."""
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    fcntl.flock(descriptor, fcntl.LOCK_EX)


def _become_reaper() -> None:
    """Adopt orphans of the command (Linux), and be deaf to what is meant for others."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    for name in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(name, signal.SIG_IGN)


def _wake_on_child() -> int:
    """Return a descriptor that becomes readable whenever a child of this process ends."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return reading


def _spawn(spec: "Spec", reading: int, writing: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        for number in range(1, signal.NSIG):
            if number not in (signal.SIGKILL, signal.SIGSTOP):
                try:
                    signal.signal(number, signal.SIG_DFL)
                except (OSError, ValueError):
                    pass
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(writing, 1)
        os.dup2(writing, 2)
        os.close(reading)
        if spec["group"]:
            with open(spec["group"] + "/cgroup.procs", "w") as stream:
                stream.write(str(os.getpid()))
        os.chdir(spec["cwd"])
        os.execvpe(spec["argv"][0], spec["argv"], spec["env"])
    except OSError as error:
        os.write(2, f"cannot start {spec['argv'][0]!r}: {error}\n".encode())
    finally:
        os._exit(127)


class _Log:
    """The output file: the first ``head`` bytes as they come, the last ``tail`` at the end."""

    def __init__(self, path: str, head: int, tail: int) -> None:
        self.descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        self.room = head
        self.tail_limit = tail
        self.tail = bytearray()
        self.dropped = 0

    def write(self, data: bytes) -> None:
        if self.room:
            now, data = data[: self.room], data[self.room :]
            self.room -= len(now)
            _write_all(self.descriptor, now)
        self.tail += data
        if len(self.tail) > 2 * self.tail_limit:
            self._trim()

    def _trim(self) -> None:
        extra = len(self.tail) - self.tail_limit
        if extra > 0:
            self.dropped += extra
            del self.tail[:extra]

    def close(self) -> None:
        self._trim()
        if self.dropped:
            note = f"\n[... {self.dropped} bytes of output dropped ...]\n"
            _write_all(self.descriptor, note.encode())
        _write_all(self.descriptor, bytes(self.tail))
        os.close(self.descriptor)


class _Watch:
    """Waits for the command, the deadline or the lifeline, and drains the output meanwhile."""

    def __init__(
        self, spec: "Spec", pid: int, sources: tuple[int, int], log: _Log, started: float
    ) -> None:
        self.spec = spec
        self.pid = pid
        self.wake, self.output = sources
        self.log = log
        self.started = started
        self.status: int | None = None
        self.termed = False
        self.childless = False
        self.peak_memory = 0
        self.next_memory = self.next_disk = started
        os.set_blocking(self.output, False)

    def until_end(self) -> str:
        """Return why the watch ended: exit, timeout, memory, disk or lifeline."""
        limit = self.spec["limit"]
        deadline = None if limit is None else self.started + limit
        while True:
            if self.reap():
                return "timeout" if self.termed else "exit"
            now = time.monotonic()
            if deadline is not None and now >= deadline:
                if self.termed:
                    return "timeout"
                self.termed = True
                deadline = now + self.spec["grace"]
                processes.signal_all(signal.SIGTERM, but=b"bwrap")
            if self._wait(deadline, now):
                # The command may have ended in the same moment: then its outcome counts.
                return "exit" if self.reap() and not self.termed else "lifeline"
            over = self._over_limits(time.monotonic())
            if over:
                return over

    def _wait(self, deadline: "float | None", now: float) -> bool:
        """Sleep until something happens; True if the lifeline was cut."""
        poll = _MEMORY_POLL_S if self.spec["memory"] else _POLL_S
        patience = poll if deadline is None else max(0.0, min(poll, deadline - now))
        sources = [0, self.wake] if self.output < 0 else [0, self.wake, self.output]
        ready, _, _ = select.select(sources, [], [], patience)
        if self.wake in ready:
            os.read(self.wake, 1 << 12)
        if self.output in ready:
            self.read_some()
        return 0 in ready

    def _over_limits(self, now: float) -> str:
        """Return which limit the command has passed, memory or disk; empty if none."""
        if now >= self.next_memory:
            self.next_memory = now + (_MEMORY_POLL_S if self.spec["memory"] else _DISK_POLL_S)
            held = processes.memory_of(processes.seen_descendants())
            self.peak_memory = max(self.peak_memory, held)
            if self.spec["memory"] and held > self.spec["memory"]:
                return "memory"
            if self.spec["group"] and processes.oom_killed(self.spec["group"]):
                return "memory"  # the kernel ended one process; the others would wait for it
        if self.spec["disk"] and now >= self.next_disk:
            self.next_disk = now + _DISK_POLL_S
            if sum(map(processes.size_of, self.spec["folders"])) > self.spec["disk"]:
                return "disk"
        return ""

    def read_some(self) -> bool:
        """Move what is there to the log; False at end of file or when nothing is there."""
        try:
            data = os.read(self.output, 1 << 16)
        except BlockingIOError:
            return False
        if not data:
            os.close(self.output)
            self.output = -1
            return False
        self.log.write(data)
        return True

    def drain(self) -> None:
        """Take what is left in the pipe; bounded, as a survivor could go on writing."""
        until = time.monotonic() + 1.0
        while self.output >= 0 and self.read_some() and time.monotonic() < until:
            pass

    def reap(self) -> bool:
        """Reap all that ended; True once the command itself has."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == self.pid:
                    self.status = os.waitstatus_to_exitcode(status)
                if pid == 0:
                    break
        except ChildProcessError:
            self.childless = True
        return self.status is not None


def _sweep(watch: _Watch) -> None:
    """Stop, then kill every descendant, again and again until there is none."""
    until = time.monotonic() + _GIVE_UP_S
    watch.reap()
    while not watch.childless and time.monotonic() < until:
        # A stopped process cannot fork away from the next signal.
        processes.signal_all(signal.SIGSTOP)
        processes.signal_all(signal.SIGKILL)
        watch.reap()
        if not watch.childless:
            time.sleep(0.002)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except OSError:
        pass  # a full disk must not keep the warden from its real work


def _write_durably(path: str, data: bytes) -> None:
    aside = path + ".tmp"
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.write(descriptor, data)
    os.fsync(descriptor)
    os.close(descriptor)
    os.replace(aside, path)

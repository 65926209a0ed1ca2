"""Runs the Mutator process of a child: forked off a server, or started under a warden."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import threading
import time
from concurrent.futures import Future
from pathlib import Path

from lae_controller.config import MutatorSettings
from lae_controller.errors import PrerequisiteError
from lae_controller.evaluators import Interrupted
from lae_controller.files import make_folder, remove_tree
from lae_controller.mutator_server import ENDED
from lae_controller.mutators.environment import mutator_environment
from lae_controller.sandbox.launch import Command, Lifelines, lock_beside, run

FORKING = frozenset({"offline", "anthropic"})
"""Backends that start no processes of their own; the others get a warden for each proposal."""

_LAST = b"end\n"
_TICK_S = 0.01
_START_S = 60.0
_GRACE_S = 5.0


class MutatorPool:
    """The Mutator processes of one run. Safe to use from several threads, one child each."""

    def __init__(self, lae_dir: Path, settings: MutatorSettings, lifelines: Lifelines) -> None:
        self._folder = lae_dir / "tasks" / "mutators"
        self._settings = settings
        self._lifelines = lifelines
        self._lock = threading.Lock()
        self._server: _Server | None = None

    def run(self, folder: Path, attempt: int) -> tuple[int, Path]:
        """Run the Mutator of the task in ``folder`` to its end; blocks.

        Args:
            attempt: how often it was started before.

        Returns:
            its exit status (minus the signal that ended it), and its log.

        Raises:
            Interrupted: if everything is being ended.
            PrerequisiteError: if it could not be watched.
        """
        if self._settings.backend in FORKING:
            return self._forked(folder), folder / "mutator.log"
        log = folder / f"mutator-{attempt}.log"
        words = ("mutate", str(folder / "task.json"))
        ended = run(self._command(words, folder, log, self._settings.timeout), self._lifelines)
        if ended.why == "lifeline":
            raise Interrupted(folder.name)
        return 1 if ended.status is None else ended.status, log

    def close(self) -> None:
        """Forget the server, and what one of a killed session left; idempotent.

        Called when all lifelines are cut.
        """
        if self._server is not None:
            self._server.wait()
            self._server = None
        remove_tree(self._folder)
        lock_beside(self._folder).unlink(missing_ok=True)

    def _forked(self, folder: Path) -> int:
        with self._lock:
            status = self._alive().ask(folder / "task.json")
        ended = status.result()
        if ended is None and self._lifelines.cut_all:
            raise Interrupted(folder.name)
        return -9 if ended is None else ended

    def _alive(self) -> _Server:
        """Return the server, started if there is none or the last one was killed."""
        if self._server is None or self._server.is_dead():
            remove_tree(self._folder)
            make_folder(self._folder)
            fifo = self._folder / "tasks.fifo"
            for pipe in (fifo, self._folder / ENDED):
                os.mkfifo(pipe, 0o600)
            seconds = f"{self._settings.timeout + _GRACE_S:g}"
            words = ("mutate", "--serve", str(fifo), self._settings.backend, seconds)
            log = self._folder / "server.log"
            self._server = _Server(
                self._command(words, self._folder, log, None), fifo, self._lifelines
            )
        return self._server

    def _command(
        self, words: tuple[str, ...], folder: Path, log: Path, limit: float | None
    ) -> Command:
        env = mutator_environment(self._settings, os.environ)
        package = str(Path(__file__).resolve().parent.parent)
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [package, env.get("PYTHONPATH", "")]))
        argv = (sys.executable, "-m", "lae_controller", *words)
        return Command(argv, folder, env, log, limit, grace=2.0)


class _Server:
    """One server under a warden, in a thread that waits for its end."""

    def __init__(self, command: Command, fifo: Path, lifelines: Lifelines) -> None:
        self._fifo = fifo
        self._log = command.output
        self._lock = threading.Lock()
        self._number = 0
        self._waiting: dict[int, Future[int | None]] = {}
        self._pipe: int | None = None
        self._told_all = False
        # Opened for writing too, so that it outlives the server; closed by the thread that reads.
        self._ended = os.open(fifo.with_name(ENDED), os.O_RDWR | os.O_CLOEXEC)
        threading.Thread(target=self._listen, daemon=True).start()
        self._thread = threading.Thread(target=self._watch, args=(command, lifelines), daemon=True)
        self._thread.start()
        pipe = self._open()
        with self._lock:
            self._pipe = pipe

    def _watch(self, command: Command, lifelines: Lifelines) -> None:
        try:
            run(command, lifelines)
        except PrerequisiteError:
            pass  # whoever waits sees that it is dead, and starts another
        finally:
            with self._lock:
                if self._pipe is not None:
                    os.close(self._pipe)
                self._pipe = None
            os.write(self._ended, _LAST)  # after all that the server wrote

    def _listen(self) -> None:
        """Hand out how processes ended, until the server has; None to whom it never told."""
        rest = b""
        while not rest.startswith(_LAST):
            line, found, rest = rest.partition(b"\n")
            if not found:
                rest = line + os.read(self._ended, 1 << 16)
                continue
            number, status = line.split()
            with self._lock:
                waiting = self._waiting.pop(int(number))
            waiting.set_result(int(status))
        os.close(self._ended)
        with self._lock:
            self._told_all = True
            left = list(self._waiting.values())
            self._waiting.clear()
        for waiting in left:
            waiting.set_result(None)

    def is_dead(self) -> bool:
        """Say whether it has ended, with all that it had forked."""
        return not self._thread.is_alive()

    def wait(self) -> None:
        """Wait for its end."""
        self._thread.join()

    def ask(self, task: Path) -> Future[int | None]:
        """Have the Mutator of one task forked off.

        Returns:
            its exit status, or minus the signal that ended it; None if the server ended before.
        """
        status: Future[int | None] = Future()
        with self._lock:
            if self._told_all or self._pipe is None:
                status.set_result(None)
                return status
            self._number += 1
            self._waiting[self._number] = status
            with contextlib.suppress(BrokenPipeError):  # then its end is told soon
                os.write(self._pipe, f"{self._number} {task}\n".encode())
        return status

    def _open(self) -> int:
        """Open the pipe once the server reads from it.

        Raises:
            PrerequisiteError: if it does not come up.
        """
        until = time.monotonic() + _START_S
        while time.monotonic() < until and not self.is_dead():
            try:
                return os.open(self._fifo, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
            time.sleep(_TICK_S)
        said = self._log.read_text("utf-8", "replace")[-500:] if self._log.exists() else ""
        raise PrerequisiteError(
            f"{self._fifo.parent}: the process that forks Mutators did not come up; it said: "
            f"{said.strip() or 'nothing'}"
        )

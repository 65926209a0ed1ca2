"""One controller a sandbox: a lock that is gone with the process that held it."""

from __future__ import annotations

import json
import os
import socket
import time
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from lae_controller.errors import LockedError
from lae_controller.files import cannot_write, make_folder, read_json, write_atomic

_GLANCE_S = 0.3


class ControllerLock:
    """Held for the life of a controller; the holder's pid and host lie beside it.

    Args:
        patience: seconds to wait for others that hold it for a moment (``ask``, ``tell``).
    """

    def __init__(self, lae_dir: Path, patience: float = 0.3) -> None:
        self._folder = lae_dir
        self._patience = patience
        self._note = lae_dir / "controller.json"
        self._lock = FileLock(str(lae_dir / "lock"))

    def __enter__(self) -> ControllerLock:
        """Take the lock; a controller that holds it for its life is not waited for.

        Raises:
            LockedError: if another controller holds it; names its pid and host.
            PrerequisiteError: if the folder cannot be written.
        """
        make_folder(self._folder)
        try:
            self._acquire()
        except Timeout:
            raise LockedError(_held(self._folder, holder(self._folder))) from None
        except OSError as error:
            raise cannot_write(self._folder, error) from error
        note = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "since": time.time(),
            "brief": self._patience > _GLANCE_S,
        }
        try:
            write_atomic(self._note, json.dumps(note) + "\n")
        except BaseException:
            self._lock.release()
            raise
        return self

    def _acquire(self) -> None:
        """Wait a glance (``lae status`` looks by taking the lock), or longer for brief holders."""
        until = time.monotonic() + self._patience
        while True:
            try:
                self._lock.acquire(timeout=_GLANCE_S, poll_interval=0.02)
            except Timeout:
                if time.monotonic() >= until or not holder(self._folder).get("brief"):
                    raise
            else:
                return

    def __exit__(self, *_: object) -> None:
        """Let go; the lock file itself stays."""
        self._lock.release()


def _held(folder: Path, note: dict[str, Any]) -> str:
    return (
        f"{folder}: another controller works here (pid {note.get('pid', '?')} on "
        f"{note.get('host', '?')}). Wait for it, ask it to finish with `lae stop`, or choose "
        "another sandbox_root"
    )


def holder(lae_dir: Path) -> dict[str, Any]:
    """Return what is known of the latest holder: pid, host, since; empty if nothing is."""
    value = read_json(lae_dir / "controller.json")
    return value if isinstance(value, dict) else {}


def refuse_beside_a_controller(lae_dir: Path) -> None:
    """Refuse to work beside a controller that holds this folder for its life.

    Whoever takes a lock of its own first and then asks this, while a controller takes its lock
    first and then looks at the others', cannot do twice what the other does.

    Raises:
        LockedError: if there is one; a brief holder (``ask``, ``tell``) is none.
    """
    if is_held(lae_dir) and not holder(lae_dir).get("brief"):
        raise LockedError(_held(lae_dir, holder(lae_dir)))


def is_held(lae_dir: Path) -> bool:
    """Say whether a controller works in this folder now."""
    return is_locked(lae_dir / "lock")


def is_locked(path: Path) -> bool:
    """Say whether a process holds the lock of this file now.

    Looking takes the lock for a moment, so whoever wants it must try twice.
    """
    if not path.exists():
        return False
    probe = FileLock(str(path))
    try:
        probe.acquire(timeout=0)
    except (Timeout, OSError):
        return True
    probe.release()
    return False

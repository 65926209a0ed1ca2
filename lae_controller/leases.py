"""Leases: which tasks are held for whom, when a host brings its own Mutators."""

from __future__ import annotations

import secrets
import time
from pathlib import Path

from filelock import FileLock, Timeout

from lae_controller import results
from lae_controller.config import Settings
from lae_controller.quantities import parse_duration
from lae_controller.remarks import Say
from lae_controller.state import Asked, Lease

_TICK_S = 0.1


class Leases:
    """Gives tasks away for the time that ``lease`` says."""

    def __init__(self, settings: Settings) -> None:
        self._lae = settings.lae_dir
        self._until = time.time() + parse_duration(settings.lease)

    def is_free(self, asked: Asked) -> bool:
        """Say whether a task that was asked for may be given to somebody (else)."""
        held = asked.lease is not None and asked.lease.until > time.time()
        done = results.path_of(self._lae, asked.child_id).exists()
        return not held and not done and not is_evaluating(self._lae, asked.child_id)

    def new(self) -> Lease:
        """Return a lease with a token of its own."""
        return Lease(secrets.token_urlsafe(12), self._until)


def evaluation_lock(lae_dir: Path, child_id: str) -> FileLock:
    """Return the lock that is held while a process evaluates a child."""
    return FileLock(str(lae_dir / "tasks" / f"{child_id}.evaluating"))


def wait_for_hosts(lae_dir: Path, say: Say) -> None:
    """Wait until no process that a host started works on this run any more.

    It evaluates a child, or makes a further run: what it leaves is told, not run a second time.
    """
    said = False
    for lock in sorted((lae_dir / "tasks").glob("*.evaluating")):
        while is_evaluating(lae_dir, lock.stem):
            if not said:
                say(f"waiting for what a host has begun to evaluate: {lock.stem}")
            said = True
            time.sleep(_TICK_S)


def is_evaluating(lae_dir: Path, child_id: str) -> bool:
    """Say whether a process evaluates this child now."""
    lock = evaluation_lock(lae_dir, child_id)
    if not Path(lock.lock_file).exists():
        return False
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    lock.release()
    return False

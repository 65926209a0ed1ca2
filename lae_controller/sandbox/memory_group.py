"""A cgroup that bounds the memory of one run, where this user may make one (version 1 or 2).

The kernel then ends the run by itself and says so; elsewhere the warden's own watch does. The
group is made here, entered by the command and removed by the warden.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_MOUNT = Path("/sys/fs/cgroup")


def make_group(limit: int, name: str, proc: Path = Path("/proc"), mount: Path = _MOUNT) -> str:
    """Make a group of at most ``limit`` bytes below this process's own.

    Args:
        name: unique on this machine.
        proc, mount: where the kernel's files lie.

    Returns:
        its folder; empty if this user may not make one, or the controller is not at hand.
    """
    for parent, file in _places(proc, mount):
        folder = parent / f"lae-{name}"
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            (folder / file).write_text(f"{limit}\n")
        except OSError:
            with contextlib.suppress(OSError):
                folder.rmdir()
            continue
        return str(folder)
    return ""


def _places(proc: Path, mount: Path) -> list[tuple[Path, str]]:
    """Return (this process's group, name of its limit file) for each version in use."""
    try:
        lines = (proc / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        number, controllers, path = line.split(":", 2)
        inside = os.path.normpath(path).lstrip("/.")
        if "memory" in controllers.split(","):
            found.append((mount / "memory" / inside, "memory.limit_in_bytes"))
        elif number == "0" and not controllers:
            found.append((mount / inside, "memory.max"))
    return found

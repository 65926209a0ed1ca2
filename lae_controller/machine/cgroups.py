"""How much CPU and memory this process may use: affinity mask, cgroup v1 and v2 limits.

Every path is looked up under a ``root``, so that another machine's tree can be read. What is
missing or makes no sense counts as "no limit"; nothing here raises.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_UNLIMITED_BYTES = 2**60
"""cgroup v1 writes "no limit" as the largest page-aligned integer; nobody has an exbibyte."""


@dataclass(frozen=True, slots=True)
class Limit:
    """An amount that may be used, and what sets it.

    Attributes:
        value: whole cores, or bytes.
        source: one phrase for people; a file is named as seen from inside the root.
    """

    value: int
    source: str


def affinity_cores() -> int:
    """Return how many cores this process may be scheduled on, at least 1."""
    if sys.platform == "linux":
        try:
            return max(1, len(os.sched_getaffinity(0)))
        except OSError:
            pass
    return os.cpu_count() or 1


def usable_cores(root: Path, affinity: int, total: int) -> Limit:
    """Return the least of affinity mask and CPU quotas, at least 1.

    Args:
        root: where ``proc`` and the cgroup mounts are found.
        affinity: cores in the affinity mask.
        total: cores of the machine; only used to say whether the mask is a limit.
    """
    if affinity < total:
        limit = Limit(affinity, f"affinity mask, {affinity} of {total} cores")
    else:
        limit = Limit(affinity, "all cores of the machine")
    return min((limit, *cpu_quotas(root)), key=_value)


def usable_memory(root: Path) -> Limit:
    """Return the least of physical memory and memory limits; 0 bytes if nothing is known."""
    physical = physical_memory(root)
    limits = [limit for limit in (physical, *memory_limits(root)) if limit is not None]
    return min(limits, key=_value, default=Limit(0, "unknown"))


def cpu_quotas(root: Path) -> list[Limit]:
    """Return the CPU quota of this process's cgroup and of every ancestor that has one.

    A quota is CPU time per period; 250 ms per 100 ms keeps three cores busy, so it is
    rounded up.
    """
    limits = []
    for folder in _folders(root, "cpu"):
        for file, quota, period in (
            ("cpu.max", *_pair(_read(folder / "cpu.max"))),
            (
                "cpu.cfs_quota_us",
                _number(_read(folder / "cpu.cfs_quota_us")),
                _number(_read(folder / "cpu.cfs_period_us")),
            ),
        ):
            if quota and period:
                shown = f"CPU quota of {quota / period:g} cores in {_shown(root, folder / file)}"
                rounded = "" if quota % period == 0 else ", rounded up"
                limits.append(Limit(-(-quota // period), shown + rounded))
    return limits


def memory_limits(root: Path) -> list[Limit]:
    """Return the memory limit, in bytes, of this process's cgroup and of every ancestor."""
    limits = []
    for folder in _folders(root, "memory"):
        for file in ("memory.max", "memory.limit_in_bytes"):
            value = _number(_read(folder / file))
            if value and value < _UNLIMITED_BYTES:
                limits.append(Limit(value, f"memory limit in {_shown(root, folder / file)}"))
    return limits


def physical_memory(root: Path) -> Limit | None:
    """Return the machine's memory in bytes; None if neither /proc nor the C library knows."""
    found = re.search(r"^MemTotal:\s+(\d{1,18}) kB", _read(root / "proc/meminfo"), re.MULTILINE)
    if found and int(found[1]) > 0:
        return Limit(int(found[1]) * 1024, "MemTotal in /proc/meminfo")
    try:
        value = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return None
    return Limit(value, "physical memory of the machine") if value > 0 else None


def _value(limit: Limit) -> int:
    return limit.value


def _folders(root: Path, controller: str) -> Iterator[Path]:
    """Yield this process's cgroup folder and its ancestors, in every hierarchy with limits.

    On a hybrid machine both v1 and v2 are mounted; the one that does not govern
    ``controller`` has no limit files, so looking into both is right.
    """
    v1, v2 = _memberships(root, controller)
    mounted = set()
    for kind, point, options in _mounts(root):
        if kind in mounted:
            continue
        if kind == "cgroup2":
            yield from _lineage(root / point.lstrip("/"), v2)
        elif kind == "cgroup" and controller in options:
            yield from _lineage(root / point.lstrip("/"), v1)
        else:
            continue
        mounted.add(kind)


def _lineage(mount: Path, member: str) -> list[Path]:
    """Return the folders from the mount down to the cgroup ``member``.

    In a container without a cgroup namespace ``member`` is the path on the host while only
    the container's own part is mounted, so leading parts that do not exist are dropped. A
    path with ``..`` lies outside of what is mounted.
    """
    parts = [part for part in member.split("/") if part]
    if ".." in parts:
        parts = []
    for start in range(len(parts)):
        if _is_folder(mount.joinpath(*parts[start:])):
            parts = parts[start:]
            break
    return [mount.joinpath(*parts[:depth]) for depth in range(len(parts) + 1)]


def _memberships(root: Path, controller: str) -> tuple[str, str]:
    """Return this process's v1 cgroup for ``controller`` and its v2 cgroup; ``/`` if unknown."""
    v1 = v2 = "/"
    for line in _read(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if colon and controller in controllers.split(","):
            v1 = path
        elif colon and number == "0":
            v2 = path
    return v1, v2


def _mounts(root: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Yield (filesystem type, mount point, options) of every mount."""
    for line in _read(root / "proc/mounts").splitlines():
        fields = line.split(" ")
        if len(fields) >= 4:
            yield fields[2], _unescaped(fields[1]), fields[3].split(",")


def _unescaped(text: str) -> str:
    """Undo the octal escapes of blank, tab, newline and backslash in /proc/mounts."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def _pair(text: str) -> tuple[int | None, int | None]:
    """Read ``cpu.max``: quota and period; a quota of ``max`` is None."""
    words = text.split()
    return (_number(words[0]), _number(words[1])) if len(words) == 2 else (None, None)


def _number(text: str) -> int | None:
    """Return a non-negative integer; None for anything else (``max``, ``-1``, garbage)."""
    return int(text) if re.fullmatch(r"\s*[0-9]{1,20}\s*", text) else None


def _shown(root: Path, path: Path) -> str:
    return f"/{path.relative_to(root).as_posix()}"


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # no permission to look
        return False


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode(errors="replace")
    except (OSError, ValueError):
        return ""

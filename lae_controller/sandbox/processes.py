"""What the warden knows of processes: who descends from it, what they hold, how to reach them.

A part of ``warden.py``, and like it without imports of the package or any that are slow.
"""

import os

_PAGE = os.sysconf("SC_PAGE_SIZE")


def parents() -> "list[tuple[int, int]]":
    """Return (pid, parent pid) of every process of this machine that can be seen."""
    pairs = []
    if not os.path.isdir("/proc/self"):
        listing = os.popen("ps -A -o pid=,ppid=").read().split()
        return list(zip(map(int, listing[::2]), map(int, listing[1::2]), strict=True))
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as stream:
                    parent = int(stream.read().rpartition(b")")[2].split()[1])
            except (OSError, IndexError, ValueError):
                continue  # it has just ended
            pairs.append((int(name), parent))
    return pairs


def descendants() -> "list[int]":
    """Return all descendants of this process, found by parentage."""
    children: dict[int, list[int]] = {}
    for pid, parent in parents():
        children.setdefault(parent, []).append(pid)
    found: list[int] = []
    front = [os.getpid()]
    while front:
        front = [child for pid in front for child in children.get(pid, ())]
        found += front
    return found


def seen_descendants() -> "list[int]":
    """Return the descendants that the kernel lists by parent, where it does; for measuring only.

    Looking at every process of the machine takes milliseconds; this list may miss one that is
    being born, which is no good for a sweep.
    """
    found: list[int] = []
    front = [os.getpid()]
    try:
        while front:
            front = [child for pid in front for child in _listed_children(pid)]
            found += front
    except FileNotFoundError:
        return descendants()  # a kernel without these lists
    return found


def _listed_children(pid: int) -> "list[int]":
    children: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return children  # it has just ended
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as stream:
                children += map(int, stream.read().split())
        except ProcessLookupError:
            continue  # it has just ended
        except FileNotFoundError:
            if os.path.isdir(f"/proc/{pid}/task/{thread}"):
                raise
    return children


def memory_of(pids: "list[int]") -> int:
    """Return the bytes these processes hold; pages they share count once where that is known."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup", "rb") as stream:
                line = next(line for line in stream if line.startswith(b"Pss:"))
                total += int(line.split()[1]) << 10
        except (OSError, StopIteration, ValueError, IndexError):
            total += _resident(pid)
    return total


def _resident(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", "rb") as stream:
            return int(stream.read().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0  # it has just ended


def oom_killed(group: str) -> bool:
    """Say whether the kernel ended something in a cgroup for want of memory."""
    for name in ("memory.oom_control", "memory.events"):  # version 1, version 2
        try:
            with open(f"{group}/{name}", "rb") as stream:
                return any(line[:9] == b"oom_kill " and line[9:].strip() != b"0" for line in stream)
        except OSError:
            continue
    return False


def remove_group(group: str) -> None:
    """Remove a cgroup, if it is no longer in use."""
    try:
        os.rmdir(group)
    except OSError:
        pass  # still busy: an empty group costs nothing


def oom_kills() -> int:
    """Return how often this machine's kernel has killed for want of memory; 0 if not known."""
    try:
        with open("/proc/vmstat", "rb") as stream:
            line = next(line for line in stream if line.startswith(b"oom_kill "))
            return int(line.split()[1])
    except (OSError, StopIteration, ValueError, IndexError):
        return 0


def size_of(folder: str) -> int:
    """Return the bytes on disk below a folder; links are not followed."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(where, name)).st_blocks * 512
            except OSError:
                continue  # it has just gone
    return total


def signal_all(number: int, but: bytes = b"") -> None:
    """Send a signal to every descendant, except to those of the name ``but``.

    Bubblewrap's outer process would die of SIGTERM and take the command along before that could
    use its grace. A program that takes its name is killed after the grace like all others.
    """
    for pid in descendants():
        try:
            if not but or _name(pid) != but:
                os.kill(pid, number)
        except OSError:
            pass  # it has just ended


def _name(pid: int) -> bytes:
    """Return the name of a process; empty where the system does not tell.

    Raises:
        OSError: if it has ended.
    """
    if not os.path.isdir("/proc/self"):
        return b""
    with open(f"/proc/{pid}/comm", "rb") as stream:
        return stream.read().rstrip(b"\n")

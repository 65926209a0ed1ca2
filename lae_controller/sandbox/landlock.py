"""The last step before a command: confine this process, then become the command.

A script of its own, standard library only: ``python -I -S landlock.py OPTION… -- COMMAND…``

    --write PATH    it may write here (and nowhere else)
    --hide PATH     it may not read files below here, unless a --read or --write lies deeper
    --read PATH     it may read here
    --node PATH     a device it may use, such as /dev/null
    --keep NUMBER   a capability to keep; all others are dropped (of interest to root only)
    --seal PATH     a mount whose owner, mode and times shall not change (root in bubblewrap)

With no --write it restricts no files: the bubblewrap tier uses it so, inside its mounts. Status
125 and one line on stderr that begins with ``lae-confine:`` mean that the command was not started.

Covered by Landlock: writing, creating, deleting, renaming, linking outside of --write; reading
files below --hide; raw devices; mounts; tracing; with ABI 6 also signals and abstract sockets.
Not covered: chmod, chown and utime of the user's own files, names of files, sockets in the file
system, and the network: Landlock cannot tell the loopback, which training needs, from the rest.
"""

# ruff: noqa: PTH110, PTH112
# os and ctypes are there in a few milliseconds; pathlib, json or signal would double that.
import ctypes
import os
import sys

FAILED = 125
MARK = "lae-confine:"

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446  # the same numbers on every architecture
_WRITE_FILE, _READ_FILE = 1 << 1, 1 << 2
_MAKE_NODES = 1 << 6 | 1 << 11
_REFER, _TRUNCATE, _IOCTL = 1 << 13, 1 << 14, 1 << 15
# Remove dir and file; make char, dir, regular, socket, fifo, block, symlink: bits 4 to 12.
_CHANGE = sum(1 << bit for bit in range(4, 13))
_FOR_FILES = _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL
_SCOPED = 3  # abstract sockets, signals
_SIGNALS = (15, 13, 25)  # TERM, ignored by whoever started bubblewrap; PIPE and XFSZ, by Python


class ConfineError(Exception):
    """The process could not be confined, so the command must not start."""


def main(words: "list[str]") -> int:
    """Confine this process as ``words`` say and become the command; return only on failure."""
    try:
        options, command = _read(words)
        if options["--seal"]:
            _seal(options["--seal"])
        if os.getuid() == 0 or options["--write"]:
            _forgo_privileges({int(number) for number in options["--keep"]})
        if options["--write"]:
            _die_with_parent()
            restrict(options["--write"], options["--hide"], options["--read"], options["--node"])
        _usual_signals()
        os.execvp(command[0], command)
    except (ConfineError, OSError) as error:
        sys.stderr.write(f"{MARK} {error}\n")
    return FAILED


def _read(words: "list[str]") -> "tuple[dict[str, list[str]], list[str]]":
    options: dict[str, list[str]] = {
        name: [] for name in ("--write", "--hide", "--read", "--node", "--keep", "--seal")
    }
    place = 0
    while words[place] != "--":
        options[words[place]].append(words[place + 1])
        place += 2
    return options, words[place + 1 :]


def _usual_signals() -> None:
    for number in _SIGNALS:
        _libc().signal(number, None)  # SIG_DFL


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _error(doing: str) -> ConfineError:
    return ConfineError(f"{doing}: {os.strerror(ctypes.get_errno())}")


def _die_with_parent() -> None:
    _libc().prctl(1, 9, 0, 0, 0)  # PR_SET_PDEATHSIG, SIGKILL


def _seal(paths: "list[str]") -> None:
    """Make mounts read-only without making their devices unusable, as bubblewrap's option does."""
    read_only = 1 | 2 | 8 | 32 | 4096  # RDONLY, NOSUID, NOEXEC, REMOUNT, BIND
    libc = _libc()
    for path in paths:
        if libc.mount(b"none", os.fsencode(path), None, read_only, None):
            raise _error(f"cannot seal {path}")


def _forgo_privileges(keep: "set[int]") -> None:
    """Drop every capability that is not in ``keep``, for good: also from what is started later."""
    libc = _libc()
    if libc.prctl(38, 1, 0, 0, 0):  # PR_SET_NO_NEW_PRIVS
        raise _error("no_new_privs")
    if os.getuid() != 0:
        return
    for number in range(64):
        if number not in keep:
            libc.prctl(24, number, 0, 0, 0)  # PR_CAPBSET_DROP; fails beyond the last capability
    libc.prctl(47, 4, 0, 0, 0)  # PR_CAP_AMBIENT_CLEAR_ALL
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    sets = (ctypes.c_uint32 * 6)()
    if libc.capget(header, sets):
        raise _error("capget")
    mask = sum(1 << number for number in keep if number < 32)
    sets[0], sets[1], sets[2], sets[3], sets[4], sets[5] = (
        sets[0] & mask,
        sets[1] & mask,
        0,
        0,
        0,
        0,
    )
    if libc.capset(header, sets):
        raise _error("capset")


def abi() -> int:
    """Return the version of Landlock here, 0 if there is none (errno says why)."""
    return int(max(0, _libc().syscall(_CREATE, None, 0, 1)))


def restrict(write: "list[str]", hide: "list[str]", read: "list[str]", nodes: "list[str]") -> None:
    """Confine this process and all its future children (see the module's text for the lists)."""
    version = abi()
    if version < 1:
        raise _error("Landlock is not available")
    ruleset = _Ruleset(version)
    hidden = {os.path.realpath(path) for path in [*hide, "/dev"] if os.path.lexists(path)}
    for path in _around("/", hidden):
        ruleset.allow(path, _READ_FILE)
    for path in read:
        for inner in _around(os.path.realpath(path), hidden - {os.path.realpath(path)}):
            ruleset.allow(inner, _READ_FILE)
    for path in write:
        ruleset.allow(path, ruleset.handled & ~_MAKE_NODES)
    for path in nodes:
        if os.path.exists(path):
            ruleset.allow(path, ruleset.handled & ~_MAKE_NODES)
    ruleset.enforce()


class _Ruleset:
    """What Landlock is to allow; all else that it can refuse is refused."""

    def __init__(self, version: int) -> None:
        self.libc = _libc()
        self.handled = _WRITE_FILE | _READ_FILE | _CHANGE
        for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL)):
            if version >= since:
                self.handled |= right
        scoped = _SCOPED if version >= 6 else 0
        attributes = (ctypes.c_uint64 * 3)(self.handled, 0, scoped)
        size = 24 if version >= 6 else 16 if version >= 4 else 8
        self.descriptor = self.libc.syscall(_CREATE, ctypes.byref(attributes), size, 0)
        if self.descriptor < 0:
            raise _error("cannot make a Landlock ruleset")

    def allow(self, path: str, rights: int) -> None:
        """Allow ``rights`` at and below ``path``; a path that is gone or barred needs no rule."""
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            return
        try:
            if not os.path.isdir(path):
                rights &= _FOR_FILES
            rule = (rights & self.handled).to_bytes(8, sys.byteorder)
            rule += descriptor.to_bytes(4, sys.byteorder)
            if self.libc.syscall(_ADD_RULE, self.descriptor, 1, rule, 0):
                raise _error(f"cannot allow {path}")
        finally:
            os.close(descriptor)

    def enforce(self) -> None:
        if self.libc.syscall(_RESTRICT, self.descriptor, 0):
            raise _error("cannot enforce the Landlock ruleset")
        os.close(self.descriptor)


def _around(top: str, hidden: "set[str]") -> "list[str]":
    """Return paths that together hold all that is below ``top``, but nothing hidden.

    Landlock can only allow, and what it allows it allows for whole trees: so the way down to
    something hidden is taken apart. Links are left out; what they point to has a rule of its own.
    """
    if top in hidden:
        return []
    inside = top.rstrip("/") + "/"
    if not any(path.startswith(inside) for path in hidden):
        return [top]
    found: list[str] = []
    try:
        entries = list(os.scandir(top))
    except OSError:
        return []
    for entry in entries:
        if not entry.is_symlink():
            found += _around(entry.path, hidden)
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

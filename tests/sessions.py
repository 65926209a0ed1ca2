"""A controller as a process of its own, and the state that a run left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from lae_controller import build, config
from lae_controller.evaluators.baseline import load_prepared
from lae_controller.ledger import Ledger
from lae_controller.resume import load_state
from lae_controller.state import RunState

REPOSITORY = Path(__file__).resolve().parents[1]


def controller(project: Path, *words: str) -> subprocess.Popen[str]:
    """Start ``lae run`` for a project; ``words`` are further ones of its command line."""
    return subprocess.Popen(
        [sys.executable, "-m", "lae_controller", "run", str(project), "--yes", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )


def state_of(project: Path, said: list[str] | None = None) -> RunState:
    """Fold the ledgers of a project's run; ``said`` takes what was found wrong with them."""
    settings = config.load(project)
    prepared = load_prepared(settings)
    assert prepared is not None
    ledger = Ledger(settings.lae_dir, ([] if said is None else said).append)
    return load_state(settings, ledger, build.search_for(settings), prepared.baseline, mend=True)


def processes(marker: str) -> list[int]:
    """Return the processes whose command line or folder speaks of ``marker``."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                words = (entry / "cmdline").read_bytes() + bytes((entry / "cwd").readlink())
            except OSError:
                continue
            if marker.encode() in words:
                found.append(int(entry.name))
    return found

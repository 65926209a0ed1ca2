"""What tests of ask, evaluate and tell share."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from lae_controller.hosted.ask import Handed
from lae_controller.mutate import main as mutate_here


def lae(project: Path) -> Path:
    return project / "sandbox/lae"


def ledgers(project: Path) -> list[bytes]:
    return [(lae(project) / name).read_bytes() for name in ("history.tsv", "archive.tsv")]


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lae_controller", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def mutate(task: Handed) -> None:
    """Let the offline Mutator leave its mutation.json, as any Mutator process may."""
    before = sys.excepthook  # what a Mutator process never needs again
    try:
        assert mutate_here(task.task.with_name("task.json")) == 0
    finally:
        sys.excepthook = before

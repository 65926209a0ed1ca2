"""What tests of ask, evaluate and tell share."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from lae_controller.hosted.ask import Handed


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
    done = command("mutate", str(task.task.with_name("task.json")))
    assert done.returncode == 0, done.stderr

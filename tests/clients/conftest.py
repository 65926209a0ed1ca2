"""What a trial with a real coding agent needs: the client, a home of its own, a project."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lae_controller.skill_files import skill_root
from lae_controller.skill_install import install, names

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 240  # seconds for one conversation, most of it training runs


@dataclass(frozen=True)
class Stage:
    """A project with the skill installed, and an environment in which nothing real is reached."""

    project: Path
    home: Path
    env: Mapping[str, str]

    def run(self, *argv: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a client, or ``lae``, in the project."""
        return subprocess.run(
            argv,
            cwd=self.project,
            env={**self.env, **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )


def client(name: str) -> str:
    """Return a client's path; skip unless LAE_NODE_PREFIX names the npm prefix that holds it.

    A client on PATH is not enough: a trial takes its time, and is asked for.
    """
    prefix = os.environ.get("LAE_NODE_PREFIX")
    found = shutil.which(name, path=f"{prefix}/node_modules/.bin") if prefix else None
    if found is None:
        pytest.skip(f"LAE_NODE_PREFIX names no npm prefix with {name}; see benchmarks/clients.py")
    return found


def finished(stage: Stage) -> dict[str, Any]:
    """Wait until a run in the background has ended; returns its status."""
    until = time.monotonic() + LIMIT
    while True:
        status: dict[str, Any] = json.loads(stage.run("lae", "status", ".", "--json").stdout)
        if not status["running"] or time.monotonic() > until:
            return status
        time.sleep(0.5)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    if not os.environ.get("LAE_NODE_PREFIX"):
        pytest.skip("trials with real clients want LAE_NODE_PREFIX; see benchmarks/clients.py")
    pytest.importorskip("numpy")
    home, project, tools = (tmp_path / name for name in ("home", "project", "bin"))
    for folder in (home, project, tools, tmp_path / "tmp"):
        folder.mkdir()
    example = "examples/digits/"
    for name in names(skill_root()):
        if name.startswith(example) and not name.endswith("loop.run.yaml"):
            shutil.copy(skill_root() / name, project / name.removeprefix(example))
    install(skill_root(), [], project)
    lae = tools / "lae"
    lae.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m lae_controller "$@"\n')
    lae.chmod(0o755)
    # Some clients start login shells, which forget the PATH that was handed down.
    (home / ".profile").write_text(f'PATH="{tools}:$PATH"\n')
    passed = {name: value for name, value in os.environ.items() if name in ("LANG", "SHELL")}
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    env = {"HOME": str(home), "PATH": path, "TMPDIR": str(tmp_path / "tmp")}
    return Stage(project, home, {**passed, **env, "PYTHONPATH": str(ROOT)})

"""A project with one child for an agent to edit, and agents that misbehave on request."""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from mutator_tasks import make_task

from lae_controller.config import MutatorSettings
from lae_controller.mutators import load_mutator
from lae_controller.program import rng_for
from lae_controller.sandbox.programs import build
from lae_controller.sandbox.snapshot import Entry, Snapshot
from lae_controller.task import Mutation, MutatorFailure, Task

MODEL = "RATE = 0.5\nWIDTH = 8\n"
TRAIN = "import model\nprint('val_loss:', model.RATE)\n"
ADDED = "EXTRA = 1\n"

# What an agent does: its first argument, or the name of its program, is looked up here.
FAKE = """\
import json, os, subprocess, sys, time
from pathlib import Path

def edit(path="model.py", old="RATE = 0.5", new="RATE = 0.25"):
    text = Path(path).read_text()
    assert old in text
    Path(path).write_text(text.replace(old, new))

def result(**more):
    value = {"type": "result", "subtype": "success", "is_error": False, "num_turns": 2,
             "result": "A smaller step.\\n\\nSUMMARY: smaller, steadier step\\nKIND: optimiser",
             "total_cost_usd": 0.02, "modelUsage": {"claude-test-1": {}},
             "usage": {"input_tokens": 30, "output_tokens": 7, "cache_read_input_tokens": 5}}
    print(json.dumps({**value, **more}), flush=True)

def attempt(action):
    try:
        action()
        print("done:", action.__name__)
    except OSError as error:
        print("refused:", error.strerror)
"""


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a test takes place.

    Attributes:
        root: the user's project.
        task: for the child, whose parent added ``extra.py``.
        path: a folder that comes first on PATH.
    """

    root: Path
    task: Task
    path: Path
    snapshot: Snapshot

    @property
    def lae(self) -> Path:
        return self.root / "sandbox" / "lae"

    @property
    def task_folder(self) -> Path:
        return self.lae / "tasks" / self.task.child_id

    @property
    def child(self) -> Path:
        return Path(self.task.directory)

    @property
    def base(self) -> Path:
        return self.lae / "base"

    def program(self, name: str, body: str) -> Path:
        """Write an agent: the helpers of FAKE, then ``body``."""
        place = self.path / name
        place.write_text(f"#!{sys.executable}\n{FAKE}\n{body}\n")
        place.chmod(place.stat().st_mode | stat.S_IXUSR)
        return place

    def isolated(self, isolation: str) -> Stage:
        return replace(self, task=replace(self.task, isolation=isolation))

    def mutate(self, command: str, **more: object) -> Mutation | MutatorFailure:
        """Let the Mutator run ``command`` as ``mutator.command``, in this process."""
        settings = MutatorSettings(backend="agent", command=command, **{"timeout": 30.0, **more})
        return load_mutator(settings).mutate(self.task, rng_for(1, self.task.child_id, "mutate"))

    def files(self) -> list[str]:
        """Return all that lies in the child's directory."""
        return sorted(
            (Path(folder) / name).relative_to(self.child).as_posix()
            for folder, _, names in os.walk(self.child)
            for name in names
        )


def make_stage(tmp_path: Path) -> Stage:
    root, path = tmp_path / "project", tmp_path / "bin"
    lae = root / "sandbox" / "lae"
    child = lae / "programs" / "g3-i1-a0"
    for folder in (path, lae / "base", lae / "tasks" / "g3-i1-a0", root / "data"):
        folder.mkdir(parents=True)
    (root / "data" / "set.txt").write_text("1 2 3\n")
    for name, text in {"model.py": MODEL, "train.py": TRAIN, "AGENTS.md": "Say ahoy.\n"}.items():
        (root / name).write_text(text)
        (lae / "base" / name).write_text(text)
    (lae / "journal.jsonl").write_text("{}\n")
    entries = [Entry(name, "copy") for name in ("AGENTS.md", "model.py", "train.py")]
    snapshot = Snapshot((*entries, Entry("data", "link", str(root / "data"))), ())
    files = {"model.py": MODEL, "extra.py": ADDED}
    build(snapshot, lae / "base", child, files)
    task = replace(
        make_task(files, editable=("model.py", "extra.py")),
        directory=str(child),
        project=str(root),
    )
    return Stage(root, task, path, snapshot)

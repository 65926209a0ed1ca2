"""What the quick ways into the program must not load."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from mutators.mutator_tasks import make_task

from lae_controller.codec import encode
from lae_controller.config import MutatorSettings

CLIENT = {"anthropic", "httpx2", "pydantic"}
RUN = """
import json, runpy, sys
try:
    runpy.run_module("lae_controller", run_name="__main__", alter_sys=True)
except SystemExit:
    pass
sys.stderr.write("\\n" + json.dumps(sorted(sys.modules)))
"""


def loaded(code: str, *arguments: str) -> set[str]:
    """Return the modules that are there after a program of its own ran."""
    argv = [sys.executable, "-c", code, *arguments]
    package = str(Path(__file__).resolve().parents[1])
    env = {"PYTHONPATH": package, "PATH": "/usr/bin:/bin"}
    ended = subprocess.run(argv, capture_output=True, text=True, check=True, env=env)
    return set(json.loads(ended.stderr.splitlines()[-1]))


def test_the_command_line_loads_neither_the_client_nor_the_schemas() -> None:
    code = "import json, sys, lae_controller.cli; sys.stderr.write(json.dumps(sorted(sys.modules)))"
    assert not loaded(code) & {*CLIENT, "jsonschema", "rich", "psutil"}


def test_a_look_at_a_run_does_not_load_the_client(project: Path) -> None:
    assert not loaded(RUN, "status", str(project)) & CLIENT


def test_an_offline_mutator_loads_neither(tmp_path: Path) -> None:
    task = make_task({"train.py": "LR = 0.1\n"})
    path = tmp_path / "task.json"
    path.write_text(json.dumps({"mutator": encode(MutatorSettings()), "task": encode(task)}))
    assert not loaded(RUN, "mutate", str(path)) & {*CLIENT, "jsonschema"}
    assert (tmp_path / "mutation.json").exists()

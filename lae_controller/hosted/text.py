"""TASK.md: what a host's Mutator reads."""

from __future__ import annotations

import shlex

from lae_controller.config import Settings
from lae_controller.prompts import agent_prompt
from lae_controller.task import Task


def task_text(task: Task, settings: Settings, token: str) -> str:
    """Return the task of one child, with the command that evaluates it."""
    command = shlex.join(
        ["lae", "evaluate", task.child_id, "--run", str(settings.root), "--token", token]
    )
    return "\n".join(
        [
            f"# Task {task.child_id}",
            "",
            f"Work in `{task.directory}` and nowhere else. Either edit the files there, or write",
            "one SEARCH/REPLACE text to `change.diff` in it.",
            "",
            agent_prompt(task).rstrip(),
            "",
            "## When the change is made",
            "",
            f'`{command} --summary "what you changed" --wait 540`',
            "",
            "trains it in the sandbox and prints what it gave; exit status 7 means that it still",
            "runs: give the same command again. The numbers come from there and from nowhere else.",
            "",
        ]
    )

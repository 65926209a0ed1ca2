"""A task as a prompt: for a model that answers with a change, or for an agent that edits files."""

from __future__ import annotations

from lae_controller.config import MutatorSettings
from lae_controller.prompts.turns import Prompt, Turn
from lae_controller.skill_files import skill_root
from lae_controller.task import Task


def build_prompt(task: Task, settings: MutatorSettings, *, token_limit: int) -> Prompt:
    """Return what a model is told to propose the child of ``task``.

    The same task and settings give the same prompt.

    Args:
        settings: ``reply`` says in which form the change is asked for.
        token_limit: estimated tokens that the whole prompt may have (see ``estimate_tokens``);
            leave room for the reply. Over it, parts are left out in a fixed order, the code last;
            what was left out is said in the prompt.

    Raises:
        ChildError: ``mutator_error`` if not even one file of the program fits.
    """
    del settings, token_limit
    return Prompt(_role(), (Turn("user", _child(task)),))


def agent_prompt(task: Task) -> str:
    """Return what a coding agent is told that edits the files in its working directory."""
    return f"{_role()}\n\n{_child(task)}\n\nEdit the files in this directory; do not run training."


def _role() -> str:
    return (skill_root() / "roles" / "Mutator.md").read_text(encoding="utf-8")


def _child(task: Task) -> str:
    files = "\n\n".join(f"{path}\n```\n{text}```" for path, text in sorted(task.files.items()))
    return f"{files}\n\n{task.metric_name}: {task.parent_metric}. Make one small change."

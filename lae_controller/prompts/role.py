"""What never changes within a run: the role, the rules, the facts about the task."""

from __future__ import annotations

import re
from enum import Enum
from functools import cache

from lae_controller.change.evolve_blocks import END, START
from lae_controller.program import Direction, Intervention
from lae_controller.skill_files import skill_root
from lae_controller.task import Task


class Form(Enum):
    """In which form a change is asked for; the first two as the setting ``reply`` has them."""

    DIFF = "diff"
    FILES = "files"
    AGENT = "agent"


_HEADINGS = {
    Form.DIFF: "Answer with blocks",
    Form.FILES: "Answer with whole files",
    Form.AGENT: "Work in a directory",
}
_SECRET = re.compile(r"\b(\w*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)\w*)=\S+", re.IGNORECASE)

_KINDS = ", ".join(kind.value for kind in Intervention)
# No example of the form stands in the text: small models give it back as their answer.
_STATE = {
    Form.DIFF: "Below the blocks write two lines, SUMMARY:",
    Form.FILES: "Below the files write two lines, SUMMARY:",
    Form.AGENT: "End your last message with two lines, SUMMARY:",
}
_PROMISE = (
    "End with one line PROMISE: and a number from 1 to 10: how far this approach could go after "
    "further work, not how good this first version of it is."
)


def system_text(task: Task, form: Form) -> str:
    """Return role, facts and rules."""
    sections = _sections()
    stated = f"{_STATE[form]} with what it does in a few words, and KIND: with one of {_KINDS}."
    parts = [sections[""], _facts(task, form), sections[_HEADINGS[form]], stated]
    if task.promise:
        parts.append(_PROMISE)
    return "\n\n".join(parts)


@cache
def _sections() -> dict[str, str]:
    """Return the parts of ``roles/Mutator.md`` by heading; "" for what stands before the first."""
    text = (skill_root() / "roles" / "Mutator.md").read_text(encoding="utf-8")
    head, *rest = re.split(r"^## ", text.partition("\n")[2], flags=re.MULTILINE)
    found = {"": head.strip()}
    for section in rest:
        title, _, body = section.partition("\n")
        found[title.strip()] = body.strip()
    return found


def _facts(task: Task, form: Form) -> str:
    better = "larger" if task.direction is Direction.MAXIMIZE else "smaller"
    facts = [f"The metric is {task.metric_name}; {better} is better."]
    if task.run_cmd:
        facts.append(f"Training is started with `{without_secrets(task.run_cmd)}`.")
    if task.budget:
        facts.append(f"Every program trains for {task.budget}; that is fixed.")
    if task.protected:
        facts.append(f"These settings stay as they are: {', '.join(task.protected)}.")
    whole = task.whole_files or form is not Form.DIFF
    if whole and any(START in text for text in task.files.values()):
        facts.append(
            f"In a file with lines {START} and {END} only what is between them may change."
        )
    if task.context:
        facts.append(without_secrets(task.context.strip()))
    return "\n".join(facts)


def without_secrets(text: str) -> str:
    """Blank what is given to a variable that is named like a key or a password."""
    return _SECRET.sub(r"\1=***", text)

"""Whole prompts, compared with files; ``python tests/prompts/test_golden.py`` writes these anew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from prompt_tasks import FAILURES, full_task, plain_task

from lae_controller.config import MutatorSettings
from lae_controller.prompts import agent_prompt, build_prompt
from lae_controller.task import Task

GOLDEN = Path(__file__).parent / "golden"


def shown(task: Task, reply: str = "diff", token_limit: int = 8000) -> str:
    prompt = build_prompt(task, MutatorSettings(reply=reply), token_limit=token_limit)
    turns = [("system", False, prompt.system)]
    turns += [(turn.role, turn.cacheable, turn.text) for turn in prompt.turns]
    parts = [
        f"==== {role}{', cacheable' if cache else ''}\n{text}\n" for role, cache, text in turns
    ]
    return "".join(parts) + f"==== dropped: {', '.join(prompt.dropped) or 'nothing'}\n"


PROMPTS = {
    "plain": lambda: shown(plain_task()),
    "full": lambda: shown(full_task()),
    "files": lambda: shown(full_task(), "files"),
    "short": lambda: shown(full_task(), token_limit=760),
    "repair": lambda: shown(replace(plain_task(), failures=FAILURES)),
    "agent": lambda: agent_prompt(replace(full_task(), failures=FAILURES)),
}


@pytest.mark.parametrize("name", PROMPTS)
def test_prompts_are_as_they_were_agreed(name: str) -> None:
    assert PROMPTS[name]() == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for title, text in PROMPTS.items():
        (GOLDEN / f"{title}.txt").write_text(text(), encoding="utf-8")

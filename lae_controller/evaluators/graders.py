"""The Grader seam: who reads a text and grades it."""

from __future__ import annotations

import os
import shlex
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from lae_controller.config import Settings
from lae_controller.errors import PrerequisiteError
from lae_controller.evaluators import Interrupted
from lae_controller.files import make_folder, write_atomic
from lae_controller.prices import DEFAULT_MODEL, cost_of, price_of
from lae_controller.program import Usage
from lae_controller.quantities import reported_count
from lae_controller.sandbox.command import interpreter
from lae_controller.sandbox.launch import Command, Lifelines, run, wait_for_warden

_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")


@dataclass(frozen=True, slots=True)
class Grading:
    """One text to be graded.

    Attributes:
        instructions: rubric, scale and the form of the reply.
        material: the fenced text.
        folder: where the grader may leave files.
        name: of those files; no two gradings of a folder share one.
    """

    instructions: str
    material: str
    folder: Path
    name: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What a grader answered.

    Attributes:
        text: as it came.
        usage: what the call took; None where no model was asked that says so.
    """

    text: str
    usage: Usage | None = None


class Grader(Protocol):
    """Answers a grading. Called from several threads at once."""

    def grade(self, grading: Grading) -> Reply:
        """Return the reply as it came.

        Raises:
            PrerequisiteError: if no reply could be had: the service failed, or a key is missing.
            Interrupted: if everything is being ended.
        """
        ...


class CommandGrader:
    """Runs a command of the user that reads the whole request from a file and prints its reply.

    It is the user's own program, not a candidate's: it runs in the project with the whole
    environment, outside of any sandbox.
    """

    def __init__(self, settings: Settings, lifelines: Lifelines) -> None:
        self._settings = settings
        self._lifelines = lifelines

    def grade(self, grading: Grading) -> Reply:
        """Run the command once."""
        judge, root = self._settings.scoring.judge, self._settings.root
        place = grading.folder / grading.name
        wait_for_warden(place)
        make_folder(place)
        prompt = place / "prompt.txt"
        write_atomic(prompt, f"{grading.instructions}\n\n{grading.material}\n")
        line = (judge.command or "").replace("{prompt_file}", shlex.quote(str(prompt)))
        line = line.replace("{python}", shlex.quote(str(interpreter(root))))
        command = Command(
            ("/bin/sh", "-c", line), root, os.environ, place / "reply.log", judge.timeout, grace=2.0
        )
        ended = run(command, self._lifelines)
        if ended.why == "lifeline":
            raise Interrupted(f"{grading.name}: the grading was cut off")
        reply = command.output.read_text("utf-8", "replace")
        if ended.status != 0:
            raise PrerequisiteError(
                f"scoring.judge.command ended with status {ended.status} after "
                f"{ended.seconds:.0f} s; expected it to print a reply. It said: "
                f"{reply.strip()[-300:] or 'nothing'}"
            )
        return Reply(reply)


class AnthropicGrader:
    """Asks a model through the Messages API; the address may be set with ANTHROPIC_BASE_URL."""

    def __init__(self, settings: Settings) -> None:
        self._judge = settings.scoring.judge

    def grade(self, grading: Grading) -> Reply:
        """Ask once; what passes by itself is tried again by the client library."""
        if not any(os.environ.get(name) for name in _KEYS):
            raise PrerequisiteError(
                "scoring.judge: there is no key for the Messages API; expected ANTHROPIC_API_KEY "
                "in the environment. `export ANTHROPIC_API_KEY=…`, or judge with backend: command"
            )
        try:
            import anthropic
        except ModuleNotFoundError:
            raise PrerequisiteError(
                "scoring.judge: the backend anthropic needs a package that is missing. "
                "`python -m pip install anthropic` brings it"
            ) from None
        judge, began = self._judge, time.monotonic()
        try:
            client = anthropic.Anthropic(timeout=judge.timeout, max_retries=4)
            with client:
                message = client.messages.create(
                    model=judge.model or DEFAULT_MODEL,
                    max_tokens=judge.max_tokens,
                    system=grading.instructions,
                    messages=[{"role": "user", "content": grading.material}],
                )
        except anthropic.AnthropicError as error:
            raise PrerequisiteError(
                f"scoring.judge: the Messages API gave no reply ({str(error)[:300]}); expected a "
                "grading. What was finished is kept; give the same command again"
            ) from None
        text = "".join(block.text for block in message.content if block.type == "text")
        asked, used = judge.model or DEFAULT_MODEL, message.usage
        usage = Usage(
            str(message.model or asked),
            1,
            reported_count(used.input_tokens),
            reported_count(used.cache_read_input_tokens),
            reported_count(used.cache_creation_input_tokens),
            reported_count(used.output_tokens),
            seconds=time.monotonic() - began,
        )
        priced = usage.model if price_of(usage.model) else asked
        return Reply(text, replace(usage, cost_usd=cost_of(priced, usage)))

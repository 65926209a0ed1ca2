"""The Mutator that lets a coding agent's command line edit the child's directory.

What it changed there is the proposal; what it says about it is read for the one-line summary, and
never believed about the code.
"""

from __future__ import annotations

import os
import random
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from lae_controller.change.source import read_source
from lae_controller.config import MutatorSettings
from lae_controller.errors import ConfigError, PrerequisiteError
from lae_controller.files import sha256_of
from lae_controller.mutators.agent_box import Box, Turn
from lae_controller.mutators.agent_output import Reading, read_plain
from lae_controller.mutators.agent_presets import (
    PRESETS,
    Preset,
    agent_environment,
    is_named,
    preset_of,
)
from lae_controller.mutators.agent_tree import AgentTree
from lae_controller.mutators.deadline import Deadline, usable
from lae_controller.program import Files, Reason, Usage, one_line
from lae_controller.prompts import agent_prompt
from lae_controller.replies import read_stated
from lae_controller.replies.kind import describe, kind_of
from lae_controller.sandbox.tiers import choose
from lae_controller.sandbox.view import Tier
from lae_controller.task import Mutation, MutatorFailure, Task

_MOVED = frozenset(
    "CLAUDE_CONFIG_DIR CODEX_HOME GEMINI_CLI_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME "
    "XDG_CACHE_HOME XDG_RUNTIME_DIR".split()
)
_PACKAGES = str(Path(__file__).resolve().parents[2])
_REPORT_S = 4.0  # of a turn's time: to end its processes and look at what it did
_SHOWN = 600


def make(settings: MutatorSettings) -> AgentMutator:
    """Return the Mutator of the ``agent`` backend.

    Raises:
        ConfigError: if ``command`` is missing, or ``max_cost_usd`` cannot be kept with it.
        PrerequisiteError: if its program is not installed.
    """
    if not (settings.command or "").strip():
        raise ConfigError(
            "mutator.backend is agent, but mutator.command is missing; expected one of "
            f"{', '.join(PRESETS)}, or a command line that edits files where it is started"
        )
    preset = preset_of(settings)
    if settings.max_cost_usd is not None and not (is_named(settings) and preset.reports_cost):
        known = " or ".join(name for name, each in PRESETS.items() if each.reports_cost)
        raise ConfigError(
            f"mutator.max_cost_usd is {settings.max_cost_usd:g}, but what {settings.command!r} "
            f"spends is not known; expected no limit, or {known} as mutator.command. Set a limit "
            "with the model service itself"
        )
    return AgentMutator(settings, preset, _program(settings, preset))


def _program(settings: MutatorSettings, preset: Preset) -> Path | None:
    """Return the program of a preset, or of a command line that begins with one's."""
    if preset.name not in PRESETS:
        return None
    found = shutil.which(shlex.split(settings.command or "")[0])
    if found is None and is_named(settings):
        raise PrerequisiteError(
            f"mutator.command is {preset.name}, but there is no such program on PATH. "
            f"`{preset.install}` installs it"
        )
    return Path(found) if found else None


@dataclass(frozen=True, slots=True)
class AgentMutator:
    """Runs one agent for each child.

    Attributes:
        program: of a known agent; None for a command line of which nothing is known.
    """

    settings: MutatorSettings
    preset: Preset
    program: Path | None

    def mutate(self, task: Task, rng: random.Random) -> Mutation | MutatorFailure:  # noqa: ARG002
        """Let the agent edit the child's directory; return what that came to.

        Raises:
            PrerequisiteError: if the machine failed, not the agent.
        """
        deadline = Deadline.after(usable(self.settings.timeout))
        box = _box(task)
        tree = AgentTree(box.directory, box.folder.with_name("kept"), task.files)
        originals = _hashes(box.project, task.files) if box.tier is Tier.NONE else {}
        tree.prepare()
        box.open(agent_prompt(task))
        try:
            limit = max(1.0, deadline.left - _REPORT_S)
            turn = self._turn(box, limit)
            changed = tree.settle()
            outcome = self._outcome(task, box, turn, changed)
        finally:
            box.close()
        touched = next((p for p, h in originals.items() if _hash(p) != h), None)
        if touched is not None:
            outcome = _escaped(self.preset, touched)
        tree.close(restore=isinstance(outcome, MutatorFailure))
        return outcome

    def _turn(self, box: Box, limit: float) -> Turn:
        env = self._environment(box)
        words = self._words(box)
        readable = list(_readable(words, self.program))
        return box.run(words, env, readable, limit, lambda lines: self.preset.read(lines).finished)

    def _words(self, box: Box) -> list[str]:
        if is_named(self.settings):
            confined = box.tier is not Tier.NONE
            return [str(self.program), *self.preset.arguments(self.settings, confined)]
        line = self.settings.command or ""
        for name, value in (("{prompt_file}", str(box.prompt)), ("{python}", sys.executable)):
            line = line.replace(name, shlex.quote(value))
        return ["/bin/sh", "-c", line]

    def _environment(self, box: Box) -> dict[str, str]:
        """Return the agent's whole environment; puts its login into its home."""
        env = agent_environment(self.settings, os.environ)
        # Ours is of no use to it, and might come before the packages of its own Python.
        paths = env.pop("PYTHONPATH", "").split(os.pathsep)
        if rest := [path for path in paths if path and path != _PACKAGES]:
            env["PYTHONPATH"] = os.pathsep.join(rest)
        if self.preset.fill is not None:
            env |= self.preset.fill(box.home, os.environ)
            env = {name: value for name, value in env.items() if name not in _MOVED}
            env["HOME"] = str(box.home)
        return env | dict(self.preset.switches)

    # -- what came of it -----------------------------------------------------------------------

    def _outcome(
        self, task: Task, box: Box, turn: Turn, changed: tuple[str, ...]
    ) -> Mutation | MutatorFailure:
        reading = self.preset.read(turn.lines)
        plain = not is_named(self.settings) and not (reading.finished or reading.error)
        if plain:
            reading = read_plain(turn.lines)
        usage = self._usage(reading, turn)
        if turn.ended.why in ("timeout", "memory", "disk") and not reading.finished:
            return MutatorFailure(Reason.MUTATOR_ERROR, self._cut_off(turn), usage=usage)
        if plain:
            failure = None if changed else self._plain_failure(turn)
        elif not reading.finished:
            said = reading.error or turn.errors.strip()[-_SHOWN:] or "nothing"
            failure = self._failure(replace(reading, error=said), "ended without a result: ")
        else:
            failure = self._failure(reading, "") if reading.error else None
        if failure is None and not changed:
            failure = self._nothing(box, reading)
        if failure is not None:
            return replace(failure, reply=reading.text, usage=usage)
        return self._mutation(task, box.directory, changed, replace(reading, usage=usage))

    def _mutation(
        self, task: Task, directory: Path, changed: tuple[str, ...], reading: Reading
    ) -> Mutation:
        stated = read_stated(reading.text)
        before, after = _texts(task.files, directory, changed)
        return Mutation(
            change="",
            summary=stated.summary or describe(before, after),
            intervention=kind_of(before, after, stated.kind),
            operator=self.preset.name,
            reply=reading.text,
            usage=reading.usage,
            promise=stated.promise,
        )

    def _usage(self, reading: Reading, turn: Turn) -> Usage:
        usage = reading.usage or Usage(calls=1)
        model = usage.model or self.settings.model or ""
        return replace(usage, model=model, seconds=turn.ended.seconds)

    def _failure(self, reading: Reading, how: str) -> MutatorFailure:
        name, said = self.preset.name, _short(reading.error)
        if reading.is_account:
            cure = f"Its user has to act: {self.preset.login}; then give the same command again"
            return MutatorFailure(Reason.MUTATOR_ERROR, f"{name}: {how}{said}. {cure}", fatal=True)
        reason = Reason.ENVIRONMENT if reading.is_service else Reason.MUTATOR_ERROR
        return MutatorFailure(reason, f"{name}: {how}{said}")

    def _plain_failure(self, turn: Turn) -> MutatorFailure | None:
        status = turn.ended.status
        said = _short(turn.errors.strip() or "\n".join(turn.lines[-5:]))
        if status in (126, 127):
            detail = f"mutator.command cannot be started: {said}"
            return MutatorFailure(Reason.MUTATOR_ERROR, detail, fatal=True)
        if status == 0:
            return None
        detail = f"mutator.command ended with status {status} and changed no file: {said}"
        return MutatorFailure(Reason.MUTATOR_ERROR, detail)

    def _nothing(self, box: Box, reading: Reading) -> MutatorFailure:
        if reading.finished and not reading.text.strip():
            spent = reading.usage.output_tokens if reading.usage else 0
            detail = (
                f"{self.preset.name} {self._version(box)} answered nothing and changed no file, "
                f"for {spent} output tokens"
            )
            return MutatorFailure(Reason.MUTATOR_ERROR, detail)
        said = _short(reading.text)
        return MutatorFailure(Reason.NO_CHANGE, f"{self.preset.name} changed no file: {said}")

    def _cut_off(self, turn: Turn) -> str:
        said = _short(turn.errors.strip() or "\n".join(turn.lines[-3:])) or "nothing"
        what = {
            "timeout": f"was not done after {turn.ended.seconds:.0f} s (mutator.timeout is "
            f"{self.settings.timeout:g})",
            "disk": "filled the disk",
        }.get(turn.ended.why, "took too much memory")
        return f"{self.preset.name} {what}; it last said: {said}"

    def _version(self, box: Box) -> str:
        """Return what the program calls its version; empty if it does not say."""
        if self.program is None:
            return ""
        env = {**os.environ, "HOME": str(box.home)}
        try:
            done = subprocess.run(
                [self.program, "--version"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=10,
                check=False,
                env=env,
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return one_line(done.stdout.decode("utf-8", "replace"), 40)


def _box(task: Task) -> Box:
    if not task.directory:
        raise ValueError(f"{task.child_id}: an agent needs a directory to work in")
    directory = Path(task.directory)
    lae = directory.parent.parent
    return Box(
        directory=directory,
        folder=lae / "tasks" / task.child_id / "agent",
        hidden=lae,
        project=Path(task.project) if task.project else None,
        tier=choose(task.isolation),
    )


def _readable(words: list[str], program: Path | None) -> Iterator[Path]:
    """Yield what an agent needs of the machine: its program with its package, files it is given."""
    if program is not None:
        yield program
        real = program.resolve()
        packages = [folder for folder in real.parents if folder.name == "node_modules"]
        yield packages[-1] if packages else real.parent
    for word in words:
        for path in re.findall(r"/[^\s'\";|&<>()]+", word):
            if os.path.exists(path):  # noqa: PTH110 (no error if barred)
                yield Path(path)


def _short(text: str) -> str:
    return " ".join(text.split())[:_SHOWN]


def _texts(files: Files, directory: Path, changed: tuple[str, ...]) -> tuple[Files, Files]:
    """Return the changed files before and after, as far as they are texts."""
    after: dict[str, str] = {}
    for path in changed:
        place = directory / path
        if not os.path.lexists(place):
            after[path] = ""
        elif place.is_file() and not place.is_symlink():
            try:
                after[path] = read_source(place)
            except ConfigError:
                continue  # no text; whether it may be there is the freeze's question
    return {path: files[path] for path in changed if path in files}, after


def _hashes(project: Path | None, files: Mapping[str, str]) -> dict[Path, str]:
    return {} if project is None else {project / path: _hash(project / path) for path in files}


def _hash(path: Path) -> str:
    return sha256_of(path) if path.is_file() else ""


def _escaped(preset: Preset, path: Path) -> MutatorFailure:
    return MutatorFailure(
        Reason.OUT_OF_BOUNDS,
        f"{path}: this file of the project itself changed while {preset.name} worked on a copy, "
        "from which isolation: none does not keep it; expected the copy to be edited. Look at the "
        "file, put it back, and choose another isolation",
        fatal=True,
    )

"""Inferring the bindings of a training project that was never seen before.

`infer` reads files and launches nothing; `with_settings` takes what was given on the command
line; `ask_missing` asks a person for the rest.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from lae_controller.bindings.ask import Ask, Question, ask_missing, click_ask
from lae_controller.bindings.budget import find_budget, find_seed
from lae_controller.bindings.command import Command, find_command, given_command
from lae_controller.bindings.configs import file_settings
from lae_controller.bindings.files import find_data, find_editable, find_protected
from lae_controller.bindings.metric import find_metric
from lae_controller.bindings.options import declared_settings
from lae_controller.bindings.project import Project, scan
from lae_controller.bindings.proposal import Proposal, Suggestion, known_keys, with_settings
from lae_controller.bindings.settings import Setting

__all__ = [
    "Ask",
    "Proposal",
    "Question",
    "Suggestion",
    "ask_missing",
    "click_ask",
    "infer",
    "known_keys",
    "with_settings",
]

_TOTAL = 40
_NAMES_CODE = frozenset({"_target_", "target", "class_path"})


def infer(
    root: Path, has_gpu: bool = False, has_uv: bool | None = None, run_cmd: str | None = None
) -> Proposal:
    """Propose bindings for the training project in ``root``, from its files alone.

    Args:
        has_gpu: whether training can use an accelerator here; without one a CPU variant of the
            training command is preferred.
        has_uv: whether ``uv`` can be run; None to look for it on the PATH.
        run_cmd: the training command, if a person said it; all else is inferred for it.

    Returns:
        a proposal in which ``editable_files`` has no value, ever: that is for a person to say.
    """
    project = scan(root)
    uv = shutil.which("uv") is not None if has_uv is None else has_uv
    if run_cmd is None:
        command = find_command(project, has_gpu, uv)
    else:
        command = given_command(project, run_cmd)
    files, settings = _program(project, command)
    budget = find_budget(settings, command.text, command.env)
    seed = find_seed(settings, budget.command, budget.env)
    metric = find_metric(project, files, settings)
    editable = find_editable(project, files, settings, command.text, metric.file)
    total = f"{_TOTAL} full runs, a first search; the one setting that decides what it costs"
    found = [
        *metric.suggestions,
        *_command_suggestions(command, seed.command, seed.env),
        editable,
        *budget.suggestions,
        Suggestion("total_budget", _TOTAL, total),
        *seed.suggestions,
        find_data(project, files, settings, command.text),
        find_protected(project, settings, map(str, editable.alternatives), budget.name),
    ]
    return Proposal(root, tuple(one for one in found if one is not None))


def _program(project: Project, command: Command) -> tuple[tuple[str, ...], tuple[Setting, ...]]:
    """Return the files that a run executes and the settings it reads.

    Classes named in setting files (Hydra's ``_target_``) are followed too.
    """
    entry = command.entrypoint
    files = project.reachable(entry)
    read = file_settings(project, files, command.text)
    names = [str(s.default) for s in read if s.name in _NAMES_CODE]
    named = [project.module_file(name, entry) for name in names] if entry is not None else []
    more = tuple(dict.fromkeys(path for path in named if path is not None))
    if more:
        files = project.reachable(entry, more)
    return files, (*declared_settings(project, files), *read)


def _command_suggestions(
    command: Command, text: str, env: tuple[tuple[str, str], ...]
) -> list[Suggestion]:
    if not command.text:
        return [Suggestion("run_cmd", None, command.reason)]
    found = [Suggestion("run_cmd", text, command.reason, command.alternatives, command.certain)]
    if command.entrypoint is not None:
        found.append(
            Suggestion("entrypoint", command.entrypoint, "the script of run_cmd", certain=True)
        )
    found.extend(
        Suggestion(f"env.{name}", value, f"set in {command.reason.split(';')[0]}", certain=True)
        for name, value in env
    )
    return found

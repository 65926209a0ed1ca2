"""Before the first file of a run is created: overrides, the question, going into the background."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import click

from lae_controller import build
from lae_controller.config import Settings
from lae_controller.errors import ConfigError, LaeError, LockedError, PrerequisiteError
from lae_controller.files import make_folder
from lae_controller.lock import is_held
from lae_controller.quantities import TotalBudget, number_text, parse_duration
from lae_controller.remarks import Say

_START_S, _TICK_S = 20.0, 0.05


def override(settings: Settings, total_budget: str | None, concurrency: int | None) -> Settings:
    """Lay flags over the file's settings.

    Raises:
        ConfigError: if a flag's value cannot be read.
    """
    if total_budget is not None:
        settings = replace(settings, total_budget=_total(total_budget))
    if concurrency is not None:
        settings = replace(settings, concurrency=concurrency)
    return settings


def _total(text: str) -> TotalBudget:
    if text.isdigit() and int(text) > 0:
        return TotalBudget(int(text), None)
    try:
        return TotalBudget(None, parse_duration(text))
    except ConfigError:
        raise ConfigError(
            f"--total-budget is {text!r}; expected a number of full runs or a duration such as 90m"
        ) from None


def confirm(settings: Settings, *, yes: bool, say: Say) -> None:
    """Show the plan and get a yes, unless it was given or the run was begun before.

    Raises:
        ConfigError: if there is nobody to ask.
    """
    _refuse_too_small(settings)
    place = build.machine(settings)
    for line in plan(settings, place.concurrency, place.reason):
        say(line)
    if yes or (settings.lae_dir / "base.json").exists():
        return
    if not sys.stdin.isatty():
        raise ConfigError(
            "run: nothing was created yet, and there is no terminal to ask at; --yes begins"
        )
    click.confirm("Begin?", abort=True, err=True)


def _refuse_too_small(settings: Settings) -> None:
    """Refuse a total budget that the baseline alone would spend, before it does."""
    runs, baseline = settings.total_budget.runs, settings.confirm.baseline_runs
    begun = (settings.lae_dir / "base.json").exists()
    if runs is not None and runs < baseline + 2 and not begun:
        raise ConfigError(
            f"total_budget is {runs}; expected at least {baseline + 2}: {baseline} runs of the "
            "baseline (confirm.baseline_runs) and room for a child"
        )


def plan(settings: Settings, concurrency: int, reason: str) -> list[str]:
    """Return what is about to happen, in a few lines."""
    generations = settings.num_generations(concurrency)
    planned = f", {generations} generations" if generations else ""
    each = f"{number_text(settings.budget)} {settings.budget_unit}"
    return [
        f"{settings.metric} ({settings.direction.value}) of {settings.objective}",
        f"program: {' '.join(settings.editable_files)}",
        f"budget: {each} a run, {settings.total_budget}{planned}",
        f"concurrency: {concurrency} ({reason})",
        f"sandbox: {settings.lae_dir}",
    ]


def detach(settings: Settings, arguments: list[str]) -> Path:
    """Start the same command as a process of its own session; returns its log.

    Returns when it works on the sandbox, so that ``lae status`` has something to say.

    Raises:
        ConfigError, PrerequisiteError: if it ended at once, with what it said.
    """
    make_folder(settings.lae_dir)
    log = settings.lae_dir / "run.log"
    words = [word for word in arguments if word != "--detach"]
    with log.open("ab") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "lae_controller", *words, "--yes"],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            start_new_session=True,
            env=os.environ.copy(),
        )
    until = time.monotonic() + _START_S
    while time.monotonic() < until and not is_held(settings.lae_dir):
        if process.poll() is not None:
            break
        time.sleep(_TICK_S)
    if process.returncode:
        raise given_up(log, process.returncode)
    return log


def given_up(log: Path, status: int, what: str = "") -> LaeError:
    """Return why a command of ours that ran apart ended without success: its own last words.

    Args:
        what: came of it; stands before them.
    """
    said = log.read_text("utf-8", "replace").strip().splitlines() if log.exists() else []
    reason = said[-1].removeprefix("lae: ") if said else f"exit status {status}"
    kinds = (ConfigError, LockedError)
    kind = next((kind for kind in kinds if kind.exit_code == status), PrerequisiteError)
    return kind(what + reason)

"""The far end of one Mutator process: ``python -m lae_controller mutate TASK`` (internal).

TASK is a ``task.json``. Beside it the process leaves ``mutation.json``, the proposal, or
``failure.json``, why there is none; whole or not at all. A process that leaves neither was
killed, or has a bug whose traceback stands in its log.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from lae_controller.codec import decode, encode
from lae_controller.config import MutatorSettings
from lae_controller.errors import ChildError, LaeError
from lae_controller.files import write_note
from lae_controller.mutators import load_mutator
from lae_controller.mutators.deadline import OutOfTime, time_limit, usable
from lae_controller.mutators.environment import Redactor
from lae_controller.program import Reason, rng_for
from lae_controller.task import Mutation, MutatorFailure, Task

T = TypeVar("T")

_MUTATION, _FAILURE = "mutation.json", "failure.json"


def main(path: Path) -> int:
    """Read the task, let the Mutator of its backend propose, write what came of it.

    Returns:
        The exit status: 0 with a proposal, 1 without, 3 if no proposal can succeed.
    """
    redactor = Redactor(os.environ)
    _hide_in_tracebacks(redactor)
    for name in (_MUTATION, _FAILURE):
        path.with_name(name).unlink(missing_ok=True)
    value = json.loads(path.read_text(encoding="utf-8"))
    task, settings = decode(Task, value["task"]), decode(MutatorSettings, value["mutator"])
    outcome = _propose(task, settings)
    failed = isinstance(outcome, MutatorFailure)
    name = _FAILURE if failed else _MUTATION
    write_note(path.with_name(name), redactor.data(encode(outcome)))
    if not isinstance(outcome, MutatorFailure):
        return 0
    sys.stderr.write(f"{outcome.reason.value}: {redactor.text(outcome.detail)}\n")
    return 3 if outcome.fatal else 1


def _propose(task: Task, settings: MutatorSettings) -> Mutation | MutatorFailure:
    rng = rng_for(task.seed, task.child_id, "mutate")
    late = f"nothing was proposed within mutator.timeout ({settings.timeout:g} s)"
    try:
        with time_limit((usable(settings.timeout) + settings.timeout) / 2):
            return load_mutator(settings).mutate(task, rng)
    except OutOfTime:
        return MutatorFailure(Reason.MUTATOR_ERROR, late)
    except ChildError as error:
        return MutatorFailure(error.reason, error.detail)
    except LaeError as error:
        return MutatorFailure(Reason.MUTATOR_ERROR, str(error), fatal=True)


def _hide_in_tracebacks(redactor: Redactor) -> None:
    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        sys.stderr.write(redactor.text("".join(traceback.format_exception(kind, error, trace))))

    sys.excepthook = show


def read_outcome(folder: Path) -> Mutation | MutatorFailure | None:
    """Return how a Mutator process ended; None if it left nothing whole."""
    return read_mutation(folder) or _read(folder / _FAILURE, MutatorFailure)


def read_mutation(folder: Path) -> Mutation | None:
    """Return what a Mutator process proposed; None if it left nothing whole."""
    return _read(folder / _MUTATION, Mutation)


def _read(path: Path, kind: type[T]) -> T | None:
    try:
        return decode(kind, json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, KeyError):
        return None

"""Further runs that a child waits for before it is told, each in a process of its own.

``tell`` starts them; they outlive it, and leave what they gave below ``runs/``, where the next
``tell`` finds it, whoever gives it. One that was killed is started again.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from lae_controller import results
from lae_controller.begin import given_up
from lae_controller.config import Settings
from lae_controller.confirm import repeat_of
from lae_controller.hosted.evaluate import alone, exit_status, in_slot, spawn
from lae_controller.inflight import Pending, Repeat
from lae_controller.leases import is_evaluating
from lae_controller.program import Evaluation, Intervention
from lae_controller.results import Result
from lae_controller.sandbox.launch import Lifelines
from lae_controller.steps import Steps

_TICK_S = 0.1


def name_of(pending: Pending) -> str:
    """Return the name of a further run, for people and for its lock."""
    return f"{pending.asked.child_id} {_repeat(pending).name}"


def ended(settings: Settings, pending: Pending) -> Evaluation | None:
    """Return what a further run gave; None if it was not made of this very program."""
    found = results.read_from(_place(settings, pending, "json"))
    return found.evaluation if found is not None and found.digest == pending.digest else None


def carry_out(settings: Settings, runs: Sequence[Pending], until: float | None) -> bool:
    """Have further runs made, those that others began already included.

    Args:
        until: when to stop waiting, by the monotonic clock; None: when all have ended.

    Returns:
        Whether none of them runs any more.

    Raises:
        LaeError: whatever made one of the processes give up.
    """
    waiting = [pending for pending in runs if ended(settings, pending) is None]
    mine = {
        name_of(pending): _start(settings, pending)
        for pending in waiting
        if not is_evaluating(settings.lae_dir, _lock(pending))
    }
    while waiting:
        waiting = [pending for pending in waiting if _runs(settings, pending, mine)]
        if waiting and until is not None and time.monotonic() >= until:
            return False
        time.sleep(_TICK_S if waiting else 0)
    return True


def run_here(settings: Settings, child_id: str, name: str) -> None:
    """Make one further run in this process, unless another process does, or did.

    Raises:
        PrerequisiteError: if the machine failed.
        KeyboardInterrupt: after everything that ran was ended; it can be made again.
    """
    with alone(settings, f"{child_id}.{name}") as view:
        if view is None:
            return
        steps = Steps(view)
        pending = repeat_of(steps, child_id, Repeat.named(name))
        if ended(settings, pending) is not None:
            return
        lifelines = Lifelines()
        try:
            evaluation = in_slot(view, steps, pending, lifelines)
        finally:
            lifelines.end_all()
        kind = Intervention.OTHER
        result = Result(child_id, None, 0, "", kind, "-", pending.digest, evaluation)
        results.write_to(_place(settings, pending, "json"), result)


def _runs(settings: Settings, pending: Pending, mine: dict[str, int]) -> bool:
    """Say whether a further run is still under way."""
    worker = mine.get(name_of(pending))
    if worker is None:
        return is_evaluating(settings.lae_dir, _lock(pending))
    status = exit_status(worker)
    if status is None:
        return True
    del mine[name_of(pending)]
    if status != 0:
        trouble = f"{name_of(pending)}: this further run could not be made: "
        raise given_up(_place(settings, pending, "log"), status, trouble)
    return False


def _start(settings: Settings, pending: Pending) -> int:
    """Start the process of a further run, which ends only by itself; returns its pid."""
    words = [pending.asked.child_id, "--further", _repeat(pending).name]
    return spawn(settings, words, _place(settings, pending, "log"))


def _place(settings: Settings, pending: Pending, kind: str) -> Path:
    folder = settings.lae_dir / "runs" / pending.asked.child_id
    return folder / f"{_repeat(pending).name}.{kind}"


def _lock(pending: Pending) -> str:
    return name_of(pending).replace(" ", ".")


def _repeat(pending: Pending) -> Repeat:
    if pending.repeat is None:
        raise ValueError(f"{pending.asked.child_id}: its evaluation is no further run")
    return pending.repeat

"""``evaluate``: freeze a child and run it, in a process that outlives the caller's shell."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from lae_controller import build, results
from lae_controller.begin import given_up
from lae_controller.config import Settings
from lae_controller.errors import ConfigError, PrerequisiteError
from lae_controller.files import make_folder, read_json, write_json
from lae_controller.inflight import InFlight, Pending
from lae_controller.leases import evaluation_lock, is_evaluating
from lae_controller.lock import refuse_beside_a_controller
from lae_controller.mutate import read_mutation
from lae_controller.parts import Core
from lae_controller.program import MENDABLE, Evaluation, Intervention, one_line, sort_key
from lae_controller.purse import affords, spent_usd, worst_grading
from lae_controller.remarks import silent
from lae_controller.results import Result
from lae_controller.sandbox.launch import Lifelines
from lae_controller.state import Asked, RunState
from lae_controller.steps import Steps
from lae_controller.stop_signals import stop_signals
from lae_controller.task import Mutation

_TICK_S = 0.1
_PATIENCE_S = 1.0  # whoever looks whether a lock is held, holds it for a moment


def evaluate(
    settings: Settings,
    child_id: str,
    proposal: Mutation,
    wait: float | None,
    token: str | None,
    *,
    again: bool = False,
) -> Result | None:
    """Evaluate a child, or wait for the evaluation that is under way.

    Args:
        proposal: what the Mutator says of its change; the change itself lies in the directory.
        wait: seconds to wait for the result; None: until it is there.
        token: the lease's, if the caller knows it.
        again: whether a child that failed, and was mended since, is evaluated once more.

    Returns:
        The result; None if it still runs.

    Raises:
        ConfigError: if no such task was asked for, or it is held for another.
        LaeError: whatever made the evaluating process give up.
    """
    asked = asked_for(build.view(settings, silent).state, child_id, token)
    if again and asked is not None:
        _set_aside(settings, child_id)
    folder = settings.lae_dir / "tasks" / child_id
    until = None if wait is None else time.monotonic() + wait
    worker: int | None = None
    while (result := results.read(settings.lae_dir, child_id)) is None:
        if worker is not None and (status := exit_status(worker)) is not None:
            result = results.read(settings.lae_dir, child_id)
            if result is not None:
                break
            if status == 0:  # another process had begun just before
                worker = None
                continue
            trouble = f"{child_id}: it could not be evaluated: "
            raise given_up(folder / "evaluate.log", status, trouble)
        if worker is None and not is_evaluating(settings.lae_dir, child_id):
            worker = _start(settings, child_id, folder, proposal)
        if until is not None and time.monotonic() >= until:
            return None
        time.sleep(_TICK_S)
    return result


def asked_for(state: RunState, child_id: str, token: str | None) -> Asked | None:
    """Return a task that is under way; None if it was told.

    Raises:
        ConfigError: if there is none, or the token is not the one it is held under.
    """
    asked = state.asked.get(child_id)
    if asked is None and child_id not in state.told:
        known = ", ".join(sorted(state.asked, key=sort_key)) or "none"
        raise ConfigError(f"{child_id}: no such task; expected one of those under way: {known}")
    if asked is not None and token is not None:
        lease = asked.lease
        if lease is None or lease.token != token:
            raise ConfigError(
                f"{child_id}: the lease ended and the task was given to another; nothing was "
                "changed. `lae ask` gives a new one"
            )
    return asked


def _set_aside(settings: Settings, child_id: str) -> None:
    """Make room for another evaluation of a child that failed; what it cost stays its cost.

    Raises:
        ConfigError: if it did not fail in a way that a change can mend, or too often.
    """
    result = results.read(settings.lae_dir, child_id)
    if result is None:
        return  # it is not finished: nothing is in the way
    path = settings.lae_dir / "tasks" / child_id / "earlier.json"
    earlier = read_json(path) or {"tries": 0, "charge": 0.0, "seconds": 0.0}
    allowed = settings.mutator.repair_attempts
    if result.evaluation.reason not in MENDABLE or earlier["tries"] >= allowed:
        raise ConfigError(
            f"{child_id}: --again is for a child that failed and was mended, at most {allowed} "
            f"times (mutator.repair_attempts); this one is {result.evaluation.status.value}, "
            f"{earlier['tries']} times mended. `lae tell {child_id}` places it as it is"
        )
    spent = {
        "tries": earlier["tries"] + 1,
        "charge": earlier["charge"] + result.evaluation.charge,
        "seconds": earlier["seconds"] + result.evaluation.seconds,
    }
    write_json(path, spent)
    results.path_of(settings.lae_dir, child_id).unlink()


def _with_earlier(folder: Path, evaluation: Evaluation) -> Evaluation:
    """Return an evaluation that also bears what earlier tries of the child cost."""
    earlier = read_json(folder / "earlier.json")
    if not isinstance(earlier, dict):
        return evaluation
    return replace(
        evaluation,
        charge=evaluation.charge + earlier["charge"],
        seconds=evaluation.seconds + earlier["seconds"],
    )


def _start(settings: Settings, child_id: str, folder: Path, proposal: Mutation) -> int:
    """Start the evaluating process, which ends only by itself; returns its pid."""
    make_folder(folder)
    write_json(folder / "said.json", [proposal.summary, proposal.intervention.value])
    return spawn(settings, [child_id], folder / "evaluate.log")


def spawn(settings: Settings, words: Sequence[str], log: Path) -> int:
    """Start ``lae evaluate … --here`` in a session of its own; returns its pid."""
    make_folder(log.parent)
    line = [sys.executable, "-m", "lae_controller", "evaluate", *words, "--here"]
    return os.posix_spawn(
        sys.executable,
        [*line, "--run", str(settings.path)],
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )


def exit_status(pid: int) -> int | None:
    """Return the exit status of a process that was started here; None if it still runs."""
    found, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if found else None


@contextmanager
def alone(settings: Settings, name: str) -> Iterator[Core | None]:
    """Hold the lock of one evaluation; gives the run as it stands, or None if another holds it.

    Raises:
        LockedError: if a controller works here, which evaluates what is left by itself.
    """
    lock = evaluation_lock(settings.lae_dir, name)
    try:
        lock.acquire(timeout=_PATIENCE_S)
    except Timeout:
        yield None
        return
    with lock, stop_signals():
        lock.release()  # counted twice
        refuse_beside_a_controller(settings.lae_dir)
        yield build.view(settings, silent)


def evaluate_here(settings: Settings, child_id: str) -> Result | None:
    """Evaluate a child in this process; None if it is told, or another process does it.

    Raises:
        PrerequisiteError: if the machine failed.
        KeyboardInterrupt: after everything that ran was ended; the child can be evaluated again.
    """
    with alone(settings, child_id) as view:
        if view is None:
            return None
        asked = asked_for(view.state, child_id, None)
        done = results.read(settings.lae_dir, child_id)
        if asked is None or done is not None:
            return done
        lifelines = Lifelines()
        try:
            return _carry_out(view, asked, lifelines)
        finally:
            lifelines.end_all()


def _carry_out(view: Core, asked: Asked, lifelines: Lifelines) -> Result:
    steps = Steps(view)
    mutation = _proposed(view, asked)
    pending = _freeze(steps, asked, mutation)
    if not isinstance(pending, Pending):
        return pending
    believed = steps.believed(pending, in_slot(view, steps, pending, lifelines))
    whole = _with_earlier(view.children.folder(asked.child_id), believed)
    return steps.finish(asked, mutation, pending.digest, whole, pending.chance).result()


def in_slot(view: Core, steps: Steps, pending: Pending, lifelines: Lifelines) -> Evaluation:
    """Evaluate a frozen child, or make a further run of a program, in whichever slot is free."""
    site = build.site_for(view.settings)
    with site.alone(lifelines, view.prepared.snapshot, steps.baseline.editable) as executor:
        evaluation = _run(InFlight(executor, steps.job), pending)
        executor.bring(pending.asked.child_id)  # whether it is kept is found out when it is told
        return evaluation


def _proposed(view: Core, asked: Asked) -> Mutation:
    """Return what a Mutator left: ``mutation.json``, or ``change.diff``, or its edits."""
    folder = view.children.folder(asked.child_id)
    whole = read_mutation(folder)
    if whole is not None:
        return whole
    said = read_json(folder / "said.json") or ["", "other"]
    change = view.children.written_change(asked)
    summary, kind = one_line(said[0]) or "-", Intervention(said[1])
    return Mutation(change, summary, kind, "host", reply=change)


def _freeze(steps: Steps, asked: Asked, mutation: Mutation) -> Pending | Result:
    """Freeze a child against all others that are frozen; one process at a time."""
    lae = steps.settings.lae_dir
    with FileLock(str(lae / "tasks" / "freeze.lock")):
        frozen = steps.freeze(asked, mutation, _claimed(steps, asked))
        if isinstance(frozen, Pending):
            note = steps.children.folder(asked.child_id) / "frozen.json"
            most = _set_money_aside(steps, asked)
            write_json(note, {"digest": frozen.digest, "grading_usd": most})
            return frozen
    whole = _with_earlier(steps.children.folder(asked.child_id), frozen.evaluation)
    return steps.finish(asked, mutation, frozen.digest, whole).result()


def _claimed(steps: Steps, asked: Asked) -> dict[str, str]:
    """Return the programs of other children under way: digest -> id.

    In the generational schedule only those that are told earlier count, whoever was first.
    """
    in_order = steps.settings.evolution.in_order
    return {
        note["digest"]: other
        for other, note in _frozen_beside(steps, asked)
        if not in_order or sort_key(other) < sort_key(asked.child_id)
    }


def _frozen_beside(steps: Steps, asked: Asked) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the other children that are frozen and not told, each with what was noted then."""
    for other in steps.state.asked:
        if other == asked.child_id:
            continue
        note = read_json(steps.children.folder(other) / "frozen.json")
        if isinstance(note, dict):
            yield other, note


def _set_money_aside(steps: Steps, asked: Asked) -> float:
    """Return the most that grading a program can cost, if there is so much beside the others.

    Raises:
        PrerequisiteError: if ``max_cost_usd`` could be passed.
    """
    most = worst_grading(steps.settings, steps.children.files(asked.child_id)) or 0.0
    if not most:
        return 0.0
    held = sum(note.get("grading_usd", 0.0) for _, note in _frozen_beside(steps, asked))
    spent = spent_usd(steps.state)
    if not affords(steps.settings, spent + held, most):
        raise PrerequisiteError(
            f"grading it can cost {most:.2g} USD, {spent:.2g} are spent and {held:.2g} set aside "
            f"for others, and mutator.max_cost_usd is {steps.settings.mutator.max_cost_usd:g}. "
            "Nothing was run; raise the limit and give the command again, or tell what there is"
        )
    return most


def _run(flight: InFlight, pending: Pending) -> Evaluation:
    flight.submit(pending)
    while True:
        for _, evaluation in flight.ended(_TICK_S):
            return evaluation

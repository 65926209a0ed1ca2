"""Evaluations on a cluster (see ``Executor``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from lae_controller.errors import LaeError
from lae_controller.evaluators import Evaluator, Interrupted
from lae_controller.evaluators.cascade import Job, evaluate
from lae_controller.executors.ray_dispatch import Dispatcher, Out
from lae_controller.machine.slots import Slot
from lae_controller.program import Evaluation
from lae_controller.sandbox.launch import Lifelines


@dataclass(frozen=True, slots=True)
class _Left:
    """Where the large files of a child's runs stayed."""

    node: str
    token: str
    folder: Path


class ClusterExecutor:
    """Runs jobs wherever the cluster has room for them."""

    def __init__(
        self, dispatcher: Dispatcher, capacity: Callable[[], int], lifelines: Lifelines
    ) -> None:
        self._dispatcher = dispatcher
        self._lifelines = lifelines
        self._capacity = capacity
        self._folders: dict[str, tuple[str, Path]] = {}
        self._outs: dict[str, Out] = {}
        self._left: dict[str, list[_Left]] = {}

    def capacity(self) -> int:
        """Return how many jobs may be under way: as set, else what the cluster holds now."""
        return self._capacity()

    def submit(self, job: Job) -> str:
        """Send a job; where the cluster is full, it waits there and asks for more nodes."""
        attempt = f"{job.child_id}.{job.attempt}"
        if attempt in self._folders:
            attempt = f"{attempt}-{job.plan.full.name}"
        self._folders[attempt] = (job.child_id, job.folder)
        self._dispatcher.send(attempt, partial(_evaluate, job), job.program, job.folder)
        return attempt

    def poll(self, timeout: float) -> tuple[str, ...]:
        """Return the attempts that ended since the last call."""
        outs = self._dispatcher.back(timeout)
        self._outs.update({out.name: out for out in outs})
        return tuple(out.name for out in outs)

    def running(self) -> tuple[str, ...]:
        """Return the attempts that hold a slot now."""
        return self._dispatcher.running()

    def collect(self, attempt: str) -> Evaluation:
        """Return the evaluation of an attempt that ended, or raise what ended it."""
        child, folder = self._folders.pop(attempt)
        out = self._outs.pop(attempt)
        if isinstance(out.error, LaeError):
            raise out.error
        if out.token:
            self._left.setdefault(child, []).append(_Left(out.node, out.token, folder))
        if not isinstance(out.value, Evaluation):
            raise Interrupted(f"{attempt} was cut off")
        return out.value

    def bring(self, child_id: str) -> None:
        """Fetch the large files that a child's runs left on their node."""
        for left in self._left.get(child_id, ()):
            self._dispatcher.bring(left.node, left.token, left.folder)

    def forget(self, child_id: str) -> None:
        """Let the nodes remove what a child's runs left there."""
        for left in self._left.pop(child_id, ()):
            self._dispatcher.forget(left.node, left.token)

    def close(self) -> None:
        """End everything that runs on any node, and cut all lifelines here."""
        self._dispatcher.close()
        self._lifelines.end_all()


def _evaluate(
    job: Job, evaluator: Evaluator, program: Path, folder: Path, slot: Slot
) -> Evaluation:
    """Evaluate a job where its program was unpacked."""
    return evaluate(replace(job, program=program, folder=folder), slot, evaluator)

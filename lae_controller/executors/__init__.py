"""The Executor seam: where evaluations run, and how many at a time."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from lae_controller.evaluators import Evaluator
from lae_controller.evaluators.cascade import Job
from lae_controller.machine.hardware import Hardware
from lae_controller.machine.slots import Slot
from lae_controller.program import Evaluation
from lae_controller.sandbox.launch import Lifelines
from lae_controller.sandbox.snapshot import Snapshot

EXECUTORS = {
    "local": "lae_controller.executors.local:LocalSite",
    "ray": "lae_controller.executors.ray_site:RaySite",
}
"""``executor.kind`` -> ``module:Class`` of a ``Site``."""


class Executor(Protocol):
    """Runs jobs, ``capacity`` of them at a time, in whatever order it likes.

    Only the loop calls it, from one thread. Every submitted attempt ends exactly once: it
    appears in one ``poll``, and ``collect`` then gives its evaluation or raises.
    """

    def capacity(self) -> int:
        """Return how many jobs can run at the same time; it may change while jobs run."""
        ...

    def submit(self, job: Job) -> str:
        """Queue a job; returns its attempt id, which no other job under way has.

        It is ``<child id>.<attempt>``; further runs of a program add the name of their stage.
        """
        ...

    def poll(self, timeout: float) -> tuple[str, ...]:
        """Return the attempts that ended since the last call; waits up to ``timeout`` seconds."""
        ...

    def running(self) -> tuple[str, ...]:
        """Return the attempts that hold a slot now."""
        ...

    def collect(self, attempt: str) -> Evaluation:
        """Return the evaluation of an attempt that ended.

        Raises:
            Interrupted: if it was cut off.
            PrerequisiteError: if the machine failed.
        """
        ...

    def bring(self, child_id: str) -> None:
        """See to it that what a child's runs left behind lies in its job's folder, large or not.

        Small files are there as soon as it was collected.
        """
        ...

    def forget(self, child_id: str) -> None:
        """Let go of what a child's runs left behind elsewhere than in its job's folder."""
        ...

    def close(self) -> None:
        """End everything that runs; returns when it is gone. Idempotent."""
        ...


@dataclass(frozen=True, slots=True)
class Offer:
    """What a site gives one run, unless the file says otherwise.

    Attributes:
        concurrency: evaluations at a time.
        reason: why that many; empty if only because the file says so.
        slots: one for each at a time on this machine; elsewhere one that stands for them all.
    """

    concurrency: int
    reason: str
    slots: tuple[Slot, ...]


class Site(Protocol):
    """Where the evaluations of one run happen: on this machine, or on others.

    Called with the settings of the run and with what makes an Evaluator on the machine where it
    is called (``build.evaluator_for``).
    """

    def offer(self, hardware: Hardware) -> Offer:
        """Return what there is, given this machine's hardware.

        Raises:
            PrerequisiteError: if something is missing.
            RefusedError: if results from there could not be compared.
        """
        ...

    def evaluator(
        self, lifelines: Lifelines, snapshot: Snapshot, editable: tuple[str, ...]
    ) -> Evaluator:
        """Return what measures programs of a snapshot there, for the baseline and the probes."""
        ...

    def executor(
        self, lifelines: Lifelines, snapshot: Snapshot, editable: tuple[str, ...]
    ) -> Executor:
        """Return what runs jobs there."""
        ...

    def alone(
        self, lifelines: Lifelines, snapshot: Snapshot, editable: tuple[str, ...]
    ) -> AbstractContextManager[Executor]:
        """Return what runs one job, while other processes run others there."""
        ...

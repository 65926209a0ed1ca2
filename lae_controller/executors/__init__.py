"""The Executor seam: where evaluations run, and how many at a time."""

from __future__ import annotations

from typing import Protocol

from lae_controller.evaluators.cascade import Job
from lae_controller.program import Evaluation

EXECUTORS = {"local": "lae_controller.executors.local:LocalExecutor"}
"""``executor.kind`` -> ``module:Class``."""


class Executor(Protocol):
    """Runs jobs, ``capacity`` of them at a time, in whatever order it likes.

    Only the loop calls it, from one thread. Every submitted attempt ends exactly once: it
    appears in one ``poll``, and ``collect`` then gives its evaluation or raises.
    """

    def capacity(self) -> int:
        """Return how many jobs can run at the same time."""
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

    def close(self) -> None:
        """End everything that runs; returns when it is gone. Idempotent."""
        ...

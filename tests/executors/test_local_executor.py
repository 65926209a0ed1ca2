from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

from lae_controller.evaluators import Stage
from lae_controller.evaluators.cascade import Job, Plan
from lae_controller.executors.local import LocalExecutor
from lae_controller.machine.slots import Slot
from lae_controller.program import Direction, Evaluation, Status
from lae_controller.sandbox.launch import Lifelines

FULL = Stage("full", 8.0, 42, 60.0, None, 1)
JOB = Job("g3-i0-a0", 0, Path(), "d", Path(), Plan(None, FULL, 1.0, Direction.MAXIMIZE), None)


def further(number: int) -> Job:
    stage = replace(FULL, name=f"claim-{number}", seed=number)
    return replace(JOB, plan=replace(JOB.plan, full=stage))


def test_further_runs_of_one_program_can_go_on_side_by_side() -> None:
    together = threading.Barrier(4)

    def evaluate(job: Job, _slot: Slot) -> Evaluation:
        together.wait(timeout=30)
        return Evaluation(Status.EVALUATED, metric=float(job.plan.full.seed))

    slots = [Slot(f"cpu {number}") for number in range(4)]
    executor = LocalExecutor(evaluate, slots, Lifelines())
    attempts = [executor.submit(further(number)) for number in range(4)]
    assert len(set(attempts)) == 4
    assert {attempt.rpartition(".")[0] for attempt in attempts} == {"g3-i0-a0"}
    ended: list[str] = []
    while len(ended) < 4:
        ended += executor.poll(1.0)
    assert sorted(ended) == sorted(attempts)
    metrics = [executor.collect(attempt).metric for attempt in attempts]
    executor.close()
    assert metrics == [0.0, 1.0, 2.0, 3.0]


def test_a_child_is_known_by_its_attempt() -> None:
    executor = LocalExecutor(lambda *_: Evaluation(Status.CRASH), [Slot("cpu")], Lifelines())
    assert executor.submit(replace(JOB, attempt=2)) == "g3-i0-a0.2"
    executor.close()

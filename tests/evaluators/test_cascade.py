from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lae_controller.evaluators import Measurement, Stage
from lae_controller.evaluators.cascade import Job, Plan, evaluate, passes_gate
from lae_controller.machine.slots import Slot
from lae_controller.program import Direction, Reason, Status

SMOKE = Stage("smoke", 1.0, 42, 60.0)
FULL = Stage("full", 4.0, 42, 60.0)
SLOT = Slot("cpu 0")


class Scripted:
    """An Evaluator that gives what it was told to, and remembers what it was asked."""

    def __init__(self, **by_stage: Measurement) -> None:
        self.by_stage = by_stage
        self.asked: list[str] = []

    def measure(
        self, program: Path, digest: str, folder: Path, stage: Stage, slot: Slot
    ) -> Measurement:
        self.asked.append(stage.name)
        return self.by_stage[stage.name]


def job(parent_smoke: float | None = 0.5, smoke: Stage | None = SMOKE) -> Job:
    charge = 0.25 if smoke else 0.0
    plan = Plan(smoke, FULL, charge, Direction.MAXIMIZE)
    return Job("g1-i0-a0", 0, Path("p"), "d", Path("f"), plan, parent_smoke)


def test_a_child_that_passes_runs_in_full() -> None:
    evaluator = Scripted(smoke=Measurement(0.6, seconds=1.0), full=Measurement(0.8, seconds=4.0))
    found = evaluate(job(), SLOT, evaluator)
    assert (found.status, found.smoke_metric, found.metric) == (Status.EVALUATED, 0.6, 0.8)
    assert (found.charge, found.seconds, found.repeats) == (1.25, 5.0, (0.8,))


def test_a_child_worse_than_its_parent_in_smoke_is_dropped() -> None:
    evaluator = Scripted(smoke=Measurement(0.49))
    found = evaluate(job(), SLOT, evaluator)
    assert (found.status, found.smoke_metric, found.metric) == (Status.SMOKE_DROPPED, 0.49, None)
    assert (found.charge, evaluator.asked) == (0.25, ["smoke"])


def test_a_crash_in_smoke_costs_the_smoke_run() -> None:
    evaluator = Scripted(smoke=Measurement(None, Reason.EXIT, "boom"))
    found = evaluate(job(), SLOT, evaluator)
    assert (found.status, found.reason, found.detail) == (Status.CRASH, Reason.EXIT, "boom")
    assert found.charge == 0.25


def test_a_crash_in_full_costs_a_run_and_has_no_metric() -> None:
    evaluator = Scripted(smoke=Measurement(0.6), full=Measurement(None, Reason.NON_FINITE, "nan"))
    found = evaluate(job(), SLOT, evaluator)
    assert (found.status, found.smoke_metric, found.metric) == (Status.CRASH, 0.6, None)
    assert found.charge == 1.25


def test_a_failure_of_the_machine_costs_nothing() -> None:
    evaluator = Scripted(smoke=Measurement(None, Reason.ENVIRONMENT, "disk full"))
    assert evaluate(job(), SLOT, evaluator).charge == 0.0


def test_without_a_smoke_run_only_the_full_one_is_made() -> None:
    evaluator = Scripted(full=Measurement(0.8))
    found = evaluate(job(smoke=None), SLOT, evaluator)
    assert (found.metric, found.charge, evaluator.asked) == (0.8, 1.0, ["full"])


@pytest.mark.parametrize(
    ("child", "parent", "direction", "passes"),
    [
        (0.5, 0.5, Direction.MAXIMIZE, True),
        (0.4999, 0.5, Direction.MAXIMIZE, False),
        (0.5, 0.5, Direction.MINIMIZE, True),
        (0.51, 0.5, Direction.MINIMIZE, False),
        (9.9, None, Direction.MINIMIZE, True),
    ],
)
def test_the_gate(child: float, parent: float | None, direction: Direction, passes: bool) -> None:
    assert passes_gate(child, parent, Plan(SMOKE, FULL, 0.25, direction)) is passes


@pytest.mark.parametrize("direction", list(Direction))
@pytest.mark.parametrize(("worse", "passes"), [(0.0, True), (0.05, True), (0.07, False)])
def test_the_gate_leaves_room_for_chance(direction: Direction, worse: float, passes: bool) -> None:
    plan = Plan(SMOKE, FULL, 0.25, direction, smoke_slack=0.06)
    child = 0.5 - direction.fitness(worse)
    assert passes_gate(child, 0.5, plan) is passes


def test_a_child_that_is_dropped_in_spite_of_chance_says_so() -> None:
    asked = job()
    asked = replace(asked, plan=replace(asked.plan, smoke_slack=0.06))
    found = evaluate(asked, SLOT, Scripted(smoke=Measurement(0.4)))
    assert found.status is Status.SMOKE_DROPPED
    assert found.detail == "smoke 0.4 is worse than the parent's 0.5 by more than chance (0.06)"


def test_a_doubtful_metric_is_held_back_as_suspect() -> None:
    evaluator = Scripted(smoke=Measurement(0.6), full=Measurement(0.8, suspect="2 metric lines"))
    found = evaluate(job(), SLOT, evaluator)
    assert (found.status, found.metric) == (Status.EVALUATED, 0.8)
    assert (found.reason, found.detail) == (Reason.SUSPECT, "2 metric lines")

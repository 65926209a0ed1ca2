"""Children between their task and their result."""

from __future__ import annotations

import time
from collections.abc import Container, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from lae_controller.config import MutatorSettings
from lae_controller.mutators.mending import Mending
from lae_controller.pipeline import Pipeline
from lae_controller.program import Evaluation, Intervention, Reason, Status, Usage
from lae_controller.state import Asked
from lae_controller.steps import Unfit
from lae_controller.task import Mutation


class Steps:
    """Notes in which order proposals are frozen; each comes to nothing."""

    def __init__(self, tmp_path: Path, seconds: dict[str, float]) -> None:
        settings = SimpleNamespace(
            mutator=MutatorSettings(), scoring=SimpleNamespace(mode="command")
        )
        self.settings: Any = settings
        self.state: Any = SimpleNamespace(usage=SimpleNamespace(cost_usd=0.0))
        self.frozen: list[str] = []
        self.finished: list[Mutation] = []
        self.usage: Usage | None = None
        self.job = None
        self._seconds = seconds
        self.children: Any = SimpleNamespace(
            folder=lambda child: tmp_path / child,
            build=lambda asked, state, failures: asked,
            mutator_of=lambda asked: MutatorSettings(),
            mutate=self._mutate,
        )

    def _mutate(self, child: str) -> Mutation:
        time.sleep(self._seconds[child])
        return Mutation("", child, Intervention.OTHER, "-", usage=self.usage)

    def elapsed(self) -> float:
        return 0.0

    def freeze(self, asked: Asked, mutation: Mutation, claimed: object) -> Unfit:
        self.frozen.append(asked.child_id)
        return Unfit(None, Evaluation(Status.CRASH, reason=Reason.NO_CHANGE))

    def finish(self, asked: Asked, mutation: Mutation, *_: object) -> Future[str]:
        self.finished.append(mutation)
        done: Future[str] = Future()
        done.set_result(asked.child_id)
        return done


class Idle:
    def capacity(self) -> int:
        return 2

    def running(self) -> tuple[str, ...]:
        return ()


def frozen(tmp_path: Path, seconds: dict[str, float], began: set[str]) -> list[str]:
    steps = Steps(tmp_path, seconds)
    carry_out(steps, seconds, began)
    return steps.frozen


def carry_out(steps: Any, children: Iterable[str], began: Container[str] = ()) -> None:
    executor: Any = Idle()
    with ThreadPoolExecutor(4) as mutators:
        pipeline = Pipeline(steps, executor, mutators, in_order=False)
        for child in children:
            pipeline.add(Asked(child, 1, 2, None, "rule"), began=child in began)
        while pipeline:
            list(pipeline.finished(2))


def test_a_proposal_is_frozen_as_it_comes(tmp_path: Path) -> None:
    seconds = {"g1-i0-a0": 0.3, "g1-i1-a1": 0.0}
    assert frozen(tmp_path, seconds, set()) == ["g1-i1-a1", "g1-i0-a0"]


def test_programs_that_were_run_before_come_before_all_others(tmp_path: Path) -> None:
    seconds = {"g1-i0-a0": 0.0, "g1-i1-a1": 0.3, "g1-i2-a2": 0.1}
    order = frozen(tmp_path, seconds, {"g1-i1-a1", "g1-i2-a2"})
    assert order == ["g1-i2-a2", "g1-i1-a1", "g1-i0-a0"]


def test_a_second_call_for_one_reply_is_no_failure_that_went_back(tmp_path: Path) -> None:
    steps = Steps(tmp_path, {"g1-i0-a0": 0.0})
    steps.usage = Usage("m", calls=2)  # as for a reply that was cut off
    steps.settings.mutator = MutatorSettings(backend="anthropic", repair_attempts=2)
    steps.state.mending = Mending()
    carry_out(steps, ["g1-i0-a0"])
    assert [mutation.usage for mutation in steps.finished] == [Usage("m", calls=6, mends=2)]


def test_failures_that_went_back_in_vain_count_before_their_child_is_told(tmp_path: Path) -> None:
    children = [f"g1-i0-a{number}" for number in range(8)]
    steps = Steps(tmp_path, dict.fromkeys(children, 0.0))
    steps.usage = Usage("m", calls=1)
    steps.settings.mutator = MutatorSettings(backend="anthropic", repair_attempts=2)
    steps.state.mending = Mending()  # nobody tells it anything
    carry_out(steps, children)
    mends = [mutation.usage.mends for mutation in steps.finished if mutation.usage]
    assert 0 < sum(mends) < 2 * len(children) == 2 * len(mends)

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from lae_controller import build, config
from lae_controller.mutators.offline import OfflineMutator
from lae_controller.program import Artifacts, Direction
from lae_controller.sandbox.calls import functions, never_entered
from lae_controller.sandbox.launch import Lifelines
from lae_controller.sandbox.tiers import probe_tiers
from lae_controller.sandbox.view import Tier
from lae_controller.task import Task

CODE = """\
import functools


class Used:
    def run(self):
        def inner():
            return 3
        return inner()

    @functools.cache
    def once(self):
        return 1

    def never(self):
        return 2


def idle(width=8, rate=0.5):
    return width * rate


async def also_idle():
    return 4
"""


def test_every_function_is_named_with_its_class() -> None:
    names = [name for name, _ in functions("m.py", CODE)]
    assert names == ["Used.run", "Used.run.inner", "Used.once", "Used.never", "idle", "also_idle"]
    assert list(functions("c.yaml", "a: 1\n")) == []
    assert list(functions("m.py", "def broken(:\n")) == []


def test_what_was_not_entered_is_idle() -> None:
    calls = ["m.py:5", "m.py:6", "m.py:10"]
    assert never_entered({"m.py": CODE}, calls) == (
        "m.py::Used.never",
        "m.py::idle",
        "m.py::also_idle",
    )


def test_if_nothing_is_known_nothing_is_idle() -> None:
    assert never_entered({"m.py": CODE}, []) == ()


@pytest.mark.parametrize("isolation", ["bwrap", "none"])
def test_the_baseline_tells_which_functions_it_entered(project: Path, isolation: str) -> None:
    if not probe_tiers().works(Tier(isolation)):
        pytest.skip(f"{isolation} does not work on this machine")
    model = (project / "model.py").read_text()
    (project / "model.py").write_text(model + "\n\ndef unused(x):\n    return x + 41\n")
    settings = replace(config.load(project), isolation=isolation)
    baseline = build.prepared_run(settings, Lifelines(), print).baseline
    text = (project / "model.py").read_text()
    assert never_entered({"model.py": text}, baseline.entered) == ("model.py::unused",)


def test_children_seldom_change_what_is_never_entered() -> None:
    text = "RATE = 0.5\n\n\ndef idle():\n    width = 64\n    depth = 4\n    return width * depth\n"
    task = Task(
        child_id="g1-i0-a0",
        parent_id="g0-i0-a0",
        gen=1,
        island=0,
        attempt=0,
        seed=1,
        metric_name="loss",
        direction=Direction.MINIMIZE,
        editable=("m.py",),
        protected=(),
        files={"m.py": text},
        parent_metric=1.0,
        parent_artifacts=Artifacts(),
        inspirations=(),
        tried=(),
        credits={},
        idle=("m.py::idle",),
    )
    mutator = OfflineMutator()
    changes = [mutator.mutate(task, random.Random(n)).change for n in range(40)]
    idle = sum("width" in change or "depth" in change for change in changes)
    assert idle <= 8
    awake = [mutator.mutate(replace(task, idle=()), random.Random(n)).change for n in range(40)]
    assert sum("width" in change or "depth" in change for change in awake) > 12

"""What a model takes to grade a host's programs never passes max_cost_usd."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from tiny_project import make_project

from lae_controller import build, config, load, loop
from lae_controller.api import Loop
from lae_controller.errors import PrerequisiteError
from lae_controller.hosted import evaluate
from lae_controller.hosted.ask import Handed
from lae_controller.program import Status
from lae_controller.sandbox.launch import Lifelines


def graded_at(price: float, limit: float, root: Path, monkeypatch: pytest.MonkeyPatch) -> Loop:
    """Return the API of a project of which each program is taken to cost so much to grade."""
    project = make_project(root / "project")
    path = project / "loop.run.yaml"
    text = path.read_text()
    assert "schedule: generational" in text
    text = text.replace("schedule: generational", "schedule: async")
    path.write_text(f"{text}isolation: none\nmutator: {{max_cost_usd: {limit}}}\n")
    build.prepared_run(config.load(project), Lifelines(), [].append)
    for module in (evaluate, loop):
        monkeypatch.setattr(module, "worst_grading", lambda *_: price)
    return load(project)


def edited(task: Handed, rate: float) -> Handed:
    path = task.directory / "model.py"
    path.write_text(path.read_text().replace("RATE = 0.5", f"RATE = {rate}"))
    return task


def test_what_is_under_way_is_set_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api = graded_at(0.4, 1.0, tmp_path, monkeypatch)
    tasks = [edited(task, 0.1 + 0.1 * at) for at, task in enumerate(api.ask(3).tasks)]
    assert len(tasks) == 3
    for task in tasks[:2]:
        result = evaluate.evaluate_here(api.settings, task.child_id)
        assert result is not None
        assert result.evaluation.status is Status.EVALUATED
    with pytest.raises(PrerequisiteError, match=r"can cost 0\.4 USD, 0 are spent and 0\.8 set"):
        evaluate.evaluate_here(api.settings, tasks[2].child_id)
    for task in tasks[:2]:
        api.tell(task.child_id)
    result = evaluate.evaluate_here(api.settings, tasks[2].child_id)  # they cost nothing, really
    assert result is not None
    assert result.evaluation.status is Status.EVALUATED


def test_no_task_is_given_that_could_not_be_graded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = graded_at(1.5, 1.0, tmp_path, monkeypatch).ask(2)
    assert asking.tasks == ()
    assert asking.stop is not None
    assert asking.stop.reason == "money"
    assert "grading the next child could pass max_cost_usd (1 USD)" in asking.stop.sentence


@pytest.mark.parametrize("price", [0.0, math.ulp(1.0)])
def test_what_costs_nothing_is_never_held_back(
    price: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = graded_at(price, 1.0, tmp_path, monkeypatch)
    (task,) = api.ask(1).tasks
    assert evaluate.evaluate_here(api.settings, edited(task, 0.3).child_id) is not None

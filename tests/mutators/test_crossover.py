from __future__ import annotations

import re

from mutator_tasks import draws, make_task

from lae_controller.mutators import crossover
from lae_controller.program import Direction

MINE = """\
LR = 0.1


class Net:
    width = 16

    def step(self, x):
        return x * LR


def evaluate(x):
    return x
"""
THEIRS = (
    MINE.replace("0.1", "0.2")
    .replace("16", "32")
    .replace("return x * LR", "x = x + 1\n        return x * LR")
    .replace("def evaluate(x):\n    return x", "def evaluate(x):\n    return 1")
)


def test_takes_constants_at_the_same_place() -> None:
    task = make_task({"m.py": MINE}, inspirations=[({"m.py": THEIRS}, 0.7)])
    results = draws(crossover.constants, task)
    assert {files["m.py"] for _, files in results} == {
        MINE.replace("0.1", "0.2"),
        MINE.replace("16", "32"),
        MINE.replace("0.1", "0.2").replace("16", "32"),
    }
    assert all(edit.summary.startswith("from g1-i1-a0: ") for edit, _ in results)


def test_takes_yaml_values_as_they_are_written() -> None:
    files = {"c.yaml": "a: {lr: 0.1, act: 'relu'}\nb: 1\n"}
    other = {"c.yaml": 'b: 1\na:\n  act: "tanh"\n  lr: 0.10\n  new: 3\n'}
    task = make_task(files, inspirations=[(other, 0.7)])
    found = {child["c.yaml"] for _, child in draws(crossover.constants, task)}
    assert 'a: {lr: 0.1, act: "tanh"}\nb: 1\n' in found


def test_takes_a_method_and_the_line_ends_stay() -> None:
    mine = MINE.replace("\n", "\r\n")
    task = make_task({"m.py": mine}, inspirations=[({"m.py": THEIRS}, 0.7)])
    found = {files["m.py"] for _, files in draws(crossover.functions, task, times=1)}
    grafted = mine.replace("return x * LR", "x = x + 1\r\n        return x * LR")
    assert found == {grafted, grafted.replace("16", "32")}  # the method, the class


def test_takes_nothing_that_needs_names_from_elsewhere() -> None:
    theirs = "HELP = 2\n\n\n" + MINE.replace("x * LR", "x * HELP")
    task = make_task({"m.py": MINE}, inspirations=[({"m.py": theirs}, 0.7)])
    assert draws(crossover.functions, task) == []


def continued(mine: float, theirs: float, gain: float, direction: Direction) -> list[float]:
    task = make_task(
        {"m.py": f"lr = {mine}\n"},
        inspirations=[({"m.py": f"lr = {theirs}\n"}, 0.5 - gain)],
        direction=direction,
    )
    found = [files["m.py"] for _, files in draws(crossover.continuations, task)]
    return [float(re.sub("lr = ", "", text)) for text in found]


def test_goes_on_from_the_worse_to_the_better() -> None:
    up = Direction.MAXIMIZE
    assert all(0.1 < value <= 0.4 for value in continued(0.1, 0.025, 0.2, up))
    assert all(0.1 < value <= 0.4 for value in continued(0.05, 0.1, -0.2, up))
    assert all(0.1 < value <= 0.4 for value in continued(0.1, 0.025, -0.2, Direction.MINIMIZE))
    assert continued(0.1, 0.025, 0.0, up) == []


def test_no_direction_without_a_metric_of_the_parent() -> None:
    task = make_task(
        {"m.py": "lr = 0.1\n"}, inspirations=[({"m.py": "lr = 0.2\n"}, 0.9)], parent_metric=None
    )
    assert draws(crossover.continuations, task) == []

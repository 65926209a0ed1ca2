from __future__ import annotations

from dataclasses import replace

from prompt_tasks import NET, plain_task

from lae_controller.prompts import anchors as module
from lae_controller.task import Task

PROGRAM = """\
import rate
LEARNING_RATE = 0.1  # per step
EPOCHS = 8
# rate = 3
NAME = "rate"
def rate(step): return step
WIDTH: int = 16
x = rate(1) * 2
twice = 1
twice = 1
"""
CONFIG = "optimiser:\n  learning_rate: 1e-3\n  kind: adam\nseed: 3\nsize: 4\n"


def task(text: str, path: str = "net.py") -> Task:
    return plain_task({path: text})


def anchors(of: Task, words: set[str]) -> list[str]:
    return [anchor.line for anchor in module.anchors(of, words)]


def constants(of: Task) -> list[str]:
    return [anchor.line for anchor in module.constants(of)]


def test_a_named_number_comes_before_other_lines() -> None:
    assert anchors(task(PROGRAM), {"rate"}) == ["LEARNING_RATE = 0.1  # per step"]
    assert anchors(task("y = rate(2) * 3\n"), {"rate"}) == ["y = rate(2) * 3"]
    assert anchors(task(PROGRAM), {"momentum"}) == []


def test_constants_that_a_child_may_change() -> None:
    assert constants(task(PROGRAM)) == ["LEARNING_RATE = 0.1  # per step", "WIDTH: int = 16"]
    assert constants(task(CONFIG, "c.yaml")) == ["learning_rate: 1e-3", "size: 4"]


def test_protected_lines_and_lines_outside_the_blocks_are_not_quoted() -> None:
    protected = replace(task(CONFIG, "c.yaml"), protected=("size",))
    assert constants(protected) == ["learning_rate: 1e-3"]
    outside = task("DEPTH = 2\n" + NET)
    assert constants(outside) == ["RATE = 0.5", "WIDTH = 8"]


def test_a_line_that_was_changed_in_vain_is_not_quoted() -> None:
    plain = task("rate = 0.1\nwidth = 8\nif wide:\n    depth = 2\n")
    weary = replace(plain, inert=("net.py: rate = 0.1", "net.py: depth = 2", "other.py: width = 8"))
    assert constants(plain) == ["rate = 0.1", "width = 8", "depth = 2"]
    assert constants(weary) == ["width = 8"]
    assert anchors(weary, {"rate"}) == []

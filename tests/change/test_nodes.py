from __future__ import annotations

import ast
from pathlib import Path

import pytest

from lae_controller.change import nodes
from lae_controller.change.chance import adds_chance
from lae_controller.change.forbidden import check_calls
from lae_controller.change.nodes import nodes_of, walk, written
from lae_controller.change.suspicion import suspicious_change

SOURCES = sorted(Path(nodes.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_the_nodes_and_their_order_are_those_of_the_library(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    assert walk(tree) == list(ast.walk(tree))
    assert [type(node) for node in nodes_of(path.read_text("utf-8"))] == [
        type(node) for node in ast.walk(tree)
    ]


def test_what_does_not_parse_is_said_each_time() -> None:
    for _ in range(2):
        with pytest.raises(SyntaxError):
            nodes_of("def f(:\n")


DEEP = "x = a" + ".b" * 600


@pytest.mark.parametrize(
    ("end", "found"),
    [(".time()", "chance"), (".f_back", "the interpreter"), ("('loss 0.1')", "the metric")],
)
def test_what_is_nested_deeply_is_searched_too(end: str, found: str) -> None:
    before, after = {"m.py": "x = 1\n"}, {"m.py": f"{DEEP}{end}\n"}
    check_calls(before, after, ["eval"])
    suspect = suspicious_change(before, after, "loss", None, ()) or ""
    assert found in f"{adds_chance(before, after)} {suspect}"


def test_what_is_nested_too_deeply_to_be_written_keeps_names_and_values_apart() -> None:
    texts = [written(ast.parse(f"{DEEP}({value})")) for value in ("1", "2", "c")]
    assert len(set(texts)) == 3

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from lae_controller.change import nodes
from lae_controller.change.nodes import nodes_of, walk

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

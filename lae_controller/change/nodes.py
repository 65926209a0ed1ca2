"""The syntax tree of a Python file, flat: what a change is searched in, for one thing and another.

The trees of the files looked at last are kept, as each is searched several times.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from lae_controller.change.syntax import parse_python

KEPT = 32
"""Texts whose findings are kept by those who search: a parent has many children."""
_TREES = 4  # are kept; that of a long file takes tens of megabytes


@lru_cache(maxsize=_TREES)
def nodes_of(text: str) -> tuple[ast.AST, ...]:
    """Return all nodes of a file, breadth first, the module at their head; not to be changed.

    Raises:
        SyntaxError: if it is no Python of the version that runs this.
    """
    return tuple(walk(parse_python(text)))


def nodes_if_any(text: str) -> tuple[ast.AST, ...]:
    """Return what ``nodes_of`` does; nothing if the file does not parse."""
    try:
        return nodes_of(text)
    except SyntaxError:
        return ()


def written(node: ast.AST) -> str:
    """Return a part of a program as code; its names and values alone where it nests too deeply.

    A chain of some hundred attributes or sums runs, but ``ast.unparse`` cannot write it down.
    """
    try:
        return ast.unparse(node)
    except RecursionError:
        nodes = (each for each in walk(node) if not isinstance(each, ast.expr_context))
        return " ".join(map(_leaf, nodes))


def _leaf(node: ast.AST) -> str:
    if isinstance(node, ast.Constant):
        return repr(node.value)
    found = getattr(node, "id", None) or getattr(node, "attr", None)
    return str(found or type(node).__name__)


def walk(tree: ast.AST) -> list[ast.AST]:
    """Return the nodes that ``ast.walk`` would yield, in its order, in half its time."""
    nodes = [tree]
    for node in nodes:
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                nodes.append(value)
            elif isinstance(value, list):
                nodes.extend(item for item in value if isinstance(item, ast.AST))
    return nodes

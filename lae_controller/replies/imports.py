"""Imports that a whole file has lost on its way through a model."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from lae_controller.change.source import is_python, split_lines
from lae_controller.change.syntax import parse_python

_Import = ast.Import | ast.ImportFrom


def with_imports(path: str, before: str, after: str) -> str:
    """Return ``after`` with those imports of ``before`` whose names it uses and does not bind.

    Nothing else that a file leaves out can be told from what was meant to go. Texts that are no
    Python or do not parse come back as they are.
    """
    if not is_python(path):
        return after
    try:
        old, new = parse_python(before), parse_python(after)
    except SyntaxError:
        return after
    wanted = _loaded(new) - set(_bound(new))
    lost = [node for node in old.body if isinstance(node, _Import) and wanted & set(_names(node))]
    if not lost:
        return after
    lines = split_lines(before)
    text = [line for node in lost for line in lines[node.lineno - 1 : node.end_lineno]]
    at = _first_statement(new)
    whole = split_lines(after)
    return "".join([*whole[:at], *text, *whole[at:]])


def _names(node: _Import) -> Iterator[str]:
    for alias in node.names:
        yield alias.asname or alias.name.partition(".")[0]


def _loaded(tree: ast.Module) -> set[str]:
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def _bound(tree: ast.Module) -> Iterator[str]:
    """Yield every name that is bound anywhere in a file: then nothing is missing for sure."""
    for node in ast.walk(tree):
        if isinstance(node, _Import):
            yield from _names(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id


def _first_statement(tree: ast.Module) -> int:
    """Return how many lines precede the first statement but docstring and ``__future__``."""
    end = 0
    for node in tree.body:
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not docstring and not future:
            break
        end = node.end_lineno or end
    return end

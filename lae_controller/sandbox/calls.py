"""Which functions of a program a run entered, and so which it never did.

A change to a function that is never entered cannot change the metric, and a full run spent on it
is wasted. The baseline's smoke run shows which those are.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from lae_controller.change.syntax import tree_of
from lae_controller.program import Files
from lae_controller.sandbox.record import Record

_Definition = ast.FunctionDef | ast.AsyncFunctionDef


def entered(record: Record) -> tuple[str, ...]:
    """Return ``path:line`` of each function of the program that was entered, in order."""
    calls = {
        f"{event.inside}:{event.fingerprint}" for event in record.calls if event.whose == "own"
    }
    return tuple(sorted(calls))


def never_entered(files: Files, calls: Iterable[str]) -> tuple[str, ...]:
    """Return ``path::Class.method`` of each function of ``files`` that is not among ``calls``.

    Empty if nothing at all was entered: then nothing is known.
    """
    lines = frozenset(calls)
    idle = [
        f"{path}::{name}"
        for path, text in sorted(files.items())
        for name, node in functions(path, text)
        if f"{path}:{_first_line(node)}" not in lines
    ]
    return tuple(idle) if lines else ()


def functions(path: str, text: str) -> Iterator[tuple[str, _Definition]]:
    """Yield the dotted name and the node of every function that a Python file defines."""
    yield from _inside(tree_of(path, text) or ast.Module([], []), "")


def _inside(node: ast.AST, prefix: str) -> Iterator[tuple[str, _Definition]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + child.name, child
            yield from _inside(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.ClassDef):
            yield from _inside(child, f"{prefix}{child.name}.")
        else:
            yield from _inside(child, prefix)


def _first_line(node: _Definition) -> int:
    """Return the line that Python calls a function's first: that of its first decorator."""
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])

"""Operators on operators: plus and minus, times and divided by, maximum and minimum."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from functools import partial

from lae_controller.change.intervention import classify
from lae_controller.mutators.edits import Edit, Site, Splice
from lae_controller.mutators.names import is_frozen, is_measure
from lae_controller.mutators.scopes import call_name
from lae_controller.mutators.sources import Source
from lae_controller.mutators.view import View
from lae_controller.program import one_line

_OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
}
_CALLED = {
    "max": "min",
    "min": "max",
    "maximum": "minimum",
    "minimum": "maximum",
    "sin": "cos",
    "cos": "sin",
}
_SHOWN = 40


def operator_changes(view: View) -> list[Site]:
    """Change one operator, or max to min, where no shape and no measured number hangs on it."""
    return [
        site
        for source in view.sources
        for statement in source.nodes
        if isinstance(statement, ast.Assign | ast.AugAssign | ast.Return)
        for site in _in_statement(source, statement)
    ]


def _in_statement(
    source: Source, statement: ast.Assign | ast.AugAssign | ast.Return
) -> Iterator[Site]:
    text = source.code(statement)
    if not source.is_open(*source.span(statement)) or is_measure(text) or is_frozen(text):
        return
    kind = classify(text, "change-operator")
    if isinstance(statement, ast.AugAssign):
        change = _between(source, statement.target, statement.value, statement.op)
        if change is not None:
            yield Site(0.5, kind, partial(_changed, source, statement, change))
    for node in _computed(statement):
        change = _change(source, node)
        if change is not None:
            yield Site(1.0, kind, partial(_changed, source, statement, change))


def _computed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield nodes that compute values: not the ones in an index, a shape or a text."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.JoinedStr | ast.Tuple | ast.Lambda | ast.comprehension):
            continue
        if isinstance(child, ast.Call) and _takes_sizes(call_name(child)):
            continue
        yield child
        yield from _computed(child.value if isinstance(child, ast.Subscript) else child)


def _takes_sizes(called: str) -> bool:
    """Say whether a call takes widths and counts: ``int``, ``range``, the making of a layer."""
    return called in ("int", "range", "len") or called[:1].isupper()


def _change(source: Source, node: ast.AST) -> Splice | None:
    match node:
        case ast.BinOp(left=left, op=op, right=right) if not (_is_text(left) or _is_text(right)):
            return _between(source, left, right, op)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _between(source, left, right, op)
        case ast.Call(func=func) if call_name(node) in _CALLED:
            name, end = call_name(node), source.span(func)[1]
            return Splice(source.path, end - len(name), end, _CALLED[name])
        case _:
            return None


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr | ast.List | ast.Tuple) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _between(
    source: Source, left: ast.expr, right: ast.expr, op: ast.operator | ast.cmpop
) -> Splice | None:
    """Return the splice that changes the operator between two operands."""
    pair = _OPERATORS.get(type(op))
    if pair is None:
        return None
    old, new = pair
    start, end = source.span(left)[1], source.span(right)[0]
    gap = source.text[start:end]
    at = gap.find(old)
    if "#" in gap or at < 0:
        return None
    return Splice(source.path, start + at, start + at + len(old), new)


def _changed(source: Source, statement: ast.stmt, change: Splice, rng: random.Random) -> Edit:
    del rng  # each operator has one other
    old = source.text[change.start : change.end]
    label = one_line(source.code(statement), _SHOWN)
    summary = f"{old} -> {change.text} at {label} in {source.path}"
    return Edit((change,), summary, classify(source.code(statement), "change-operator"))

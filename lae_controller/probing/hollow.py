"""Functions that are damaged: emptied, their result zeroed or put in another order, or raising.

A damaged function still has to run wherever its result goes, so its shape is kept as far as the
text tells it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from lae_controller.change.identifiers import words
from lae_controller.mutators.names import is_measure
from lae_controller.mutators.scopes import Function, is_measuring
from lae_controller.mutators.sources import Source
from lae_controller.sandbox.calls import functions

RAISED = "damaged on purpose by `lae check`"

_PREDICTS = frozenset(
    "predict predicts prediction predictions proba logits forward infer inference classify call"
    " decide".split()
)
_CORE = _PREDICTS | frozenset(
    "step update train fit attention activation act solve policy optimize optimise apply score"
    " transform compute".split()
)
_NESTED = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda


@dataclass(frozen=True)  # no slots: what is read off the tree is kept
class Target:
    """A function that can be damaged.

    Attributes:
        name: with the classes and functions around it, as ``Net.step``.
    """

    source: Source
    name: str
    node: Function

    @property
    def label(self) -> str:
        """Where it is, for people."""
        return f"{self.source.path}:{self.node.lineno} {self.name}"

    @property
    def predicts(self) -> bool:
        """Whether its name says that it returns predictions."""
        return not _PREDICTS.isdisjoint(words(self._last))

    @property
    def rank(self) -> tuple[int, int]:
        """Order by how much is likely to hang on it: by its name, then by its length."""
        found = words(self._last)
        place = 2 if "main" in found else int(_CORE.isdisjoint(found))
        return place, -((self.node.end_lineno or 0) - self.node.lineno)

    @property
    def _last(self) -> str:
        return self.name.rpartition(".")[2]

    @cached_property
    def own(self) -> tuple[ast.AST, ...]:
        """The nodes of its body, without those of functions and classes inside it."""
        return tuple(_own(self.node))

    @cached_property
    def values(self) -> tuple[ast.expr, ...]:
        """What it returns; empty for one that returns nothing."""
        found = (node.value for node in self.own if isinstance(node, ast.Return))
        return tuple(value for value in found if value is not None and not _is_none(value))

    @property
    def mutates(self) -> bool:
        """Whether it changes what it was given, so that its result is not all that it does."""
        return any(_changes(node) for node in self.own)

    @property
    def only_reports(self) -> bool:
        """Whether all it returns is a loss or a metric: without it the score would look better."""
        parts = [part for value in self.values for part in _parts(value)]
        return bool(parts) and all(is_measure(self.source.code(part)) for part in parts)


def targets(sources: tuple[Source, ...], idle: frozenset[str]) -> list[Target]:
    """Return the functions that can be damaged, those on which most is likely to hang first.

    Args:
        idle: ``path::Class.method`` of functions that the baseline never entered.
    """
    found = [
        Target(source, name, node)
        for source in sources
        for name, node in functions(source.path, source.text)
        if f"{source.path}::{name}" not in idle
    ]
    return sorted(filter(_is_fit, found), key=lambda target: target.rank)


def _is_fit(target: Target) -> bool:
    name = target.name.rpartition(".")[2]
    special = name.startswith("__") and name != "__call__"
    if special or is_measuring(name) or any(_is_yield(node) for node in target.own):
        return False
    return target.source.is_open(*_body(target))


def emptied(target: Target) -> str | None:
    """Return the file with a body that does nothing and returns 0, as many times as before.

    None if all that the function does is to report.
    """
    if target.only_reports and not target.mutates:
        return None
    return _with_body(target, _nothing(target))


def raising(target: Target) -> str:
    """Return the file with a body that raises."""
    return _with_body(target, f"raise RuntimeError({RAISED!r})")


def zeroed(target: Target) -> str | None:
    """Return the file with every result multiplied by zero; None if it returns none.

    What is called a loss or a metric stays: zero would be a good one.
    """
    parts = [part for value in target.values for part in _parts(value)]
    wanted = [part for part in parts if not is_measure(_name_of(part))]
    return _spliced(target, wanted, "({}) * 0")


def reversed_rows(target: Target) -> str | None:
    """Return the file with every result (the first, of several) in reverse order; None if none."""
    wanted = [next(_parts(value)) for value in target.values]
    torch = any(name.split(".")[0] == "torch" for name in target.source.imports.values())
    return _spliced(target, wanted, "({}).flip(0)" if torch else "({})[::-1]")


def raising_module(source: Source) -> str:
    """Return a file without functions that raises as soon as it runs."""
    first = next((node for node in source.tree.body if not _comes_first(node)), None)
    at = len(source.text) if first is None else source.line_start(source.span(first)[0])
    line = f"raise RuntimeError({RAISED!r}){source.newline}"
    return source.text[:at] + line + source.text[at:]


def _own(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, _NESTED):
            yield from _own(child)


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _is_yield(node: ast.AST) -> bool:
    return isinstance(node, ast.Yield | ast.YieldFrom)


def _comes_first(node: ast.stmt) -> bool:
    """Say whether a statement has to stand at the top of a module."""
    if isinstance(node, ast.ImportFrom):
        return node.module == "__future__"
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _changes(node: ast.AST) -> bool:
    match node:
        case ast.Assign(targets=found):
            return any(isinstance(target, ast.Attribute | ast.Subscript) for target in found)
        case ast.AugAssign() | ast.Expr(value=ast.Call()):
            return True
        case _:
            return False


def _parts(value: ast.expr) -> Iterator[ast.expr]:
    """Yield what is returned: the elements of a tuple, or the one value."""
    if isinstance(value, ast.Tuple) and value.elts:
        yield from value.elts
    else:
        yield value


def _name_of(part: ast.expr) -> str:
    match part:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _nothing(target: Target) -> str:
    """Return the statement that stands for a body which does nothing."""
    if not target.values:
        return "pass"
    first = target.values[0]
    names = {arg.arg for arg in target.node.args.posonlyargs + target.node.args.args}
    if isinstance(first, ast.Name) and first.id in names:
        return f"return {first.id}"
    count = len(list(_parts(first)))
    return "return 0.0" if count == 1 else f"return ({', '.join(['0.0'] * count)})"


def _body(target: Target) -> tuple[int, int]:
    body = target.node.body
    return target.source.span(body[0])[0], target.source.span(body[-1])[1]


def _with_body(target: Target, statement: str) -> str:
    text, (start, end) = target.source.text, _body(target)
    return text[:start] + statement + text[end:]


def _spliced(target: Target, wanted: list[ast.expr], form: str) -> str | None:
    """Return the file with each of these expressions written into ``form``; None if there is none.

    Starred elements of a tuple stay: they cannot stand in brackets.
    """
    text = target.source.text
    spans = [target.source.span(part) for part in wanted if not isinstance(part, ast.Starred)]
    for start, end in sorted(spans, reverse=True):
        text = text[:start] + form.format(text[start:end]) + text[end:]
    return text if spans else None

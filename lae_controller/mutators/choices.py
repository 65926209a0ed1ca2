"""Operators on names the program made itself: its own functions, its own options."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from functools import partial

from lae_controller.change.identifiers import words
from lae_controller.change.intervention import classify
from lae_controller.mutators.constants import kind_of, replacement
from lae_controller.mutators.edits import Edit, Site, Splice
from lae_controller.mutators.families import WORDS
from lae_controller.mutators.python_scalars import constant_text
from lae_controller.mutators.scalar import Scalar
from lae_controller.mutators.sources import Source
from lae_controller.mutators.view import View

# Groups with one of these choose data, machine or mode, not a way of training.
_NO_OPTIONS = frozenset(
    "train training val valid validation test eval dev cpu cuda mps gpu auto min max r w rb wb"
    " float bfloat fp bf half __main__ all none true false".split()
)


def options(view: View) -> list[Site]:
    """Choose another of the strings that the program compares with or looks up."""
    groups = _option_groups(view)
    sites = []
    for scalar in view.scalars:
        if not isinstance(scalar.value, str) or scalar.name in ("", "choices"):
            continue
        others = _others(groups, scalar.value)
        if others:
            kind = kind_of(scalar, "choose-option")
            sites.append(Site(scalar.weight, kind, partial(_chosen, scalar, others)))
    return sites


def own_names(view: View) -> list[Site]:
    """Use another of the program's own functions of the same family."""
    functions = _program_functions(view)
    return [site for source in view.sources for site in _own_sites(source, functions)]


def _others(groups: list[tuple[str, ...]], value: str) -> tuple[str, ...]:
    found = (option for group in groups if value in group for option in group if option != value)
    return tuple(dict.fromkeys(found))


def _chosen(scalar: Scalar, others: tuple[str, ...], rng: random.Random) -> Edit:
    other = rng.choice(others)
    text = scalar.text.replace(str(scalar.value), other)
    summary = f"{scalar.name} {scalar.value} -> {other} in {scalar.path}"
    kind = kind_of(scalar, "choose-option")
    return Edit((replacement(scalar, text),), summary, kind)


def _option_groups(view: View) -> list[tuple[str, ...]]:
    groups: list[tuple[str, ...]] = []
    for source in view.program:
        compared: dict[str, list[str]] = {}
        for node in ast.walk(source.tree):
            groups.append(tuple(_listed(node)))
            if isinstance(node, ast.Compare):
                texts = [constant_text(part) for part in node.comparators]
                name = ast.unparse(node.left) if any(texts) else ""
                compared.setdefault(name, []).extend(text for text in texts if text)
        groups.extend(tuple(texts) for texts in compared.values())
    return [group for group in groups if len(group) > 1 and _NO_OPTIONS.isdisjoint(_low(group))]


def _low(group: tuple[str, ...]) -> Iterator[str]:
    for option in group:
        yield option.lower()
        yield from words(option)


def _listed(node: ast.AST) -> Iterator[str]:
    """Yield the strings that a node offers for choice."""
    values: list[ast.expr] = []
    match node:
        case ast.Dict():
            if all(_is_code(value) for value in node.values):
                values = [key for key in node.keys if key is not None]
        case ast.Subscript(value=ast.Name(id="Literal"), slice=ast.Tuple(elts=elements)):
            values = elements
        case ast.keyword(arg="choices", value=ast.List(elts=elements) | ast.Tuple(elts=elements)):
            values = elements
        case ast.Compare(ops=[ast.In()], comparators=[ast.Tuple(elts=e) | ast.List(elts=e)]):
            values = e
        case ast.Match():
            patterns = (case.pattern for case in node.cases)
            values = [item.value for item in patterns if isinstance(item, ast.MatchValue)]
    yield from (text for value in values if (text := constant_text(value)))


def _is_code(value: ast.expr) -> bool:
    """Say whether a value of a table is something to call, or several, and no setting."""
    if isinstance(value, ast.Tuple | ast.List):
        return bool(value.elts) and all(_is_code(part) for part in value.elts)
    return isinstance(value, ast.Name | ast.Attribute | ast.Lambda | ast.Call)


def _program_functions(view: View) -> dict[str, int]:
    """Return the module-level functions of the program with their numbers of parameters."""
    found: dict[str, int] = {}
    for source in view.program:
        for node in source.tree.body:
            if isinstance(node, ast.FunctionDef):
                found[node.name] = len(node.args.posonlyargs + node.args.args)
    return found


def _own_sites(source: Source, functions: dict[str, int]) -> Iterator[Site]:
    here = _bound_here(source.tree, functions)
    tables = {
        id(part)
        for node in source.nodes
        if isinstance(node, ast.Dict)
        for value in node.values
        for part in ast.walk(value)
    }
    called = {id(node.func) for node in source.nodes if isinstance(node, ast.Call)}
    for node in source.nodes:
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
            continue
        if node.id not in here or id(node) in tables or not source.is_open(*source.span(node)):
            continue
        others = [
            (other, operator)
            for other in here
            if other != node.id
            and functions[other] == functions[node.id]
            and (operator := _kinship(node.id, other))
        ]
        if others:
            kind = classify(node.id, others[0][1])
            weight = 1.0 if id(node) in called else 0.7
            yield Site(weight, kind, partial(_renamed, source, node, tuple(others)))


def _bound_here(tree: ast.Module, functions: dict[str, int]) -> list[str]:
    """Return the program's functions that module level of this file can call by name."""
    names: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            names.append(node.name)
        elif isinstance(node, ast.ImportFrom):
            names += [alias.name for alias in node.names if alias.asname is None]
    return [name for name in dict.fromkeys(names) if name in functions]


def _kinship(name: str, other: str) -> str | None:
    """Return the operator that may put ``other`` in the place of ``name``; None if none may.

    They are kin if both are known members of a family, or alike but for one word, such as
    ``cosine_lr`` and ``linear_lr``.
    """
    for operator, members in WORDS:
        if {name.lower(), other.lower()} <= members:
            return operator
    first, second = words(name), words(other)
    if len(first) != len(second) or len(first) < 2:
        return None
    unlike = [pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]]
    if len(unlike) != 1:
        return None
    pair = set(unlike[0])
    both = (operator for operator, members in WORDS if pair <= members)
    either = (operator for operator, members in WORDS if pair & members)
    return next(both, None) or next(either, None)


def _renamed(
    source: Source, node: ast.Name, others: tuple[tuple[str, str], ...], rng: random.Random
) -> Edit:
    other, operator = rng.choice(others)
    start, end = source.span(node)
    summary = f"{node.id} -> {other} in {source.path}"
    return Edit((Splice(source.path, start, end, other),), summary, classify(node.id, operator))

"""Where in a Python file operators may work, and what the names in it stand for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_MEASURING = frozenset(
    "eval evaluate evaluation validate validation test accuracy metric metrics seed save plot"
    " report".split()
)
_TRAINING = frozenset("train training fit build make".split())

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Body:
    """A list of sibling statements.

    Attributes:
        scope: names of the classes and functions around it, outermost first.
        owner: the innermost function; None at module or class level.
    """

    statements: list[ast.stmt]
    scope: tuple[str, ...]
    owner: Function | None
    in_class: bool


def is_measuring(name: str) -> bool:
    """Say whether a function or class measures or reports: a child has no business there."""
    parts = set(name.lower().split("_"))
    return bool(parts & _MEASURING) and not parts & _TRAINING


def bodies(tree: ast.Module) -> Iterator[Body]:
    """Yield every list of statements, outer ones first, functions that measure left out."""
    yield from _bodies(tree, Body(tree.body, (), None, in_class=False))


def _bodies(node: ast.AST, context: Body) -> Iterator[Body]:
    for block in _blocks(node):
        body = Body(block, context.scope, context.owner, context.in_class)
        yield body
        for statement in block:
            if isinstance(statement, Definition):
                if not is_measuring(statement.name):
                    yield from _bodies(statement, _enter(statement, context))
            else:
                yield from _bodies(statement, Body([], body.scope, body.owner, body.in_class))


def _enter(node: Definition, context: Body) -> Body:
    scope = (*context.scope, node.name)
    if isinstance(node, ast.ClassDef):
        return Body([], scope, None, in_class=True)
    return Body([], scope, node, in_class=False)


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    match node:
        case ast.Module() | ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
            yield node.body
        case ast.With() | ast.AsyncWith():
            yield node.body
        case ast.For() | ast.AsyncFor() | ast.While() | ast.If():
            yield node.body
            yield node.orelse
        case ast.Try():
            yield from (node.body, node.orelse, node.finalbody)
            yield from (handler.body for handler in node.handlers)
        case _:
            return


def workable(node: ast.AST) -> Iterator[ast.AST]:
    """Yield every node below ``node`` in order, those of functions that measure left out.

    Nor what stands in an f-string: before Python 3.12 its positions are not those of the file.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.JoinedStr):
            continue
        if isinstance(child, Definition) and is_measuring(child.name):
            continue
        yield child
        yield from workable(child)


def definitions(tree: ast.Module) -> dict[tuple[str, ...], Definition]:
    """Return module-level functions and classes and the methods of those, by qualified name."""
    found: dict[tuple[str, ...], Definition] = {}
    for node in tree.body:
        if isinstance(node, Definition):
            found[(node.name,)] = node
        if isinstance(node, ast.ClassDef):
            methods = (item for item in node.body if isinstance(item, Function))
            found.update({(node.name, item.name): item for item in methods})
    return found


def signatures(tree: ast.Module) -> dict[str, tuple[str, ...]]:
    """Return the positional parameters of the file's own functions and classes, without self."""
    found: dict[str, tuple[str, ...]] = {}
    for qualified, node in definitions(tree).items():
        if isinstance(node, Function):
            names = tuple(arg.arg for arg in node.args.posonlyargs + node.args.args)
            own = qualified[-2] if node.name == "__init__" else node.name
            found[own] = names[1:] if len(qualified) > 1 else names
    return found


def imports(tree: ast.Module) -> dict[str, str]:
    """Return what each imported name stands for: ``nn`` -> ``torch.nn``."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.split(".")[0]
                found[alias.asname or first] = alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return found


def module_names(tree: ast.Module) -> frozenset[str]:
    """Return the names bound at module level, imports included."""
    found = set(imports(tree))
    for node in tree.body:
        if isinstance(node, Definition):
            found.add(node.name)
        for inner in ast.walk(node) if not isinstance(node, Definition) else ():
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                found.add(inner.id)
            elif isinstance(inner, ast.alias):
                found.add((inner.asname or inner.name).split(".")[0])
    return frozenset(found)


def dotted(node: ast.expr) -> str | None:
    """Return ``torch.nn.ReLU`` as written for such a chain of names; None for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return f"{owner}.{node.attr}" if owner else None
    return None


def call_name(node: ast.Call) -> str:
    """Return the last name of what is called: ``normal`` of ``rng.normal(0, 1)``."""
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""

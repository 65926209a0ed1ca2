"""What the code of a program prints: its format strings, as texts with holes."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lae_controller.bindings.project import Project, dotted_name, literal

_PERCENT = re.compile(r"%(?:\((\w+)\))?[-+ #0]*(?:\d+|\*)?((?:\.\d+)?[a-zA-Z%])")
_WRITERS = frozenset("print echo secho write info warning debug critical log print_log".split())
_LOGGERS = frozenset("info warning debug critical".split())
_BARS = frozenset("set_description set_postfix set_postfix_str set_description_str".split())
_COMPLAINTS = ("Error", "Exception", "Warning", "warn", "error", "exception")
_WRAPPERS = frozenset("item mean cpu numpy compute avg average sum tolist result get".split())


@dataclass(frozen=True, slots=True)
class Hole:
    """A value in a printed text.

    Attributes:
        name: the name of the printed expression, such as ``val_loss``; empty if it has none.
        spec: its format, such as ``.4f``; empty if there is none.
    """

    name: str
    spec: str


@dataclass(frozen=True, slots=True)
class Printed:
    """One text with holes.

    Attributes:
        pieces: literal texts and holes in turn.
        channel: ``print`` (also logging), ``bar`` (a progress bar) or ``text`` (built here,
            printed who knows where).
        where: ``file:line``.
        around: names of the functions and classes around it.
    """

    pieces: tuple[str | Hole, ...]
    channel: str
    where: str
    around: tuple[str, ...]


def printed_texts(project: Project, path: str) -> Iterator[Printed]:
    """Yield every text with holes of a file once, outermost expression first."""
    done: set[int] = set()
    for node, around in project.sites(path):
        if id(node) in done or not isinstance(node, ast.Call | ast.JoinedStr | ast.BinOp):
            continue
        if isinstance(node, ast.Call) and dotted_name(node.func).endswith(_COMPLAINTS):
            done.update(id(inner) for inner in ast.walk(node))
            continue
        channel, pieces = _read(node)
        if any(isinstance(piece, Hole) for piece in pieces) and len(pieces) > 1:
            done.update(id(inner) for inner in ast.walk(node))
            yield Printed(tuple(pieces), channel, f"{path}:{node.lineno}", around)


def _read(node: ast.expr) -> tuple[str, list[str | Hole]]:
    if isinstance(node, ast.Call):
        whole = dotted_name(node.func)
        name = whole.rsplit(".", 1)[-1]
        if name in _BARS:
            return "bar", [*_joined(node.args), *_keywords(node)]
        if name in _WRITERS and node.args and (whole == name or name != "log"):
            first = node.args[0]
            if name in _LOGGERS and len(node.args) > 1 and isinstance(literal(first), str):
                return "print", _percent(str(literal(first)), node.args[1:])
            return "print", _joined(node.args)
    if _is_formatted(node):
        return "text", _pieces(node)
    return "", []


def _is_formatted(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        function = node.func
        return isinstance(function, ast.Attribute) and function.attr == "format"
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Mod)
        and isinstance(literal(node.left), str)
    )


def _joined(arguments: Sequence[ast.expr]) -> list[str | Hole]:
    """Read the arguments of ``print``, which stand with a blank between them."""
    found: list[str | Hole] = []
    for argument in arguments:
        found.extend([" ", *_pieces(argument)] if found else _pieces(argument))
    return _merged(found)


def _keywords(call: ast.Call) -> list[str | Hole]:
    """Read ``set_postfix(loss=x)``, shown as ``loss=0.3``."""
    found: list[str | Hole] = []
    for word in call.keywords:
        if word.arg not in (None, "refresh"):
            found += [f", {word.arg}=", Hole(hole_name(word.value), "")]
    return found


def _merged(pieces: list[str | Hole]) -> list[str | Hole]:
    found: list[str | Hole] = []
    for piece in pieces:
        if isinstance(piece, str) and found and isinstance(found[-1], str):
            found[-1] += piece
        elif piece != "":
            found.append(piece)
    return found


def _pieces(node: ast.expr) -> list[str | Hole]:
    terms: list[ast.expr] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        terms.append(node.right)
        node = node.left
    return _merged([piece for term in (node, *reversed(terms)) for piece in _term(term)])


def _term(node: ast.expr) -> list[str | Hole]:
    value = literal(node)
    if isinstance(value, str):
        return [value]
    if isinstance(node, ast.JoinedStr):
        return [piece for part in node.values for piece in _formatted(part)]
    if isinstance(node, ast.BinOp) and isinstance(text := literal(node.left), str):
        values = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
        return _percent(text, values)
    if isinstance(node, ast.Dict):
        return _mapping(node, "'")
    return _call(node) if isinstance(node, ast.Call) else [Hole(hole_name(node), "")]


def _formatted(part: ast.expr) -> list[str | Hole]:
    if isinstance(part, ast.FormattedValue):
        spec = part.format_spec
        texts = spec.values if isinstance(spec, ast.JoinedStr) else []
        inner = _pieces(part.value) if _is_formatted(part.value) else []
        return inner or [Hole(hole_name(part.value), "".join(str(literal(text)) for text in texts))]
    return [str(literal(part))]


def _call(node: ast.Call) -> list[str | Hole]:
    function = node.func
    if isinstance(function, ast.Attribute) and function.attr == "format":
        text = literal(function.value)
        if isinstance(text, str):
            return _braces(text, node)
    if dotted_name(function) == "json.dumps" and node.args and isinstance(node.args[0], ast.Dict):
        return _mapping(node.args[0], '"')
    return [Hole(hole_name(node), "")]


def _mapping(node: ast.Dict, quote: str) -> list[str | Hole]:
    """Read a dict as it is printed, ``{'a': 1, 'b': 2}``."""
    found: list[str | Hole] = ["{"]
    for key, value in zip(node.keys, node.values, strict=True):
        comma = ", " if len(found) > 1 else ""
        found += [f"{comma}{quote}{literal(key)}{quote}: ", Hole(hole_name(value), "")]
    return _merged([*found, "}"])


def _percent(text: str, values: Sequence[ast.expr]) -> list[str | Hole]:
    found: list[str | Hole] = []
    end, number = 0, 0
    for match in _PERCENT.finditer(text):
        found.append(text[end : match.start()])
        end = match.end()
        if match.group(2) == "%":
            found.append("%")
            continue
        name = hole_name(values[number]) if number < len(values) else ""
        found.append(Hole(match.group(1) or name, match.group(2)))
        number += 1
    return _merged([*found, text[end:]])


def _braces(text: str, call: ast.Call) -> list[str | Hole]:
    try:
        parsed = list(string.Formatter().parse(text))
    except ValueError:
        return []
    named = {word.arg: word.value for word in call.keywords}
    found: list[str | Hole] = []
    number = 0
    for before, field, spec, _ in parsed:
        found.append(before)
        if field is None:
            continue
        head = re.split(r"[.\[]", field)[0]
        index = int(head) if head.isdigit() else number
        value = named.get(head) if head and not head.isdigit() else None
        if value is None and index < len(call.args):
            value = call.args[index]
        found.append(Hole(field.rsplit(".", 1)[0] if head in named else _named(value), spec or ""))
        number += 0 if head else 1
    return _merged(found)


def _named(value: ast.expr | None) -> str:
    return "" if value is None else hole_name(value)


def hole_name(node: ast.expr) -> str:
    """Return what a printed expression is called: ``loss`` for ``100 * float(loss.item())``."""
    for _ in range(8):
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, ast.Attribute):
            return node.attr
        inner = _inner(node)
        if isinstance(inner, str):
            return inner
        node = inner
    return ""


def _inner(node: ast.expr) -> ast.expr | str:
    if isinstance(node, ast.Subscript):
        key = literal(node.slice)
        return key if isinstance(key, str) else node.value
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in _WRAPPERS and not node.args:
            return node.func.value
        return node.args[0] if node.args else ""
    if isinstance(node, ast.BinOp):
        return node.right if literal(node.left) is not ... else node.left
    return ""

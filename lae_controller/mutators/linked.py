"""A width that stands in several places, changed in all of them at once."""

from __future__ import annotations

import ast
import random
from collections import defaultdict
from collections.abc import Iterator
from functools import partial

from lae_controller.mutators.edits import Edit, Site, Splice
from lae_controller.mutators.literals import move
from lae_controller.mutators.names import Role
from lae_controller.mutators.scopes import Definition, call_name, workable
from lae_controller.mutators.sources import Source
from lae_controller.mutators.view import View
from lae_controller.program import Intervention

_LAYERS = frozenset(
    "Linear Dense LazyLinear Conv1d Conv2d Conv3d ConvTranspose2d GRU LSTM RNN Embedding"
    " Bilinear randn rand empty".split()
)
_PER_WIDTH = frozenset(
    "LayerNorm RMSNorm BatchNorm1d BatchNorm2d InstanceNorm2d zeros ones zeros_like".split()
)
_LEAST = 4

_Ends = dict[int, list[tuple[str, ast.Constant]]]


def linked_sizes(view: View) -> list[Site]:
    """Change a width that comes out of one layer and goes into another.

    Such a number stands in at least two shapes; a change in one of them alone would crash.
    Numbers that only enter (features) or only leave (classes) belong to the data.
    """
    return [
        Site(1.0, Intervention.ARCHITECTURE, partial(_resized, source, size, nodes))
        for source in view.sources
        for size, nodes in _linked(source, source.tree)
    ]


def _linked(source: Source, tree: ast.Module) -> Iterator[tuple[int, list[ast.Constant]]]:
    scopes: list[ast.AST] = [node for node in tree.body if isinstance(node, Definition)]
    rest = ast.Module([node for node in tree.body if not isinstance(node, Definition)], [])
    for scope in (*scopes, rest):
        for size, ends in sorted(_ends(scope).items()):
            sides = {side for side, _ in ends}
            nodes = [node for _, node in ends]
            if {"in", "out"} <= sides and all(source.is_open(*source.span(n)) for n in nodes):
                yield size, nodes


def _ends(scope: ast.AST) -> _Ends:
    """Return the int literals in shapes by value, each with the end of a layer it stands for."""
    found: _Ends = defaultdict(list)
    for node in workable(scope):
        for side, argument in _shape(node) if isinstance(node, ast.Call) else ():
            if isinstance(argument, ast.Constant) and isinstance(argument.value, int):
                found[argument.value].append((side, argument))
    return {size: ends for size, ends in found.items() if size >= _LEAST}


def _shape(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    name = call_name(call)
    if name in _LAYERS:
        yield from zip(("in", "out"), call.args, strict=False)
    elif name in _PER_WIDTH and len(call.args) >= 1:
        yield "width", call.args[0]
    for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
        if isinstance(argument, ast.Tuple) and len(argument.elts) == 2:
            yield from zip(("in", "out"), argument.elts, strict=True)


def _resized(
    source: Source, size: int, nodes: list[ast.Constant], rng: random.Random
) -> Edit | None:
    value = move("hidden", Role.SIZE, size, rng)
    if value is None:
        return None
    splices = tuple(Splice(source.path, *source.span(node), str(value)) for node in nodes)
    summary = f"width {size} -> {value} in {len(nodes)} places of {source.path}"
    return Edit(splices, summary, Intervention.ARCHITECTURE)

"""Operators on statements: duplicate, drop, move.

Only *updates* are dropped or done twice: statements whose target holds a value before them
(``x = f(x)``, ``w -= lr * g``, ``opt.step()``), so that what follows still finds its names.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from lae_controller.change.identifiers import words
from lae_controller.change.intervention import classify
from lae_controller.mutators.edits import Edit, Site, Splice
from lae_controller.mutators.names import is_measure
from lae_controller.mutators.scopes import Body, bodies, dotted
from lae_controller.mutators.sources import Source
from lae_controller.mutators.view import View
from lae_controller.program import Intervention, one_line

_TOP_LEVEL = 0.3
_SHOWN = 40  # characters of a statement in a summary

# What a training loop cannot do without, and what only talks.
_HANDS_OFF = frozenset(
    "seed val valid validation test eval log logger logging print write save load backward"
    " append close parse parser args argument argparse super zero device cuda config update"
    " register".split()
)


@dataclass(frozen=True, slots=True)
class _Place:
    """A simple statement that may be worked on.

    Attributes:
        reads, writes: names, and attributes of self as ``self.x``, as far as the text tells.
    """

    source: Source
    body: Body
    node: ast.stmt
    reads: frozenset[str]
    writes: frozenset[str]

    @property
    def weight(self) -> float:
        return 1.0 if self.body.scope else _TOP_LEVEL

    @property
    def updates(self) -> bool:
        return bool(self.writes) and self.writes <= self.reads

    @property
    def label(self) -> str:
        return one_line(self.source.code(self.node), _SHOWN)


def duplicates(view: View) -> list[Site]:
    """Do an update twice."""
    return [
        Site(place.weight, _kind(place), partial(_duplicated, place)) for place in _updates(view)
    ]


def drops(view: View) -> list[Site]:
    """Leave an update out."""
    return [
        Site(place.weight, _kind(place), partial(_dropped, place))
        for place in _updates(view)
        if len(place.body.statements) > 1
    ]


def moves(view: View) -> list[Site]:
    """Let two neighbours that depend on each other change places."""
    sites = []
    for places in _neighbourhoods(view):
        for first, second in pairwise(places):
            if first is not None and second is not None and _may_exchange(first, second):
                sites.append(Site(first.weight, _kind(second), partial(_exchanged, first, second)))
    return sites


def _kind(place: _Place) -> Intervention:
    return classify(place.source.code(place.node), "statement")


def _updates(view: View) -> Iterator[_Place]:
    for places in _neighbourhoods(view):
        for place in places:
            if place is not None and place.updates and _has_own_lines(place):
                yield place


def _neighbourhoods(view: View) -> Iterator[list[_Place | None]]:
    """Yield the siblings of each body; None where a statement is to be left alone."""
    for source in view.sources:
        for body in bodies(source.tree):
            yield [_place(source, body, node) for node in body.statements]


def _place(source: Source, body: Body, node: ast.stmt) -> _Place | None:
    if not isinstance(node, ast.Assign | ast.AugAssign | ast.Expr):
        return None
    if not source.is_open(*source.span(node)):
        return None
    text = source.code(node)
    if is_measure(text) or not _HANDS_OFF.isdisjoint(words(text)):
        return None
    return _Place(source, body, node, _reads(node), _writes(node, source.imports))


def _reads(node: ast.stmt) -> frozenset[str]:
    found = {
        handle
        for child in ast.walk(node)
        if isinstance(child, ast.Name | ast.Attribute)
        and isinstance(child.ctx, ast.Load)
        and (handle := _handle(child))
    }
    if isinstance(node, ast.AugAssign):
        found.add(_handle(node.target))
    return frozenset(found)


def _writes(node: ast.stmt, modules: Mapping[str, str]) -> frozenset[str]:
    match node:
        case ast.Assign(targets=targets):
            return frozenset(_handle(part) for target in targets for part in _parts(target))
        case ast.AugAssign(target=target):
            return frozenset((_handle(target),))
        case ast.Expr(value=ast.Call(func=func, args=arguments)):
            owner = _handle(func.value) if isinstance(func, ast.Attribute) else ""
            if owner and owner not in modules:
                return frozenset((owner,))
            return frozenset(filter(None, (_handle(argument) for argument in arguments)))
        case _:
            return frozenset()


def _parts(target: ast.expr) -> list[ast.expr]:
    return target.elts if isinstance(target, ast.Tuple | ast.List) else [target]


def _handle(node: ast.expr) -> str:
    """Return what is read or written: ``x`` of ``x.y[0]``, but ``self.w`` of ``self.w.data``."""
    while isinstance(node, ast.Subscript | ast.Starred):
        node = node.value
    chain = (dotted(node) or "").split(".")
    return ".".join(chain[:2]) if chain[0] == "self" else chain[0]


def _has_own_lines(place: _Place) -> bool:
    """Say whether nothing but a comment shares the lines of the statement."""
    source = place.source
    start, end = source.span(place.node)
    before = source.text[source.line_start(start) : start]
    behind = source.text[end : source.line_end(end)].strip()
    return not before.strip() and (not behind or behind.startswith("#"))


def _may_exchange(first: _Place, second: _Place) -> bool:
    coupled = first.writes & (second.reads | second.writes) or second.writes & first.reads
    return bool(coupled) and first.writes & second.reads <= first.reads


def _duplicated(place: _Place, rng: random.Random) -> Edit:
    del rng  # the place was the choice
    source = place.source
    start, end = source.span(place.node)
    indent = source.text[source.line_start(start) : start]
    at = source.line_end(end)
    copy = Splice(source.path, at, at, source.newline + indent + source.text[start:end])
    return Edit((copy,), f"twice: {place.label} in {source.path}", _kind(place))


def _dropped(place: _Place, rng: random.Random) -> Edit:
    del rng
    source = place.source
    start, end = source.span(place.node)
    first, behind = source.line_start(start), source.next_line(end)
    if behind == source.line_end(end):  # no newline at the end of the file: take the one before
        first = source.line_end(source.line_start(first - 1))
    gone = Splice(source.path, first, behind, "")
    return Edit((gone,), f"without: {place.label} in {source.path}", _kind(place))


def _exchanged(first: _Place, second: _Place, rng: random.Random) -> Edit:
    del rng
    source = first.source
    (start, end), (start2, end2) = source.span(first.node), source.span(second.node)
    splices = (
        Splice(source.path, start, end, source.text[start2:end2]),
        Splice(source.path, start2, end2, source.text[start:end]),
    )
    summary = f"{second.label} before {first.label} in {source.path}"
    return Edit(splices, summary, _kind(second))

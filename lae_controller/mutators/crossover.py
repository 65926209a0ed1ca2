"""Operators that take from inspirations: constants, functions, and the direction of a gain."""

from __future__ import annotations

import ast
import builtins
import random
from collections.abc import Iterator
from functools import partial

from lae_controller.change.intervention import classify
from lae_controller.mutators.constants import kind_of, retyped, sample
from lae_controller.mutators.edits import Edit, Site, Splice
from lae_controller.mutators.literals import spell, toward
from lae_controller.mutators.names import Role
from lae_controller.mutators.scalar import Scalar
from lae_controller.mutators.scopes import Definition, definitions, is_measuring, module_names
from lae_controller.mutators.sources import Source
from lae_controller.mutators.view import Other, View
from lae_controller.program import Intervention
from lae_controller.task import Task

_MOST = 3  # literals in one change


def constants(view: View) -> list[Site]:
    """Take one to three literals from an inspiration that has others in the same places."""
    sites = []
    for other in view.others:
        pairs = [
            (mine, theirs)
            for mine, theirs in _shared(view, other)
            if mine.text != theirs.text and _same_type(mine, theirs)
        ]
        if pairs:
            kind = kind_of(pairs[0][0], "take-constants")
            sites.append(Site(1.0, kind, partial(_taken, other, pairs)))
    return sites


def continuations(view: View) -> list[Site]:
    """Go on in the direction in which numbers moved from the worse program to the better."""
    sites = []
    for other in view.others:
        pairs = [
            (mine, theirs)
            for mine, theirs in _shared(view, other)
            if _same_type(mine, theirs)
            and mine.role not in (None, Role.FRAGILE, Role.FROZEN)
            and mine.value != theirs.value
        ]
        gain = _gain(view.task, other)
        if pairs and gain != 0:
            kind = kind_of(pairs[0][0], "continue")
            sites.append(Site(1.0, kind, partial(_continued, pairs, gain > 0)))
    return sites


def functions(view: View) -> list[Site]:
    """Take a function, method or class from an inspiration that has another version of it."""
    return [
        Site(_size_weight(theirs), kind, partial(_grafted, mine, own, their_source, theirs, other))
        for other in view.others
        for mine in view.sources
        if (their_source := other.sources.get(mine.path)) is not None
        for own, theirs, kind in _differing(mine, their_source)
    ]


def _shared(view: View, other: Other) -> Iterator[tuple[Scalar, Scalar]]:
    for mine in view.scalars:
        theirs = other.scalars.get((mine.path, mine.key))
        if theirs is not None:
            yield mine, theirs


def _same_type(mine: Scalar, theirs: Scalar) -> bool:
    return type(mine.value) is type(theirs.value)


def _gain(task: Task, other: Other) -> float:
    """Return by how much the parent is fitter than the inspiration; 0 if that is not known."""
    if task.parent_metric is None:
        return 0.0
    fitness = task.direction.fitness
    return fitness(task.parent_metric) - fitness(other.inspiration.metric)


def _pick(pairs: list[tuple[Scalar, Scalar]], rng: random.Random) -> list[tuple[Scalar, Scalar]]:
    theirs = {id(mine): other for mine, other in pairs}
    mine = [own for own, _ in pairs]
    count = rng.randint(1, min(_MOST, len(pairs)))
    drawn = sample(mine, [scalar.weight for scalar in mine], count, rng)
    return [(scalar, theirs[id(scalar)]) for scalar in drawn]


def _taken(other: Other, pairs: list[tuple[Scalar, Scalar]], rng: random.Random) -> Edit:
    changes = [(mine, theirs.text) for mine, theirs in _pick(pairs, rng)]
    return retyped(changes, "take-constants", f"from {other.inspiration.child_id}: ")


def _continued(
    pairs: list[tuple[Scalar, Scalar]], parent_is_better: bool, rng: random.Random
) -> Edit | None:
    changes = []
    beyond = rng.uniform(0.3, 1.0)
    for mine, theirs in _pick(pairs, rng):
        text = _further(mine, theirs, parent_is_better, beyond)
        if text is not None:
            changes.append((mine, text))
    return retyped(changes, "continue", "further: ") if changes else None


def _further(mine: Scalar, theirs: Scalar, parent_is_better: bool, beyond: float) -> str | None:
    here, there, role = mine.number, theirs.number, mine.role
    if here is None or there is None or role is None:
        return None
    if parent_is_better:
        value = toward(role, there, here, 1 + beyond)
    else:
        value = toward(role, here, there, 1 + beyond / 2)
    if min(here, there) >= 0:
        value = max(value, type(value)(0))
    if isinstance(here, int) and min(here, there) > 0:
        value = max(int(value), 1)
    return None if value == here else spell(value, mine.text)


def _differing(
    mine: Source, theirs: Source
) -> Iterator[tuple[Definition, Definition, Intervention]]:
    """Yield own and other version of the definitions that can be taken as they are."""
    if mine.text == theirs.text:
        return
    known = module_names(mine.tree) | frozenset(vars(builtins))
    foreign = module_names(theirs.tree) - known
    others = definitions(theirs.tree)
    for name, own in definitions(mine.tree).items():
        other = others.get(name)
        if other is None or type(other) is not type(own) or own.col_offset != other.col_offset:
            continue
        if is_measuring(own.name):
            continue
        if ast.dump(own) != ast.dump(other) and not _mentions(other, foreign):
            yield own, other, classify(" ".join(name), "take-function")


def _mentions(node: ast.AST, names: frozenset[str]) -> bool:
    return any(isinstance(child, ast.Name) and child.id in names for child in ast.walk(node))


def _size_weight(node: Definition) -> float:
    return 0.3 if isinstance(node, ast.ClassDef) else 1.0


def _grafted(
    mine: Source,
    own: Definition,
    their_source: Source,
    theirs: Definition,
    other: Other,
    rng: random.Random,
) -> Edit | None:
    del rng  # the site was the choice
    start, end = _whole(mine, own)
    if not mine.is_open(start, end):
        return None
    first, last = _whole(their_source, theirs)
    text = their_source.text[first:last].replace("\r\n", "\n").replace("\n", mine.newline)
    summary = f"{own.name} of {other.inspiration.child_id} in {mine.path}"
    kind = classify(own.name, "take-function")
    return Edit((Splice(mine.path, start, end, text),), summary, kind)


def _whole(source: Source, node: Definition) -> tuple[int, int]:
    """Return start and end of a definition with its decorators."""
    start, end = source.span(node)
    if node.decorator_list:
        start = source.text.rindex("@", 0, source.span(node.decorator_list[0])[0])
    return start, end

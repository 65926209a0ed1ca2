"""Operators on names of well-known modules: another activation, norm, optimiser, schedule."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from functools import partial

from lae_controller.change.intervention import classify
from lae_controller.mutators.edits import Edit, Site, Splice
from lae_controller.mutators.families import FAMILIES, Family
from lae_controller.mutators.literals import rounded, spell
from lae_controller.mutators.scopes import dotted
from lae_controller.mutators.sources import Source
from lae_controller.mutators.view import View

_LR = ("lr", "learning_rate")
_CLOSE = 2.5  # optimisers whose usual learning rates differ less keep the one they have


def family_sites(view: View, operator: str) -> list[Site]:
    """Return the sites of one swapping operator, such as ``swap-activation``."""
    return [site for source in view.sources for site in _sites_in(source, operator)]


def _sites_in(source: Source, operator: str) -> Iterator[Site]:
    calls = {id(node.func): node for node in source.nodes if isinstance(node, ast.Call)}
    kind = classify("", operator)
    for node in source.nodes:
        if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
            continue
        if not source.is_open(*source.span(node)):
            continue
        module, name = _origin(node, source.imports)
        for family in FAMILIES:
            if family.operator != operator or module not in family.modules:
                continue
            call = calls.get(id(node))
            options = _options(source, family, node, name, call)
            if options:
                weight = family.weight * (1.0 if call else 0.5)
                draw = partial(_swapped, source, family, node, call, tuple(options))
                yield Site(weight, kind, draw)


def _origin(node: ast.Name | ast.Attribute, known: dict[str, str]) -> tuple[str, str]:
    """Return module and name of what a chain of names stands for."""
    written = dotted(node) or ""
    first, _, rest = written.partition(".")
    full = known.get(first, "") + (f".{rest}" if rest else "")
    module, _, name = full.rpartition(".")
    return module, name


def _options(
    source: Source,
    family: Family,
    node: ast.Name | ast.Attribute,
    name: str,
    call: ast.Call | None,
) -> list[str]:
    """Return the members that may stand at ``node``."""
    if name not in family.members:
        return []
    others = [member for member in family.members if member != name]
    if call is not None:
        others = [member for member in others if _fits(family, member, call)]
    elif family.positional[0] > 0 and family.operator == "swap-optimiser":
        return []
    if isinstance(node, ast.Name):
        if node.id != name:  # imported under another name
            return []
        others = [m for m in others if _importing(source, family, name, m) is not None]
    return others


def _fits(family: Family, member: str, call: ast.Call) -> bool:
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return False
    least, most = family.positional
    if not least <= len(call.args) <= most:
        return False
    takes = family.members[member]
    names = [keyword.arg for keyword in call.keywords]
    return all(
        name is not None
        and ("*" in takes or name in takes or name in family.spare or _alias(family, name, member))
        for name in names
    )


def _alias(family: Family, argument: str, member: str) -> str | None:
    return family.alias.get(member) if argument in family.alias.values() else None


def _swapped(
    source: Source,
    family: Family,
    node: ast.Name | ast.Attribute,
    call: ast.Call | None,
    options: tuple[str, ...],
    rng: random.Random,
) -> Edit:
    member = rng.choice(options)
    end = source.span(node)[1]
    old = node.attr if isinstance(node, ast.Attribute) else node.id
    splices = [Splice(source.path, end - len(old), end, member)]
    if isinstance(node, ast.Name):
        splices += _importing(source, family, old, member) or []
    if call is not None:
        splices += _arguments(source, family, member, call)
        splices += _learning_rate(source, family, old, member, call)
    summary = f"{old} -> {member} in {source.path}"
    return Edit(tuple(splices), summary, classify("", family.operator))


def _importing(source: Source, family: Family, old: str, new: str) -> list[Splice] | None:
    """Return what makes ``new`` available where ``old`` was imported; None if nothing can."""
    for node in source.nodes:
        if not isinstance(node, ast.ImportFrom) or node.module not in family.modules:
            continue
        names = [alias.name for alias in node.names if alias.asname is None]
        if new in names:
            return []
        if old in names:
            alias = next(alias for alias in node.names if alias.name == old)
            at = source.offset(alias.lineno, alias.col_offset) + len(old)
            return [Splice(source.path, at, at, f", {new}")] if source.is_open(at, at) else None
    return None


def _arguments(source: Source, family: Family, member: str, call: ast.Call) -> list[Splice]:
    """Rename the keywords that mean the same, take out those the new member does not know."""
    takes = family.members[member]
    spans = [source.span(argument) for argument in call.args]
    splices = []
    kept_before = bool(call.args)
    for number, keyword in enumerate(call.keywords, start=len(spans)):
        spans.append(source.span(keyword))
        start, end = spans[-1]
        name = keyword.arg or ""
        other = _alias(family, name, member)
        if other is not None and other != name:
            splices.append(Splice(source.path, start, start + len(name), other))
        if other is not None or name in takes or "*" in takes:
            kept_before = True
        elif kept_before:
            splices.append(Splice(source.path, spans[number - 1][1], end, ""))
        else:
            following = call.keywords[number - len(call.args) + 1 :]
            until = source.span(following[0])[0] if following else end
            splices.append(Splice(source.path, start, until, ""))
    return splices


def _learning_rate(
    source: Source, family: Family, old: str, member: str, call: ast.Call
) -> list[Splice]:
    """Bring the learning rate to the new optimiser's scale: 0.1 means another thing to Adam."""
    if not family.lr:
        return []
    ratio = rounded(family.lr[member] / family.lr[old])
    value = next((keyword.value for keyword in call.keywords if keyword.arg in _LR), None)
    if value is None and len(call.args) == family.positional[1]:
        value = call.args[-1]
    if value is None or 1 / _CLOSE <= ratio <= _CLOSE:
        return []
    start, end = source.span(value)
    written = source.text[start:end]
    if isinstance(value, ast.Constant) and isinstance(value.value, int | float):
        text = spell(rounded(float(value.value) * ratio), written)
    else:
        simple = isinstance(value, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
        text = f"{ratio} * {written}" if simple else f"{ratio} * ({written})"
    return [Splice(source.path, start, end, text)]

"""Operators on literals: scale a number, switch a setting on, flip a flag, move several."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial

from lae_controller.change.identifiers import words
from lae_controller.change.intervention import classify
from lae_controller.mutators.edits import Edit, Site, Splice
from lae_controller.mutators.literals import NEAR, move, spell, typical
from lae_controller.mutators.names import Role
from lae_controller.mutators.scalar import Scalar
from lae_controller.mutators.view import View
from lae_controller.program import Intervention

_CONTINUOUS = (Role.RATE, Role.FRACTION)
_WHOLE = (Role.SIZE, Role.COUNT)
_FRAGILE_WEIGHT = 0.03

# Flags that change what is printed, where it runs, or the shape of an array.
_DULL_FLAGS = frozenset(
    "keepdims keepdim inplace requires grad copy pickle strict exist ok pin memory cuda amp"
    " compile wandb plot show progress parents daemon capture text shell endpoint retain async"
    " required return tight frozen slots index header".split()
)
_RISKY_FLAGS = frozenset("batch first causal drop last download".split())


def rates(view: View) -> list[Site]:
    """Scale learning rates, decays, momenta and the like."""
    return _number_sites(view, "scale-rate", _CONTINUOUS)


def sizes(view: View) -> list[Site]:
    """Double and halve widths and batches, add and take away layers."""
    return _number_sites(view, "scale-size", _WHOLE)


def numbers(view: View) -> list[Site]:
    """Move numbers of which the name tells nothing."""
    return _number_sites(view, "scale-number", (Role.PLAIN, Role.FRAGILE))


def switches(view: View) -> list[Site]:
    """Switch on what is at 0.0, such as dropout or momentum, with a usual value."""
    return [
        Site(scalar.weight, kind_of(scalar, "switch-on"), partial(_moved, scalar, "switch-on"))
        for scalar in view.scalars
        if isinstance(scalar.value, float) and scalar.value == 0 and _is_setting(scalar)
    ]


def flags(view: View) -> list[Site]:
    """Flip True and False where they are bound to a name."""
    return [
        Site(weight, kind_of(scalar, "flip-flag"), partial(_flipped, scalar))
        for scalar in view.scalars
        if isinstance(scalar.value, bool) and (weight := _flag_weight(scalar)) > 0
    ]


def compositions(view: View) -> list[Site]:
    """Move two or three numbers a little, in one change."""
    movable = [
        scalar
        for scalar in view.scalars
        if scalar.role in _CONTINUOUS + _WHOLE and scalar.value != 0 and scalar.weight >= 0.2
    ]
    if len(movable) < 2:
        return []
    return [Site(1.0, Intervention.OTHER, partial(_composed, movable))]


def kind_of(scalar: Scalar, operator: str) -> Intervention:
    """Return the kind of intervention of a change to ``scalar``."""
    kind = classify(scalar.name, operator)
    if kind is not Intervention.OTHER or scalar.path.endswith(".py"):
        return kind
    return classify(" ".join(scalar.key[:-1]), operator)  # `dropout: {p: 0.1}`


def replacement(scalar: Scalar, text: str) -> Splice:
    """Return the splice that spells ``scalar`` anew."""
    return Splice(scalar.path, scalar.start, scalar.end, text)


def retyped(changes: Sequence[tuple[Scalar, str]], operator: str, prefix: str = "") -> Edit:
    """Return the edit that spells each scalar as given.

    Args:
        changes: at least one scalar with its new text.
        prefix: put in front of the summary.
    """
    told = "; ".join(f"{_label(scalar)} {scalar.text} -> {text}" for scalar, text in changes)
    paths = " ".join(dict.fromkeys(scalar.path for scalar, _ in changes))
    return Edit(
        tuple(replacement(scalar, text) for scalar, text in changes),
        f"{prefix}{told} in {paths}",
        kind_of(changes[0][0], operator),
    )


def _label(scalar: Scalar) -> str:
    if not scalar.path.endswith(".py"):
        return ".".join(scalar.key)
    return scalar.name or "number"


def _number_sites(view: View, operator: str, roles: Sequence[Role]) -> list[Site]:
    return [
        Site(_weight(scalar), kind_of(scalar, operator), partial(_moved, scalar, operator))
        for scalar in view.scalars
        if scalar.role in roles and _is_move(scalar)
    ]


def _is_move(scalar: Scalar) -> bool:
    """Leave out 0.0 (see ``switches``) and unnamed zeros, which are counters and axes."""
    return scalar.value != 0 or (isinstance(scalar.value, int) and scalar.role in _WHOLE)


def _weight(scalar: Scalar) -> float:
    if scalar.role is Role.FRAGILE:
        return scalar.weight * _FRAGILE_WEIGHT
    if scalar.role is Role.PLAIN and scalar.value in (1, 2, 0.5):
        return scalar.weight * 0.3  # mostly part of a formula
    return scalar.weight if scalar.value != 0 else scalar.weight * 0.3


def _is_setting(scalar: Scalar) -> bool:
    return typical(scalar.name, random.Random(0)) is not None


def _moved(scalar: Scalar, operator: str, rng: random.Random) -> Edit | None:
    text = _new_text(scalar, rng, None)
    return None if text is None else retyped([(scalar, text)], operator)


def _new_text(scalar: Scalar, rng: random.Random, reach: float | None) -> str | None:
    role, number = scalar.role, scalar.number
    if role is None or number is None:
        return None
    value = move(scalar.name, role, number, rng, reach)
    return None if value is None else spell(value, scalar.text)


def _flag_weight(scalar: Scalar) -> float:
    found = words(scalar.name)
    if not found or not _DULL_FLAGS.isdisjoint(found):
        return 0.0
    return scalar.weight * (0.2 if not _RISKY_FLAGS.isdisjoint(found) else 1.0)


def _flipped(scalar: Scalar, rng: random.Random) -> Edit:
    del rng  # a flag has one other value
    other = "false" if scalar.value else "true"
    return retyped([(scalar, other.title() if scalar.text[0].isupper() else other)], "flip-flag")


def _composed(movable: Sequence[Scalar], rng: random.Random) -> Edit | None:
    count = min(len(movable), rng.choice((2, 2, 3)))
    changes = []
    for scalar in sample(movable, [scalar.weight for scalar in movable], count, rng):
        text = _new_text(scalar, rng, NEAR * rng.choice((1.0, 2.0)))
        if text is not None:
            changes.append((scalar, text))
    return retyped(changes, "compose") if len(changes) > 1 else None


def sample(
    items: Sequence[Scalar], weights: Sequence[float], count: int, rng: random.Random
) -> list[Scalar]:
    """Draw ``count`` different items, the heavier ones more often."""
    left, loads = list(items), list(weights)
    drawn = []
    for _ in range(min(count, len(left))):
        at = rng.choices(range(len(left)), loads)[0]
        drawn.append(left.pop(at))
        loads.pop(at)
    return drawn

"""The operators of the offline Mutator and how often each is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from lae_controller.mutators import (
    arithmetic,
    choices,
    constants,
    crossover,
    linked,
    statements,
    swaps,
)
from lae_controller.mutators.edits import Site
from lae_controller.mutators.view import View
from lae_controller.task import Credit

_PRIOR_CHILDREN = 4.0
_FLOOR, _CEILING = 0.3, 3.0


@dataclass(frozen=True, slots=True)
class Operator:
    """One way to change a program.

    Attributes:
        prior: how often it is drawn before anything is known, relative to the others.
        sites: the places of a task where it can act, always in the same order.
    """

    name: str
    prior: float
    sites: Callable[[View], list[Site]]


def _swap(name: str, prior: float) -> Operator:
    return Operator(name, prior, partial(swaps.family_sites, operator=name))


OPERATORS: tuple[Operator, ...] = (
    Operator("scale-rate", 20, constants.rates),
    Operator("scale-size", 16, constants.sizes),
    Operator("scale-number", 4, constants.numbers),
    Operator("switch-on", 5, constants.switches),
    Operator("flip-flag", 4, constants.flags),
    Operator("compose", 12, constants.compositions),
    Operator("continue", 10, crossover.continuations),
    Operator("take-constants", 5, crossover.constants),
    Operator("take-function", 4, crossover.functions),
    _swap("swap-activation", 8),
    _swap("swap-optimiser", 4),
    _swap("swap-norm", 3),
    _swap("swap-schedule", 2),
    _swap("swap-init", 3),
    _swap("swap-data", 2),
    Operator("swap-name", 6, choices.own_names),
    Operator("choose-option", 8, choices.options),
    Operator("linked-size", 8, linked.linked_sizes),
    Operator("change-operator", 2, arithmetic.operator_changes),
    Operator("duplicate-statement", 2, statements.duplicates),
    Operator("drop-statement", 3, statements.drops),
    Operator("move-statement", 2, statements.moves),
)


def weight(operator: Operator, credits: Mapping[str, Credit]) -> float:
    """Return how often an operator is to be drawn: its prior times its success of late.

    Success is the share of its children that were kept, drawn towards the share of all
    operators while there is little to go by, relative to that share. It counts from 0.3 to
    3, so that no operator dies out and none takes all.
    """
    tried = sum(credit.tried for credit in credits.values())
    paid = sum(credit.paid for credit in credits.values())
    usual = (paid + 1) / (tried + _PRIOR_CHILDREN)
    own = credits.get(operator.name, Credit(0.0, 0.0))
    rate = (own.paid + _PRIOR_CHILDREN * usual) / (own.tried + _PRIOR_CHILDREN)
    return operator.prior * min(max(rate / usual, _FLOOR), _CEILING)

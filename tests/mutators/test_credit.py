from __future__ import annotations

import pytest

from lae_controller.mutators.credit import HALF_LIFE, Credits
from lae_controller.mutators.operators import OPERATORS, weight
from lae_controller.task import Credit


def test_counts_children_and_kept_ones() -> None:
    credits = Credits(half_life=1e9)
    for kept in (True, False, True):
        credits.tell("scale-rate", kept)
    credit = credits.as_mapping()["scale-rate"]
    assert credit.tried == pytest.approx(3)
    assert credit.paid == pytest.approx(2)


def test_old_children_fade() -> None:
    credits = Credits()
    credits.tell("scale-rate", True)
    for _ in range(int(HALF_LIFE)):
        credits.tell("flip-flag", False)
    assert credits.as_mapping()["scale-rate"].paid == pytest.approx(0.5)
    assert credits.as_mapping()["flip-flag"].paid == 0


def test_no_operator_is_not_counted() -> None:
    credits = Credits()
    credits.tell("-", True)
    assert credits.as_mapping() == {}


def test_what_pays_is_drawn_more_often_within_bounds() -> None:
    operator = OPERATORS[0]
    others = {"other": Credit(20, 5)}
    assert weight(operator, {}) == operator.prior
    good = weight(operator, {**others, operator.name: Credit(10, 9)})
    bad = weight(operator, {**others, operator.name: Credit(10, 0)})
    assert bad < operator.prior < good
    hopeless = weight(operator, {**others, operator.name: Credit(1000, 0)})
    assert hopeless == pytest.approx(0.3 * operator.prior)
    perfect = weight(operator, {"other": Credit(1000, 0), operator.name: Credit(90, 90)})
    assert perfect == pytest.approx(3 * operator.prior)

from __future__ import annotations

import random

from lae_controller.mutators.mending import Mending


def told(*children: tuple[int, bool]) -> Mending:
    mending = Mending()
    for calls, usable in children:
        mending.tell(calls - 1, usable=usable)
    return mending


def test_it_is_tried_before_anything_is_known() -> None:
    assert told().pays()
    assert told((3, False)).pays()
    assert told(*[(1, True)] * 200).pays()


def test_a_model_that_never_mends_is_asked_for_something_else() -> None:
    children = [(1, True), (1, True), (3, False)]
    assert not told(*children * 6).pays()


def test_what_failed_is_known_before_its_child_is_told() -> None:
    mending = told((1, True), (1, True))
    assert mending.pays(failed=2)
    assert not mending.pays(failed=3)


def test_a_model_that_mends_one_in_three_goes_on() -> None:
    children = [(1, True), (1, True), (3, False), (2, True)]
    assert told(*children * 20).pays()


def test_where_first_answers_are_seldom_usable_mending_need_not_be_often() -> None:
    seldom = [(3, False), (3, False), (2, True)]  # one in five, and no first one
    assert told(*seldom * 20).pays()
    assert not told(*[*seldom, *[(1, True)] * 12] * 20).pays()


def test_it_is_tried_again_when_that_was_long_ago() -> None:
    mending = told(*[(1, True), (3, False)] * 6)
    assert not mending.pays()
    for _ in range(200):
        mending.tell(0, usable=True)
    assert mending.pays()


def test_a_poor_model_spends_few_calls_on_mending_and_a_good_one_loses_nothing() -> None:
    chance, calls, mends = random.Random(1), 0, 0
    mending = Mending()
    for _ in range(300):
        usable = chance.random() < 0.7
        more = 2 if not usable and mending.pays() else 0
        calls, mends = calls + 1 + more, mends + more
        mending.tell(more, usable=usable)
    assert mends < 0.12 * calls  # 0.38 if every failure went back twice
    good = Mending()
    for _ in range(300):
        usable = chance.random() < 0.7
        good.tell(0 if usable else 1, usable=usable or chance.random() < 0.6)
        assert good.pays()

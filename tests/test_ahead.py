"""How many children are asked for ahead of the slots."""

from __future__ import annotations

import random
from collections import deque

from lae_controller.ahead import Ahead, Queueing
from lae_controller.config import MutatorSettings
from lae_controller.program import Evaluation, Intervention, Status, child_id
from lae_controller.results import Result
from lae_controller.task import ReplyTimes

MANY = 1 << 30


def finished(seconds: float) -> Result:
    evaluation = Evaluation(Status.EVALUATED, metric=1.0, seconds=seconds)
    child = child_id(1, 0, 0)
    return Result(child, None, 0, "a change", Intervention.OTHER, "-", None, evaluation)


def test_a_server_that_answers_one_after_the_other_is_not_given_a_queue() -> None:
    queueing, chance = Queueing(), random.Random(1)
    for n in [1, 2, 2, 3, 4, 5, 6, 7, 8, 8, 8, 8]:
        queueing.note(n, 12.0 * n * chance.uniform(0.8, 1.2))
    assert queueing.useful() <= 2


def test_a_service_that_answers_all_at_once_is_asked_as_often_as_it_takes() -> None:
    queueing, chance = Queueing(), random.Random(2)
    for _ in range(200):
        queueing.note(chance.randint(1, 9), chance.uniform(5.0, 20.0))
    assert queueing.useful() >= 9


def test_a_server_that_slows_down_is_asked_until_that_brings_nothing() -> None:
    queueing, chance = Queueing(), random.Random(3)
    for n in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] * 4:
        queueing.note(n, 4.0 + 2.0 * n + chance.gauss(0.0, 0.1))
    assert 7 <= queueing.useful() <= 9  # 4 a / b


def crowds(seed: int, calls: int) -> list[int]:
    """Return how many were under way with each call to a server that answers one at a time."""
    chance, ahead = random.Random(seed), Ahead(MutatorSettings(backend="anthropic"), 0.1)
    under_way: deque[tuple[int, float, float]] = deque()
    found: list[int] = []
    now = idle_from = 0.0
    while len(found) < calls:
        while len(under_way) < min(ahead.useful(1), ahead.wanted(1, now) - 1):
            idle_from = max(idle_from, now) + chance.uniform(4.0, 12.0)
            under_way.append((len(under_way) + 1, now, idle_from))
        crowd, asked, now = under_way.popleft()
        ahead.proposed(crowd, now - asked)
        found.append(crowd)
    return found


def test_a_queue_is_noticed_before_it_is_long() -> None:
    runs = [crowds(seed, 30) for seed in range(50)]
    assert sum(max(run) for run in runs) / len(runs) < 6  # nine would be, were it not looked for
    assert sum(sum(run[15:]) for run in runs) / (50 * 15) < 2


def test_nothing_is_held_back_before_anything_is_known() -> None:
    queueing = Queueing()
    assert queueing.useful() == MANY
    for _ in range(7):
        queueing.note(1, 3.0)
    assert queueing.useful() == MANY


def test_always_as_many_at_a_time_tells_nothing() -> None:
    queueing = Queueing()
    for _ in range(50):
        queueing.note(4, 3.0)
    assert queueing.useful() == MANY


def test_a_server_that_was_slow_once_is_tried_again() -> None:
    queueing = Queueing()
    for n in [1, 2, 3, 4, 5, 6, 7, 8, 9]:
        queueing.note(n, 12.0 * n)
    assert queueing.useful() == 1
    for n in [1] * 10 + [2, 3, 4, 5, 6, 7, 8, 9] * 20:
        queueing.note(n, 12.0)
    assert queueing.useful() > 8


def test_quick_proposals_that_slow_each_other_down_are_asked_for_by_every_slot() -> None:
    quick, slow = (
        Ahead(MutatorSettings(backend="anthropic", timeout=300.0), evaluation_s=seconds)
        for seconds in (1.0, 0.1)
    )
    for n in [1, 2, 3, 4, 5, 6, 7, 8] * 4:
        for ahead in (quick, slow):
            ahead.proposed(n, 0.01 + 0.08 * n)
    assert quick.useful(8) == 8
    assert slow.useful(8) == 1


def test_the_offline_mutator_is_never_held_back() -> None:
    ahead = Ahead(MutatorSettings())
    for n in range(1, 20):
        ahead.proposed(n, 12.0 * n)
    assert ahead.useful(2) == ahead.most(2) == 18
    assert ahead.wanted(2) == 3


def test_proposals_are_as_many_as_slots_need() -> None:
    ahead = Ahead(MutatorSettings(backend="anthropic", timeout=300.0))
    assert ahead.wanted(4) == 6
    assert ahead.useful(4) == 10
    for _ in range(40):
        ahead.proposed(14, 20.0)
    assert ahead.useful(4) == 36


def test_until_the_first_proposal_comes_in_more_are_asked_for_as_slots_would_fall_idle() -> None:
    ahead = Ahead(MutatorSettings(backend="anthropic"), evaluation_s=5.0)
    assert [ahead.wanted(8, waited) for waited in (0.0, 4.0, 5.0, 7.5, 10.0, 60.0)] == [
        12,
        18,
        20,
        24,
        28,
        28,
    ]
    ahead.proposed(12, 20.0)
    assert ahead.wanted(8, 60.0) == 8 + 8 * 4


def test_what_the_baseline_took_is_believed_until_children_take_another_time() -> None:
    ahead = Ahead(MutatorSettings(backend="anthropic"), evaluation_s=10.0)
    ahead.proposed(1, 40.0)
    assert ahead.wanted(2) == 2 + 2 * 4
    for _ in range(60):
        ahead.note(finished(20.0))
    assert ahead.wanted(2) in (2 + 4, 2 + 5)


def test_proposals_that_come_to_nothing_are_made_up_for() -> None:
    ahead = Ahead(MutatorSettings(backend="anthropic"), evaluation_s=10.0)
    for number in range(200):
        ahead.proposed(4, 20.0, usable=number % 4 > 0)
    assert ahead.wanted(4) in (4 + 10, 4 + 11, 4 + 12)  # 4 slots, 2 proposals each, 3 in 4 usable
    for _ in range(200):
        ahead.proposed(4, 20.0, usable=False)
    assert ahead.wanted(4) == 4 + 16  # a model that says nothing usable is not asked without end


def test_a_pause_of_the_service_is_no_queue_but_makes_a_proposal_take_as_long() -> None:
    ahead = Ahead(MutatorSettings(backend="anthropic", timeout=300.0), evaluation_s=10.0)
    for n in [1, 2, 3, 4, 5, 6, 7, 8] * 4:  # the more under way, the longer the pause
        ahead.proposed(n, 20.0 * n, replies=[ReplyTimes(0.0, 1.0, 10.0)])
    assert ahead.useful(4) == ahead.most(4)
    assert ahead.wanted(4) > 4 + 4 * 5
    for _ in range(8):  # one reply that was cut off, then none in time
        ahead.proposed(20, 295.0, usable=False, replies=[ReplyTimes(0.0, 1.0, 10.0)])
    assert ahead.useful(4) <= 4


def test_proposals_that_run_into_their_time_limit_are_too_many() -> None:
    ahead = Ahead(MutatorSettings(backend="anthropic", timeout=300.0))
    for seconds in (40.0, 290.0, 295.0, 295.0):
        ahead.proposed(9, seconds)
    assert ahead.useful(1) == 1
    for _ in range(4):
        ahead.proposed(1, 20.0)
    assert 2 <= ahead.useful(1) <= 4

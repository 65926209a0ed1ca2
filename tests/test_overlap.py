"""How many replies a server is seen to write at a time."""

from __future__ import annotations

import random

import pytest

from lae_controller.overlap import Overlap
from lae_controller.task import ReplyTimes


def served(
    calls: int, under_way: int, slots: int, *, first: float, written: float, seed: int = 1
) -> Overlap:
    """Return what a server shows that serves so many at a time, in the order of asking.

    Args:
        first, written: mean seconds from a reply's turn to its first word, and from that to its
            last; each call takes half to one and a half of them.
    """
    chance, overlap = random.Random(seed), Overlap()
    free, asking = [0.0] * slots, [0.0] * under_way
    for _ in range(calls):
        sent = asking.pop(asking.index(min(asking)))
        turn = max(sent, min(free))
        began = turn + first * chance.uniform(0.5, 1.5)
        ended = began + written * chance.uniform(0.5, 1.5)
        free[free.index(min(free))] = ended
        asking.append(ended)
        overlap.note([ReplyTimes(sent, began, ended + 0.02 * chance.random())])
    return overlap


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("slots", [1, 2, 4])
def test_a_server_with_few_slots_is_known_by_them(slots: int, seed: int) -> None:
    overlap = served(32, 12, slots, first=2.0, written=8.0, seed=seed)
    assert overlap.useful() == 2 * slots


@pytest.mark.parametrize("seed", range(5))
def test_one_that_mostly_reads_is_known_too(seed: int) -> None:
    assert served(32, 6, 1, first=7.0, written=3.0, seed=seed).useful() == 2


def test_one_after_the_other_is_known_at_the_fourth_reply() -> None:
    assert served(3, 5, 1, first=2.0, written=8.0).useful() is None
    assert served(4, 5, 1, first=2.0, written=8.0).useful() == 2


@pytest.mark.parametrize("under_way", [9, 18, 36, 72])
@pytest.mark.parametrize(
    ("first", "written"),
    [
        (1.0, 10.0),
        (20.0, 3.0),  # it thinks, and shows nothing of it
        (20.0, 1.0),
        (15.0, 0.7),
        (10.0, 0.0),  # something between holds the whole reply back
    ],
)
def test_a_service_that_answers_everybody_is_not_held_back(
    first: float, written: float, under_way: int
) -> None:
    for seed in range(5):
        for calls in (8, 16, 8 * under_way):
            overlap = served(calls, under_way, under_way, first=first, written=written, seed=seed)
            useful = overlap.useful()
            assert useful is None or useful >= under_way


def test_without_a_queue_nothing_is_said() -> None:
    assert served(32, 1, 1, first=8.0, written=8.0).useful() is None
    assert Overlap().useful() is None


def test_one_that_serves_more_at_a_time_from_some_moment_on_is_asked_for_more() -> None:
    overlap = served(32, 8, 1, first=1.0, written=9.0)
    assert overlap.useful() == 2
    for begin in (1e4, 1e4 + 1.0):
        overlap.note([ReplyTimes(1e4, begin, begin + 9.0)])
    useful = overlap.useful()
    assert useful is None or useful >= 4

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime

import pytest

from lae_controller.errors import ChildError
from lae_controller.mutators.backoff import Backoff, Patience
from lae_controller.mutators.deadline import Deadline
from lae_controller.mutators.messages_errors import retry_after, share_that_fits
from lae_controller.program import Reason


def waits(seed: int, patience: Patience, times: int) -> list[float]:
    slept: list[float] = []
    patient = Patience(patience.first, patience.most, patience.tries, slept.append)
    backoff = Backoff(patient, random.Random(seed), Deadline.after(1e6))
    for _ in range(times):
        backoff.wait("busy")
    return slept


def test_waits_grow_to_a_cap_and_are_never_alike() -> None:
    found = waits(0, Patience(first=1.0, most=8.0, tries=6), 6)
    for wait, whole in zip(found, [1, 2, 4, 8, 8, 8], strict=True):
        assert whole / 2 <= wait <= whole
    assert len(set(found)) == 6
    assert found != waits(1, Patience(first=1.0, most=8.0, tries=6), 6)
    assert found == waits(0, Patience(first=1.0, most=8.0, tries=6), 6)


def test_patience_ends() -> None:
    with pytest.raises(ChildError, match="busy; tried 3 times") as caught:
        waits(0, Patience(tries=2), 3)
    assert caught.value.reason is Reason.ENVIRONMENT


def test_no_wait_begins_that_ends_too_late() -> None:
    slept: list[float] = []
    backoff = Backoff(Patience(sleep=slept.append), random.Random(0), Deadline.after(100))
    backoff.wait("busy", at_least=50)
    for seconds in (100.0, float("inf")):
        with pytest.raises(ChildError, match="busy; the next try would be due"):
            backoff.wait("busy", at_least=seconds)
    assert len(slept) == 1


@pytest.mark.parametrize(
    ("text", "seconds"), [("7", 7), ("0.5", 0.5), ("-3", 0), ("soon", 0), ("", 0), ("nan", 0)]
)
def test_what_a_server_asks_for_is_read(text: str, seconds: float) -> None:
    assert retry_after({"retry-after": text}) == seconds


def test_a_date_is_read_too() -> None:
    then = datetime.now(timezone.utc) + timedelta(hours=1)
    assert 3500 < retry_after({"retry-after": format_datetime(then, usegmt=True)}) <= 3600
    assert retry_after({"retry-after": format_datetime(then - timedelta(hours=2))}) == 0
    assert retry_after({}) == 0


@pytest.mark.parametrize(
    ("said", "share"),
    [
        ("prompt is too long: 250000 tokens > 200000 maximum", 0.9 * 190_000 / 250_000),
        ("`max_tokens` exceed context limit: 200000 + 10000 > 200000", 0.9 * 190_000 / 210_000),
        (
            "request (40000 tokens) exceeds the available context size (30000 tokens), try",
            0.9 * 20_000 / 40_000,
        ),
        ("the request exceeds the available context size", 0.5),
        ("request (4000 tokens) exceeds the available context size (4096 tokens)", 0.5),
    ],
)
def test_the_share_that_fits_leaves_room_for_the_reply(said: str, share: float) -> None:
    assert share_that_fits(said, 10_000) == pytest.approx(share)

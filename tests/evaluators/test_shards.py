from __future__ import annotations

import pytest

from lae_controller.errors import RefusedError
from lae_controller.evaluators.shards import Shards, coarse_note, counts_note, kind_of, refuse_thin
from lae_controller.scoring import DATASET, JUDGE, ShardCounts


def test_no_unit_belongs_to_two_stages() -> None:
    shards = Shards(ShardCounts(4, 8, 5))
    parts = [shards.of("smoke"), shards.of("full"), shards.of("test")]
    assert parts == [(0, 1, 2, 3), (4, 5, 6, 7, 8, 9, 10, 11), (12, 13, 14, 15, 16)]
    assert shards.of("full-3") == shards.gate
    assert shards.of("shard-7") == (7,)
    assert [kind_of(name) for name in ("full-2", "smoke", "test", "pair-1")] == [
        "full", "smoke", "test", "full",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (ShardCounts(3, 8, 4), "rollout is 3; expected at least 4"),
        (ShardCounts(4, 7, 4), "gate is 7; expected at least 8"),
        (ShardCounts(10, 9, 4), r"gate is 9; expected at least 8 and at least rollout \(10\)"),
        (ShardCounts(4, 8, 3), "test is 3; expected 4 to 8"),
    ],
)
def test_too_thin_a_split_is_refused_with_the_reason(counts: ShardCounts, message: str) -> None:
    with pytest.raises(RefusedError, match=message):
        refuse_thin(counts, DATASET)


def test_the_defaults_are_enough() -> None:
    refuse_thin(ShardCounts(), JUDGE)


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ([0.2, 0.4, 0.3], ""),
        ([0.5, 0.5, 0.5], "all 3 units score 0.5"),
        ([1.0, 0.0, 1.0], "every unit scores 0 or 1 (2 of 3 score 1)"),
        ([0.5], ""),
        ([], ""),
    ],
)
def test_units_without_a_slope_are_warned_about(scores: list[float], said: str) -> None:
    assert coarse_note(scores).startswith(said)
    assert bool(coarse_note(scores)) == bool(said)


def test_a_noisy_score_wants_more_units() -> None:
    assert "16 to 24 would rank better" in counts_note(ShardCounts(), noisy=True)
    assert counts_note(ShardCounts(gate=16), noisy=True) == ""
    assert counts_note(ShardCounts(), noisy=False) == ""
    assert "4 to 8 are plenty" in counts_note(ShardCounts(test=12), noisy=False)

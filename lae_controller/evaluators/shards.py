"""Units of measurement: which stage reads which, when they are too few, when they tell nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from lae_controller.errors import RefusedError
from lae_controller.evaluators import Stage
from lae_controller.evaluators.heldout import TEST_STAGE
from lae_controller.scoring import JUDGE, ShardCounts

LEAST_ROLLOUT = 4
LEAST_GATE = 8
LEAST_TEST = 4
NOISY_GATE = 16
MOST_TEST = 8


@dataclass(frozen=True, slots=True)
class Shards:
    """The indices of each stage; rollout, gate and test share none."""

    counts: ShardCounts

    @property
    def rollout(self) -> tuple[int, ...]:
        """The units of the smoke stage."""
        return tuple(range(self.counts.rollout))

    @property
    def gate(self) -> tuple[int, ...]:
        """The units of the full stage, the only one that ranks."""
        return tuple(index + self.counts.rollout for index in range(self.counts.gate))

    @property
    def test(self) -> tuple[int, ...]:
        """The units that are read once, at the end."""
        first = self.counts.rollout + self.counts.gate
        return tuple(range(first, self.counts.total))

    def of(self, stage: str) -> tuple[int, ...]:
        """Return the units that a stage measures (see ``Stage.name``)."""
        if kind_of(stage) == "smoke":
            return self.rollout
        if stage == TEST_STAGE:
            return self.test
        if stage.startswith("shard-"):
            return (int(stage.removeprefix("shard-")),)
        return self.gate


def kind_of(stage: str) -> str:
    """Return the stage that measures the same units: ``full`` for ``full-2`` and its like."""
    if stage.startswith("smoke"):
        return "smoke"
    return stage if stage == TEST_STAGE or stage.startswith("shard-") else "full"


def refuse_thin(counts: ShardCounts, mode: str) -> None:
    """Refuse a split that could not tell a good candidate from a bad one.

    Raises:
        RefusedError: with the reason, and what to do.
    """
    if counts.rollout < LEAST_ROLLOUT:
        raise RefusedError(
            f"scoring.shards.rollout is {counts.rollout}; expected at least {LEAST_ROLLOUT}: with "
            "fewer, the smoke stage drops children by chance. Make each unit smaller rather than "
            "having fewer"
        )
    if counts.gate < max(LEAST_GATE, counts.rollout):
        raise RefusedError(
            f"scoring.shards.gate is {counts.gate}; expected at least {LEAST_GATE} and at least "
            f"rollout ({counts.rollout}): the gate is the only number that ranks, and on too few "
            f"units it ranks noise. Make each unit smaller{_noisy(mode)}"
        )
    if counts.test < LEAST_TEST:
        raise RefusedError(
            f"scoring.shards.test is {counts.test}; expected {LEAST_TEST} to {MOST_TEST}: the test "
            "is read once, and fewer units could not confirm the final number"
        )


def _noisy(mode: str) -> str:
    return f"; {NOISY_GATE} to 24 where the score is noisy" if mode == JUDGE else ""


def counts_note(counts: ShardCounts, *, noisy: bool) -> str:
    """Say what would be better about the numbers of units; empty if nothing would."""
    if noisy and counts.gate < NOISY_GATE:
        return (
            f"the score is noisy and the gate has {counts.gate} units; {NOISY_GATE} to 24 would "
            "rank better"
        )
    if counts.test > MOST_TEST:
        return f"{counts.test} units are held out; {LEAST_TEST} to {MOST_TEST} are plenty"
    return ""


def coarse_note(scores: Iterable[float]) -> str:
    """Say why the units of the baseline leave nothing to climb; empty if they do not.

    Args:
        scores: of the baseline, one a unit.
    """
    values = list(scores)
    if len(values) < 2:
        return ""
    if len(set(values)) == 1:
        return (
            f"all {len(values)} units score {values[0]:.4g}: tied units rank by chance. Make the "
            "cases differ, or the measure finer"
        )
    if set(values) <= {0.0, 1.0}:
        return (
            f"every unit scores 0 or 1 ({sum(v == 1.0 for v in values)} of {len(values)} score 1): "
            "nothing lies between. Put a few dozen items into each unit and average"
        )
    return ""


def shard_stage(stage: Stage, index: int) -> Stage:
    """Return the stage that measures one unit alone."""
    return replace(stage, name=f"shard-{index}", calls=False)

from __future__ import annotations

import pytest

from lae_controller.evaluators.heldout import parted
from lae_controller.program import Direction


@pytest.mark.parametrize(
    ("search", "test", "direction", "said"),
    [
        ((0.5, 0.9), (0.5, 0.85), Direction.MAXIMIZE, ""),
        ((0.5, 0.9), (0.5, 0.6), Direction.MAXIMIZE, "only 0.1 of the gain of 0.4 is left"),
        ((0.5, 0.9), (0.5, 0.4), Direction.MAXIMIZE, "the gain of 0.4 is not there"),
        ((2.0, 1.0), (2.0, 1.2), Direction.MINIMIZE, ""),
        ((2.0, 1.0), (2.0, 2.5), Direction.MINIMIZE, "the gain of 1 is not there"),
        ((0.5, 0.5), (0.5, 0.1), Direction.MAXIMIZE, ""),
    ],
)
def test_a_gain_that_the_test_does_not_show_is_said(
    search: tuple[float, float], test: tuple[float, float], direction: Direction, said: str
) -> None:
    found = parted(search, test, direction)
    assert found.startswith(said)
    assert bool(found) == bool(said)

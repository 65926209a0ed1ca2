from __future__ import annotations

import pytest

from lae_controller.probing.ceilings import ceiling, is_share
from lae_controller.program import Direction

UP, DOWN = Direction.MAXIMIZE, Direction.MINIMIZE


@pytest.mark.parametrize(
    ("name", "direction", "values", "expected"),
    [
        ("val_acc", UP, (0.4, 0.9), 1.0),
        ("val_accuracy", UP, (40.0, 91.5), 100.0),
        ("test/f1", UP, (0.7,), 1.0),
        ("auc", UP, (0.5, 1.0), 1.0),
        ("r2", UP, (-3.0, 0.5), 1.0),
        ("accuracy", UP, (250.0,), None),
        ("accuracy", UP, (-0.5,), None),
        ("reward", UP, (0.4,), None),
        ("accumulated", UP, (0.4,), None),
        ("val_loss", DOWN, (1.4,), 0.0),
        ("val_loss", DOWN, (-1.4, 2.0), None),
        ("rmse", DOWN, (0.0,), 0.0),
        ("gloss", DOWN, (1.0,), None),
        ("accuracy", DOWN, (0.5,), None),
    ],
)
def test_the_name_and_the_values_say_how_good_a_metric_can_get(
    name: str, direction: Direction, values: tuple[float, ...], expected: float | None
) -> None:
    assert ceiling(name, direction, values) == expected


def test_shares_are_known_by_their_name() -> None:
    assert is_share("val_acc")
    assert is_share("R_squared")
    assert not is_share("val_loss")

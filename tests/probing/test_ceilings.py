from __future__ import annotations

import pytest

from lae_controller.probing.ceilings import Ceiling, Ground, ceiling
from lae_controller.program import Direction
from lae_controller.scoring import ScoringSettings

UP, DOWN = Direction.MAXIMIZE, Direction.MINIMIZE
COMMAND = ScoringSettings()


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
    found = ceiling(name, direction, values, COMMAND)
    ground = Ground.SHARE if direction is UP else Ground.FLOOR
    assert found == (None if expected is None else Ceiling(expected, ground))


@pytest.mark.parametrize(
    ("scoring", "expected"),
    [
        (ScoringSettings(mode="custom_script"), Ceiling(1.0, Ground.STATED)),
        (ScoringSettings(mode="llm_judge", scale=(1, 5)), Ceiling(5, Ground.STATED)),
        (ScoringSettings(mode="test_gate"), Ceiling(1.0, Ground.SHARE)),
        (ScoringSettings(mode="dataset_metric"), None),
    ],
)
def test_a_scoring_mode_may_state_it(scoring: ScoringSettings, expected: Ceiling | None) -> None:
    assert ceiling("whatever", UP, (0.5,), scoring) == expected

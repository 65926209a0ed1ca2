from __future__ import annotations

import math

import pytest

from lae_controller.errors import ChildError
from lae_controller.evaluators.measures import (
    accuracy,
    as_number,
    checked_predictions,
    error_of,
    normalised,
    same,
    value_of,
)
from lae_controller.program import Reason


@pytest.mark.parametrize(
    ("metric", "expected"), [("mae", 1.0), ("rmse", math.sqrt(2.0)), ("r2", 1.0 - 4.0 / 2.0)]
)
def test_errors_of_numbers(metric: str, expected: float) -> None:
    assert error_of(metric, [1.0, 2.0], [1.0, 4.0]) == pytest.approx(
        expected if metric != "r2" else 1.0 - 4.0 / 0.5
    )


def test_r2_where_all_answers_are_alike() -> None:
    assert error_of("r2", [2.0, 2.0], [2.0, 2.0]) == 1.0
    assert error_of("r2", [2.0, 2.0], [2.0, 3.0]) == 0.0


@pytest.mark.parametrize(
    ("answer", "prediction", "right"),
    [
        (1.0, 1, True),
        (1.0, "1", True),
        (0.3, 0.1 + 0.2, True),
        (1.0, None, False),
        (1.0, "one", False),
        ("cat", "cat", True),
        ("cat", "Cat", False),
        ("7a", 7, False),
        (1.0, [1.0], False),
    ],
)
def test_what_counts_as_right(answer: float | str, prediction: object, right: bool) -> None:
    assert same(answer, prediction) is right


def test_accuracy_is_a_share() -> None:
    assert accuracy(["a", "b", "c", "d"], ["a", "b", "x", None]) == 0.5


def test_what_is_a_number() -> None:
    assert (as_number("1e-3"), as_number(True), as_number({}), as_number("x")) == (
        0.001, 1.0, None, None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("normaliser", "metric", "value", "expected"),
    [
        ("identity", "mae", 3.0, 3.0),
        ("reciprocal", "mae", 3.0, 0.25),
        ("reciprocal", "mae", 0.0, 1.0),
        ("clamp", "r2", -7.0, 0.0),
        ("clamp", "accuracy", 0.4, 0.4),
        ("relative_to_baseline", "mae", 2.0, 0.5),
        ("relative_to_baseline", "mae", 0.0, 1.0),
        ("relative_to_baseline", "mae", 4.0, 1 / 3),
    ],
)
def test_normalisers(normaliser: str, metric: str, value: float, expected: float) -> None:
    assert normalised(value, normaliser, metric, baseline=2.0) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("answer", "reason", "said"),
    [
        ({"score": 1.0}, Reason.NO_METRIC, "no list with one entry a unit"),
        ([[1, 2]], Reason.NO_METRIC, "no list with one entry a unit"),
        ([[1], [1, 2]], Reason.NO_METRIC, "predict returned 1 predictions for 2 rows"),
        ([[1, 2], None], Reason.NO_METRIC, "predict returned 0 predictions for 2 rows"),
        ([[1, 2], [1, math.nan]], Reason.NON_FINITE, "a prediction is nan"),
        ([[1, 2], [1, -math.inf]], Reason.NON_FINITE, "a prediction is -inf"),
    ],
)
def test_predictions_that_are_none(answer: object, reason: Reason, said: str) -> None:
    with pytest.raises(ChildError, match=said) as caught:
        checked_predictions(answer, [2, 2])
    assert caught.value.reason is reason


@pytest.mark.parametrize(
    ("predicted", "reason", "said"),
    [
        (["much", 1], Reason.NO_METRIC, "'much'; expected a finite number"),
        ([None, 1], Reason.NO_METRIC, "None; expected a finite number"),
        (["nan", 1], Reason.NO_METRIC, "'nan'; expected a finite number"),
        ([10**400, 1], Reason.NO_METRIC, "expected a finite number"),
        ([1e200, 1], Reason.NON_FINITE, "rmse is inf"),
    ],
)
def test_what_has_no_error(predicted: list[object], reason: Reason, said: str) -> None:
    with pytest.raises(ChildError, match=said) as caught:
        value_of("rmse", [1.0, 2.0], predicted)
    assert caught.value.reason is reason


def test_the_metric_of_a_unit() -> None:
    assert value_of("mae", [1.0, 2.0], ["1", 4]) == 1.0
    assert value_of("accuracy", ["a", "b"], ["a", 7]) == 0.5


def test_relative_to_a_perfect_baseline_is_no_division_by_zero() -> None:
    assert normalised(1.0, "relative_to_baseline", "accuracy", baseline=1.0) == 0.5

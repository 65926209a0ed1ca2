"""Metrics of predictions against answers, and what is done to them before they rank."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lae_controller.errors import ChildError
from lae_controller.program import Reason

Value = float | str | None
"""One answer or prediction: a number, a label, or nothing."""

_CLOSE = 1e-9


def same(answer: Value, prediction: object) -> bool:
    """Say whether a prediction is the answer; numbers within a relative 1e-9, labels as text."""
    if isinstance(answer, float):
        number = as_number(prediction)
        return number is not None and math.isclose(answer, number, rel_tol=_CLOSE, abs_tol=_CLOSE)
    return prediction is not None and str(prediction) == str(answer)


def as_number(value: object) -> float | None:
    """Return a number, also one written as text; None for anything else."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float | str):
        try:
            return float(value)
        except (ValueError, OverflowError):
            return None
    return None


def accuracy(answers: Sequence[Value], predictions: Sequence[object]) -> float:
    """Return the share of predictions that are right, 0 to 1."""
    right = sum(map(same, answers, predictions))
    return right / len(answers)


def error_of(metric: str, answers: Sequence[float], predictions: Sequence[float]) -> float:
    """Return ``mae``, ``rmse`` or ``r2`` of numbers.

    Source of r2: 1 - SS_res / SS_tot; where the answers do not differ it is 1 for a perfect
    prediction and 0 for any other, as scikit-learn has it.
    """
    misses = [p - a for a, p in zip(answers, predictions, strict=True)]
    if metric == "mae":
        return math.fsum(map(abs, misses)) / len(misses)
    squares = math.fsum(miss * miss for miss in misses)
    if metric == "rmse":
        return math.sqrt(squares / len(misses))
    mean = math.fsum(answers) / len(answers)
    total = math.fsum((answer - mean) ** 2 for answer in answers)
    if total == 0.0:
        return 1.0 if squares == 0.0 else 0.0
    return 1.0 - squares / total


def checked_predictions(answer: object, sizes: Sequence[int]) -> list[list[object]]:
    """Check that a candidate's answer holds one prediction for each row of each unit.

    Raises:
        ChildError: NO_METRIC, saying how many there are; NON_FINITE for a NaN or an infinity.
    """
    if not isinstance(answer, list) or len(answer) != len(sizes):
        raise ChildError(Reason.NO_METRIC, "the predictions are no list with one entry a unit")
    for predicted, size in zip(answer, sizes, strict=True):
        if not isinstance(predicted, list) or len(predicted) != size:
            count = len(predicted) if isinstance(predicted, list) else 0
            why = f"predict returned {count} predictions for {size} rows; expected one for each"
            raise ChildError(Reason.NO_METRIC, why)
        for value in predicted:
            if isinstance(value, float) and not math.isfinite(value):
                why = f"a prediction is {value}; expected finite numbers"
                raise ChildError(Reason.NON_FINITE, why)
    return answer


def value_of(metric: str, answers: Sequence[Value], predicted: Sequence[object]) -> float:
    """Return the metric of one unit.

    Raises:
        ChildError: NO_METRIC if a prediction is no number where one is needed; NON_FINITE if the
            metric is none.
    """
    if metric == "accuracy":
        return accuracy(answers, predicted)
    numbers = []
    for value in predicted:
        number = as_number(value)
        if number is None or not math.isfinite(number):
            why = f"a prediction is {repr(value)[:80]}; expected a finite number"
            raise ChildError(Reason.NO_METRIC, why)
        numbers.append(number)
    try:
        found = error_of(metric, [float(a) for a in answers if isinstance(a, float)], numbers)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise ChildError(Reason.NON_FINITE, f"{metric} is {found}; expected a finite number")
    return found


def normalised(value: float, normaliser: str, metric: str, baseline: float) -> float:
    """Return the number that ranks.

    - ``identity``: the metric itself.
    - ``reciprocal``: 1 / (1 + x) of an error: 1 is perfect, 0 infinitely bad.
    - ``clamp``: bounded to [0, 1], so that one bad outlier does not count for more than failure.
    - ``relative_to_baseline``: e0 / (e0 + e) with e the error and e0 the baseline's: the baseline
      scores 0.5, perfection 1, twice the error 1/3.

    Args:
        baseline: the same metric of the baseline on the same units.
    """
    if normaliser == "reciprocal":
        return 1.0 / (1.0 + _error(value, metric))
    if normaliser == "clamp":
        return min(1.0, max(0.0, value))
    if normaliser == "relative_to_baseline":
        reference, error = _error(baseline, metric), _error(value, metric)
        return 0.5 if reference + error == 0.0 else reference / (reference + error)
    return value


def _error(value: float, metric: str) -> float:
    """Return how far a metric is from perfect; 0 or more."""
    return 1.0 - value if metric in ("accuracy", "r2") else value

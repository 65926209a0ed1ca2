from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from lae_controller.evaluators.early_stop import EarlyStop, early_stop_for
from lae_controller.evolution import EarlyStopSettings
from lae_controller.program import Artifacts, Direction

ON = EarlyStopSettings(enabled=True)
LENGTH = 100
Values = list[float]


def artifacts(values: Values, name: str = "val_loss") -> Artifacts:
    curve = tuple((float(step), value) for step, value in enumerate(values, start=1))
    return Artifacts(curve=curve, curve_name=name)


def falling(end: float, start: float = 3.0, length: int = 10) -> Values:
    return [start + (end - start) * step / length for step in range(1, length + 1)]


def rule_of(curves: list[Values], settings: EarlyStopSettings = ON) -> EarlyStop:
    elites = map(artifacts, curves)
    rule = early_stop_for(elites, "val_loss", Direction.MINIMIZE, settings)
    assert rule is not None
    return rule


def judged(rule: EarlyStop, values: Values) -> str | None:
    return rule.verdict([float(step) for step in range(1, len(values) + 1)], values)


FIVE = [falling(end) for end in (1.0, 1.1, 1.2, 1.3, 1.4)]


def test_by_hand() -> None:
    rule = rule_of(FIVE)
    # Half way the elites gain at most 1.0 more; twice that from 3.3 leads to 1.3, above 1.2.
    verdict = judged(rule, [3.3] * 5)
    assert verdict is not None
    assert "cut at step 5 of 10: val_loss is 3.3; the median of 5 elites had 2.1 here" in verdict
    assert "and 1.2 in the end" in verdict
    assert judged(rule, [3.19] * 5) is None


def test_the_best_so_far_counts_not_the_last() -> None:
    assert judged(rule_of(FIVE), [2.0, 9.0, 9.0, 9.0, 9.0]) is None


def test_the_later_the_less_is_granted() -> None:
    rule = rule_of(FIVE)
    cut = [step for step in range(1, 11) if judged(rule, [2.5] * step)]
    assert cut == [7, 8, 9, 10]


def test_a_larger_margin_grants_more() -> None:
    strict, mild = (rule_of(FIVE, replace(ON, margin=margin)) for margin in (1.0, 3.0))
    assert judged(strict, [2.5] * 5) is not None
    assert judged(mild, [2.5] * 5) is None


def test_nothing_is_judged_within_the_grace() -> None:
    rule = rule_of(FIVE, replace(ON, grace=0.4))
    assert judged(rule, []) is None
    assert judged(rule, [99.0] * 3) is None
    assert judged(rule, [99.0] * 4) is not None


def test_a_metric_that_rises_is_judged_the_other_way_round() -> None:
    elites = [artifacts([0.1, 0.4, 0.6, 0.7, end], "acc") for end in (0.7, 0.72, 0.75, 0.8, 0.9)]
    rule = early_stop_for(elites, "acc", Direction.MAXIMIZE, ON)
    assert rule is not None
    assert judged(rule, [0.1, 0.1, 0.12]) is not None
    assert judged(rule, [0.1, 0.3, 0.55]) is None


def test_what_the_elites_cannot_compare_is_left_alone() -> None:
    late = [Artifacts(((50.0, 2.0), (100.0, 1.0)), curve_name="val_loss") for _ in range(5)]
    rule = early_stop_for(late, "val_loss", Direction.MINIMIZE, ON)
    assert rule is not None
    assert rule.verdict([30.0], [99.0]) is None
    assert rule.verdict([50.0], [99.0]) is not None


@pytest.mark.parametrize(
    ("settings", "count", "name"),
    [
        (EarlyStopSettings(), 9, "val_loss"),
        (ON, 4, "val_loss"),
        (replace(ON, min_curves=10), 9, "val_loss"),
        (ON, 9, "train_loss"),
        (ON, 9, ""),
    ],
)
def test_there_is_no_rule_when_off_or_without_comparable_curves(
    settings: EarlyStopSettings, count: int, name: str
) -> None:
    elites = [artifacts(falling(1.0), name) for _ in range(count)]
    assert early_stop_for(elites, "score", Direction.MAXIMIZE, settings) is None


def test_curves_of_the_metric_go_before_those_of_a_validation_loss() -> None:
    mixed = [artifacts(falling(1.0), "val_loss") for _ in range(5)]
    mixed += [artifacts(falling(0.1, 0.0), "score") for _ in range(5)]
    rule = early_stop_for(mixed, "score", Direction.MAXIMIZE, ON)
    assert rule is not None
    assert (rule.name, rule.direction) == ("score", Direction.MAXIMIZE)


def course(rng: random.Random, kind: str, end: float, noise: float) -> Values:
    """Return a training curve: exponential, power law, late drop of the rate, or divergence."""
    height, pace = rng.uniform(0.8, 1.6), rng.choice([3, 8, 15, 25])
    values = []
    for step in range(1, LENGTH + 1):
        value = end + height * math.exp(-step / pace)
        if kind == "power":
            value = end + height * (step / pace + 1) ** -0.7
        elif kind == "late":
            value += 0.125 * height * (1 + math.cos(math.pi * step / LENGTH))
        elif kind == "diverges":
            value = end + height * (1 + step / 50)
        values.append(value + rng.gauss(0, noise))
    return values


def population(seed: int, elites: int) -> tuple[list[Values], list[Values]]:
    """Return the elites of many earlier children, and the children to come."""
    rng = random.Random(seed)
    noise = rng.choice([0.0, 0.01, 0.03])

    def born(mean: float, spread: float) -> Values:
        kind = rng.choices(["exp", "power", "late", "diverges"], [9, 5, 5, 1])[0]
        return course(rng, kind, rng.gauss(mean, spread), noise)

    earlier = sorted((born(1.0, 0.08) for _ in range(3 * elites)), key=min)
    later = [born(1.0, 0.08) if rng.random() < 0.3 else born(1.15, 0.15) for _ in range(60)]
    return earlier[:elites], later


@pytest.mark.parametrize("elites", [8, 30])
def test_it_saves_much_and_loses_no_winner(elites: int) -> None:
    saved, good, good_lost, winners = 0, 0, 0, 0
    for seed in range(10):
        held, later = population(seed, elites)
        rule = rule_of(held)
        bar = sorted(map(min, held))[elites // 2]
        for child in later:
            cut = next((n for n in range(5, LENGTH, 5) if judged(rule, child[:n])), None)
            saved += LENGTH - cut if cut else 0
            good += min(child) < bar
            good_lost += min(child) < bar and cut is not None
            if min(child) < min(map(min, held)):
                winners += 1
                assert cut is None
    assert saved / (10 * 60 * LENGTH) > 0.2
    assert winners >= 8
    assert good_lost <= 0.06 * good

from __future__ import annotations

from dataclasses import replace

import pytest
from evidences import DAMAGES, copies, evidence, hurt, trial

from lae_controller.probing.damage import Damage, Kind
from lae_controller.probing.order import COPY, next_copy, next_damage
from lae_controller.probing.trials import Trial
from lae_controller.program import Reason

QUIET = (1.0, 1.0, 1.0)
NOISY = (1.0, 1.1, 0.9)  # standard deviation 0.1: single runs differ by 0.28


def wanted(metrics: tuple[float, ...], *runs: Trial, smoke: float | None = 2.0) -> str | None:
    order = next_damage(evidence(metrics, [*copies(smoke, 1.0), *runs], smoke=smoke), DAMAGES)
    return None if order is None else f"{order.damage.what} {order.stage}"


def test_the_copy_goes_the_way_of_a_child() -> None:
    copy = Damage(Kind.COPY, COPY, {})
    first, both = copies(2.0, 1.0)
    stages = []
    for runs in ([], [first]):
        order = next_copy(evidence(QUIET, runs), copy)
        assert order is not None
        stages.append(order.stage)
    assert stages == ["smoke", "full"]
    assert next_copy(evidence(QUIET, [first, both]), copy) is None
    failed = trial(Kind.COPY, "smoke", None, reason=Reason.EXIT)
    assert next_copy(evidence(QUIET, [failed]), copy) is None


def test_without_noise_the_first_that_is_worse_settles_it() -> None:
    assert wanted(QUIET) == "d0 smoke"
    assert wanted(QUIET, hurt(0, "smoke", 2.0), hurt(1, "smoke", None)) == "d2 smoke"
    assert wanted(QUIET, hurt(0, "smoke", 2.0), hurt(1, "smoke", 2.0001)) is None


def test_where_smoke_says_nothing_two_are_run_in_full() -> None:
    smoke = [hurt(n, "smoke", None if n < 4 else 2.0 - n / 10) for n in range(8)]
    assert wanted(QUIET, *smoke) == "d4 full"
    assert wanted(QUIET, *smoke, hurt(4, "full", 1.0)) == "d5 full"
    assert wanted(QUIET, *smoke, hurt(4, "full", 1.0), hurt(5, "full", 1.0)) is None
    assert wanted(QUIET, *smoke, hurt(4, "full", 1.5)) is None


def test_with_noise_one_run_is_not_believed() -> None:
    worse = hurt(0, "smoke", 2.5)
    assert wanted(NOISY, worse) == "d0 full"
    assert wanted(NOISY, worse, hurt(0, "full", 1.5)) is None
    assert wanted(NOISY, worse, hurt(0, "full", 1.1)) is None  # it was chance, and nothing else ran


def test_with_noise_the_one_that_lost_most_is_run_on_two_seeds() -> None:
    smoke = [hurt(0, "smoke", 2.0), hurt(1, "smoke", 2.2), hurt(2, "smoke", 2.1)]
    assert wanted(NOISY, *smoke) == "d3 smoke"
    smoke += [hurt(n, "smoke", 2.0) for n in range(3, 8)]
    assert wanted(NOISY, *smoke) == "d1 full"
    assert wanted(NOISY, *smoke, hurt(1, "full", 1.5)) == "d1 full-2"
    assert wanted(NOISY, *smoke, hurt(1, "full", 1.5), hurt(1, "full-2", 1.6)) is None
    assert wanted(NOISY, *smoke, hurt(1, "full", 1.0)) == "d2 full"


@pytest.mark.parametrize("metrics", [QUIET, NOISY])
def test_without_a_smoke_stage_three_are_tried(metrics: tuple[float, ...]) -> None:
    runs = [hurt(0, "full", None), hurt(1, "full", 1.0)]
    assert wanted(metrics, *runs, smoke=None) == "d2 full"
    assert wanted(metrics, *runs, hurt(2, "full", 1.0), smoke=None) is None


def test_without_a_smoke_stage_noise_asks_for_the_second_seed() -> None:
    assert wanted(NOISY, hurt(0, "full", 1.5), smoke=None) == "d0 full-2"


def test_a_copy_stands_in_for_noise_that_was_not_measured() -> None:
    once = evidence((1.0,), copies(2.0, 1.2), smoke=2.0)
    assert once.noise.sigma == pytest.approx(0.2 / 2**0.5)
    assert evidence((1.0,), copies(2.0, 1.0)).noise.is_real is False
    assert evidence((1.0,)).noise.sigma is None


def test_with_noise_no_more_than_a_full_run_goes_into_smoke_runs() -> None:
    smoke = [hurt(n, "smoke", 2.0) for n in range(3)]
    given = evidence(NOISY, [*copies(2.0, 1.0), *smoke])
    dear = replace(given, plan=replace(given.plan, smoke_charge=0.25))
    orders = [next_damage(dear, DAMAGES)]
    orders.append(next_damage(replace(dear, trials=(*dear.trials, hurt(3, "smoke", 2.0))), DAMAGES))
    assert [(it.damage.what, it.stage) for it in orders if it] == [("d3", "smoke"), ("d0", "full")]

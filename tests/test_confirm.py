"""What chance does to a run: repeats on paired seeds, and the claim at the end."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from synthetic import World, reasons, synthetic_run

from lae_controller import confirm as confirming
from lae_controller import results
from lae_controller.confirm import Confirm
from lae_controller.inflight import Pending, Repeat
from lae_controller.noise import Noise, Verdict, claim, mean_of, pooled, t_quantile
from lae_controller.program import Evaluation, Intervention, Reason, Status
from lae_controller.results import Result
from lae_controller.state import Asked
from lae_controller.steps import PROPOSED_NOTHING


class TestNoise:
    def test_spread_is_pooled_over_programs(self) -> None:
        noise = pooled([(1.0, 3.0), (10.0, 10.0, 13.0), (5.0,)])
        assert noise.freedom == 3
        assert noise.sigma == pytest.approx(math.sqrt((2.0 + 6.0) / 3))

    def test_nothing_run_twice_is_not_measured(self) -> None:
        assert pooled([(1.0,), ()]) == Noise(None, 0)

    def test_equal_runs_have_no_spread_whatever_their_rounding(self) -> None:
        assert pooled([(0.1, 0.1, 0.1)]) == Noise(0.0, 2)
        assert mean_of((0.1, 0.1, 0.1)) == 0.1

    @pytest.mark.parametrize(
        ("mine", "theirs", "expected"),
        [
            ((1.0,), (1.0,), Verdict.LOSES),
            ((0.9,), (1.0,), Verdict.LOSES),
            ((1.1,), (1.0,), Verdict.OPEN),
            ((1.3,), (1.0,), Verdict.WINS),
            ((1.15, 1.17), (1.0, 1.0), Verdict.OPEN),
            ((1.25, 1.17), (1.0, 1.0), Verdict.WINS),
            ((1.2, 9.0), (1.0,), Verdict.OPEN),  # the second seed has no partner
        ],
    )
    def test_a_gain_decides_when_it_is_two_standard_errors(
        self, mine: tuple[float, ...], theirs: tuple[float, ...], expected: Verdict
    ) -> None:
        assert Noise(0.1, 4).judge(mine, theirs) is expected

    def test_without_noise_the_sign_decides(self) -> None:
        assert Noise(0.0, 2).judge((1.0 + 1e-12,), (1.0,)) is Verdict.WINS

    @pytest.mark.parametrize(
        ("freedom", "expected"), [(1, 6.3138), (2, 2.9200), (3, 2.3534), (8, 1.8595), (60, 1.6706)]
    )
    def test_quantiles_of_students_t(self, freedom: int, expected: float) -> None:
        assert t_quantile(0.95, freedom) == pytest.approx(expected, rel=5e-3)

    def test_a_coarse_metric_that_ties_has_to_tie_again(self) -> None:
        noise = Noise(0.0, 2, varies=True)
        assert noise.is_real
        assert noise.judge((2.0,), (1.0,)) is Verdict.OPEN
        assert noise.judge((2.0, 2.0), (1.0, 1.0)) is Verdict.WINS
        assert noise.judge((1.0,), (1.0,)) is Verdict.LOSES

    def test_a_claim_has_to_be_more_than_the_programs_own_noise(self) -> None:
        calm = Noise(0.1, 60)
        pairs = [(1.6, 1.0), (0.4, 1.0), (2.6, 1.0), (2.2, 1.0)]
        wild = claim("g1-i0-a0", pairs, calm, 1.0, ((1.0, 3.0, 2.0), (1.0, 1.0)))
        assert wild is not None
        assert wild.gain > 5 * calm.error_of_difference(4)
        assert wild.error > 0.4
        assert not wild.holds

    def test_no_single_run_makes_a_claim(self) -> None:
        quiet = Noise(0.1, 60)
        one = claim("g1-i0-a0", [(1.0, 1.0), (1.0, 1.0), (1.0, 0.2), (1.1, 1.0)], quiet, 1.0)
        assert one is not None
        assert not one.holds

    @pytest.mark.parametrize(("shift", "holds"), [(0.0, False), (1.0, True)])
    def test_without_any_spread_a_claim_is_a_matter_of_sign(
        self, shift: float, holds: bool
    ) -> None:
        pairs = [(1.0 + shift, 1.0)] * 3
        found = claim("g1-i0-a0", pairs, Noise(0.0, 4, varies=True), 1.0, ((2.0,), (1.0, 1.0)))
        assert found is not None
        assert (found.gain, found.error, found.holds) == (shift, 0.0, holds)

    def test_a_claim_needs_its_threshold(self) -> None:
        noise = Noise(0.1, 60)
        small = claim("g1-i0-a0", [(1.2, 1.1), (1.2, 1.1)], noise, 1.0)
        large = claim("g1-i0-a0", [(1.25, 1.0), (1.25, 1.0)], noise, 1.0)
        lower = claim("g1-i0-a0", [(1.0, 1.25), (1.0, 1.25)], noise, -1.0)
        assert small is not None
        assert large is not None
        assert lower is not None
        assert (small.holds, large.holds, lower.holds) == (False, True, True)
        assert large.error == pytest.approx(0.1)
        assert claim("g1-i0-a0", [], noise, 1.0) is None


@pytest.mark.parametrize("schedule", ["generational", "async"])
def test_no_noise_costs_nothing(tmp_path: Path, schedule: str) -> None:
    world = World(lambda value: value % 7, 0.0)
    state, executor = synthetic_run(tmp_path, world, total=20, schedule=schedule)
    assert {name for _, name, _ in executor.runs} == {"full"}
    assert state.claims == {}
    assert state.spent == 20
    best = state.search.global_best()
    assert best is not None
    assert best.metric == 6.0


@pytest.mark.parametrize("schedule", ["generational", "async"])
def test_a_coarse_metric_claims_nothing_by_luck(tmp_path: Path, schedule: str) -> None:
    """The baseline's runs tie, as most runs do; one run in six is a step up."""
    world = _Coarse(lambda _: 0.0, 1.0)
    state, executor = synthetic_run(tmp_path, world, seed=7, schedule=schedule, varies=True)
    assert {round(run, 9) for run in state.repeats["g0-i0-a0"][:3]} == {0.0}
    assert any(name.startswith("full-") for _, name, _ in executor.runs)
    best = state.search.global_best()
    assert best is not None
    found = state.claimed(best.child_id, 1.0)
    assert found is None or not found.holds
    exact, runs = synthetic_run(tmp_path / "exact", world, seed=7, schedule=schedule)
    assert {name for _, name, _ in runs.runs} == {"full"}
    luckiest = exact.search.global_best()
    assert luckiest is not None
    assert luckiest.metric == 2.0  # what would be reported of an exact metric


class _Coarse(World):
    """A metric in steps of two standard deviations."""

    def measure(self, value: int, seed: int, attempt: int) -> float:
        return 2.0 * round(super().measure(value, seed, attempt) / 2.0)


@pytest.mark.parametrize("schedule", ["generational", "async"])
def test_a_gain_within_the_noise_is_run_on_paired_seeds(tmp_path: Path, schedule: str) -> None:
    state, executor = synthetic_run(tmp_path, World(lambda _: 0.0, 1.0), schedule=schedule)
    further = [(child, seed) for child, name, seed in executor.runs if name.startswith("full-")]
    assert further
    assert {seed for _, seed in further} <= {2, 3}
    assert len(further) == len(set(further))
    assert all(len(state.repeats[child]) > 1 for child, _ in further)
    elites = [elite for island in range(2) for _, elite in state.search.elites(island)]
    assert any(len(elite.runs) > 1 for elite in elites)
    for elite in elites:
        assert elite.metric == pytest.approx(sum(elite.runs) / len(elite.runs))
    assert state.spent <= 40


def test_the_claim_is_made_on_fresh_seeds_from_the_reserve(tmp_path: Path) -> None:
    state, executor = synthetic_run(tmp_path, World(lambda v: 9.0 if v == 4 else 0.0, 1.0))
    best = state.search.global_best()
    assert best is not None
    assert state.told[best.child_id].summary == "value 4"
    fresh = {seed for _, name, seed in executor.runs if name.startswith("claim-")}
    assert len(fresh) == len(state.claims[best.child_id]) >= 2
    assert all(seed >= 1000 for seed in fresh)
    found = state.claimed(best.child_id, 1.0)
    assert found is not None
    assert found.holds
    assert 6.0 < found.gain < 12.0
    assert 38 < state.spent <= 40


def test_on_noise_alone_no_gain_is_claimed(tmp_path: Path) -> None:
    claims = []
    for seed in range(6):
        state, _ = synthetic_run(tmp_path / str(seed), World(lambda _: 0.0, 1.0), seed=seed)
        claims += [state.claimed(child, 1.0) for child in state.claims]
    assert len(claims) >= 4
    assert sum(found is not None and found.holds for found in claims) <= 1


CHANCE = "import os\nos.urandom(4)\n"


def test_what_draws_its_own_chance_has_to_reproduce(tmp_path: Path) -> None:
    world = World(lambda _: 0.0, 0.0)
    lucky = World(world.truth, 0.0, entropy=True)
    state, executor = synthetic_run(tmp_path / "honest", lucky, total=12, extra=CHANCE)
    assert not state.suspects  # it draws, but its metric does not depend on it
    noisy = _Lucky(lambda value: 0.5 if value else 0.0, 0.0, entropy=True)
    state, executor = synthetic_run(tmp_path / "lucky", noisy, total=12, extra=CHANCE)
    assert set(reasons(state)) == {Reason.SUSPECT}
    assert "a second run on the same seed gave" in next(iter(state.suspects.values())).detail
    assert "os.urandom draws on chance" in next(iter(state.suspects.values())).detail
    best = state.search.global_best()
    assert best is not None
    assert best.child_id == "g0-i0-a0"
    assert {name for _, name, _ in executor.runs} == {"full", "again"}


class _Lucky(World):
    """The baseline reproduces; its children have a new value in every run."""

    def measure(self, value: int, seed: int, attempt: int) -> float:
        return self.truth(value) + (attempt * 1e-3 if value else 0.0)


def test_a_program_that_fails_on_another_seed_is_not_placed(tmp_path: Path) -> None:
    state, _ = synthetic_run(tmp_path, _Fragile(lambda v: 0.1 * v, 1.0))
    failed = [row for row in state.rows if row.status == "crash"]
    assert failed
    assert all(not row.kept for row in failed)


class _Fragile(World):
    """Every third program gives no number on any seed but the first."""

    def measure(self, value: int, seed: int, attempt: int) -> float:
        if value and value % 3 == 0 and seed != 1:
            return math.nan
        return super().measure(value, seed, attempt)


def test_the_held_out_test_is_read_once_for_the_best_and_the_baseline(tmp_path: Path) -> None:
    more = 'scoring: {test_cmd: "{python} test.py"}\n'
    world = World(lambda value: 1.0 * value, 0.0)
    state, executor = synthetic_run(tmp_path, world, total=12, more=more)
    best = state.search.global_best()
    assert best is not None
    tested = [child for child, name, _ in executor.runs if name == "test"]
    assert sorted(tested) == sorted(["g0-i0-a0", best.child_id])
    assert state.tests == {"g0-i0-a0": (0.0, ""), best.child_id: (best.metric, "")}
    assert state.spent == 12


class Planned(Confirm):
    """Needs what is planned, whatever the noise says."""

    plan: list[list[tuple[str, Repeat]]]

    def _needs(self, asked: Asked, result: Result) -> list[tuple[str, Repeat]]:
        return self.plan.pop(0)


def test_a_child_is_not_told_while_a_run_of_it_is_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child, rival, twice = "g1-i0-a0", "g1-i1-a1", Repeat.further(1)
    made = [Asked(name, 1, 2, "g0-i0-a0", "rule") for name in (child, rival)]
    evaluation = Evaluation(Status.EVALUATED, metric=1.0, repeats=(1.0,))
    kind = Intervention.OTHER
    one, other = (
        Result(asked.child_id, "g0-i0-a0", 0, "", kind, "-", "d", evaluation) for asked in made
    )
    steps: Any = SimpleNamespace(settings=SimpleNamespace(lae_dir=tmp_path))
    monkeypatch.setattr(results, "write", lambda _, result: result)

    def again(_: object, name: str, repeat: Repeat) -> Pending:
        return Pending(Asked(name, 0, 0, None, "rerun"), PROPOSED_NOTHING, "d", repeat=repeat)

    monkeypatch.setattr(confirming, "repeat_of", again)
    confirm = Planned(steps, steps)
    confirm.plan = [[(child, twice)], [], [], []]
    confirm.add(made[0], one)
    assert confirm.due() is None
    (order,) = confirm.orders()
    confirm.add(made[1], other)
    assert confirm.due() == (made[1], other)  # and the first needs nothing any more ...
    assert confirm.due() is None  # ... but its run goes on
    confirm.take(order, replace(evaluation, metric=3.0, repeats=(3.0,)))
    due = confirm.due()
    assert due is not None
    assert due[1].evaluation.repeats == (1.0, 3.0)

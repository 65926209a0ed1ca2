from __future__ import annotations

from dataclasses import replace

import pytest
from evidences import copies, evidence, hurt, trial

from lae_controller.evaluators.script import UNIMPORTABLE
from lae_controller.probing.damage import Kind
from lae_controller.probing.findings import (
    copy_check,
    damage_checks,
    errors_check,
    gate_check,
    headroom_check,
)
from lae_controller.probing.trials import Trial
from lae_controller.program import Direction, Reason
from lae_controller.scoring import ScoringSettings

QUIET = (1.0, 1.0, 1.0)
NOISY = (1.0, 1.1, 0.9)  # standard deviation 0.1
COMMAND = ScoringSettings()
SCRIPT = ScoringSettings(mode="custom_script", script="score.py")


def raised(metric: float | None, detail: str, *, located: bool = True) -> Trial:
    reason = Reason.EXIT if metric is None else None
    run = trial(Kind.RAISING, "smoke", metric, "f raises", reason=reason, located=located)
    return replace(run, detail=detail)


@pytest.mark.parametrize(
    ("metrics", "smoke", "full", "verdict", "words"),
    [
        (QUIET, 2.0, 1.0, "ok", "to the last digit"),
        (QUIET, 2.0, 1.0000001, "refused", "own runs do not differ"),
        (QUIET, 2.1, 1.0, "refused", "(smoke)"),
        (NOISY, 2.0, 1.0, "ok", "to the last digit"),
        (NOISY, 2.1, 1.2, "ok", "within the noise (standard deviation 0.1)"),
        (NOISY, 2.0, 1.4, "note", "more of them (confirm.baseline_runs)"),
        (NOISY, 2.0, 3.0, "refused", "dropped as a loss"),
        (NOISY, 2.0, -1.0, "refused", "kept as a gain"),
        ((1.0,), 2.0, 1.0, "ok", "to the last digit"),
        ((1.0,), 2.0, 1.1, "refused", "noise was not measured"),
    ],
)
def test_a_byte_identical_copy_must_tie(
    metrics: tuple[float, ...], smoke: float, full: float, verdict: str, words: str
) -> None:
    found = copy_check(evidence(metrics, copies(smoke, full)), "val_loss")
    assert found is not None
    assert (found.name, found.verdict) == ("a/a", verdict)
    assert words in found.text


def test_a_copy_that_fails_is_refused_and_one_that_was_not_run_is_not_judged() -> None:
    failed = trial(Kind.COPY, "smoke", None, reason=Reason.SHADOWED)
    found = copy_check(evidence(QUIET, [failed]), "val_loss")
    assert found is not None
    assert found.verdict == "refused"
    assert "shadowed: it broke" in found.text
    assert copy_check(evidence(QUIET), "val_loss") is None
    assert copy_check(evidence(QUIET, copies(2.0, 1.0)[:1]), "val_loss") is None


def test_a_smoke_gate_that_drops_equals_is_reported() -> None:
    assert gate_check(evidence(NOISY, copies(1.9, 1.0))) is None
    found = gate_check(evidence(NOISY, copies(2.1, 1.0)))
    assert found is not None
    assert (found.verdict, "2.1 against 2 (smoke)" in found.text) == ("note", True)


@pytest.mark.parametrize(
    ("run", "verdict", "words"),
    [
        (trial(Kind.RAISING, "smoke", None, reason=Reason.EXIT), "ok", "with file and line"),
        (
            trial(Kind.RAISING, "smoke", None, reason=Reason.EXIT, located=False),
            *("refused", "without file and line (exit: it broke)"),
        ),
        (
            trial(Kind.RAISING, "smoke", None, reason=Reason.TIMEOUT, located=False),
            *("ok", "timeout"),
        ),
        (trial(Kind.RAISING, "smoke", 9.0), "ok", "9 against 2 (smoke)"),
        (raised(9.0, "", located=False), "note", "its traceback is not printed"),
        (trial(Kind.RAISING, "smoke", 2.0), "note", "nothing comes of it"),
        (trial(Kind.RAISING, "smoke", 0.0), "refused", "give what fails the worst score"),
    ],
)
def test_what_raises_must_be_reported_with_its_place_and_score_no_better(
    run: Trial, verdict: str, words: str
) -> None:
    found = errors_check(evidence(QUIET, [*copies(2.0, 1.0), run]), COMMAND)
    assert found is not None
    assert found.verdict == verdict
    assert words in found.text


def test_nothing_is_said_of_a_copy_that_was_not_run() -> None:
    assert errors_check(evidence(QUIET), COMMAND) is None


@pytest.mark.parametrize(
    ("run", "verdict", "words"),
    [
        (raised(None, "exit status 1: ..."), "refused", "score.py dies on a candidate that raises"),
        (raised(None, f"{UNIMPORTABLE}: ..."), "ok", "with file and line"),
        (raised(9.0, ""), "ok", "9 against 2"),
        (raised(9.0, "", located=False), "refused", "score.py reports an exception without file"),
        (raised(0.0, "", located=False), "refused", "give what fails the worst score"),
    ],
)
def test_a_script_must_survive_what_raises_and_say_where(
    run: Trial, verdict: str, words: str
) -> None:
    found = errors_check(evidence(QUIET, [*copies(2.0, 1.0), run]), SCRIPT)
    assert found is not None
    assert found.verdict == verdict
    assert words in found.text


def hollow(metric: float) -> Trial:
    return trial(Kind.HOLLOW, "smoke", metric, "m.py:3 f emptied")


@pytest.mark.parametrize(
    ("metrics", "runs", "verdict", "words"),
    [
        (QUIET, [hurt(0, "smoke", 2.0), hurt(1, "smoke", 2.5)], "ok", "d1: val_loss 2.5 against 2"),
        (QUIET, [hurt(0, "smoke", 2.0), hurt(1, "full", 1.0)], "refused", "cannot tell good from"),
        (QUIET, [hurt(0, "smoke", None), hurt(1, "smoke", None)], "refused", "died on 2 damaged"),
        (QUIET, [hollow(1.0), hurt(1, "smoke", 2.0)], "refused", "turn metric_direction round"),
        (QUIET, [hurt(0, "smoke", 1.0)], "refused", "1 damaged copy (d0)"),
        (QUIET, [], "note", "no function or constant"),
        (NOISY, [hurt(0, "smoke", 2.5)], "refused", "cannot tell good from bad"),
        (NOISY, [hurt(0, "smoke", 2.5), hurt(0, "full", 1.5)], "ok", "1.5 against 1,"),
        (NOISY, [hurt(0, "smoke", 2.5), hurt(0, "full", 1.2)], "refused", "cannot tell"),
        (NOISY, [hurt(0, "full", 1.5), hurt(0, "full-2", 1.2)], "refused", "cannot tell"),
        (NOISY, [hurt(0, "full", 1.5), hurt(0, "full-2", 1.5)], "ok", "against 1.1 (full-2)"),
    ],
)
def test_damage_must_show(
    metrics: tuple[float, ...], runs: list[Trial], verdict: str, words: str
) -> None:
    (found,) = damage_checks(evidence(metrics, [*copies(2.0, 1.0), *runs]), "val_loss", "")
    assert (found.name, found.verdict) == ("damage", verdict)
    assert words in found.text


def test_damage_that_makes_it_look_better_is_remarked_on_beside_the_proof() -> None:
    runs = [hollow(0.5), hurt(1, "smoke", 2.5)]
    first, second = damage_checks(evidence(QUIET, runs), "val_loss", "")
    assert (first.verdict, second.verdict) == ("ok", "note")
    assert "0.5 against 2 (smoke), which is better" in second.text


def test_what_could_not_be_run_leaves_the_question_open() -> None:
    runs = [hurt(0, "smoke", 2.0)]
    (found,) = damage_checks(evidence(QUIET, runs), "val_loss", "no room")
    assert (found.verdict, "no room" in found.text) == ("note", True)
    (found,) = damage_checks(evidence(QUIET, [hurt(0, "smoke", 2.5)]), "val_loss", "no room")
    assert found.verdict == "ok"


@pytest.mark.parametrize(
    ("metrics", "verdict", "words"),
    [
        ((0.5, 0.5), "ok", "0.5 is 0.5 from 1"),
        ((0.95, 0.95), "note", "little beside the 0.7 that the damage took"),
        ((1.0, 1.0), "refused", "nothing better can be seen"),
        ((0.99, 0.95), "note", "0.97 is 0.03 from 1, little"),
        ((1.0, 0.96), "refused", "0.98 is 0.02 from 1, so nothing better can be seen"),
    ],
)
def test_an_accuracy_at_its_ceiling_is_refused(
    metrics: tuple[float, ...], verdict: str, words: str
) -> None:
    runs = [hurt(0, "smoke", 0.1), hurt(0, "full", max(0.1, metrics[0] - 0.7))]
    given = evidence(metrics, runs, smoke=0.8, direction=Direction.MAXIMIZE)
    found = headroom_check(given, "val_acc", COMMAND)
    assert found is not None
    assert (found.name, found.verdict) == ("headroom", verdict)
    assert words in found.text


def test_a_loss_is_refused_only_at_nought_and_a_reward_never() -> None:
    verdicts = []
    for metric in (1e-6, 0.0):
        given = evidence((metric, metric), [hurt(0, "smoke", 9.0)])
        found = headroom_check(given, "val_loss", COMMAND)
        verdicts.append(found and found.verdict)
    assert verdicts == ["ok", "refused"]
    given = evidence((1.0, 1.0), direction=Direction.MAXIMIZE)
    assert headroom_check(given, "reward", COMMAND) is None


@pytest.mark.parametrize(("metric", "verdict"), [(0.8, "ok"), (0.84, "refused"), (1.0, "refused")])
def test_below_a_stated_ceiling_a_quarter_of_the_damage_must_be_left(
    metric: float, verdict: str
) -> None:
    runs = [hurt(0, "full", metric - 0.7)]
    given = evidence((metric, metric), runs, direction=Direction.MAXIMIZE)
    found = headroom_check(given, "score", SCRIPT)
    assert found is not None
    assert found.verdict == verdict

"""What the probes mean for a run: one line each, with what to do where it is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lae_controller.evaluators.cascade import passes_gate
from lae_controller.evaluators.script import UNIMPORTABLE
from lae_controller.noise import Noise
from lae_controller.probing.ceilings import Ground, ceiling
from lae_controller.probing.damage import Kind
from lae_controller.probing.evidence import Evidence
from lae_controller.probing.trials import Trial
from lae_controller.program import Reason
from lae_controller.scoring import SCRIPT, ScoringSettings

_SHOWN = 160
_ROOM = 0.25
"""A smaller share of what the damage took away is little to be gained."""

_RAISED = (Reason.EXIT, Reason.NO_METRIC, Reason.NON_FINITE)


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report of ``lae check``.

    Attributes:
        verdict: ``ok``, ``note`` or ``refused``.
    """

    name: str
    verdict: str
    text: str


def gate_check(evidence: Evidence) -> Check | None:
    """Say that the smoke gate drops programs as good as their parent; None if it was not seen."""
    trial = evidence.of(Kind.COPY, "smoke")
    if trial is None or trial.metric is None:
        return None
    if passes_gate(trial.metric, evidence.reference("smoke"), evidence.plan):
        return None
    text = (
        f"the smoke gate would drop a byte-identical copy: {_against(evidence, trial)}. Seed the "
        "smoke run, or make it longer (smoke_budget)"
    )
    return Check("a/a", "note", text)


def copy_check(evidence: Evidence, metric: str) -> Check | None:
    """Judge the byte-identical copy, which must tie; None if it was not run in full yet."""
    runs = [it for stage in ("smoke", "full") if (it := evidence.of(Kind.COPY, stage)) is not None]
    failed = next((trial for trial in runs if trial.metric is None), None)
    if failed is not None:
        text = (
            f"a byte-identical copy failed where the baseline did not: {_failure(failed)}. Mend "
            "what depends on the place or on chance"
        )
        return Check("a/a", "refused", text)
    if not runs or runs[-1].stage != "full":
        return None
    apart = next((trial for trial in reversed(runs) if evidence.loss(trial) != 0.0), None)
    if apart is None:
        text = f"a byte-identical copy has the baseline's {metric} to the last digit"
        return Check("a/a", "ok", text)
    return _copy_apart(evidence, runs[-1], apart, metric)


def _copy_apart(evidence: Evidence, full: Trial, apart: Trial, metric: str) -> Check:
    """Judge a copy that differs from the baseline in at least one stage."""
    noise = evidence.noise
    shown = _against(evidence, apart)
    if evidence.baseline.spread is None:
        text = (
            f"a byte-identical copy gives {metric} {shown}, and the noise was not measured: set "
            "confirm.baseline_runs to 3 and check again with another sandbox_root"
        )
        return Check("a/a", "refused", text)
    if not noise.is_real:
        text = (
            f"a byte-identical copy gives {metric} {shown}, though the baseline's own runs do not "
            "differ: seed what is left to chance, or raise confirm.baseline_runs until the noise "
            "shows and check again with another sandbox_root"
        )
        return Check("a/a", "refused", text)
    off = abs(evidence.loss(full))
    if off > evidence.certain_margin:
        taken = "kept as a gain" if evidence.loss(full) < 0 else "dropped as a loss"
        text = (
            f"a byte-identical copy gives {metric} {_against(evidence, full)}, which is more than "
            f"the noise ({_spread(noise)}) and would be {taken}: raise "
            "confirm.baseline_runs and check again with another sandbox_root"
        )
        return Check("a/a", "refused", text)
    text = f"a byte-identical copy gives {metric} {shown}, within the noise ({_spread(noise)})"
    if off <= evidence.margin:
        return Check("a/a", "ok", text)
    text = (
        f"a byte-identical copy gives {metric} {_against(evidence, full)}: more than the "
        f"{len(evidence.baseline.metrics)} baseline runs differ ({_spread(noise)}); more of them "
        "(confirm.baseline_runs) would measure the noise better"
    )
    return Check("a/a", "note", text)


def errors_check(evidence: Evidence, scoring: ScoringSettings) -> Check | None:
    """Judge what is reported of a copy that raises; None if there is none."""
    trial = evidence.of(Kind.RAISING, evidence.stages[0])
    if trial is None:
        return None
    if trial.metric is None:
        return _crashed(trial, scoring)
    return _survived(evidence, trial, scoring)


def _crashed(trial: Trial, scoring: ScoringSettings) -> Check:
    if scoring.mode == SCRIPT and _script_died(trial):
        text = (
            f"{scoring.script} dies on a candidate that raises ({_failure(trial)}): let it guard "
            "the import and each call, and score what fails worst"
        )
        return Check("errors", "refused", text)
    if trial.located:
        return Check("errors", "ok", "a copy that raises is a crash, with file and line")
    if trial.reason not in _RAISED:
        return Check("errors", "ok", f"a copy that raises is a crash ({_failure(trial)})")
    text = (
        f"a copy that raises is reported without file and line ({_failure(trial)}): let the "
        "traceback be printed, or the next proposal cannot mend what went wrong"
    )
    return Check("errors", "refused", text)


def _script_died(trial: Trial) -> bool:
    return trial.reason is Reason.EXIT and not trial.detail.startswith(UNIMPORTABLE)


def _survived(evidence: Evidence, trial: Trial, scoring: ScoringSettings) -> Check:
    """Judge the score of a copy that raises."""
    shown = f"a copy that raises scores {_against(evidence, trial)}"
    if evidence.is_better(trial):
        text = (
            f"{shown}, which is better ({trial.what}): give what fails the worst score, or let "
            "the exception end the run"
        )
        return Check("errors", "refused", text)
    if not evidence.is_worse(trial):
        text = f"{trial.what}, and nothing comes of it: it is caught somewhere"
        return Check("errors", "note", text)
    if trial.located:
        return Check("errors", "ok", shown)
    if scoring.mode == SCRIPT:
        text = (
            f"{scoring.script} reports an exception without file and line: put a trimmed "
            "traceback into `error`, or the next proposal cannot mend what went wrong"
        )
        return Check("errors", "refused", text)
    return Check("errors", "note", f"{shown}; its traceback is not printed")


def damage_checks(evidence: Evidence, metric: str, unsettled: str) -> Iterator[Check]:
    """Judge the damaged copies: at least one that runs must score worse by more than the noise.

    Args:
        unsettled: why no more of them are run although more could tell; empty if all is known.
    """
    proof = evidence.proof
    code = (it for it in evidence.probes if it.kind is not Kind.CONSTANT)
    upside = next(filter(evidence.is_better, code), None)
    if proof is not None:
        text = f"{proof.what}: {metric} {_against(evidence, proof)}, worse as it should be"
        yield Check("damage", "ok", text)
        if upside is not None:
            yield Check("damage", "note", _upside(evidence, upside, metric))
    elif unsettled:
        yield Check("damage", "note", f"not settled whether damage shows: {unsettled}")
    elif not evidence.probes:
        text = "not probed: no function or constant was found in the editable files to damage"
        yield Check("damage", "note", text)
    else:
        yield Check("damage", "refused", _flat(evidence, upside, metric))


def _flat(evidence: Evidence, upside: Trial | None, metric: str) -> str:
    ran = [trial for trial in evidence.probes if trial.metric is not None]
    tried = len({trial.what for trial in evidence.probes})
    copies = f"{tried} damaged cop{'y' if tried == 1 else 'ies'}"
    if not ran:
        return (
            f"the evaluation died on {copies}, as with {evidence.probes[0].what} "
            f"({_failure(evidence.probes[0])}): let it score weak programs too, for it is not "
            "shown that it can tell a good one that runs from a bad one"
        )
    if upside is not None:
        return (
            f"no damaged copy scores worse, and one scores better ({upside.what}: {metric} "
            f"{_against(evidence, upside)}): turn metric_direction round if it is the wrong way, "
            "or let the harness compute the metric"
        )
    return (
        f"the scoring cannot tell good from bad: {copies} ({_some(ran)}) give {metric} like the "
        f"baseline's {_number(evidence.reference(ran[-1].stage))}. Let editable_files hold what "
        "the metric depends on, or measure it on more or harder cases"
    )


def _upside(evidence: Evidence, trial: Trial, metric: str) -> str:
    return (
        f"{trial.what}: {metric} {_against(evidence, trial)}, which is better; is the metric "
        "computed in code that may be changed?"
    )


def headroom_check(evidence: Evidence, metric: str, scoring: ScoringSettings) -> Check | None:
    """Judge how much better than the baseline the metric can get; None if nobody knows.

    Below a ceiling that the scoring states, a quarter of what damage takes away must be left. One
    that only follows from the metric's name refuses a run when less is left than runs differ by
    chance: a good classifier is closer to 1 than that quarter, and there is still much to gain.
    """
    known = (trial.metric for trial in evidence.trials)
    values = [*evidence.baseline.metrics, *(value for value in known if value is not None)]
    top = ceiling(metric, evidence.plan.direction, values, scoring)
    if top is None:
        return None
    mine, fitness = evidence.baseline.metric, evidence.plan.direction.fitness
    room = fitness(top.value) - fitness(mine)
    shown = f"{metric} {_number(mine)} is {_number(room)} from {_number(top.value)}"
    noise = 0.0 if top.ground is Ground.FLOOR else evidence.noise.sigma or 0.0
    if room <= noise:
        text = f"{shown}, so nothing better can be seen: take harder cases, or a weaker start"
        return Check("headroom", "refused", text)
    proof = evidence.proof
    if top.ground is Ground.FLOOR or proof is None or room >= _ROOM * evidence.loss(proof):
        return Check("headroom", "ok", shown)
    took = f"{shown}, little beside the {_number(evidence.loss(proof))} that the damage took"
    if top.ground is Ground.STATED:
        return Check("headroom", "refused", f"{took}: take harder cases, or a weaker start")
    return Check("headroom", "note", f"{took}: gains will be small")


def _against(evidence: Evidence, trial: Trial) -> str:
    stage = "" if trial.stage == "full" else f" ({trial.stage})"
    there = "-" if trial.metric is None else _number(trial.metric)
    return f"{there} against {_number(evidence.reference(trial.stage))}{stage}"


def _some(trials: list[Trial]) -> str:
    names = list(dict.fromkeys(trial.what for trial in trials))
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")


def _failure(trial: Trial) -> str:
    reason = trial.reason.value if trial.reason else "unknown"
    detail = " ".join(trial.detail.split())  # a traceback says what happened at its end
    return f"{reason}: {detail if len(detail) <= _SHOWN else '…' + detail[1 - _SHOWN :]}"


def _spread(noise: Noise) -> str:
    return f"standard deviation {_number(noise.sigma or 0.0)}"


def _number(value: float) -> str:
    return f"{value:.6g}"

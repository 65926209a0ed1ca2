"""``lae check``: everything that can be found out before money is spent on children."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from lae_controller import build
from lae_controller.budget import Budget
from lae_controller.config import Settings
from lae_controller.errors import RefusedError
from lae_controller.evaluators.baseline import Baseline, Prepared, is_forced
from lae_controller.evaluators.briefing import scoring_notes, shape
from lae_controller.files import write_atomic
from lae_controller.lock import ControllerLock
from lae_controller.mutators.sources import PYTHON, YAML
from lae_controller.probing.findings import Check
from lae_controller.probing.probe import Probes, known_probes, run_probes
from lae_controller.quantities import number_text
from lae_controller.remarks import Say
from lae_controller.sandbox.command import entrypoint
from lae_controller.sandbox.launch import Lifelines
from lae_controller.sandbox.tiers import probe_tiers
from lae_controller.sandbox.view import Tier
from lae_controller.session import NO_EFFECT, begin_session
from lae_controller.stop_signals import stop_signals
from lae_controller.views.text import seconds_text, short


def run_checks(settings: Settings, *, force: bool, say: Say) -> list[Check]:
    """Run the baseline and the probes and report; the runs are charged and reused by ``run``.

    Args:
        force: go on in spite of what is refused, in this and every later session.

    Raises:
        RefusedError: if the baseline gives no metric at all (then there is nothing to force).
        ConfigError: if the settings do not fit the project.
    """
    forced = force or is_forced(settings)
    with ControllerLock(settings.lae_dir), stop_signals():
        lifelines = Lifelines()
        begin_session(settings)
        try:
            prepared = build.prepared_run(settings, lifelines, say)
            probes = known_probes(settings, prepared, goes_on=forced)
            refused = any(map(_is_refused, report(settings, prepared)))
            if forced or not refused:
                probes = _probed(settings, probes, lifelines, say)
            known = probes.findings() if probes.trials or not refused else ()
            found = report(settings, probes.prepared, known)
        finally:
            lifelines.end_all()
        return _overruled(settings, found) if forced else found


def _probed(settings: Settings, probes: Probes, lifelines: Lifelines, say: Say) -> Probes:
    """Make the runs of the probes that are missing."""
    place, prepared = build.machine(settings), probes.prepared
    site = build.site_for(settings)
    evaluator = site.evaluator(lifelines, prepared.snapshot, prepared.baseline.editable)
    return run_probes(probes, evaluator, place.slots[0], say)


def _overruled(settings: Settings, found: list[Check]) -> list[Check]:
    """Write down what is refused, for every view of the run, and let it be a remark."""
    names = "".join(f"{check.name}\n" for check in found if _is_refused(check))
    if names:
        write_atomic(settings.lae_dir / "forced", names)
    return [replace(check, verdict="note") if _is_refused(check) else check for check in found]


def _is_refused(check: Check) -> bool:
    return check.verdict == "refused"


def report(settings: Settings, prepared: Prepared, probed: Iterable[Check] = ()) -> list[Check]:
    """Return what was found, line by line.

    Args:
        probed: the lines of the probes.
    """
    baseline = prepared.baseline
    return [
        _config(settings, baseline),
        _machine(settings),
        _isolation(baseline),
        *_program(settings, prepared),
        *_mutator(settings, baseline),
        _smoke(settings, baseline),
        _full(settings, baseline),
        *_scoring(settings, baseline),
        *_held_out(settings),
        _noise(settings, baseline),
        *probed,
        _estimate(settings, baseline),
    ]


def refuse(checks: list[Check]) -> None:
    """Raise for the first check that refused.

    Raises:
        RefusedError: with its text.
    """
    for check in checks:
        if _is_refused(check):
            raise RefusedError(f"{check.name}: {check.text}")


def _config(settings: Settings, baseline: Baseline) -> Check:
    unit = settings.budget_unit
    text = (
        f"{settings.metric} ({settings.direction.value}), {len(baseline.editable)} editable files, "
        f"{number_text(settings.budget)} {unit} a run, {settings.total_budget} in all"
    )
    return Check("config", "ok", text)


def _machine(settings: Settings) -> Check:
    place = build.machine(settings)
    return Check("machine", "ok", f"concurrency {place.concurrency}: {place.reason}")


def _isolation(baseline: Baseline) -> Check:
    """Say in which tier the baseline ran, and what that leaves open."""
    if baseline.tier == Tier.NONE.value:
        text = "none, as the file says: children can read and write whatever you can"
        return Check("isolation", "note", text)
    found = probe_tiers().found
    tier = next((each.text for each in found if each.tier.value == baseline.tier), "")
    tier = tier or f"{baseline.tier}, which this machine does not have: it ran on another."
    held_out = "training on the validation data cannot be seen: keep a held-out test"
    return Check("isolation", "ok", f"{tier} Proof: {baseline.fingerprint}; {held_out}")


def _program(settings: Settings, prepared: Prepared) -> list[Check]:
    copies = prepared.snapshot.copies().values()
    size = sum(entry.size for entry in copies) / 1e6
    links = len(prepared.snapshot.entries) - len(copies)
    script = f"entry point {entrypoint(settings) or 'not recognised in run_cmd'}"
    if not settings.scoring.trains:
        script = f"scored by {settings.objective}"
    text = f"{len(copies)} files, {size:.1f} MB a copy, {links} linked; {script}"
    notes = [Check("program", "note", note) for note in prepared.snapshot.notes]
    return [Check("program", "ok", text), *notes]


def _mutator(settings: Settings, baseline: Baseline) -> list[Check]:
    """Refuse a program that the offline Mutator cannot edit at all; models edit any text."""
    edits = any(path.endswith((*PYTHON, *YAML)) for path in baseline.editable)
    if edits or settings.mutator.backend != "offline":
        return []
    files = ", ".join(baseline.editable)
    text = (
        f"the offline Mutator edits Python, YAML and JSON; none of {files} is one of these: name "
        "such a file under editable_files, or set mutator.backend to anthropic or agent"
    )
    return [Check("mutator", "refused", text)]


def _smoke(settings: Settings, baseline: Baseline) -> Check:
    budget = number_text(baseline.smoke_budget)
    if baseline.smoke_metric is None:
        text = f"a metric appears only at the full budget ({budget}); there is no smoke run"
        return Check("smoke", "note", text)
    found = f"{settings.metric} {short(baseline.smoke_metric)} at budget {budget}"
    return Check("smoke", "ok", f"{found} in {seconds_text(baseline.smoke_seconds)}")


def _full(settings: Settings, baseline: Baseline) -> Check:
    values = ", ".join(short(metric) for metric in baseline.metrics)
    text = f"{settings.metric} {values} in {seconds_text(baseline.full_seconds)} a run"
    params = f", {baseline.params} parameters" if baseline.params is not None else ""
    return Check("full", "ok", f"{text}{params}; a run is ended after {baseline.limit:.0f} s")


def _budget(baseline: Baseline) -> Check:
    if baseline.budget_effect is None:
        return Check("budget", "note", "smoke and full run are the same; its effect was not seen")
    if not baseline.budget_effect:
        return Check("budget", "refused", NO_EFFECT)
    return Check("budget", "ok", "the injected budget takes effect")


def _scoring(settings: Settings, baseline: Baseline) -> list[Check]:
    """Say whether the budget works; without a training command, what the stages measure."""
    if settings.scoring.trains:
        return [_budget(baseline)]
    lines = [Check("scoring", "ok", shape(settings))]
    return lines + [Check("scoring", "note", text) for text in scoring_notes(settings, baseline)]


def _held_out(settings: Settings) -> list[Check]:
    """Say whether the best program will be measured on what nobody searched on."""
    if not settings.scoring.trains:
        return []  # the test shards are that
    if settings.scoring.test_cmd is None:
        text = "no scoring.test_cmd: whether a gain is one on other data, too, will not be seen"
        return [Check("test", "note", text)]
    return [Check("test", "ok", f"once at the end: {settings.scoring.test_cmd}")]


def _noise(settings: Settings, baseline: Baseline) -> Check:
    if baseline.spread is None:
        return Check("noise", "note", "not measured: one baseline run (confirm.baseline_runs)")
    runs = f"{len(baseline.metrics)} baseline runs"
    if baseline.is_exact:
        text = f"{runs}, no spread: deterministic"
        if settings.takes_seed:
            text += "; other seeds gave the very same, so how much luck counts stays unseen"
        return Check("noise", "ok", text)
    if baseline.spread == 0.0:
        text = (
            f"{runs} tie in the metric and differ otherwise: it is too coarse to show its noise, "
            "so a gain is run again before it counts"
        )
        return Check("noise", "note", text)
    smoke = baseline.smoke_spread
    more = "" if smoke is None else f"; {short(smoke)} in the smoke stage"
    return Check("noise", "ok", f"{runs}, standard deviation {short(baseline.spread)}{more}")


def _estimate(settings: Settings, baseline: Baseline) -> Check:
    plan = baseline.plan(settings)
    budget = Budget(settings, baseline, plan.smoke_charge)
    total = settings.total_budget
    if total.runs is None:
        rest = max(0.0, (total.seconds or 0.0) - budget.reserve - baseline.seconds)
        count = rest / max(budget.child_seconds, 1e-9)
        text = f"about {count:.0f} children a slot in the {seconds_text(rest)} that are left"
        return Check("estimate", "ok", f"{text} of {total}; {_cost(settings)}")
    concurrency = build.machine(settings).concurrency
    left = total.runs - budget.reserve - baseline.charge
    if left < plan.smoke_charge + 1.0:
        text = (
            f"{total.runs} full runs leave no room for a single child: what ran so far cost "
            f"{baseline.charge:.1f} and {budget.reserve:g} are kept in reserve. Raise total_budget"
        )
        return Check("estimate", "refused", text)
    seconds = max(0.0, left) * baseline.full_seconds / concurrency
    text = (
        f"about {seconds_text(seconds)} for {left:.1f} more full runs, {concurrency} at a time, "
        f"after the {baseline.charge:.1f} of this check"
    )
    return Check("estimate", "ok", f"{text}; {_cost(settings)}")


def _cost(settings: Settings) -> str:
    """Say what proposals cost besides; what a model will ask for nobody knows beforehand."""
    mutator = settings.mutator
    if mutator.backend == "offline":
        return "the offline Mutator costs nothing"
    if mutator.max_cost_usd is None:
        return "what model calls cost comes on top, without a limit (mutator.max_cost_usd)"
    return f"model calls come on top, up to ${mutator.max_cost_usd:g} (mutator.max_cost_usd)"

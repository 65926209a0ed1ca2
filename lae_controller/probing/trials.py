"""What the probes gave, run by run, and where that is kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from lae_controller.codec import decode, encode
from lae_controller.config import Settings
from lae_controller.evaluators.baseline import Prepared
from lae_controller.files import read_json, write_json
from lae_controller.probing.damage import Kind
from lae_controller.program import Reason, Usage, added


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of a probe.

    Attributes:
        what: the damage; see ``Damage``.
        stage: ``smoke``, ``full``, or ``full-2`` on the second seed.
        metric: None if the run failed.
        reason, detail: why it failed.
        located: whether the reader of a failure learns a file and a line.
        charge: what it cost, in full runs.
        seconds: wall-clock.
    """

    kind: Kind
    what: str
    stage: str
    metric: float | None
    reason: Reason | None
    detail: str
    located: bool
    charge: float
    seconds: float


def load_trials(settings: Settings) -> tuple[Trial, ...]:
    """Return the runs of probes that were made so far; empty if there are none."""
    value = read_json(settings.lae_dir / "base.json") or {}
    return tuple(decode(Trial, item) for item in value.get("probes", ()))


def add_trial(
    settings: Settings, prepared: Prepared, trials: Iterable[Trial], grading: Usage | None
) -> Prepared:
    """Write down one more run, the last of ``trials``, and let the baseline pay for it.

    One file holds both, so that no interruption can part the run from its price.

    Args:
        grading: what a model took to grade the run.

    Returns:
        What was prepared, with the cost of that run in its baseline.
    """
    known = tuple(trials)
    baseline = replace(
        prepared.baseline,
        charge=prepared.baseline.charge + known[-1].charge,
        seconds=prepared.baseline.seconds + known[-1].seconds,
        grading=added(prepared.baseline.grading, grading),
    )
    path = settings.lae_dir / "base.json"
    value = read_json(path) or {}
    write_json(path, {**value, "baseline": encode(baseline), "probes": encode(known)})
    return replace(prepared, baseline=baseline)

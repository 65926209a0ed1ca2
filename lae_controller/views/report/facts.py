"""What the report says in words: where the run stands, its settings, its machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from lae_controller.config import Gate, Settings
from lae_controller.evaluators.baseline import Baseline
from lae_controller.evaluators.heldout import parted
from lae_controller.files import read_json
from lae_controller.lock import is_held
from lae_controller.program import Direction
from lae_controller.quantities import number_text
from lae_controller.views.leaderboard import verdict
from lae_controller.views.report.history import Cost, History
from lae_controller.views.summary import Summary
from lae_controller.views.text import count_text, plural, seconds_text, short, signed

Pair = tuple[str, str]

_ENDS = {
    "budget": "Finished: its total budget is spent.",
    "children": "Finished: it tried as many children as its budget allows.",
    "never_ran": "Stopped: too many children in a row never ran.",
    "asked": "Stopped because it was asked to. `lae run` goes on from there.",
    "money": "Stopped: the next proposal could have passed max_cost_usd.",
}

_GIB = 2**30


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether a run goes on.

    Attributes:
        word: ``running``, ``finished``, ``stopped`` or ``interrupted``.
    """

    word: str
    sentence: str


@dataclass(frozen=True, slots=True)
class HeldOut:
    """What was searched on beside what was held out, each as (baseline, best).

    Attributes:
        remark: what is wrong; empty if nothing is.
    """

    search: tuple[float, float]
    test: tuple[float | None, float | None]
    remark: str


def standing(settings: Settings, history: History) -> Standing:
    """Return where a run stands now."""
    if is_held(settings.lae_dir):
        return Standing("running", "Still running: this is what is known so far.")
    if history.ended is None:
        sentence = "Interrupted: nothing that was finished is lost; `lae run` goes on from there."
        return Standing("interrupted", sentence)
    sentence = _ENDS.get(history.ended, f"Ended: {history.ended}.")
    return Standing(sentence.split(maxsplit=1)[0].strip(":").lower(), sentence)


def cards(
    summary: Summary, baseline: Baseline, settings: Settings, history: History
) -> list[tuple[str, str, str]]:
    """Return the key figures: (name, value, what belongs to it)."""
    found = [_best_card(summary, baseline)]
    if summary.best is not None and summary.best.elite.parent_id is not None:
        found.append(_gain_card(summary, settings))
    tried, kept = summary.children, summary.kept
    found.append(("children", str(tried), f"{kept} kept, {_cells(summary)}"))
    total = f" of {summary.total}" if summary.total is not None else ""
    spent = f"{seconds_text(history.elapsed)} of active time"
    found.append(("full runs spent", f"{summary.spent:.1f}{total}", spent))
    if history.spent.calls:
        most = settings.mutator.max_cost_usd
        limit = f" of at most {most:g}" if most is not None else ""
        found.append((f"models, USD{limit}", money(history.spent), tokens(history.spent)))
    return found


def _best_card(summary: Summary, baseline: Baseline) -> tuple[str, str, str]:
    best = summary.best
    if best is None:
        return "best", "-", "nothing was placed yet"
    if best.elite.parent_id is None:
        return "best", short(baseline.metric), "the baseline: no child is better so far"
    runs = max(1, len(best.elite.runs))
    over = "one run" if runs == 1 else f"mean of {runs} runs"
    return "best", short(best.elite.metric), f"{best.elite.child_id}, {over}"


def _gain_card(summary: Summary, settings: Settings) -> tuple[str, str, str]:
    if summary.claim is not None:
        found = summary.claim
        seeds = f"± {found.error:.2g} on {plural(found.pairs, 'fresh seed')}"
        word = "confirmed" if found.holds else "not beyond noise"
        return "gain on fresh seeds", signed(found.gain), f"{seeds}: {word}"
    gain = summary.best.gain if summary.best else 0.0
    better = "more is better" if settings.direction is Direction.MAXIMIZE else "less is better"
    seen = "one evaluation each" if settings.scored_by_clients else "on the seeds of the search"
    return "gain over the baseline", signed(gain), f"{seen}; {better}"


def _cells(summary: Summary) -> str:
    held, cells = map(sum, zip(*summary.coverage, strict=True))
    return f"{held} of {cells} places on the maps"


def headline(summary: Summary, baseline: Baseline, settings: Settings) -> list[str]:
    """Return what came out, in sentences."""
    best = summary.best
    if best is None or best.elite.parent_id is None:
        start = [f"No child is better than the baseline, {short(baseline.metric)}, so far."]
        return start + _all_failed(summary)
    place = f"{settings.sandbox_root}/lae/programs/{best.elite.child_id}"
    taken = f"`lae export {best.elite.child_id} -o best.patch` writes it for `git apply`"
    if settings.scored_by_clients:
        taken = f"the server gives it as alphaEvolvePrograms/{best.elite.child_id}"
    said = verdict(summary) if summary.claim is not None or not _exact(summary) else []
    return [
        f"{best.elite.child_id} gives {short(best.elite.metric)}, {signed(best.gain)} against the "
        f"baseline: {best.summary}",
        *said,
        f"Its program lies in {place}; {taken}.",
    ]


def held_out(summary: Summary, baseline: Baseline, settings: Settings) -> HeldOut | None:
    """Return search metric and held-out test side by side; None if there was no test."""
    if summary.tested is None or summary.best is None:
        return None
    (before, after), trouble = summary.tested
    search = (baseline.metric, summary.best.elite.metric)
    if before is None or after is None:
        return HeldOut(search, (before, after), f"The test could not be read: {trouble}.")
    sentence = parted(search, (before, after), settings.direction)
    return HeldOut(search, (before, after), f"Warning: {sentence}." if sentence else "")


def _all_failed(summary: Summary) -> list[str]:
    """Return what to say when not one child gave a metric."""
    if not summary.children or any(word == "evaluated" for word, _ in summary.statuses):
        return []
    reasons = ", ".join(f"{count} {word}" for word, count in summary.reasons or summary.statuses)
    return [
        f"None of the {plural(summary.children, 'child', 'children')} gave a metric: {reasons}."
    ]


def _exact(summary: Summary) -> bool:
    return summary.noise.sigma == 0.0 and summary.seeded and not summary.noise.varies


def noise_sentences(summary: Summary, history: History) -> list[str]:
    """Return what was seen of noise and done against it, in sentences."""
    noise = summary.noise
    if summary.by_clients:
        return verdict(summary)
    if noise.sigma is None:
        found = ["Noise was not measured: nothing was run twice (confirm.baseline_runs is 1)."]
    elif not noise.is_real:
        alike = "Repeated runs gave the same metric to the last digit"
        found = [
            f"{alike}: one run of a program tells its metric."
            if summary.seeded
            else f"{alike}, but the project takes no seed, so its spread over seeds is not known."
        ]
    elif noise.sigma == 0.0:
        found = [
            "Repeated runs gave the same metric and differed otherwise: it is too coarse to show "
            "its noise."
        ]
    else:
        found = [
            f"One run of a program spreads by {noise.sigma:.3g} (standard deviation over seeds, "
            f"pooled with {noise.freedom} degrees of freedom). A smaller difference between two "
            "single runs may be luck."
        ]
    if history.further_runs:
        found.append(
            f"Programs already told were run again: {plural(history.further_runs, 'run')}."
        )
    if history.withdrawn:
        gone = ", ".join(dict.fromkeys(history.withdrawn))
        found.append(f"Failed in a further run and left the archive: {gone}.")
    return [*found, *verdict(summary)] if summary.claim else found


def when(stamp: str) -> str:
    """Write a time of the journal for people; as it stands if it is not one."""
    try:
        return f"{datetime.fromisoformat(stamp).astimezone(timezone.utc):%Y-%m-%d %H:%M} UTC"
    except ValueError:
        return stamp


def money(cost: Cost) -> str:
    """Write what was paid for models, in USD; says where a price is not known."""
    digits = 0 if cost.usd >= 100 else 2 if cost.usd >= 0.1 else 4
    if cost.unpriced and not cost.usd:
        return "not known"
    return f"{cost.usd:.{digits}f}{' and more' if cost.unpriced else ''}"


def tokens(cost: Cost) -> str:
    """Write tokens for people."""
    cached = f" + {count_text(cost.tokens_cached)} cached" if cost.tokens_cached else ""
    return f"{count_text(cost.tokens_in)}{cached} tokens in, {count_text(cost.tokens_out)} out"


# -- settings and machine --------------------------------------------------------------------------


def settings_table(settings: Settings, baseline: Baseline, summary: Summary) -> list[Pair]:
    """Return the settings that say what was compared and how; values of ``env`` are not shown."""
    evolution, mutator = settings.evolution, settings.mutator
    found = [
        ("metric", f"{settings.metric}, {settings.direction.value}"),
        ("scored by", settings.objective),
        ("editable files", ", ".join(baseline.editable)),
        *(() if summary.by_clients else _budgets(settings, baseline, summary)),
        ("search", f"{evolution.algorithm}, {evolution.schedule}, seed {evolution.seed}"),
        ("maps", _maps(settings)),
        ("Mutator", f"{mutator.backend}{f', {mutator.model}' if mutator.model else ''}"),
        ("further metrics", ", ".join(it.name for it in settings.metrics)),
        ("protected", ", ".join(settings.protected)),
        ("environment", f"{', '.join(settings.env)} (values not shown)" if settings.env else ""),
        ("isolation", _isolation(baseline, summary)),
        ("overruled with --force", ", ".join(summary.forced)),
    ]
    return [(name, text) for name, text in found if text]


def _isolation(baseline: Baseline, summary: Summary) -> str:
    counted = (f"{tier} ({plural(n, 'child', 'children')})" for tier, n in summary.tiers)
    return ", ".join(counted) or (f"{baseline.tier} (the baseline)" if baseline.tier else "")


def _budgets(settings: Settings, baseline: Baseline, summary: Summary) -> list[Pair]:
    """Return what a run of ours may take and how often programs are run."""
    smoke = (
        _budget(baseline.smoke_budget, settings) if baseline.smoke_metric is not None else "none"
    )
    return [
        ("budget of a full run", _budget(settings.budget, settings)),
        ("budget of a smoke run", smoke),
        ("total budget", f"{settings.total_budget}; {summary.reserve:g} kept for the claim"),
        (
            "confirmation",
            f"{settings.confirm.baseline_runs} baseline runs, up to "
            f"{settings.confirm.repeats} further runs of a challenger",
        ),
    ]


def _budget(amount: float, settings: Settings) -> str:
    """Write what one run may take, in epochs or seconds."""
    if amount == 1 and settings.gate is Gate.EPOCHS:
        return "1 epoch or step"
    return f"{number_text(amount)} {settings.budget_unit}"


def _maps(settings: Settings) -> str:
    evolution = settings.evolution
    if evolution.algorithm == "puct":
        return f"one tree; an archive of the {evolution.pop_per_island} best"
    return (
        f"{evolution.num_islands} islands of {evolution.num_bins} x {evolution.num_bins} cells, "
        f"at most {evolution.pop_per_island} programs each; migration every "
        f"{evolution.migration_interval} generations"
    )


def machine_table(settings: Settings, history: History, version: str) -> list[Pair]:
    """Return the machine of the latest session, as far as it was written down."""
    note = read_json(settings.lae_dir / "machine.json")
    found = _machine(note) if isinstance(note, dict) else [("machine", "not written down")]
    slots = [f"{to}{f' ({why})' if why else ''}" for to, why in history.concurrency]
    found.append(("children at a time", ", then ".join(slots)))
    found.append(("lae", version))
    return [(name, text) for name, text in found if text]


def _machine(note: Mapping[str, Any]) -> list[Pair]:
    memory = note.get("ram_bytes") or 0
    slots = [_accelerator(slot) for slot in note.get("accelerators", ())]
    return [
        ("system", f"{note.get('system', '')} {note.get('arch', '')}".strip()),
        ("processor cores", f"{note.get('cores', '?')} of {note.get('total_cores', '?')}"),
        ("memory", f"{memory / _GIB:.1f} GiB" if memory else "not known"),
        ("accelerators", ", ".join(slots) or "none"),
    ]


def _accelerator(slot: Mapping[str, Any]) -> str:
    memory = slot.get("memory_bytes")
    return f"{slot.get('name', '?')}{f', {memory / _GIB:.0f} GiB' if memory else ''}"

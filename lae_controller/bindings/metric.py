"""The metric: which of the numbers a program reports is likely meant, and which way is better."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lae_controller.bindings.candidates import (
    Candidate,
    in_text,
    monitored,
    reported,
    tokens_of,
)
from lae_controller.bindings.printed import printed_texts
from lae_controller.bindings.project import Project
from lae_controller.bindings.proposal import Suggestion
from lae_controller.bindings.settings import Setting

_PHASE_WEIGHT = {"val": 30.0, "test": 20.0, "": 10.0, "train": 0.0}
_CHANNEL_WEIGHT = {
    "print": 5.0,
    "text": 2.0,
    "json": 1.0,
    "bar": 0.0,
    "monitor": -2.0,
    "tracker": -20.0,
}


@dataclass(frozen=True, slots=True)
class Found:
    """Suggestions for the metric, and the file that reports it (empty if none was found)."""

    suggestions: tuple[Suggestion, ...]
    file: str


def find_metric(
    project: Project, files: tuple[str, ...], settings: tuple[Setting, ...] = ()
) -> Found:
    """Propose metric, direction, and a pattern or file where the name alone does not find it.

    Args:
        files: the entrypoint and what it imports, nearest first.
        settings: of the program; one may name the metric that is monitored.
    """
    texts = [text for path in files for text in printed_texts(project, path)]
    found = [c for text in texts for c in in_text(text)]
    found += [c for path in files for c in reported(project, path)]
    found += [c for setting in settings for c in monitored(setting)]
    if not found:
        why = "no loss, accuracy or the like is printed by the files that run"
        missing = (Suggestion("metric", None, why), Suggestion("metric_direction", None, why))
        return Found(missing, "")
    readme = tokens_of(project.readme)
    ranked = sorted(found, key=lambda c: -_weight(c, readme))
    best = ranked[0]
    names = dict.fromkeys(c.name for c in ranked)
    rivals = [c for c in ranked if _rivals(c, best)]
    sure = best.phase in ("val", "test") and not rivals and best.channel in ("print", "json")
    way = "smaller" if best.direction == "minimize" else "larger"
    suggestions = (
        Suggestion("metric", best.name, _reason(best, found), tuple(names)[1:6], sure),
        Suggestion("metric_direction", best.direction, f"{best.word}: {way} is better", (), sure),
        *_how_to_find(best, found),
    )
    return Found(suggestions, best.where.split(":")[0])


def _rivals(one: Candidate, best: Candidate) -> bool:
    """Whether ``one`` is another number on the same data that would do as well."""
    same = re.sub(r"\W|_", "", one.name).lower() == re.sub(r"\W|_", "", best.name).lower()
    return not same and one.phase == best.phase and one.channel not in ("tracker", "bar")


def _weight(candidate: Candidate, readme: frozenset[str]) -> float:
    weight = _PHASE_WEIGHT[candidate.phase] + _CHANNEL_WEIGHT[candidate.channel]
    weight += 2.0 if candidate.direction == "maximize" else 0.0
    weight += 3.0 if candidate.word in readme else 0.0
    weight -= (
        2.0 if tokens_of(candidate.name) & {"best", "max", "min", "highest", "lowest"} else 0.0
    )
    return weight - (1.0 if candidate.pattern else 0.0)


def _reason(best: Candidate, found: list[Candidate]) -> str:
    said = {
        "print": f"printed in {best.where}",
        "text": f"a text built in {best.where}",
        "bar": f"shown in the progress bar of {best.where}",
        "json": f"written to {best.file} in {best.where}",
        "monitor": f"monitored by {best.where}; how it is printed was not found",
        "tracker": f"logged to a tracker in {best.where}, perhaps never printed: print it",
    }[best.channel]
    if best.phase == "train":
        said += "; on training data: print a validation metric"
    elif not best.phase:
        said += "; not said on which data"
    twins = [c for c in found if c.name == best.name and c.phase != best.phase]
    if twins and best.pattern is None:
        said += f"; {twins[0].where} prints that name too: the last one in the output counts"
    return said


def _how_to_find(best: Candidate, found: list[Candidate]) -> Iterator[Suggestion]:
    if best.file is not None:
        why = f"{best.where}; relative to the program"
        yield Suggestion("metric_file", best.file, why, certain="/" not in best.file)
        return
    pattern = best.pattern
    others = [
        c
        for c in found
        if c.name == best.name and c.phase != best.phase and c.line not in (None, best.line)
    ]
    if others and best.line is not None:
        pattern = best.line  # the whole line tells the two apart
    if pattern is not None:
        yield Suggestion("metric_pattern", pattern, f"as {best.where} prints it")

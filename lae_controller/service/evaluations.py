"""What an evaluator reports of a program: scores that are maximised, and remarks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lae_controller.program import Artifacts, Evaluation, Reason, Status, one_line
from lae_controller.service import limits
from lae_controller.service.api_errors import invalid


@dataclass(frozen=True, slots=True)
class Insight:
    """A remark of the evaluator, for the next prompts."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Scored:
    """The evaluation of one program.

    Attributes:
        scores: metric -> finite score, larger is better, in the order in which they were given.
    """

    scores: Mapping[str, float]
    insights: tuple[Insight, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether it says that nothing was measured."""
        return any(score in limits.FAILURES for score in self.scores.values())

    def to_wire(self) -> dict[str, Any]:
        """Return the ``Evaluation`` message."""
        scores = [{"metric": name, "score": value} for name, value in self.scores.items()]
        wire: dict[str, Any] = {"scores": {"scores": scores}}
        if self.insights:
            listed = [{"label": insight.label, "text": insight.text} for insight in self.insights]
            wire["insights"] = {"insights": listed}
        return wire

    def remarks(self) -> tuple[str, ...]:
        """Return what the next prompts are told of it."""
        shown = self.insights[: limits.INSIGHTS_SHOWN]
        lines = [_shortened(f"{insight.label}: {insight.text}".strip(": ")) for insight in shown]
        if len(self.scores) > 1:
            listed = ", ".join(f"{name} {value:g}" for name, value in self.scores.items())
            lines.insert(0, f"scores: {listed}")
        return tuple(lines)

    def evaluation(self, metric: str, seconds: float) -> Evaluation:
        """Return what is told to the search: the score of one metric, or why there is none.

        Args:
            metric: the one that the search goes by.
            seconds: from being handed out to being reported.
        """
        artifacts = Artifacts(log_tail="\n".join(self.remarks()))
        value = self.scores.get(metric)
        if self.failed or value is None:
            said = self.insights[0].text if self.insights else ""
            why = "the evaluator measured nothing" if self.failed else f"no score for {metric}"
            detail = one_line(f"{why}: {said}" if said else why, 400)
            # TIMEOUT, since nothing that a second proposal could mend under the same name:
            # this program has been handed out and answered for.
            crash = Evaluation(Status.CRASH, reason=Reason.TIMEOUT, detail=detail, charge=1.0)
            return _with(crash, seconds, artifacts)
        further = {name: score for name, score in self.scores.items() if name != metric}
        done = Evaluation(
            Status.EVALUATED,
            metric=value,
            charge=1.0,
            repeats=(value,),
            metrics=further,
            proven=True,
        )
        return _with(done, seconds, artifacts)


def _with(evaluation: Evaluation, seconds: float, artifacts: Artifacts) -> Evaluation:
    return replace(evaluation, seconds=seconds, artifacts=artifacts)


def _shortened(text: str) -> str:
    limit = limits.INSIGHT_SHOWN
    return text if len(text) <= limit else text[: limit - 1] + "…"


def penalty(metrics: Sequence[str]) -> Scored:
    """Return the evaluation of a program whose evaluators never answered."""
    text = f"handed out {limits.HAND_OUTS} times and never reported back; stopped or too slow"
    scores = dict.fromkeys(metrics or ["score"], limits.PENALTY)
    return Scored(scores, (Insight("timeout", text),))


def read_evaluation(wire: Mapping[str, Any], where: str) -> Scored:
    """Return what an ``Evaluation`` message means.

    Raises:
        ApiError: INVALID_ARGUMENT for the first thing that is not allowed.
    """
    listed: Sequence[Mapping[str, Any]] = wire.get("scores", {}).get("scores", [])
    place = f"{where}.scores.scores"
    if not listed:
        raise invalid(place, "is empty", "at least one metric with its score")
    if len(listed) > limits.SCORES:
        raise invalid(place, f"holds {len(listed)} scores", f"at most {limits.SCORES}")
    scores: dict[str, float] = {}
    for at, item in enumerate(listed):
        name, value = _score(item, f"{place}[{at}]")
        if name in scores:
            raise invalid(f"{place}[{at}].metric", f"is {name!r} again", "each metric once")
        scores[name] = value
    return Scored(scores, _insights(wire, where))


def _score(wire: Mapping[str, Any], where: str) -> tuple[str, float]:
    name: str = wire.get("metric", "")
    if not name.strip():
        raise invalid(f"{where}.metric", "is missing or empty", "the name of a metric")
    if len(name) > limits.TITLE:
        raise invalid(f"{where}.metric", f"has {len(name)} characters", f"at most {limits.TITLE}")
    value = wire.get("score")
    if value is None:
        raise invalid(f"{where}.score", f"is missing (metric {name!r})", "a finite number")
    if not math.isfinite(value):
        raise invalid(f"{where}.score", f"is {value} (metric {name!r})", "a finite number")
    return name, value


def _insights(wire: Mapping[str, Any], where: str) -> tuple[Insight, ...]:
    listed: Sequence[Mapping[str, Any]] = wire.get("insights", {}).get("insights", [])
    if len(listed) > limits.INSIGHTS:
        found = f"holds {len(listed)} remarks"
        raise invalid(f"{where}.insights.insights", found, f"at most {limits.INSIGHTS}")
    return tuple(Insight(item.get("label", ""), item.get("text", "")) for item in listed)

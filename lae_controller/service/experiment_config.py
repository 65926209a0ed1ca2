"""What an experiment is asked to do: read off the wire with every limit, and written back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lae_controller.service import limits
from lae_controller.service.api_errors import ApiError, Code, invalid
from lae_controller.service.catalogue import Catalogue, ModelChoice
from lae_controller.service.durations import duration_text, parse_duration

_RUN = "config.runSettings"
_MODELS = "config.generationSettings.models"


@dataclass(frozen=True, slots=True)
class ExperimentConfig:
    """The settings of one experiment, defaults filled in.

    Attributes:
        problem: what is to be solved; goes into every prompt.
        language: of the program; free text.
        max_programs: programs in all, the seed included.
        concurrency: programs that are generated in parallel.
        max_duration: running time in seconds; then it is completed.
        idle_timeout: seconds without work; then it is paused.
        context: further text for every prompt.
        full_program: whether prompts show what lies outside the evolve blocks too.
        models: one or two.
        pareto: how often a parent is taken from the Pareto front, from 0 to 1.
        reset_interval: generations from one migration to the next; None for the default.
    """

    title: str
    problem: str
    language: str
    max_programs: int
    concurrency: int
    max_duration: float
    idle_timeout: float
    context: str
    full_program: bool
    models: tuple[ModelChoice, ...]
    pareto: float
    reset_interval: int | None

    def to_wire(self) -> dict[str, Any]:
        """Return the ``Config`` message, with every default that was filled in."""
        generation: dict[str, Any] = {
            "includeFullProgramInPrompt": self.full_program,
            "models": [_model_to_wire(model) for model in self.models],
        }
        if self.context:
            generation["context"] = self.context
        pareto = {"paretoSamplingConfig": {"paretoSamplingProbability": self.pareto}}
        evolution: dict[str, Any] = {"parentSamplingConfig": pareto}
        if self.reset_interval is not None:
            evolution["resetInterval"] = self.reset_interval
        return {
            "title": self.title,
            "problemDescription": self.problem,
            "programLanguage": self.language,
            "runSettings": {
                "maxPrograms": self.max_programs,
                "concurrency": self.concurrency,
                "maxDuration": duration_text(self.max_duration),
                "idleTimeout": duration_text(self.idle_timeout),
            },
            "generationSettings": generation,
            "evolutionSettings": evolution,
        }


def read_config(wire: Mapping[str, Any], location: str, models: Catalogue) -> ExperimentConfig:
    """Return the settings that a ``Config`` message means.

    Args:
        wire: as ``messages.READER`` gives it.
        location: of the session; bounds the idle timeout and the models.

    Raises:
        ApiError: INVALID_ARGUMENT for the first setting that is not allowed.
    """
    run = wire.get("runSettings")
    if run is None:
        raise invalid(_RUN, "is missing", "an object with maxPrograms and concurrency")
    generation = wire.get("generationSettings", {})
    evolution = wire.get("evolutionSettings", {})
    return ExperimentConfig(
        title=_text(wire, "title", limits.TITLE),
        problem=_text(wire, "problemDescription", limits.PROBLEM),
        language=_text(wire, "programLanguage", limits.TITLE),
        max_programs=_max_programs(run),
        concurrency=_concurrency(run),
        max_duration=_max_duration(run),
        idle_timeout=_idle_timeout(run, limits.IDLE_TIMEOUT[location]),
        context=generation.get("context", ""),
        full_program=generation.get("includeFullProgramInPrompt", False),
        models=_models(generation, location, models),
        pareto=_pareto(evolution),
        reset_interval=_reset_interval(evolution),
    )


def _text(wire: Mapping[str, Any], name: str, longest: int) -> str:
    text: str = wire.get(name, "")
    if not text.strip():
        raise invalid(f"config.{name}", "is missing or empty", f"1 to {longest} characters")
    if len(text) > longest:
        raise invalid(f"config.{name}", f"has {len(text)} characters", f"at most {longest}")
    return text


def _max_programs(run: Mapping[str, Any]) -> int:
    value: int = run.get("maxPrograms", limits.MAX_PROGRAMS_DEFAULT)
    if not limits.MAX_PROGRAMS_LEAST <= value <= limits.MAX_PROGRAMS_MOST:
        raise invalid(
            f"{_RUN}.maxPrograms",
            f"is {value}",
            f"more than 1 (the seed program counts) and at most {limits.MAX_PROGRAMS_MOST}",
        )
    return value


def _concurrency(run: Mapping[str, Any]) -> int:
    value: int = run.get("concurrency", limits.CONCURRENCY_DEFAULT)
    if not 1 <= value <= limits.CONCURRENCY_MOST:
        expected = f"a positive number of at most {limits.CONCURRENCY_MOST}"
        raise invalid(f"{_RUN}.concurrency", f"is {value}", expected)
    return value


def _max_duration(run: Mapping[str, Any]) -> float:
    value = _duration(run, "maxDuration", limits.DURATION_DEFAULT)
    if value > limits.DURATION_MOST:
        expected = f"at most {duration_text(limits.DURATION_MOST)} (7 days)"
        raise invalid(f"{_RUN}.maxDuration", f"is {duration_text(value)}", expected)
    return value


def _idle_timeout(run: Mapping[str, Any], most: float) -> float:
    """Return the idle timeout; above the location's own it is that, without an error."""
    return min(_duration(run, "idleTimeout", most), most)


def _duration(run: Mapping[str, Any], name: str, default: float) -> float:
    text = run.get(name)
    if text is None:
        return default
    value = parse_duration(text)
    if value is None or value <= 0:
        expected = "a duration above 0 such as 1800s or PT30M"
        raise invalid(f"{_RUN}.{name}", f"is {text[:60]!r}", expected)
    return value


def _models(
    generation: Mapping[str, Any], location: str, catalogue: Catalogue
) -> tuple[ModelChoice, ...]:
    asked: Sequence[Mapping[str, Any]] = generation.get("models", [])
    if not asked and generation.get("model"):
        asked = [{"name": generation["model"]}]
    if not asked:
        # Written down now, so that an experiment keeps its model when the server's default changes.
        return (ModelChoice(catalogue.own),)
    choices = tuple(_model(model, at) for at, model in enumerate(asked))
    names = [choice.name for choice in choices]
    distinct = len(set(names))
    if distinct > limits.MODELS:
        raise invalid(_MODELS, f"holds {distinct} distinct models", f"at most {limits.MODELS}")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise invalid(_MODELS, f"holds {twice!r} more than once", "each model once")
    for name in names:
        catalogue.check(name, location)
    return choices


def _model(wire: Mapping[str, Any], at: int) -> ModelChoice:
    name: str = wire.get("name", "")
    if not name:
        raise invalid(f"{_MODELS}[{at}].name", "is missing or empty", "a model name")
    weight: float = wire.get("weight", 1.0)
    if not (math.isfinite(weight) and weight > 0):
        raise invalid(
            _MODELS,
            f"gives {name!r} the weight {weight:g}",
            "a finite weight above 0; to leave a model out, remove its entry",
        )
    temperature = wire.get("temperature")
    if temperature is not None and not 0 <= temperature <= limits.TEMPERATURE_MOST:
        raise invalid(
            _MODELS,
            f"gives {name!r} the temperature {temperature:g}",
            f"0 to {limits.TEMPERATURE_MOST:g}",
        )
    level = wire.get("thinkingLevel", "")
    return ModelChoice(name, weight, "" if level.endswith("UNSPECIFIED") else level, temperature)


def _model_to_wire(model: ModelChoice) -> dict[str, Any]:
    wire: dict[str, Any] = {"name": model.name, "weight": model.weight}
    if model.thinking:
        wire["thinkingLevel"] = model.thinking
    if model.temperature is not None:
        wire["temperature"] = model.temperature
    return wire


def _pareto(evolution: Mapping[str, Any]) -> float:
    sampling = evolution.get("parentSamplingConfig", {}).get("paretoSamplingConfig", {})
    value: float = sampling.get("paretoSamplingProbability", 0.0)
    if not 0 <= value <= 1:
        raise ApiError(
            Code.INVALID_ARGUMENT,
            f"paretoSamplingProbability is {value:g}; expected 0 to 1",
            "config.evolutionSettings.parentSamplingConfig.paretoSamplingConfig"
            ".paretoSamplingProbability",
        )
    return value


def _reset_interval(evolution: Mapping[str, Any]) -> int | None:
    value: int | None = evolution.get("resetInterval")
    if value is not None and value < 1:
        raise invalid("config.evolutionSettings.resetInterval", f"is {value}", "at least 1")
    return value

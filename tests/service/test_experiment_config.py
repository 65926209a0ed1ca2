from __future__ import annotations

from typing import Any

import pytest
from serve_helpers import CATALOGUE, a_config, config_wire

from lae_controller.config import MutatorSettings
from lae_controller.service.api_errors import ApiError, Code
from lae_controller.service.catalogue import Catalogue, ModelChoice
from lae_controller.service.experiment_config import ExperimentConfig, read_config
from lae_controller.service.messages import READER

THREE = Catalogue(
    MutatorSettings("anthropic", model="big"),
    {"small": "tiny", "gemini-3.1-pro-preview": "big", "other": "other"},
)


def read(wire: dict[str, Any], location: str = "global", to: Catalogue = THREE) -> ExperimentConfig:
    return read_config(READER.read("Config", wire, "config"), location, to)


def with_models(*models: dict[str, Any]) -> dict[str, Any]:
    return {**config_wire(), "generationSettings": {"models": list(models)}}


def test_defaults_are_those_of_the_api() -> None:
    config = read({**config_wire(), "runSettings": {}}, to=CATALOGUE)
    assert (config.max_programs, config.concurrency) == (100, 1)
    assert (config.max_duration, config.idle_timeout) == (86_400.0, 7_200.0)
    assert (config.full_program, config.pareto, config.context) == (False, 0.0, "")
    assert config.models == (ModelChoice("offline"),)


@pytest.mark.parametrize(
    ("location", "asked", "given"),
    [
        ("global", "43200s", 7_200.0),
        ("us", "43200s", 18_000.0),
        ("eu", "PT30M", 1_800.0),
        ("us", None, 18_000.0),
        ("global", "1.5s", 1.5),
    ],
)
def test_the_idle_timeout_is_cut_to_that_of_the_location(
    location: str, asked: str | None, given: float
) -> None:
    run = {} if asked is None else {"idleTimeout": asked}
    assert a_config(location, **run).idle_timeout == given


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ({"maxPrograms": 1}, "maxPrograms is 1; expected more than 1"),
        ({"maxPrograms": 0}, "maxPrograms is 0"),
        ({"maxPrograms": 100_001}, "at most 100000"),
        ({"concurrency": 0}, "concurrency is 0; expected a positive number"),
        ({"concurrency": -3}, "concurrency is -3"),
        ({"concurrency": 31}, "concurrency is 31; expected a positive number of at most 30"),
        ({"maxDuration": "0s"}, "maxDuration is '0s'"),
        ({"maxDuration": "-5s"}, "maxDuration is '-5s'"),
        ({"maxDuration": "604801s"}, "at most 604800s"),
        ({"maxDuration": "tomorrow"}, "a duration above 0"),
        ({"idleTimeout": "0s"}, "idleTimeout is '0s'"),
    ],
)
def test_run_settings_have_limits(run: dict[str, Any], said: str) -> None:
    with pytest.raises(ApiError, match=said) as caught:
        a_config(**run)
    assert caught.value.code is Code.INVALID_ARGUMENT


@pytest.mark.parametrize("run", [{"maxPrograms": 2}, {"maxPrograms": 100_000}, {"concurrency": 30}])
def test_the_limits_themselves_are_allowed(run: dict[str, Any]) -> None:
    key = next(iter(run))
    assert a_config(**run).to_wire()["runSettings"][key] == run[key]


def test_seven_days_are_allowed() -> None:
    assert a_config(maxDuration="P7D").max_duration == 7 * 86_400


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"title": "x" * 257}, "title has 257 characters; expected at most 256"),
        ({"title": " "}, "config.title is missing or empty"),
        ({"problemDescription": "x" * 5_001}, "has 5001 characters; expected at most 5000"),
        ({"problemDescription": None}, "problemDescription is missing"),
        ({"programLanguage": ""}, "programLanguage is missing or empty"),
        ({"runSettings": None}, "runSettings is missing"),
    ],
)
def test_texts_have_limits(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ApiError, match=said):
        read({**config_wire(), **change})


def test_texts_may_be_as_long_as_the_limits() -> None:
    config = read({**config_wire(), "title": "x" * 256, "problemDescription": "y" * 5_000})
    assert len(config.title) == 256
    assert len(config.problem) == 5_000


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ([{"name": "nobody"}], "model 'nobody' is not supported here; this server knows: big"),
        ([{"name": "big"}, {"name": "small"}, {"name": "other"}], "holds 3 distinct models"),
        ([{"name": "big"}, {"name": "big"}], "holds 'big' more than once"),
        ([{"name": "big", "weight": 0}], "gives 'big' the weight 0"),
        ([{"name": "big", "weight": -1}], "weight -1"),
        ([{"name": "big", "weight": "Infinity"}], "weight inf"),
        ([{"name": "big", "temperature": 2.1}], "gives 'big' the temperature 2.1; expected 0 to 2"),
        ([{"name": "big", "temperature": "NaN"}], "temperature nan"),
        ([{"weight": 1}], r"models\[0\].name is missing"),
    ],
)
def test_models_have_limits(models: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(ApiError, match=said):
        read(with_models(*models))


def test_a_model_may_be_served_in_some_locations_only() -> None:
    wire = with_models({"name": "gemini-3.1-pro-preview"})
    assert read(wire, "global").models[0].name == "gemini-3.1-pro-preview"
    with pytest.raises(ApiError, match="is not served from location 'eu'"):
        read(wire, "eu")


def test_an_alias_and_a_thinking_level_reach_the_mutator() -> None:
    config = read(with_models({"name": "small", "weight": 0.9, "thinkingLevel": "HIGH"}))
    settings = THREE.settings(config.models[0])
    assert (settings.model, settings.thinking) == ("tiny", "high")
    assert THREE.settings(ModelChoice("big")) is THREE.mutator


@pytest.mark.parametrize("value", [-0.1, 1.5, "NaN"])
def test_the_pareto_probability_is_one(value: Any) -> None:
    sampling = {"paretoSamplingConfig": {"paretoSamplingProbability": value}}
    with pytest.raises(ApiError, match=r"expected 0 to 1"):
        read({**config_wire(), "evolutionSettings": {"parentSamplingConfig": sampling}})


def test_what_is_written_reads_as_the_same() -> None:
    wire = {
        **with_models({"name": "small", "weight": 3.0, "temperature": 0.5}),
        "evolutionSettings": {"resetInterval": 7},
    }
    config = read(wire)
    assert read(config.to_wire()) == config

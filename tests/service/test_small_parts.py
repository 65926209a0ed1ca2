from __future__ import annotations

import random
from pathlib import Path

import pytest

from lae_controller.errors import ConfigError
from lae_controller.service import names
from lae_controller.service.api_errors import ApiError, Code
from lae_controller.service.backoff import Backoff
from lae_controller.service.durations import duration_text, parse_duration, time_text
from lae_controller.service.safe_text import clean_remark
from lae_controller.service.serve_config import ServeSettings, load_serve, parse_serve
from lae_controller.service.states import (
    Action,
    ExperimentState,
    ProgramState,
    advanced,
    target,
)

P = "projects/example.com:my-project/locations/us/collections/c/engines/e/sessions/9"


def test_names_read_as_they_are_written() -> None:
    assert str(names.parse_session(P)) == P
    program = names.parse_program(f"{P}/alphaEvolveExperiments/x-1/alphaEvolvePrograms/g1-i0-a2")
    assert (program.experiment, program.id) == ("x-1", "g1-i0-a2")
    assert names.experiment_name(program.session, "x-1") == f"{P}/alphaEvolveExperiments/x-1"


@pytest.mark.parametrize(
    "name", ["", "projects/p", f"{P}/", f"{P}/x", f"/{P}", P.replace("us", "u s"), f"{P}\n"]
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ApiError, match="is not a resource name"):
        names.parse_session(name)


def test_a_dash_stands_for_every_segment() -> None:
    there = names.parse_session(P)
    assert names.parse_session("projects/-/locations/us/collections/-/engines/-/sessions/-").covers(
        there
    )
    assert not names.parse_session(P.replace("/us/", "/eu/")).covers(there)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("86400s", 86_400.0),
        ("0.5s", 0.5),
        ("-1s", -1.0),
        ("PT30M", 1_800.0),
        ("P1DT12H", 129_600.0),
        ("PT1.5S", 1.5),
        ("P7D", 604_800.0),
        ("-PT1M", -60.0),
        ("", None),
        ("1h", None),
        ("P", None),
        ("PT", None),
        ("P1Y", None),
        ("s", None),
        ("1e3s", None),
        ("9" * 13 + "s", None),
    ],
)
def test_durations_have_two_forms(text: str, seconds: float | None) -> None:
    assert parse_duration(text) == seconds


def test_times_and_durations_are_written_as_the_api_does() -> None:
    assert duration_text(86_400.0) == "86400s"
    assert duration_text(1.5) == "1.5s"
    assert time_text(1_782_223_400.25) == "2026-06-23T14:03:20.250000Z"


LEGAL = {
    (Action.START, ExperimentState.CREATED),
    (Action.STOP, ExperimentState.RUNNING),
    (Action.RESUME, ExperimentState.PAUSED),
    (Action.RESUME, ExperimentState.COMPLETED),
    (Action.IDLE, ExperimentState.RUNNING),
    (Action.COMPLETE, ExperimentState.RUNNING),
    (Action.FAIL, ExperimentState.RUNNING),
    (Action.DELETE, ExperimentState.CREATED),
    (Action.DELETE, ExperimentState.COMPLETED),
    (Action.DELETE, ExperimentState.FAILED),
}


@pytest.mark.parametrize("action", Action)
@pytest.mark.parametrize("state", ExperimentState)
def test_no_other_move_is_legal(action: Action, state: ExperimentState) -> None:
    if (action, state) in LEGAL:
        target(action, state)
        return
    with pytest.raises(ApiError, match=f"{state.value} cannot take {action.value}") as caught:
        target(action, state)
    assert caught.value.code is Code.FAILED_PRECONDITION


@pytest.mark.parametrize("state", ProgramState)
@pytest.mark.parametrize("to", ProgramState)
def test_programs_go_forwards_only(state: ProgramState, to: ProgramState) -> None:
    order = list(ProgramState)
    if order.index(to) > order.index(state):
        assert advanced(state, to) is to
        return
    with pytest.raises(ValueError, match=f"from {state.value} to {to.value}"):
        advanced(state, to)


def test_pauses_grow_are_jittered_and_end() -> None:
    backoff = Backoff(first=1.0, most=8.0, tries=7)
    drawn = [list(backoff.pauses(random.Random(seed))) for seed in range(200)]
    assert {len(pauses) for pauses in drawn} == {6}
    for at, cap in enumerate([1, 2, 4, 8, 8, 8]):
        column = [pauses[at] for pauses in drawn]
        assert max(column) <= cap
        assert max(column) > 0.9 * cap
        assert min(column) < 0.1 * cap


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (
            'Traceback (most recent call last):\n  File "/home/ann/p/train.py", line 3, in <module>'
            '\n    go(KEY)\n  File "/home/ann/p/model.py", line 7, in go\n    1/0\n'
            "ZeroDivisionError: division by zero\nbye",
            "ZeroDivisionError: division by zero (model.py:7) bye",
        ),
        ("API_KEY=abc123 left", "API_KEY=*** left"),
        ("password: hunter2!", "password: ***"),
        ("Authorization: Bearer ya29.a0Af_x-y", "Authorization: *** ***"),
        ("sent by ann@example.com", "sent by ***"),
        ("no /home/ann/data/set.csv there", "no .../set.csv there"),
        ("key sk1234567890abcdefghij1234567890abcdef", "key ***"),
        ("loss 0.25 at step 3/4", "loss 0.25 at step 3/4"),
    ],
)
def test_remarks_leave_without_what_they_held(text: str, clean: str) -> None:
    assert clean_remark(text) == clean


def test_remarks_are_short() -> None:
    assert len(clean_remark("word " * 1_000)) == 600


def test_serve_yaml_is_typed_and_checked(tmp_path: Path) -> None:
    text = "port: 9000\nlease: 90m\nmutator: {backend: anthropic, model: m}\nmodels: {a: b}\n"
    settings = parse_serve(text, tmp_path / "serve.yaml")
    assert (settings.port, settings.lease, settings.mutator.model) == (9000, 5_400.0, "m")
    assert settings.root == (tmp_path / "sandbox").resolve()
    assert load_serve(tmp_path) == ServeSettings(tmp_path.resolve())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prot: 1", "prot is not a known key; the nearest known key is port"),
        ("port: 70000", "port is 70000"),
        ("lease: soon", "lease is 'soon'"),
        ("mutator: {bakend: x}", "mutator.bakend is not a known key; the nearest known key is"),
        ("mutator: {timeout: 0}", "mutator.timeout is 0; expected a number above 0"),
        ("models: [a]", "models is"),
        ("- a", "holds no mapping"),
    ],
)
def test_a_wrong_key_is_named(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=said):
        parse_serve(text, tmp_path / "serve.yaml")


def test_the_schema_names_the_same_keys_and_defaults_as_the_settings() -> None:
    import dataclasses

    from lae_controller.skill_files import load_schema

    keys = load_schema("serve")["properties"]
    fields = {field.name: field for field in dataclasses.fields(ServeSettings)}
    assert set(keys) == set(fields) - {"folder"}
    settings = ServeSettings(Path("/"))
    for name, schema in keys.items():
        if name != "mutator":
            value = getattr(settings, name)
            plain = {"models": dict, "watch": list}.get(name, lambda it: it)(value)
            assert schema.get("default") == plain, name

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from lae_controller.service.api_errors import ApiError, Code
from lae_controller.service.fields import load_json, snake
from lae_controller.service.messages import MESSAGES, READER


def test_both_spellings_are_read_alike() -> None:
    camel = READER.read("Config", {"problemDescription": "x", "runSettings": {"maxPrograms": 5}})
    snaked = READER.read(
        "Config", {"problem_description": "x", "run_settings": {"max_programs": 5}}
    )
    assert camel == snaked == {"problemDescription": "x", "runSettings": {"maxPrograms": 5}}


def test_names_of_older_documents_are_read_too() -> None:
    assert READER.read("Config", {"programming_language": "cpp"}) == {"programLanguage": "cpp"}


def test_every_field_can_be_written_in_snake_case() -> None:
    for fields in MESSAGES.values():
        for field in fields:
            assert snake(field.name) in field.spellings
    assert snake("includeFullProgramInPrompt") == "include_full_program_in_prompt"


def test_null_is_an_absent_field_and_what_the_server_sets_is_dropped() -> None:
    wire = {"name": "mine", "state": "COMPLETED", "evaluation": None, "createTime": "now"}
    assert READER.read("Program", wire) == {}


@pytest.mark.parametrize(
    ("message", "wire", "field", "said"),
    [
        ("Config", {"notes": 1}, "notes", "not a field of this API"),
        ("Config", {"titel": "x"}, "titel", "did you mean title"),
        ("Config", {"title": 3}, "title", "title is 3; expected a text"),
        ("Config", {"runSettings": []}, "runSettings", "is a list; expected an object"),
        ("RunSettings", {"maxPrograms": 2.5}, "maxPrograms", "expected an integer"),
        ("RunSettings", {"maxPrograms": True}, "maxPrograms", "is true; expected an integer"),
        ("RunSettings", {"maxPrograms": 2**31}, "maxPrograms", "expected an integer of 32 bits"),
        ("RunSettings", {"maxPrograms": "many"}, "maxPrograms", "expected an integer"),
        ("Score", {"score": "high"}, "score", "expected a number"),
        ("Score", {"score": {}}, "score", "is an object; expected a number"),
        ("GenerationSettings", {"includeFullProgramInPrompt": "yes"}, None, "true or false"),
        ("Program", {"state": "DONE"}, "state", "expected one of PROGRAM_STATE_UNSPECIFIED"),
        ("Content", {"files": {}}, "files", "is an object; expected a list"),
        ("Content", {"files": [{}, 4]}, "files[1]", "files[1] is 4; expected an object"),
        ("AcquireRequest", {"desiredProgramsCount": 1, "desired_programs_count": 1}, None, "twice"),
    ],
)
def test_what_is_wrong_is_named(message: str, wire: Any, field: str | None, said: str) -> None:
    with pytest.raises(ApiError) as caught:
        READER.read(message, wire)
    assert said in caught.value.message
    assert caught.value.code is Code.INVALID_ARGUMENT
    if field is not None:
        assert caught.value.body()["error"]["details"][0]["fieldViolations"][0]["field"] == field


@pytest.mark.parametrize(
    ("wire", "read"),
    [({"maxPrograms": "12"}, 12), ({"maxPrograms": 12.0}, 12), ({"maxPrograms": 1e2}, 100)],
)
def test_numbers_may_come_as_proto_json_writes_them(wire: dict[str, Any], read: int) -> None:
    assert READER.read("RunSettings", wire) == {"maxPrograms": read}


def test_a_score_may_be_a_text_and_what_is_not_finite_stays_so() -> None:
    assert READER.read("Score", {"score": "0.25"}) == {"score": 0.25}
    assert math.isnan(READER.read("Score", {"score": "NaN"})["score"])
    assert READER.read("Score", {"score": 10**400}) == {"score": math.inf}


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"{", "cannot be read"),
        (b'{"a": NaN}', "NaN is no number"),
        (b'{"a": 1, "a": 2}', "'a' is given twice"),
        (b"\xff", "not UTF-8"),
        (b'{"a": "\\ud800"}', "not UTF-8"),
        (b"[" * 100_000, "cannot be read"),
        (b"1" * 5_000, "cannot be read"),
    ],
)
def test_a_body_that_is_no_json_is_refused(raw: bytes, said: str) -> None:
    with pytest.raises(ApiError, match=said):
        load_json(raw)


def test_an_empty_body_is_an_empty_object() -> None:
    assert load_json(b" \n") == {}
    assert load_json(json.dumps({"a": "\U0001f600"}).encode()) == {"a": "\U0001f600"}


def test_nesting_has_an_end() -> None:
    wire: dict[str, Any] = {}
    for _ in range(60):
        wire = {"content": {"files": [wire]}}
    with pytest.raises(ApiError):
        READER.read("StartRequest", {"initialProgram": wire})

"""Lines as the command lines print them (their releases of late 2026), shortened."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from lae_controller.mutators.agent_output import (
    Reading,
    read_claude,
    read_codex,
    read_gemini,
    read_opencode,
    read_plain,
)
from lae_controller.program import Usage

Read = Callable[[Iterable[str]], Reading]


def lines(*events: dict[str, Any]) -> list[str]:
    return ["Warning: no colours", *(json.dumps(event) for event in events), "", '{"cut": tr']


CLAUDE = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "api_error_status": None,
    "result": "done",
    "num_turns": 3,
    "duration_ms": 2500,
    "total_cost_usd": 0.018,
    "usage": {
        "input_tokens": 300,
        "cache_creation_input_tokens": 60,
        "cache_read_input_tokens": 90,
        "output_tokens": 15,
    },
    "modelUsage": {"small": {}, "large": {}},
}


def test_claude() -> None:
    reading = read_claude(lines({"type": "system"}, CLAUDE))
    usage = Usage("large", 3, 300, 90, 60, 15, 0.018, 2.5)
    assert reading == Reading(finished=True, text="done", usage=usage)
    assert read_claude(lines({"type": "assistant"})) == Reading()


@pytest.mark.parametrize(
    ("more", "error", "account", "service"),
    [
        ({"result": "API Error: Rate limit reached"}, "API Error: Rate limit reached", False, True),
        ({"result": "Failed", "api_error_status": 401}, "Failed", True, False),
        ({"result": "Busy", "api_error_status": 529}, "Busy", False, True),
        ({"result": "Bad", "api_error_status": 400}, "Bad", False, False),
        ({"result": "Not logged in · Please run /login"}, None, True, False),
        ({"result": "Credit balance is too low"}, None, True, False),
        ({"result": "API Error: Connection refused (ECONNREFUSED)"}, None, False, True),
        ({"result": "", "subtype": "error_max_budget_usd"}, "error_max_budget_usd", False, False),
        ({"result": None, "errors": ["no such tool"]}, "no such tool", False, False),
    ],
)
def test_claude_calls_an_error_success_but_for_one_flag(
    more: dict[str, Any], error: str | None, account: bool, service: bool
) -> None:
    reading = read_claude(lines({**CLAUDE, "is_error": True, **more}))
    assert reading.finished
    assert reading.error == (error or more["result"])
    assert (reading.is_account, reading.is_service) == (account, service)
    assert reading.text == ""


def item(kind: str, **more: object) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"type": kind, **more}}


def test_codex() -> None:
    spent = {"input_tokens": 2000, "cached_input_tokens": 600, "output_tokens": 100}
    reading = read_codex(
        lines(
            {"type": "turn.started"},
            {"type": "error", "message": "Reconnecting... 1/5 (status 500)"},
            item("error", message="Model metadata not found"),
            item("agent_message", text="I look."),
            item("command_execution", aggregated_output="429 too many requests"),
            item("agent_message", text="done"),
            {"type": "turn.completed", "usage": spent},
        )
    )
    usage = Usage(calls=1, input_tokens=1400, cache_read_tokens=600, output_tokens=100)
    assert reading == Reading(finished=True, text="done", usage=usage)


@pytest.mark.parametrize(
    ("message", "account", "service"),
    [
        ("unexpected status 401 Unauthorized: bad key", True, False),
        ("exceeded retry limit, last status: 429 Too Many Requests", False, True),
        ("We're currently experiencing high demand", False, True),
        ("the model does not exist", False, False),
    ],
)
def test_codex_fails(message: str, account: bool, service: bool) -> None:
    reading = read_codex(lines({"type": "turn.failed", "error": {"message": message}}))
    assert (reading.finished, reading.error) == (True, message)
    assert (reading.is_account, reading.is_service) == (account, service)


def test_codex_that_ends_in_mid_turn_says_its_last_trouble() -> None:
    reading = read_codex(lines({"type": "error", "message": "waiting for network"}))
    assert reading == Reading(error="waiting for network")
    assert reading.is_service


def test_gemini() -> None:
    stats = {"input_tokens": 300, "cached": 100, "output_tokens": 30, "tool_calls": 2}
    stats |= {"duration_ms": 900, "models": {"flash": {}, "pro": {}}}
    reading = read_gemini(
        lines(
            {"type": "message", "role": "user", "content": "Please"},
            {"type": "message", "role": "assistant", "content": "I look.", "delta": True},
            {"type": "tool_use", "tool_name": "replace"},
            {"type": "message", "role": "assistant", "content": "all ", "delta": True},
            {"type": "message", "role": "assistant", "content": "done", "delta": True},
            {"type": "result", "status": "success", "stats": stats},
        )
    )
    usage = Usage("pro", 3, 200, 100, 0, 30, None, 0.9)
    assert reading == Reading(finished=True, text="all done", usage=usage)


def test_gemini_fails() -> None:
    error = {"type": "unknown", "message": '[API Error: {"error":{"code":401}}]'}
    reading = read_gemini(lines({"type": "result", "status": "error", "error": error}))
    assert reading.finished
    assert reading.is_account
    hint = "Please set an Auth method in your settings.json or GEMINI_API_KEY"
    assert Reading(error=hint).is_account


def step(reason: str, cost: float = 0.001) -> dict[str, Any]:
    tokens = {"input": 100, "output": 10, "reasoning": 5, "cache": {"read": 7, "write": 2}}
    return {"type": "step_finish", "part": {"reason": reason, "tokens": tokens, "cost": cost}}


def test_opencode() -> None:
    said = {"type": "text", "part": {"text": "done"}}
    reading = read_opencode(lines(step("tool-calls"), said, step("stop")))
    assert reading == Reading(finished=True, text="done", usage=Usage("", 2, 200, 14, 4, 30, 0.002))
    assert not read_opencode(lines(said, step("tool-calls"))).finished


@pytest.mark.parametrize(("status", "account"), [(401, True), (503, False)])
def test_opencode_fails(status: int, account: bool) -> None:
    error = {"name": "APIError", "data": {"message": "refused", "statusCode": status}}
    reading = read_opencode(lines({"type": "error", "error": error}))
    assert (reading.finished, reading.error, reading.usage) == (True, "refused", None)
    assert (reading.is_account, reading.is_service) == (account, not account)


def test_of_another_command_the_last_lines_are_kept() -> None:
    reading = read_plain([f"line {number}" for number in range(100)])
    assert not reading.finished
    assert reading.text.startswith("line 60\n")
    assert reading.text.endswith("line 99")


@pytest.mark.parametrize("read", [read_claude, read_codex, read_gemini, read_opencode])
def test_words_in_unexpected_places_do_no_harm(read: Read) -> None:
    odd: list[Any] = [None, 3, "x", [], {}, float("inf"), float("nan"), -1]
    for value in odd:
        for kind in ("result", "turn.completed", "turn.failed", "step_finish", "error", "text"):
            names = "result usage stats part error message errors total_cost_usd num_turns".split()
            event = {"type": kind, **dict.fromkeys(names, value)}
            nested = {"type": kind, "usage": {"input_tokens": value}, "part": {"cost": value}}
            reading = read(["[1]", "{}", json.dumps(event), json.dumps(nested)])
            json.dumps(reading.usage and reading.usage.cost_usd, allow_nan=False)

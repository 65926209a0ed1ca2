"""What an agent's command line prints, read: whether it is done, an error, its last words, usage.

None of it decides about a child; only the files do. It is read to tell a service that is down
from an agent that had nothing to propose, and to know what was spent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from lae_controller.program import Usage
from lae_controller.quantities import reported_amount, reported_count

_ACCOUNT = re.compile(
    r"not logged in|please (?:run|log ?in)|/login|log ?in again|sign in|failed to authenticate"
    r"|unauthori[sz]ed|authentication|auth method|invalid (?:x-)?api[ -]?key|api[ -]?key not"
    r"|incorrect api key|missing api key|no api key|token (?:has )?expired|could not be refreshed"
    r"|\b40[13]\b|credit balance",
    re.IGNORECASE,
)
_SERVICE = re.compile(
    r"overloaded|rate.?limit|usage limit|hit your limit|quota|too many requests|high demand"
    r"|server[- ]side|server error|internal error|unavailable|bad gateway|gateway timeout"
    r"|time(?:d)?[ -]?out|econn|enotfound|etimedout|eai_again|socket hang up|fetch failed"
    r"|connection (?:error|refused|reset|closed|failed|lost)|network error|waiting for network"
    r"|stream disconnected|\b(?:408|429|5\d\d)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reading:
    """What the output of one command line says.

    Attributes:
        finished: whether the agent said its last word; it may hang all the same.
        error: what it calls an error; empty if it calls nothing one.
        status: of the answer of the model service to which the error belongs, if it is known.
        text: its final message.
        usage: None where the command line does not report it.
    """

    finished: bool = False
    error: str = ""
    status: int | None = None
    text: str = ""
    usage: Usage | None = None

    @property
    def is_account(self) -> bool:
        """Whether nothing can succeed before the user acts: no login, a bad key, no credit."""
        if self.status is not None:
            return self.status in (401, 403)
        return _ACCOUNT.search(self.error) is not None

    @property
    def is_service(self) -> bool:
        """Whether the error lies with the model service or the way to it, and may pass."""
        if self.status is not None:
            return self.status in (408, 429) or self.status >= 500
        return _SERVICE.search(self.error) is not None


def read_plain(lines: Iterable[str]) -> Reading:
    """Read a command line of which nothing is known: its last lines are its final message."""
    return Reading(text="\n".join(list(lines)[-40:]))


def read_claude(lines: Iterable[str]) -> Reading:
    """Read ``claude -p --output-format json`` (or ``stream-json``): the ``result`` object.

    ``subtype`` may be ``success`` though ``is_error`` is true.
    """
    results = [each for each in _objects(lines) if each.get("type") == "result"]
    if not results:
        return Reading()
    last = results[-1]
    text = _text(last.get("result"))
    failed = bool(last.get("is_error"))
    errors = "; ".join(map(str, _list(last.get("errors"))))
    return Reading(
        finished=True,
        error=(text or errors or _text(last.get("subtype")) or "an error") if failed else "",
        status=_count(last, "api_error_status") or None,
        text="" if failed else text,
        usage=_claude_usage(last),
    )


def _claude_usage(result: dict[str, Any]) -> Usage:
    usage, models = _dict(result.get("usage")), _dict(result.get("modelUsage"))
    return Usage(
        model=next(reversed(models), ""),
        calls=_count(result, "num_turns"),
        input_tokens=_count(usage, "input_tokens"),
        cache_read_tokens=_count(usage, "cache_read_input_tokens"),
        cache_write_tokens=_count(usage, "cache_creation_input_tokens"),
        output_tokens=_count(usage, "output_tokens"),
        cost_usd=reported_amount(result.get("total_cost_usd")),
        seconds=_count(result, "duration_ms") / 1000,
    )


def read_codex(lines: Iterable[str]) -> Reading:
    """Read ``codex exec --json``: turns and items. It reports tokens, but no price.

    An ``error`` event alone is a retry; the turn says how it ended.
    """
    reading = Reading()
    usage = Usage()
    text = trouble = ""
    for event in _objects(lines):
        kind = event.get("type")
        item = _dict(event.get("item"))
        if kind == "item.completed" and item.get("type") == "agent_message":
            text = _text(item.get("text"))
        elif kind == "error":
            trouble = _text(event.get("message"))
        elif kind == "turn.completed":
            usage += _codex_usage(_dict(event.get("usage")))
            reading = Reading(finished=True, text=text, usage=usage)
        elif kind == "turn.failed":
            said = _text(_dict(event.get("error")).get("message")) or trouble or "the turn failed"
            reading = Reading(finished=True, error=said, text=text, usage=usage)
    return reading if reading.finished else Reading(error=trouble, text=text)


def _codex_usage(usage: dict[str, Any]) -> Usage:
    cached = _count(usage, "cached_input_tokens")
    written = _count(usage, "cache_write_input_tokens")
    return Usage(
        calls=1,
        input_tokens=max(0, _count(usage, "input_tokens") - cached - written),
        cache_read_tokens=cached,
        cache_write_tokens=written,
        output_tokens=_count(usage, "output_tokens"),
    )


def read_gemini(lines: Iterable[str]) -> Reading:
    """Read ``gemini --output-format stream-json``. It reports tokens, but no price."""
    texts: list[str] = []
    for event in _objects(lines):
        kind = event.get("type")
        if kind == "message" and event.get("role") == "assistant":
            texts.append(_text(event.get("content")))
        elif kind == "tool_use":
            texts.clear()
        elif kind == "result":
            failed = event.get("status") != "success"
            said = _text(_dict(event.get("error")).get("message")) or "an error"
            return Reading(
                finished=True,
                error=said if failed else "",
                text="" if failed else "".join(texts),
                usage=_gemini_usage(_dict(event.get("stats"))),
            )
    return Reading(text="".join(texts))


def _gemini_usage(stats: dict[str, Any]) -> Usage:
    cached, models = _count(stats, "cached"), _dict(stats.get("models"))
    return Usage(
        model=next(reversed(models), ""),
        calls=_count(stats, "tool_calls") + 1,
        input_tokens=max(0, _count(stats, "input_tokens") - cached),
        cache_read_tokens=cached,
        output_tokens=_count(stats, "output_tokens"),
        seconds=_count(stats, "duration_ms") / 1000,
    )


def read_opencode(lines: Iterable[str]) -> Reading:
    """Read ``opencode run --format json``: each step has its tokens and price."""
    usage = Usage(cost_usd=0.0)
    text = error = ""
    status: int | None = None
    finished = False
    for event in _objects(lines):
        kind, part = event.get("type"), _dict(event.get("part"))
        if kind == "text":
            text = _text(part.get("text"))
        elif kind == "step_finish":
            usage += _opencode_usage(part)
            finished = part.get("reason") != "tool-calls"
        elif kind == "error":
            what = _dict(event.get("error"))
            data = _dict(what.get("data"))
            error = _text(data.get("message")) or _text(what.get("name")) or "an error"
            status = _count(data, "statusCode") or None
            finished = True
    return Reading(finished, error, status, text, usage if usage.calls else None)


def _opencode_usage(part: dict[str, Any]) -> Usage:
    tokens = _dict(part.get("tokens"))
    cache = _dict(tokens.get("cache"))
    return Usage(
        calls=1,
        input_tokens=_count(tokens, "input"),
        cache_read_tokens=_count(cache, "read"),
        cache_write_tokens=_count(cache, "write"),
        output_tokens=_count(tokens, "output") + _count(tokens, "reasoning"),
        cost_usd=reported_amount(part.get("cost")),
    )


def _objects(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if line.startswith("{"):
            try:
                value = json.loads(line)
            except ValueError:
                continue  # a line that was cut
            if isinstance(value, dict):
                yield value


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(values: dict[str, Any], name: str) -> int:
    return reported_count(values.get(name))

"""What the Messages API means by an error: wait, ask for less, or give up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

import anthropic
import httpx2

DROPPED = (anthropic.APIConnectionError, httpx2.TransportError, OSError)
"""A connection that could not be made, or broke."""

GARBLED = (ValueError, TypeError, AttributeError, KeyError, IndexError)
"""What a stream that is no Messages stream, or a malformed one, makes its reader raise."""

_SAID = 300  # characters of a server's own words that are passed on
_TRANSIENT = frozenset({408, 409, 425, 429, 499})
_TRANSIENT_TYPES = frozenset({"overloaded_error", "api_error", "rate_limit_error", "timeout_error"})
_FINAL = frozenset({401, 402, 403, 404})
_FINAL_TYPES = frozenset(
    {"authentication_error", "permission_error", "billing_error", "not_found_error"}
)
_ACCOUNT = re.compile(r"spend_limit|on_hold|billing|credit balance", re.IGNORECASE)
_NO_MODEL = re.compile(
    r"(unknown|invalid|no such) model|model\b.{0,60}\b(not (found|exist)|does not exist)",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"prompt is too long|too many (input )?tokens|context (size|length|window|limit)"
    r"|maximum context|request_too_large",
    re.IGNORECASE,
)
# "231004 tokens > 200000 maximum", "188240 + 21333 > 200000", "(18000 tokens) exceeds … (16384"
_SIZES = re.compile(r"(\d{3,}(?:\s*\+\s*\d+)*)\D*?(?:>|exceeds?)\D*(\d{3,})")
_UNSAID, _SLACK = 0.5, 0.9


class PromptTooLong(Exception):  # noqa: N818  # an answer of the service, not a fault of ours
    """The prompt, with its reply, does not fit into the model's context.

    Attributes:
        share: how much of the prompt would fit, from 0 to 1.
    """

    def __init__(self, said: str, share: float = _UNSAID) -> None:
        super().__init__(said)
        self.share = share


def said_in(error: anthropic.APIStatusError) -> str:
    """Return the server's own words, on one line."""
    words = error.api_message if isinstance(error.api_message, str) else error.message
    return " ".join(words.split())[:_SAID]


def is_final(error: anthropic.APIStatusError) -> bool:
    """Say whether key, account or model are refused, so that no request can succeed."""
    if error.status_code in _FINAL or error.type in _FINAL_TYPES:
        return True
    account = _ACCOUNT.search(f"{error.error_code} {said_in(error)}")
    return error.status_code < 500 and (bool(account) or is_about_model(error))


def is_about_model(error: anthropic.APIStatusError) -> bool:
    """Say whether the model, or the address itself, is not known there."""
    return error.status_code == 404 or bool(_NO_MODEL.search(said_in(error)))


def is_transient(error: anthropic.APIStatusError) -> bool:
    """Say whether the same request may succeed later."""
    known = error.status_code in _TRANSIENT or error.status_code >= 500
    return known or error.type in _TRANSIENT_TYPES


def is_too_long(error: anthropic.APIStatusError) -> bool:
    """Say whether the prompt was too long."""
    return error.status_code == 413 or bool(_TOO_LONG.search(said_in(error)))


def share_that_fits(said: str, max_tokens: int) -> float:
    """Return which share of a prompt would leave room for the reply; a half if it is not said."""
    sizes = _SIZES.search(said)
    if sizes is None:
        return _UNSAID
    found = sum(int(number) for number in sizes[1].split("+"))
    share = (int(sizes[2]) - max_tokens) / found * _SLACK
    return share if 0 < share < 1 else _UNSAID


def retry_after(headers: Mapping[str, str]) -> float:
    """Return the seconds a server asks to wait; 0.0 if it does not say."""
    text = headers.get("retry-after", "")
    try:
        seconds = float(text)
    except ValueError:
        seconds = _until(text)
    return max(0.0, seconds)


def _until(date: str) -> float:
    try:
        then = parsedate_to_datetime(date)
    except ValueError:
        return 0.0
    return (then - datetime.now(timezone.utc)).total_seconds() if then.tzinfo else 0.0


def kind_of(error: BaseException) -> str:
    """Return the name of an error's class."""
    return type(error).__name__

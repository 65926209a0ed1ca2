"""The Messages API as a service that may fail: one question, asked until it is answered."""

from __future__ import annotations

import json
import random
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import anthropic
import httpx2

from lae_controller.config import MutatorSettings
from lae_controller.errors import ChildError, LaeError, PrerequisiteError
from lae_controller.mutators.backoff import Backoff, Patience
from lae_controller.mutators.cost_limit import most_tokens
from lae_controller.mutators.deadline import Deadline
from lae_controller.mutators.environment import (
    BASE_URL,
    KEY,
    TOKEN,
    Redactor,
    check_key,
    is_vendor,
)
from lae_controller.mutators.messages_answer import Answer, Arriving
from lae_controller.mutators.messages_errors import (
    DROPPED,
    GARBLED,
    PromptTooLong,
    is_about_model,
    is_final,
    is_too_long,
    is_transient,
    kind_of,
    retry_after,
    said_in,
    share_that_fits,
)
from lae_controller.mutators.messages_request import Extras, fields
from lae_controller.prices import DEFAULT_MODEL, worst_call
from lae_controller.program import Reason, Usage
from lae_controller.prompts import Turn
from lae_controller.task import ReplyTimes

_CONNECT_S = 10.0
_PLACEHOLDER = "none"  # local servers want no key, the SDK wants one


class Service:
    """One server and one key for the life of a process; close it after use.

    Attributes:
        spendable_usd: what the process may spend; None for no limit.
        replies: when each came that was whole.
    """

    def __init__(
        self,
        settings: MutatorSettings,
        environ: Mapping[str, str],
        deadline: Deadline,
        rng: random.Random,
        patience: Patience,
    ) -> None:
        """Prepare; nothing is sent.

        Raises:
            PrerequisiteError: if no key is set for a server that needs one.
        """
        check_key(settings, environ)
        self._settings = settings
        self._model = settings.model or DEFAULT_MODEL
        self._deadline = deadline
        self._backoff = Backoff(patience, rng, deadline)
        self._hide = Redactor(environ).text
        self._extras = Extras.asked(settings.thinking)
        self._client = _connect(environ)
        self._known_api = is_vendor(environ)
        self._began = time.monotonic()
        self._used: Usage | None = None
        self.spendable_usd: float | None = None
        self.replies: tuple[ReplyTimes, ...] = ()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    @property
    def usage(self) -> Usage:
        """What the process used so far, with the seconds since it began."""
        free = worst_call(self._model, 0, 0)  # None where the price is not known
        used = self._used or Usage(self._model, cost_usd=free)
        return used + Usage(cost_usd=0.0, seconds=time.monotonic() - self._began)

    def ask(self, system: str, turns: Sequence[Turn]) -> Answer:
        """Return the whole reply to a conversation, waiting while the service is unwell.

        Raises:
            ChildError: ENVIRONMENT if the service does not recover in time; MUTATOR_ERROR if it
                refuses this request or is too slow; REFUSED if it filters the reply.
            PromptTooLong: if the prompt does not fit.
            PrerequisiteError: if no request at all can succeed, such as with a bad key.
        """
        while True:
            try:
                answer = self._call(system, turns)
            except anthropic.APIStatusError as error:
                self._cope(error)
            except DROPPED as error:
                cause = error.__cause__ or error
                self.wait(f"the connection to {self._host} failed ({kind_of(cause)}: {cause})")
            except GARBLED as error:
                self.wait(f"{self._host} answered with no Messages stream ({kind_of(error)})")
            else:
                if answer is not None:
                    return answer
                self.wait(f"{self._host} ended its stream before the reply was whole")

    def wait(self, trouble: str, at_least: float = 0.0) -> None:
        """Wait for the service to recover.

        Raises:
            ChildError: ENVIRONMENT, with the trouble, if there was enough waiting.
        """
        self._backoff.wait(self._hide(trouble), at_least)

    def _call(self, system: str, turns: Sequence[Turn]) -> Answer | None:
        """Ask once; None if the stream ended too early."""
        self._check_money(system, turns)
        settings = self._settings
        request: dict[str, Any] = fields(
            system, turns, self._extras, max_tokens=settings.max_tokens, level=settings.thinking
        )
        arriving = Arriving(self._model)
        left = self._deadline.left
        timeout = httpx2.Timeout(left, connect=min(left, _CONNECT_S))
        sent = time.monotonic()
        began = None
        try:
            with self._client.messages.create(
                model=self._model, stream=True, timeout=timeout, **request
            ) as stream:
                for event in stream:
                    began = began or time.monotonic()
                    arriving.take(event)
                    self._check_time()
        finally:
            if arriving.begun:
                used = arriving.usage()
                self._used = used if self._used is None else self._used + used
        answer = arriving.answer()
        if answer is not None and began is not None:
            self.replies += (ReplyTimes(sent, began, time.monotonic()),)
        return answer

    def _check_time(self) -> None:
        if not self._deadline.left:
            raise too_slow(self._settings)

    def _check_money(self, system: str, turns: Sequence[Turn]) -> None:
        most = worst_call(self._model, most_tokens(system, turns), self._settings.max_tokens)
        if self.spendable_usd is None or most is None or self._used is None:
            return
        spent = self._used.cost_usd or 0.0
        if spent + most > self.spendable_usd:
            raise ChildError(
                Reason.MUTATOR_ERROR,
                f"one more call could cost {most:.2g} USD beside the {spent:.2g} USD spent; this "
                f"proposal may spend {self.spendable_usd:.2g} USD, or mutator.max_cost_usd could "
                "be passed",
            )

    # -- when it says no ---------------------------------------------------------------------

    @property
    def _host(self) -> str:
        return self._client.base_url.host

    def _cope(self, error: anthropic.APIStatusError) -> None:
        """Return if the request may be repeated, after waiting or with less in it."""
        said = self._hide(said_in(error))
        broke_off = error.status_code == 200
        how = "broke off its reply" if broke_off else f"answered {error.status_code}"
        told = f"{self._host} {how}: {said}"
        if is_final(error):
            raise PrerequisiteError(f"{told}. {self._cure(error)}")
        if is_transient(error):
            self.wait(told, retry_after(error.response.headers))
            return
        max_tokens = self._settings.max_tokens
        if is_too_long(error):
            raise PromptTooLong(told, share_that_fits(said, max_tokens))
        if "content filter" in said.lower():
            raise ChildError(Reason.REFUSED, told)
        less = self._extras.without(said, max_tokens=max_tokens, known_api=self._known_api)
        if less is None:
            raise self._unfit(told)
        self._extras = less

    def _unfit(self, told: str) -> LaeError:
        """Return what a refusal of the request means: a setting is wrong, or this prompt is."""
        settings = {"max_tokens": self._settings.max_tokens, "thinking": self._settings.thinking}
        for name, value in settings.items():
            if name in told.lower():
                return PrerequisiteError(f"{told}. mutator.{name} is {value}; expected another")
        return ChildError(Reason.MUTATOR_ERROR, told)

    def _cure(self, error: anthropic.APIStatusError) -> str:
        if error.status_code == 401 or error.type == "authentication_error":
            return f"Set a valid key: `export {KEY}=…`"
        if is_about_model(error):
            return (
                f"Set mutator.model (now {self._model}) to a model it serves, and {BASE_URL} to "
                "the address of a Messages API, without /v1/messages"
            )
        if error.status_code == 403:
            return f"Use a key that may ask {self._model}, or set mutator.model to another model"
        return "Mend the account and give the same command again; nothing is lost"


def too_slow(settings: MutatorSettings) -> ChildError:
    """Return the failure of a reply that took too long."""
    return ChildError(
        Reason.MUTATOR_ERROR,
        f"the reply was not finished within mutator.timeout ({settings.timeout:g} s); raise it, "
        f"or lower mutator.max_tokens ({settings.max_tokens})",
    )


def _connect(environ: Mapping[str, str]) -> anthropic.Anthropic:
    """Return a client that repeats nothing by itself."""
    key = environ.get(KEY, "").strip() or None
    token = None if key else environ.get(TOKEN, "").strip() or None
    if key is None and token is None:
        key = _PLACEHOLDER
    base_url = environ.get(BASE_URL) or None
    http = anthropic.DefaultHttpxClient(verify=_certificates())
    return anthropic.Anthropic(
        api_key=key, auth_token=token, base_url=base_url, max_retries=0, http_client=http
    )


@cache
def _certificates() -> ssl.SSLContext:
    """Return the certificates that are trusted; reading them takes longer than a request."""
    return httpx2.create_ssl_context()


def warm_up() -> None:
    """Do once what the SDK puts off to its first call, so that no fork of this process has to.

    One streamed call is answered within the process; nothing is sent.
    """
    _certificates()
    _connect({}).close()
    head = {"content-type": "text/event-stream"}
    answer = httpx2.Response(200, headers=head, text="".join(_greeting()))
    http = httpx2.Client(transport=httpx2.MockTransport(lambda _: answer))
    key, here = _PLACEHOLDER, "http://localhost"
    client = anthropic.Anthropic(api_key=key, base_url=here, http_client=http)
    with client.messages.create(
        model=DEFAULT_MODEL, max_tokens=1, messages=[{"role": "user", "content": "-"}], stream=True
    ) as stream:
        arriving = Arriving(DEFAULT_MODEL)
        for event in stream:
            arriving.take(event)
    client.close()


def _greeting() -> Iterator[str]:
    """Yield the events of a reply with every kind of event that a reply of text has."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "-", "type": "message", "role": "assistant", "model": "-", "content": []}
    empty = {"type": "text", "text": ""}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**message, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "-"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage},
        {"type": "message_stop"},
    ]
    for event in events:
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"

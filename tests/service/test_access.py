from __future__ import annotations

from typing import Any

import pytest
from serve_helpers import Answer, call

from lae_controller.errors import ConfigError
from lae_controller.service.access import Access, check_token, is_loopback

TOKEN = "0123456789abcdef0123"


async def hello(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"{}"})


def ask(token: str | None, host: str = "127.0.0.1", path: str = "/x", **headers: str) -> Answer:
    return call(Access(hello, host, token), "GET", path, None, headers)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost", "[::1]"])
def test_loopback_needs_no_token(host: str) -> None:
    assert is_loopback(host)
    check_token(host, None)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.com", "127.0.0.1.evil.io"])
def test_any_other_address_does(host: str) -> None:
    assert not is_loopback(host)
    with pytest.raises(ConfigError, match="expected a token"):
        check_token(host, None)
    check_token(host, TOKEN)


def test_a_short_token_is_refused() -> None:
    with pytest.raises(ConfigError, match="expected at least 16"):
        check_token("127.0.0.1", "secret")


@pytest.mark.parametrize(
    "given", ["", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer"]
)
def test_without_the_exact_token_nobody_comes_in(given: str) -> None:
    answer = ask(TOKEN, authorization=given)
    assert (answer.status, answer.error["status"]) == (403, "PERMISSION_DENIED")
    assert TOKEN not in answer.raw.decode()


def test_with_the_token_from_anywhere() -> None:
    assert ask(TOKEN, authorization=f"Bearer {TOKEN}", host="lae.example.com").status == 200
    assert ask(TOKEN, authorization=f"bearer {TOKEN}").status == 200
    assert ask(TOKEN, path="/healthz").status == 200


@pytest.mark.parametrize("host", ["evil.io", "evil.io:8080", "127.0.0.1.evil.io", ""])
def test_a_name_that_was_bent_to_loopback_is_refused(host: str) -> None:
    assert ask(None, host="127.0.0.1", path="/x").status == 200
    answer = call(Access(hello, "127.0.0.1", None), "GET", "/x", None, {"host": host})
    assert answer.status == 403


@pytest.mark.parametrize("host", ["localhost:8080", "[::1]:8080", "127.0.0.1"])
def test_loopback_has_several_names(host: str) -> None:
    answer = call(Access(hello, "127.0.0.1", None), "GET", "/x", None, {"host": host})
    assert answer.status == 200


@pytest.mark.parametrize("token", [None, TOKEN])
def test_a_page_of_another_site_is_refused(token: str | None) -> None:
    key = {"authorization": f"Bearer {TOKEN}"}
    assert ask(token, origin="https://evil.io", **key).status == 403
    assert ask(token, origin="null", **key).status == 403
    assert ask(token, origin="http://127.0.0.1:8080", **key).status == 200

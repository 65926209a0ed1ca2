"""Who may come in, and how large a request may be: one layer around the whole application.

On loopback no token is needed, and then neither a page in somebody's browser nor a name that was
bent to 127.0.0.1 may stand in for the user: requests that carry a foreign ``Origin`` or ``Host``
are refused. On any other address every request needs the token.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from lae_controller.errors import ConfigError
from lae_controller.service import limits
from lae_controller.service.api_errors import ApiError, Code

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_SHORTEST_TOKEN = 16
OPEN_PATHS = frozenset({"/healthz"})
"""What answers anybody: it says nothing but that the server is there."""

_PAGE = re.compile(r"/|/dashboard|/dashboard/[^/]*|/dashboard/static/[^/]*")
"""The page of the dashboard, without any data: a browser cannot send a token to ask for it."""


def is_loopback(host: str) -> bool:
    """Say whether an address (or ``localhost``) reaches this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_token(host: str, token: str | None) -> None:
    """Check that a server on this address may be started.

    Raises:
        ConfigError: if another address than loopback has no token, or the token is a short one.
    """
    if token is None and not is_loopback(host):
        raise ConfigError(
            f"--host {host}: anyone who reaches this address could run experiments here; expected "
            "a token. Write one to a file (python -c 'import secrets; print(secrets.token_hex())' "
            "> token; chmod 600 token) and give --token-file token, or stay on 127.0.0.1"
        )
    if token is not None and len(token) < _SHORTEST_TOKEN:
        raise ConfigError(
            f"the token has {len(token)} characters; expected at least {_SHORTEST_TOKEN}, made at "
            "random"
        )


class Access:
    """Lets requests through to an application, or answers for it.

    Args:
        host: the address that is served.
        token: what ``Authorization: Bearer`` must carry; None for open access on loopback.
    """

    def __init__(self, app: App, host: str, token: str | None) -> None:
        self._app = app
        self._host = host
        self._digest = None if token is None else _digest(token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one request; only HTTP is served."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value for name, value in scope["headers"]}
        try:
            _check_size(scope["headers"])
            self._check(scope["path"], headers)
        except ApiError as error:
            await answer(send, error)
            return
        await self._app(scope, receive, send)

    def _check(self, path: str, headers: dict[str, bytes]) -> None:
        if path in OPEN_PATHS:
            return
        host = _name(headers.get("host", b"").decode("latin-1"))
        origin = headers.get("origin")
        if origin is not None and _name(urlsplit(origin.decode("latin-1")).netloc) != host:
            raise ApiError(Code.PERMISSION_DENIED, "requests from pages of other sites are refused")
        if self._digest is None:
            if not (is_loopback(host) or host == self._host):
                raise ApiError(
                    Code.PERMISSION_DENIED,
                    f"this server answers on loopback only, not for the host {host[:100]!r}",
                )
            return
        if _PAGE.fullmatch(path):
            return
        kind, _, given = headers.get("authorization", b"").partition(b" ")
        if kind.lower() != b"bearer" or not hmac.compare_digest(_hashed(given), self._digest):
            raise ApiError(
                Code.PERMISSION_DENIED,
                "the server's token is missing or another one; expected the header "
                "Authorization: Bearer TOKEN",
            )


def _digest(token: str) -> bytes:
    return _hashed(token.encode())


def _hashed(token: bytes) -> bytes:
    """Equal lengths, so that comparing takes as long whatever was given."""
    return hashlib.sha256(token.strip()).digest()


def _name(netloc: str) -> str:
    """Return the host of ``host:port``, an IPv6 address without its brackets."""
    host = netloc.rpartition("@")[2].lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _check_size(headers: list[tuple[bytes, bytes]]) -> None:
    size = sum(len(name) + len(value) for name, value in headers)
    if size > limits.HEADER_BYTES:
        raise ApiError(
            Code.HEADERS_TOO_LARGE,
            f"the headers have {size} bytes; expected at most {limits.HEADER_BYTES}",
        )
    for name, value in headers:
        if name == b"content-length" and _length(value) > limits.BODY_BYTES:
            raise too_long()


def _length(value: bytes) -> int:
    return int(value) if value.isdigit() and len(value) < 20 else limits.BODY_BYTES + 1


def too_long() -> ApiError:
    """Return the error for a body over the limit."""
    return ApiError(
        Code.INVALID_ARGUMENT, f"the body is too long; expected at most {limits.BODY_BYTES} bytes"
    )


async def answer(send: Send, error: ApiError) -> None:
    """Send an error as the whole reply."""
    raw = json.dumps(error.body(), ensure_ascii=False).encode()
    headers = [
        (b"content-type", b"application/json; charset=utf-8"),
        (b"content-length", str(len(raw)).encode()),
    ]
    await send({"type": "http.response.start", "status": error.code.http, "headers": headers})
    await send({"type": "http.response.body", "body": raw})

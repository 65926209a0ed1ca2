"""A client of the API, for our own verbs and for ``lae`` as an evaluator; standard library only."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import OpenerDirector, ProxyHandler, Request, build_opener

from lae_controller.errors import ConfigError, LaeError, PrerequisiteError
from lae_controller.service.access import is_loopback
from lae_controller.service.backoff import Backoff

_TIMEOUT_S = 60.0
_BUSY = frozenset({429, 503})


class RemoteError(LaeError):
    """A request that the server refused.

    Attributes:
        http: the HTTP status.
        status: the word of the API, such as FAILED_PRECONDITION.
    """

    def __init__(self, http: int, status: str, message: str) -> None:
        super().__init__(f"the server says {http} {status}: {message}")
        self.http = http
        self.status = status


class ApiClient:
    """Sends requests to one server.

    A busy server (429, 503) and a broken connection are tried again with growing, jittered pauses.

    Args:
        server: such as ``http://127.0.0.1:8080``.
        token: gives the bearer token of a request; None where none is needed.
        rng: for the jitter.
    """

    def __init__(
        self,
        server: str,
        token: Callable[[], str | None],
        rng: random.Random,
        backoff: Backoff | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        parts = urlsplit(server)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(
                f"--server {server}: expected an address such as http://127.0.0.1:8080"
            )
        self.server = server.rstrip("/")
        self._token = token
        self._rng = rng
        self._backoff = backoff or Backoff()
        self._sleep = sleep
        self._opener = _opener(parts.hostname)

    def call(
        self, method: str, name: str, body: Any = None, query: dict[str, str] | None = None
    ) -> dict[str, Any]:
        """Send one request and return the reply; an empty one (204) is an empty object.

        Args:
            name: a resource name, with a verb behind it if there is one.

        Raises:
            RemoteError: if the server refuses it.
            PrerequisiteError: if no server answers.
        """
        trouble: LaeError | None = None
        for pause in (*self._backoff.pauses(self._rng), None):
            try:
                return self._send(method, name, body, query or {})
            except RemoteError as error:
                if error.http not in _BUSY:
                    raise
                trouble = error
            except (URLError, HTTPException, TimeoutError, OSError) as error:
                trouble = self._unreachable(error)
            if pause is not None:
                self._sleep(pause)
        raise trouble or PrerequisiteError(f"{self.server}: no answer")

    def listed(
        self, name: str, key: str, query: dict[str, str] | None = None, most: int | None = None
    ) -> Iterator[dict[str, Any]]:
        """Yield the items of a list, page after page, up to ``most``."""
        asked, given = dict(query or {}), 0
        while True:
            reply = self.call("GET", name, query=asked)
            for item in reply.get(key, []):
                yield item
                given += 1
                if given == most:
                    return
            if not reply.get("nextPageToken"):
                return
            asked["pageToken"] = reply["nextPageToken"]

    def _send(self, method: str, name: str, body: Any, query: dict[str, str]) -> dict[str, Any]:
        url = f"{self.server}/v1alpha/{quote(name, safe='/:-._~@')}"
        if query:
            url = f"{url}?{urlencode(query)}"
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        token = self._token()
        if token:
            headers["Authorization"] = f"Bearer {token}"
        data = json.dumps(body, allow_nan=False).encode() if body is not None else None
        request = Request(url, data, headers, method=method)
        try:
            with self._opener.open(request, timeout=_TIMEOUT_S) as reply:
                return _object(reply.read())  # all of it: a part of a reply is an error
        except HTTPError as error:
            with error:
                raise _refused(error.code, error.read(1 << 20)) from None

    def _unreachable(self, error: Exception) -> PrerequisiteError:
        reason = error.reason if isinstance(error, URLError) else error
        return PrerequisiteError(
            f"{self.server}: no server answers ({reason}); expected one. `lae serve` starts it, "
            "--server names another"
        )


def _opener(host: str) -> OpenerDirector:
    """Return what sends requests; a proxy of the environment is not asked about this machine."""
    return build_opener(ProxyHandler({})) if is_loopback(host) else build_opener()


def _object(raw: bytes) -> dict[str, Any]:
    if not raw.strip():
        return {}
    try:
        value = json.loads(raw)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise RemoteError(200, "UNKNOWN", f"the reply is no JSON object: {raw[:200]!r}")
    return value


def _refused(http: int, raw: bytes) -> RemoteError:
    try:
        error = json.loads(raw)["error"]
        return RemoteError(http, str(error["status"]), str(error["message"]))
    except (ValueError, TypeError, KeyError):
        return RemoteError(http, "UNKNOWN", raw[:300].decode("utf-8", "replace") or "no details")

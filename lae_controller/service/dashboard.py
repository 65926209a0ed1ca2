"""The dashboard's routes: a page without data, data for it, and one button.

    GET  /dashboard, /dashboard/KEY                     the page; open to all, it holds no data
    GET  /dashboard/static/NAME                         its scripts and styles
    GET  /dashboard/data/runs                           what can be looked at
    GET  /dashboard/data/runs/KEY                       the sections of one
    GET  /dashboard/data/runs/KEY/programs/ID           one program
    GET  /dashboard/data/events, …?run=KEY              what changes, as server-sent events
    POST /dashboard/data/runs/KEY:stop                  asks it to stop

Data and button want the server's token, if it has one, in a header: no cookie is ever set, so a
page of another site has nothing to ride on. Without a token (on loopback) such pages are refused
by what the browser says of them, and by a header that they cannot send.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Future
from functools import cache, wraps
from typing import TypeVar
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from lae_controller.errors import LaeError
from lae_controller.service.api_errors import ApiError, Code
from lae_controller.service.board import FRESH_S, Board
from lae_controller.service.incoming import query
from lae_controller.views.dashboard.texts import assets, shell

MARK = "x-lae-dashboard"
"""A header that only a page of this server can send: another site's would be asked for leave."""

_MOST_LISTENERS = 64
_BEAT_S = 15.0
"""After so long without news a comment is sent, so that nothing between closes the connection."""

_EMPTY = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
"""The digest of nothing: plotly makes an empty style element and fills it rule by rule. Beside
that it sets a few style attributes, which can neither run nor load anything under this policy."""

HEADERS = {
    "content-security-policy": (
        f"default-src 'none'; script-src 'self'; style-src 'self' {_EMPTY}; "
        "style-src-attr 'unsafe-inline'; connect-src 'self'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}

T = TypeVar("T")
Handler = Callable[[Request], Awaitable[Response]]


class Dashboard:
    """The routes around a board."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._ending = asyncio.Event()
        self._listeners = 0

    def end(self) -> None:
        """Let every listener go; called in the server's event loop."""
        self._ending.set()

    def routes(self) -> list[Route]:
        """Return the routes."""
        data = "/dashboard/data"
        return [
            Route("/", _home, methods=["GET"]),
            Route("/dashboard", _page, methods=["GET"]),
            Route("/dashboard/{key}", _page, methods=["GET"]),
            Route("/dashboard/static/{name}", _static, methods=["GET"]),
            Route(f"{data}/runs", guarded(self._runs), methods=["GET"]),
            Route(f"{data}/events", guarded(self._events), methods=["GET"]),
            Route(f"{data}/runs/{{key}}:stop", guarded(self._stop), methods=["POST"]),
            Route(f"{data}/runs/{{key}}", guarded(self._view), methods=["GET"]),
            Route(
                f"{data}/runs/{{key}}/programs/{{child}}", guarded(self._program), methods=["GET"]
            ),
        ]

    async def _runs(self, request: Request) -> Response:
        query(request, ())
        return _json({"html": await ready(self._board.runs())})

    async def _view(self, request: Request) -> Response:
        query(request, ())
        raw = await ready(self._board.view(request.path_params["key"]))
        return Response(raw, media_type="application/json")

    async def _program(self, request: Request) -> Response:
        query(request, ())
        key, child = request.path_params["key"], request.path_params["child"]
        return _json({"html": await ready(self._board.program(key, child))})

    async def _stop(self, request: Request) -> Response:
        query(request, ())
        watched = self._board.watched(request.path_params["key"])
        try:
            await ready(watched.stop())
        except LaeError as error:
            raise ApiError(Code.FAILED_PRECONDITION, str(error)) from None
        said = (
            "Asked to stop: it is paused, and what is with clients may still be handed in."
            if watched.by_clients
            else "Asked to stop: it ends when the children that run now are told."
        )
        return _json({"said": said})

    # -- events ------------------------------------------------------------------------------------

    async def _events(self, request: Request) -> Response:
        key = query(request, ("run",)).get("run")
        if key is not None:
            self._board.watched(key)
        if self._listeners >= _MOST_LISTENERS:
            raise ApiError(
                Code.RESOURCE_EXHAUSTED,
                f"{self._listeners} pages listen already, and that is the most; close one",
            )
        news = self._list_news() if key is None else self._run_news(key)
        return StreamingResponse(self._counted(news), media_type="text/event-stream")

    async def _counted(self, news: AsyncIterator[str]) -> AsyncIterator[str]:
        """Pass on what is new, and a sign of life where there is nothing."""
        self._listeners += 1
        silent = 0.0
        try:
            while not self._ending.is_set():
                try:
                    text = await anext(news)
                except ApiError as error:  # it was deleted meanwhile
                    yield event("gone", {"said": error.message})
                    return
                silent = 0.0 if text else silent + 2 * FRESH_S
                if text or silent >= _BEAT_S:
                    yield text or ": still here\n\n"
                    silent = 0.0
                await self._pause()
        finally:
            self._listeners -= 1

    async def _pause(self) -> None:
        try:
            await asyncio.wait_for(self._ending.wait(), 2 * FRESH_S)
        except asyncio.TimeoutError:  # the usual case; an alias of TimeoutError from 3.11 on
            return

    async def _run_news(self, key: str) -> AsyncIterator[str]:
        before = None
        while True:
            look = await ready(self._board.look(key))
            text = ""
            if before is None or look.version != before.version:
                text += event("view", {"version": look.version})
            if before is None or (look.now, look.can_stop) != (before.now, before.can_stop):
                text += event("now", {"html": look.now, "can_stop": look.can_stop})
            before = look
            yield text

    async def _list_news(self) -> AsyncIterator[str]:
        before = None
        while True:
            html = await ready(self._board.runs())
            yield event("runs", {"html": html}) if html != before else ""
            before = html


async def ready(future: Future[T]) -> T:
    """Wait for what a thread makes; one who goes away does not end it for the others."""
    return await asyncio.shield(asyncio.wrap_future(future))


def event(name: str, value: object) -> str:
    """Return one server-sent event."""
    return f"event: {name}\ndata: {json.dumps(value)}\n\n"


def guarded(handler: Handler) -> Handler:
    """Refuse what comes from a page of another site, and put the headers onto every reply."""

    @wraps(handler)
    async def answer(request: Request) -> Response:
        _check(request)
        reply = await handler(request)
        reply.headers.update(HEADERS)
        return reply

    return answer


def _check(request: Request) -> None:
    """Check that a request comes from a page of this server, or from no page.

    Raises:
        ApiError: PERMISSION_DENIED.
    """
    headers = request.headers
    site = headers.get("sec-fetch-site", "none")
    origin = headers.get("origin")
    foreign = origin is not None and urlsplit(origin).netloc != headers.get("host", "")
    if foreign or site not in ("same-origin", "none"):
        raise ApiError(Code.PERMISSION_DENIED, "requests from pages of other sites are refused")
    if request.method != "GET" and headers.get(MARK) is None:
        raise ApiError(
            Code.PERMISSION_DENIED, f"the header {MARK} is missing; expected it from the dashboard"
        )


def _json(value: object) -> Response:
    return Response(json.dumps(value), media_type="application/json")


async def _home(_: Request) -> Response:
    return RedirectResponse("/dashboard")


async def _page(_: Request) -> Response:
    return Response(await asyncio.to_thread(shell), media_type="text/html", headers=HEADERS)


async def _static(request: Request) -> Response:
    """Return a file of the page; a browser that has it is told so."""
    found = (await asyncio.to_thread(assets)).get(request.path_params["name"])
    if found is None:
        raise ApiError(Code.NOT_FOUND, "the dashboard has no such file")
    kind, raw = found
    tag = _tag(raw)
    headers = {**HEADERS, "cache-control": "no-cache", "etag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(raw, media_type=kind, headers=headers)


@cache
def _tag(raw: bytes) -> str:
    return f'"{hashlib.sha256(raw).hexdigest()[:32]}"'

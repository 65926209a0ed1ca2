"""The ASGI application: paths to methods, errors to JSON."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from lae_controller.errors import LaeError
from lae_controller.service.access import Access, App, Receive, Scope, Send
from lae_controller.service.api_errors import ApiError, Code
from lae_controller.service.dashboard import Dashboard
from lae_controller.service.google import GoogleRoutes, grant_token
from lae_controller.service.names import parse_experiment, parse_operation, parse_program
from lae_controller.service.openapi import description
from lae_controller.service.routes import Routes, json_response
from lae_controller.service.service import Service

Method = Callable[[Request, Any], Awaitable[Response]]
Named = Callable[[str], Any]

_EXPERIMENTS = "alphaEvolveExperiments"
_PROGRAMS = "alphaEvolvePrograms"


class Dispatch:
    """Finds the method for a resource name and an HTTP method."""

    def __init__(self, service: Service) -> None:
        api, google = Routes(service), GoogleRoutes(service.registry)
        same: Named = str
        verbs = {
            "start": api.start,
            "resume": api.resume,
            "stop": api.stop,
            "acquirePrograms": api.acquire,
            "submitProgramsEvaluations": api.submit,
        }
        experiment = rf"(.+/{_EXPERIMENTS}/[^/]+)"
        self._table: list[tuple[re.Pattern[str], Named, Mapping[str, Method]]] = [
            *(
                (re.compile(rf"{experiment}:{verb}"), parse_experiment, {"POST": method})
                for verb, method in verbs.items()
            ),
            (
                re.compile(rf"(.+)/{_EXPERIMENTS}"),
                same,
                {"POST": api.create_experiment, "GET": api.list_experiments},
            ),
            (
                re.compile(experiment),
                parse_experiment,
                {"GET": api.get_experiment, "DELETE": api.delete_experiment},
            ),
            (
                re.compile(rf"{experiment}/{_PROGRAMS}"),
                parse_experiment,
                {"POST": api.create_program, "GET": api.list_programs},
            ),
            (
                re.compile(rf"({experiment[1:-1]}/{_PROGRAMS}/[^/]+)"),
                parse_program,
                {"GET": api.get_program},
            ),
            (
                re.compile(rf"({experiment[1:-1]}/operations/[^/]+)"),
                parse_operation,
                {"GET": api.get_operation},
            ),
            (
                re.compile(r"(.+/engines/[^/]+)/sessions"),
                same,
                {"GET": google.list_sessions, "POST": google.create_session},
            ),
            (re.compile(r"(.+/sessions/[^/]+)"), same, {"GET": google.get_session}),
            (
                re.compile(r"(.+/engines/[^/]+)/assistants/[^/]+:streamAssist"),
                same,
                {"POST": google.assist},
            ),
            (re.compile(r"(.+/collections/[^/]+)/engines"), same, {"GET": google.list_engines}),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Carry out one request below ``/v1alpha/``, whatever its HTTP method."""
        response = await self._answer(Request(scope, receive))
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        name: str = request.path_params["name"]
        for pattern, named, methods in self._table:
            found = pattern.fullmatch(name)
            if found is not None:
                method = methods.get(request.method)
                if method is None:
                    return _not_allowed(request.method, methods)
                return await method(request, named(found[1]))
        raise ApiError(Code.NOT_FOUND, f"/v1alpha/{name[:300]} is no resource of this API")


def _not_allowed(method: str, methods: Mapping[str, Method]) -> Response:
    allowed = ", ".join(sorted(methods))
    error = ApiError(Code.METHOD_NOT_ALLOWED, f"{method} does nothing here; expected {allowed}")
    reply = json_response(error.body(), error.code.http)
    reply.headers["Allow"] = allowed
    return reply


def make_app(
    service: Service, host: str, token: str | None, dashboard: Dashboard | None = None
) -> App:
    """Return the application for a server on an address.

    Args:
        token: what every request must carry; None for open access on loopback.
        dashboard: None for one of its own.
    """
    dashboard = dashboard or Dashboard(service.board)
    routes = [  # tried in this order: what workers call comes first
        Route("/v1alpha/{name:path}", Dispatch(service)),
        *dashboard.routes(),
        Route("/openapi.json", _openapi, methods=["GET"]),
        Route("/healthz", _health, methods=["GET"]),
    ]
    if token is None:
        routes.append(Route("/token", grant_token, methods=["POST"]))
    handlers: dict[Any, Any] = {
        ApiError: _api_error,
        LaeError: _unavailable,
        ClientDisconnect: _gone,
        404: _no_such_page,
        405: _no_such_page,
        500: _bug,
    }
    return Access(Starlette(routes=routes, exception_handlers=handlers), host, token)


async def _openapi(request: Request) -> Response:
    return json_response(await run_in_threadpool(description, str(request.base_url).rstrip("/")))


async def _health(_: Request) -> Response:
    return json_response({"status": "ok"})


async def _api_error(_: Request, error: ApiError) -> Response:
    return json_response(error.body(), error.code.http)


async def _unavailable(_: Request, error: LaeError) -> Response:
    api_error = ApiError(Code.SERVICE_UNAVAILABLE, str(error))
    return json_response(api_error.body(), api_error.code.http)


async def _gone(_: Request, __: ClientDisconnect) -> Response:
    return Response(status_code=400)


async def _no_such_page(request: Request, _: Exception) -> Response:
    error = ApiError(Code.NOT_FOUND, f"{request.url.path[:300]} is not here; see /openapi.json")
    return json_response(error.body(), error.code.http)


async def _bug(_: Request, __: Exception) -> Response:
    error = ApiError(Code.INTERNAL, "an error in the server; its log holds the details")
    return json_response(error.body(), error.code.http)

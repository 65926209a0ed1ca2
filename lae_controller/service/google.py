"""What Google's own clients ask for beside the experiments: sessions, engines, an access token.

Sessions need not be created here: any name will do. They are answered so that those clients run
unchanged.
"""

from __future__ import annotations

import re
import secrets
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from lae_controller.service.api_errors import invalid
from lae_controller.service.incoming import query, read_body
from lae_controller.service.names import ANY, Session, parse_session
from lae_controller.service.registry import Registry
from lae_controller.service.routes import json_response

_ENGINE = re.compile(r"projects/([^/]+)/locations/([^/]+)/collections/([^/]+)/engines/([^/]+)")
_COLLECTION = re.compile(r"projects/([^/]+)/locations/([^/]+)/collections/([^/]+)")


class GoogleRoutes:
    """The few methods around the API that its clients cannot do without."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def list_sessions(self, request: Request, engine: str) -> Response:
        """List the sessions that hold experiments: GET …/engines/{e}/sessions."""
        query(request, ("pageSize", "pageToken", "filter", "orderBy"))
        found = self._registry.find(_session(engine, ANY))
        names = dict.fromkeys(str(book.created.session) for book in found)
        return json_response({"sessions": [_as_session(name) for name in names]})

    async def create_session(self, request: Request, engine: str) -> Response:
        """Name a new session: POST …/engines/{e}/sessions."""
        await read_body(request)
        return json_response(_as_session(_new_session(engine)))

    async def get_session(self, request: Request, name: str) -> Response:
        """Return a session: GET P."""
        query(request, ())
        return json_response(_as_session(str(parse_session(name))))

    async def assist(self, request: Request, engine: str) -> Response:
        """Name a new session, as the library asks for it: POST …/assistants/{a}:streamAssist."""
        await read_body(request)
        return json_response([{"sessionInfo": {"session": _new_session(engine)}}])

    async def list_engines(self, request: Request, collection: str) -> Response:
        """List the engines that hold experiments: GET …/collections/{c}/engines."""
        query(request, ("pageSize", "pageToken", "filter"))
        found = _COLLECTION.fullmatch(collection)
        if found is None:
            raise invalid("parent", f"is {collection[:300]!r}", "projects/*/locations/*/…")
        books = self._registry.find(Session(found[1], found[2], found[3], ANY, ANY))
        names = dict.fromkeys(f"{collection}/engines/{b.created.session.engine}" for b in books)
        engines = [{"name": name, "displayName": name.rpartition("/")[2]} for name in names]
        return json_response({"engines": engines})


async def grant_token(request: Request) -> Response:
    """Give an access token to credentials that must have one: POST /token.

    Only where the server is open to whoever reaches it; the token opens nothing.
    """
    await read_body(request)
    return json_response({"access_token": "local", "expires_in": 3600, "token_type": "Bearer"})


def _session(engine: str, session: str) -> Session:
    found = _ENGINE.fullmatch(engine)
    if found is None:
        raise invalid("parent", f"is {engine[:300]!r}", "projects/*/…/engines/*")
    return Session(found[1], found[2], found[3], found[4], session)


def _new_session(engine: str) -> str:
    name = str(_session(engine, str(secrets.randbelow(9 * 10**18) + 10**18)))
    return str(parse_session(name))


def _as_session(name: str) -> dict[str, Any]:
    return {"name": name, "state": "IN_PROGRESS"}

"""One request as the handlers see it: its query, its body, its parent; nothing unknown."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from starlette.requests import Request

from lae_controller.service import limits
from lae_controller.service.access import too_long
from lae_controller.service.api_errors import ApiError, Code, invalid
from lae_controller.service.fields import load_json, snake
from lae_controller.service.messages import READER

# Parameters that every method of Google's APIs takes. What they ask for is how this server answers
# anyway, or (fields, quotaUser) what it cannot give: a part of the reply, a quota.
_SYSTEM = frozenset(
    "$.xgafv alt fields key prettyPrint quotaUser uploadType upload_protocol".split()
)


async def read_body(request: Request) -> bytes:
    """Return the body of a request.

    Raises:
        ApiError: if it is longer than allowed.
    """
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > limits.BODY_BYTES:
            raise too_long()
    return bytes(raw)


async def read_message(request: Request, message: str) -> dict[str, Any]:
    """Return the message in the body of a request.

    Raises:
        ApiError: if it is not one.
    """
    query(request, ())
    return READER.read(message, load_json(await read_body(request)))


def query(request: Request, known: Collection[str]) -> dict[str, str]:
    """Return the query parameters by their lowerCamelCase names.

    Raises:
        ApiError: for a parameter that is unknown, or given twice, or ``alt`` other than JSON.
    """
    spellings = {spelling: name for name in known for spelling in (name, snake(name))}
    found: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name in _SYSTEM:
            if name == "alt" and value != "json":
                raise invalid("alt", f"is {value[:40]!r}", "json, the only form there is")
            continue
        if name not in spellings:
            expected = ", ".join(sorted(known)) or "none"
            raise ApiError(
                Code.INVALID_ARGUMENT,
                f"{name[:100]!r} is not a query parameter of this method; expected: {expected}",
                name[:100],
            )
        if spellings[name] in found:
            raise invalid(name, "is given twice", "it once")
        found[spellings[name]] = value
    return found


def check_parent(body: dict[str, Any], field: str, name: str) -> None:
    """Check that a name in the body, which the path says already, says the same.

    Raises:
        ApiError: if it does not.
    """
    given = body.get(field, name)
    if given != name:
        raise invalid(field, f"is {given[:300]!r}", f"{name}, as in the path, or nothing")

"""What a caller is told when a request cannot be carried out: Google's error JSON."""

from __future__ import annotations

from enum import Enum
from typing import Any

_TYPE = "type.googleapis.com/google.rpc."


class Code(Enum):
    """``error.status`` with the HTTP status that belongs to it."""

    INVALID_ARGUMENT = ("INVALID_ARGUMENT", 400)
    FAILED_PRECONDITION = ("FAILED_PRECONDITION", 400)
    PERMISSION_DENIED = ("PERMISSION_DENIED", 403)
    NOT_FOUND = ("NOT_FOUND", 404)
    METHOD_NOT_ALLOWED = ("INVALID_ARGUMENT", 405)
    HEADERS_TOO_LARGE = ("INVALID_ARGUMENT", 431)
    RESOURCE_EXHAUSTED = ("RESOURCE_EXHAUSTED", 429)
    INTERNAL = ("INTERNAL", 500)
    SERVICE_UNAVAILABLE = ("SERVICE_UNAVAILABLE", 503)

    @property
    def status(self) -> str:
        """The word that clients look at."""
        return self.value[0]

    @property
    def http(self) -> int:
        """The HTTP status."""
        return self.value[1]


class ApiError(Exception):
    """A request that was refused; nothing was changed.

    Attributes:
        field: the dotted path of the field that is wrong; empty if it is none of them.
    """

    def __init__(self, code: Code, message: str, field: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.field = field

    def body(self) -> dict[str, Any]:
        """Return the JSON of the reply."""
        details: list[dict[str, Any]] = []
        if self.field:
            violation = {"field": self.field, "description": self.message}
            details.append({"@type": f"{_TYPE}BadRequest", "fieldViolations": [violation]})
        return {
            "error": {
                "code": self.code.http,
                "message": self.message,
                "status": self.code.status,
                "details": details,
            }
        }


def invalid(field: str, found: str, expected: str) -> ApiError:
    """Return the error for a field that is not what it should be."""
    return ApiError(Code.INVALID_ARGUMENT, f"{field} {found}; expected {expected}", field)


def refused(message: str) -> ApiError:
    """Return the error for what the present state does not allow."""
    return ApiError(Code.FAILED_PRECONDITION, message)


def not_found(name: str, what: str) -> ApiError:
    """Return the error for a resource that is not there."""
    return ApiError(Code.NOT_FOUND, f"{name}: there is no such {what}")

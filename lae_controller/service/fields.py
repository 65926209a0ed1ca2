"""JSON messages read by a table of fields: both spellings, exact types, nothing unknown.

The rules are those of proto3 JSON: ``null`` is an absent field, numbers may come as texts, and
``programLanguage`` may be written ``program_language``. What is stricter: a field that is given
twice, and a number that is not finite where it is used.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from lae_controller.service.api_errors import ApiError, Code, invalid

_INTEGER = re.compile(r"-?\d{1,19}")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_DEEPEST = 40


class Kind(Enum):
    """The type of a field."""

    STRING = "a text"
    BOOL = "true or false"
    INT32 = "an integer of 32 bits"
    INT64 = "an integer of 64 bits"
    FLOAT = "a number"
    MESSAGE = "an object"
    ANY = "anything"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message.

    Attributes:
        name: in lowerCamelCase, as it is written in replies.
        message: of ``Kind.MESSAGE``: which.
        choices: of a text: the values it may have; empty for any.
        required: whether the API's documents call it so (for the OpenAPI description; what is
            missing is reported where the message is used).
        output: whether the server alone sets it: read, checked and dropped.
        also: other names that some client uses.
        form: of a text: ``duration`` or ``date-time``, for the OpenAPI description.
    """

    name: str
    kind: Kind
    about: str
    message: str = ""
    repeated: bool = False
    choices: tuple[str, ...] = ()
    required: bool = False
    output: bool = False
    also: tuple[str, ...] = ()
    form: str = ""

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every name that a request may use."""
        names = (self.name, *self.also)
        return tuple(dict.fromkeys([*names, *map(snake, names)]))


Messages = Mapping[str, tuple[Field, ...]]


def snake(name: str) -> str:
    """Return ``program_language`` for ``programLanguage``."""
    return _HUMP.sub("_", name).lower()


def load_json(raw: bytes) -> Any:
    """Return the value of a request's body; an empty body is an empty object.

    Raises:
        ApiError: if it is not JSON, says one name twice, or holds NaN or a lone surrogate.
    """
    if not raw.strip():
        return {}
    try:
        text = raw.decode("utf-8")
        value = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_pairs)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode("utf-8")  # half of a surrogate pair
    except UnicodeError:
        raise _not_json("it is not UTF-8") from None
    except RecursionError:
        raise _not_json("it is nested too deeply") from None
    except ValueError as error:
        raise _not_json(str(error)) from None
    return value


def _no_constant(word: str) -> float:
    raise ValueError(f"{word} is no number of JSON")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {twice[:100]!r} is given twice")
    return value


def _not_json(why: str) -> ApiError:
    return ApiError(
        Code.INVALID_ARGUMENT, f"the body cannot be read: {why}; expected one JSON object"
    )


class Reader:
    """Reads messages of one table."""

    def __init__(self, messages: Messages) -> None:
        self._known: dict[str, dict[str, Field]] = {
            name: {spelling: field for field in fields for spelling in field.spellings}
            for name, fields in messages.items()
        }

    def read(self, message: str, value: Any, where: str = "") -> dict[str, Any]:
        """Return the fields that are set, by their lowerCamelCase names; output fields dropped.

        Raises:
            ApiError: INVALID_ARGUMENT, with the path of the first field that is wrong.
        """
        if not isinstance(value, dict):
            raise invalid(where or "the body", f"is {_said(value)}", "an object")
        known = self._known[message]
        read: dict[str, Any] = {}
        for name, item in value.items():
            path = f"{where}.{name[:100]}" if where else name[:100]
            field = known.get(name)
            if field is None:
                raise _unknown(path, name, known)
            if field.name in read:
                raise invalid(path, "is given twice, in two spellings", "one of them")
            if item is not None:
                read[field.name] = self._items(field, item, path)
        output = {field.name for field in known.values() if field.output}
        return {name: item for name, item in read.items() if name not in output}

    def _items(self, field: Field, value: Any, where: str) -> Any:
        if not field.repeated:
            return self._one(field, value, where)
        if not isinstance(value, list):
            raise invalid(where, f"is {_said(value)}", "a list")
        return [self._one(field, item, f"{where}[{at}]") for at, item in enumerate(value)]

    def _one(self, field: Field, value: Any, where: str) -> Any:
        if field.kind is Kind.ANY:
            return value
        if field.kind is Kind.MESSAGE:
            if where.count(".") > _DEEPEST:
                raise invalid(where, "is nested too deeply", "less")
            return self.read(field.message, value, where)
        found = _READERS[field.kind](value)
        if found is None:
            raise invalid(where, f"is {_said(value)}", field.kind.value)
        if field.choices and found not in field.choices:
            raise invalid(where, f"is {_said(value)}", "one of " + ", ".join(field.choices))
        return found


def _unknown(path: str, name: str, known: Mapping[str, Field]) -> ApiError:
    import difflib

    names = sorted({field.name for field in known.values()})
    near = difflib.get_close_matches(name[:100], names, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]}?" if near else f"known here: {', '.join(names) or 'none'}"
    return ApiError(
        Code.INVALID_ARGUMENT, f"{path} is not a field of this API ({hint}); remove it", path
    )


def _said(value: Any) -> str:
    """Show a wrong value, shortened."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}…"


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _bool(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _integer(bits: int) -> Callable[[Any], int | None]:
    bound = 1 << (bits - 1)

    def read(value: Any) -> int | None:
        if isinstance(value, str) and _INTEGER.fullmatch(value):
            value = int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            return None
        return value if -bound <= value < bound else None

    return read


def _float(value: Any) -> float | None:
    """Return a number; one that is not finite stays so, for whoever uses it to refuse it."""
    if isinstance(value, str):
        try:
            return float(value) if re.fullmatch(r"[-+.\dEeINa-z]{1,40}", value) else None
        except ValueError:
            return None
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


_READERS: dict[Kind, Callable[[Any], Any]] = {
    Kind.STRING: _string,
    Kind.BOOL: _bool,
    Kind.INT32: _integer(32),
    Kind.INT64: _integer(64),
    Kind.FLOAT: _float,
}

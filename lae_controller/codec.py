"""Frozen values to plain JSON data and back, by their type hints."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")
_PLAIN = frozenset({str, int, float, bool, type(None)})


def encode(value: Any) -> Any:
    """Return plain data: dataclasses become objects, enums their values, tuples lists."""
    # Not ``msgspec.to_builtins``: it leaves tuples, which no JSON Schema takes for an array.
    kind: Any = type(value)
    if kind in _PLAIN:
        return value
    names = _field_names(kind)
    if names is not None:
        return {name: encode(getattr(value, name)) for name in names}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    return value


@cache
def _field_names(kind: type) -> tuple[str, ...] | None:
    """Return the names of a dataclass's fields; None for any other type."""
    if not dataclasses.is_dataclass(kind):
        return None
    return tuple(field.name for field in dataclasses.fields(kind))


def decode(kind: type[T], data: Any) -> T:
    """Return ``data`` (from ``encode``) as a value of the dataclass ``kind``.

    Fields that are missing take their default; unknown ones are ignored, so that an older
    ledger can be read.

    Raises:
        ValueError: naming the field, if the data does not fit.
    """
    # Not strict: a whole number may have been written as ``12.0``.
    return msgspec.convert(data, kind, strict=False)


def learn(*kinds: type) -> None:
    """Work out now how values of these dataclasses are read; else the first ``decode`` does."""
    for kind in kinds:
        msgspec.json.Decoder(kind)
        _field_names(kind)

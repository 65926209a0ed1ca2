"""Frozen values to plain JSON data and back, by their type hints."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache
from operator import itemgetter
from typing import Any, TypeVar

T = TypeVar("T")
_Decoder = Callable[[Any], Any]
_PLAIN = frozenset({str, int, float, bool, type(None)})


def encode(value: Any) -> Any:
    """Return plain data: dataclasses become objects, enums their values, tuples lists."""
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
        ValueError, TypeError, KeyError, AttributeError: if the data does not fit.
    """
    read: Any = kind
    value: T = _decoder(read)(data)
    return value


def learn(*kinds: type) -> None:
    """Work out now how values of these dataclasses are read; else the first ``decode`` does."""
    for kind in kinds:
        _decoder(kind)
        _field_names(kind)


@cache
def _decoder(kind: Any) -> _Decoder:
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _of_dataclass(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        return _of_tuple(arguments)
    if origin in (typing.Union, types.UnionType):
        return _of_optional(arguments)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        item = _decoder(arguments[1])
        return lambda data: {key: item(value) for key, value in data.items()}
    return float if kind is float else _same


def _of_optional(arguments: tuple[Any, ...]) -> _Decoder:
    (inner,) = (argument for argument in arguments if argument is not type(None))
    present = _decoder(inner)
    if present is _same:
        return _same
    return lambda data: None if data is None else present(data)


def _same(data: Any) -> Any:
    return data


def _of_dataclass(kind: type) -> _Decoder:
    hints = typing.get_type_hints(kind)
    fields = [(f.name, _decoder(hints[f.name])) for f in dataclasses.fields(kind)]
    readers = [(at, read) for at, (_, read) in enumerate(fields) if read is not _same]
    take_all = _taker([name for name, _ in fields])
    defaults = _defaults(kind)

    def completed(data: Any) -> list[Any]:
        try:
            return take_all({**defaults, **data})
        except KeyError as error:
            raise TypeError(f"{kind.__name__} without its field {error}") from None

    def build(data: Any) -> Any:
        try:  # by position and complete: the usual case, and a journal has many
            values = take_all(data)
        except KeyError:  # from an older version
            values = completed(data)
        for at, read in readers:
            values[at] = read(values[at])
        return kind(*values)

    return build


def _defaults(kind: type) -> dict[str, Any]:
    """Return, as ``encode`` would write them, the values of the fields that need not be given."""
    found: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        if field.default is not dataclasses.MISSING:
            found[field.name] = encode(field.default)
        elif field.default_factory is not dataclasses.MISSING:
            found[field.name] = encode(field.default_factory())
    return found


def _taker(names: Sequence[str]) -> Callable[[Any], list[Any]]:
    if len(names) < 2:  # ``itemgetter`` of one name gives no tuple
        return lambda data: [data[name] for name in names]
    take = itemgetter(*names)
    return lambda data: list(take(data))


def _of_tuple(arguments: tuple[Any, ...]) -> _Decoder:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        item = _decoder(arguments[0])
        return tuple if item is _same else lambda data: tuple(map(item, data))
    items = [_decoder(argument) for argument in arguments]
    return lambda data: tuple(read(value) for read, value in zip(items, data, strict=True))

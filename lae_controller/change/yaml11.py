"""YAML as the project reads it: PyYAML, that is YAML 1.1.

In YAML 1.1 ``5e-5`` and ``1.0e8`` are text, because a float needs a dot, and its exponent a
sign; ``yes`` is a boolean and ``010`` is eight. Files are parsed to events only, so anchors,
merge keys and tags are seen as they are written and nothing is ever dumped again.

Source: the implicit resolvers of PyYAML, after https://yaml.org/type/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

FLOAT = re.compile(
    r"[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?"
    r"|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
INT = re.compile(
    r"[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+"
    r"|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+"
)
# What a person, or YAML 1.2, takes for a decimal number.
_NUMBER = re.compile(r"([-+]?)(?=\.?\d)(\d*)(\.\d*)?(?:[eE]([-+]?)(\d+))?")
_BOOL = re.compile("(?i:yes|no|true|false|on|off)")
_CASED = re.compile("[A-Z]?[a-z]+|[A-Z]+")
_NULL = re.compile("~|null|Null|NULL|")
_KINDS = {
    "tag:yaml.org,2002:float": "number",
    "tag:yaml.org,2002:int": "number",
    "tag:yaml.org,2002:str": "text",
}


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar node.

    Attributes:
        text: its content, quotes and folding undone.
        plain: written without quotes, not as a block.
        tag: explicit tag, or None.
        line: where it stands, from 1.
    """

    text: str
    plain: bool
    tag: str | None
    anchor: str | None
    line: int

    @property
    def kind(self) -> str:
        """What PyYAML reads it as: ``number``, ``bool``, ``null``, ``text`` or ``other``."""
        if self.tag is not None:
            return _KINDS.get(self.tag, "other")
        if not self.plain:
            return "text"
        if FLOAT.fullmatch(self.text) or INT.fullmatch(self.text):
            return "number"
        if _BOOL.fullmatch(self.text) and _CASED.fullmatch(self.text):
            return "bool"
        return "null" if _NULL.fullmatch(self.text) else "text"

    @property
    def is_merge(self) -> bool:
        """Whether this is the key ``<<``, which takes in the keys of another map."""
        return self.plain and self.text == "<<"


@dataclass(frozen=True, slots=True)
class Alias:
    """A reference to an anchor that stands earlier in the document."""

    anchor: str
    line: int


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list node."""

    items: tuple[Node, ...]
    tag: str | None
    anchor: str | None
    line: int


@dataclass(frozen=True, slots=True)
class Mapping:
    """A map node; keys as often as they are written."""

    pairs: tuple[tuple[Node, Node], ...]
    tag: str | None
    anchor: str | None
    line: int


KeyPath = tuple[str | int, ...]
"""Keys, and positions in lists, from the root of a document."""

Node = Scalar | Alias | Sequence | Mapping


class BadYamlError(ValueError):
    """A text that is not YAML.

    Attributes:
        line: where the parser gave up, from 1.
        problem: what it found there.
    """

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")
        self.line = line
        self.problem = problem


def load(text: str) -> tuple[Node, ...]:
    """Return the root node of every document.

    Raises:
        BadYamlError: if the text does not parse, or an alias has no anchor.
    """
    anchors: set[str] = set()
    try:
        events = iter(YAML(typ="safe", pure=True).parse(text))
        return tuple(
            _node(next(events), events, anchors)
            for event in events
            if isinstance(event, DocumentStartEvent)
        )
    except MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        raise BadYamlError(mark.line + 1 if mark else 1, str(exc.problem or exc.context)) from exc
    except RecursionError as exc:
        raise BadYamlError(1, "nested too deeply") from exc
    except YAMLError as exc:
        raise BadYamlError(1, str(exc).split("\n", maxsplit=1)[0]) from exc


def _node(event: Event, events: Iterator[Event], anchors: set[str]) -> Node:
    assert isinstance(event, NodeEvent)
    line, anchor = event.start_mark.line + 1, event.anchor
    if isinstance(event, AliasEvent):
        if anchor not in anchors:
            raise BadYamlError(line, f"the alias *{anchor} has no anchor above it")
        return Alias(anchor, line)
    if anchor is not None:
        anchors.add(anchor)
    if isinstance(event, MappingStartEvent):
        return Mapping(tuple(_pairs(events, anchors)), _tag(event.tag), anchor, line)
    if isinstance(event, SequenceStartEvent):
        return Sequence(tuple(_items(events, anchors)), _tag(event.tag), anchor, line)
    assert isinstance(event, ScalarEvent)
    return Scalar(event.value, event.style is None, _tag(event.tag), anchor, line)


def _tag(tag: object) -> str | None:
    return None if tag is None else str(tag)


def _items(events: Iterator[Event], anchors: set[str]) -> Iterator[Node]:
    for event in events:
        if isinstance(event, SequenceEndEvent):
            return
        yield _node(event, events, anchors)


def _pairs(events: Iterator[Event], anchors: set[str]) -> Iterator[tuple[Node, Node]]:
    for event in events:
        if isinstance(event, MappingEndEvent):
            return
        key = _node(event, events, anchors)
        yield key, _node(next(events), events, anchors)


def scalars(root: Node) -> dict[KeyPath, Scalar]:
    """Return every scalar of a document by its keys and list positions.

    Merged keys count where they are merged in. An alias stands for its scalar; one that
    stands for a map or a list is left out, since its scalars are listed where they stand.
    """
    return _scalars(root, {})


def _scalars(node: Node, anchors: dict[str, dict[KeyPath, Scalar]]) -> dict[KeyPath, Scalar]:
    if isinstance(node, Alias):
        return {keys: value for keys, value in anchors.get(node.anchor, {}).items() if not keys}
    if isinstance(node, Scalar):
        found: dict[KeyPath, Scalar] = {(): node}
    elif isinstance(node, Sequence):
        found = {}
        for at, item in enumerate(node.items):
            found |= {(at, *keys): value for keys, value in _scalars(item, anchors).items()}
    else:
        found = _merged(node, anchors)
        for key, item in node.pairs:
            inner = _scalars(item, anchors)
            if isinstance(key, Scalar) and not key.is_merge:
                found |= {(key.text, *keys): value for keys, value in inner.items()}
    if node.anchor is not None:
        anchors[node.anchor] = found
    return found


def _merged(node: Mapping, anchors: dict[str, dict[KeyPath, Scalar]]) -> dict[KeyPath, Scalar]:
    found: dict[KeyPath, Scalar] = {}
    for key, value in node.pairs:
        if isinstance(key, Scalar) and key.is_merge:
            sources = value.items if isinstance(value, Sequence) else (value,)
            for source in sources:
                inner = (
                    anchors.get(source.anchor, {})
                    if isinstance(source, Alias)
                    else _scalars(source, anchors)
                )
                found = inner | found
    return found


def as_number(text: str) -> str | None:
    """Return how YAML 1.1 wants the number written that ``text`` means, or None if none.

    ``5e-5`` gives ``5.0e-5`` and ``1.5e3`` gives ``1.5e+3``.
    """
    if FLOAT.fullmatch(text) or INT.fullmatch(text):
        return text
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        return None
    sign, whole, fraction, exponent_sign, exponent = match.groups()
    spelt = f"{sign}{whole or '0'}{fraction or '.0'}"
    return spelt if exponent is None else f"{spelt}e{exponent_sign or '+'}{exponent}"

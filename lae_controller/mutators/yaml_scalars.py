"""Scalars of a YAML or JSON file, by key path."""

from __future__ import annotations

from collections.abc import Iterator

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from lae_controller.change.identifiers import words
from lae_controller.mutators.names import is_frozen
from lae_controller.mutators.scalar import Scalar, Value
from lae_controller.mutators.sources import Source

_TAG = "tag:yaml.org,2002:"
_ELSEWHERE = frozenset(
    "eval evaluation val validation test logging log logger wandb tracking checkpoint".split()
)


def yaml_scalars(source: Source) -> list[Scalar]:
    """Return the numbers, flags and strings of the file that a child may change; in order."""
    try:
        documents = list(YAML(typ="safe", pure=True).compose_all(source.text))
    except (YAMLError, ValueError, RecursionError):
        return []
    seen: set[int] = set()
    return [
        scalar
        for document in documents
        if document is not None
        for scalar in _walk(source, document, (), seen)
    ]


def _walk(source: Source, node: Node, key: tuple[str, ...], seen: set[int]) -> Iterator[Scalar]:
    if id(node) in seen:  # an alias: the value stands where its anchor is
        return
    seen.add(id(node))
    if isinstance(node, MappingNode):
        for name, value in node.value:
            yield from _walk(source, value, (*key, str(name.value)), seen)
    elif isinstance(node, SequenceNode):
        for number, item in enumerate(node.value):
            yield from _walk(source, item, (*key, str(number)), seen)
    elif isinstance(node, ScalarNode):
        scalar = _scalar(source, node, key)
        if scalar is not None:
            yield scalar


def _scalar(source: Source, node: ScalarNode, key: tuple[str, ...]) -> Scalar | None:
    names = [part for part in key if not part.isdigit()]
    if not names or is_frozen(names[-1]):
        return None
    if any(not _ELSEWHERE.isdisjoint(words(part)) for part in names[:-1]):
        return None
    end = node.end_mark.index
    text = source.text[node.start_mark.index : end]
    text = text.split()[-1] if text.startswith(("&", "!")) and text.split() else text
    value = _value(node, text)
    if value is None:
        return None
    return Scalar(source.path, end - len(text), end, text, value, names[-1], key, 1.0)


def _value(node: ScalarNode, text: str) -> Value | None:
    """Return the value of a scalar; None if it is no plain number, flag or short string."""
    kind = str(node.tag).removeprefix(_TAG)
    written = str(node.value)
    if kind == "str":
        return written if text.strip("'\"") == written and written else None
    if text != written:
        return None
    if kind == "bool":
        return written.lower() == "true"
    try:
        if kind == "int":
            return int(written)
        return float(written) if kind == "float" else None
    except ValueError:  # octal, sexagesimal, `.inf`
        return None

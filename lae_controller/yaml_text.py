"""YAML as text: read it strictly, and change one value without touching another character."""

from __future__ import annotations

from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from lae_controller.errors import ConfigError


def load_yaml(text: str, where: str) -> Any:
    """Parse ``text`` as YAML 1.2 (``1e-3`` is a number; a key may stand only once).

    Raises:
        ConfigError: naming ``where`` and the line, if it does not parse.
    """
    try:
        return YAML(typ="safe", pure=True).load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark is not None else ""
        problem = (error.problem or error.context or "not valid YAML").strip().splitlines()[0]
        raise ConfigError(f"{where}{line}: {problem}; expected valid YAML 1.2") from None
    except YAMLError as error:
        raise ConfigError(f"{where}: {str(error).splitlines()[0]}; expected valid YAML") from None


def set_scalar(text: str, dotted: str, value: str, where: str) -> str:
    """Return ``text`` with the scalar at ``dotted`` spelled ``value``; nothing else changes.

    Args:
        dotted: keys joined by dots; a number picks an item of a list.

    Raises:
        ConfigError: if there is no scalar at that place.
    """
    node = _find(text, dotted, where)
    start, end = node.start_mark.index, node.end_mark.index
    return text[:start] + value + text[end:]


def get_scalar(text: str, dotted: str, where: str) -> str:
    """Return the scalar at ``dotted`` as it is spelled in ``text``.

    Raises:
        ConfigError: if there is no scalar at that place.
    """
    return str(_find(text, dotted, where).value)


def _find(text: str, dotted: str, where: str) -> ScalarNode:
    load_yaml(text, where)  # strict first: duplicate keys must not pick one silently
    node: Node | None = YAML(pure=True).compose(text)
    for key in dotted.split("."):
        node = _step(node, key)
        if node is None:
            raise ConfigError(
                f"{where}: there is no key {dotted!r} (stopped at {key!r}); expected it there"
            )
    if not isinstance(node, ScalarNode):
        raise ConfigError(f"{where}: {dotted!r} is not a single value; expected a scalar there")
    return node


def _step(node: Node | None, key: str) -> Node | None:
    if isinstance(node, MappingNode):
        return next((value for name, value in node.value if str(name.value) == key), None)
    if isinstance(node, SequenceNode) and key.isdigit() and int(key) < len(node.value):
        item: Node = node.value[int(key)]
        return item
    return None

"""Changes that bring in chance which no seed controls: such a score may be one lucky draw."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache

from lae_controller.change.additions import additions
from lae_controller.change.nodes import KEPT, nodes_if_any, written
from lae_controller.change.source import is_python
from lae_controller.program import Files

_SOURCES = frozenset(
    {
        "urandom",
        "SystemRandom",
        "getrandbits",
        "token_bytes",
        "token_hex",
        "randbelow",
        "uuid1",
        "uuid4",
        "time",
        "time_ns",
        "perf_counter",
        "perf_counter_ns",
        "monotonic",
        "monotonic_ns",
        "process_time",
        "now",
        "utcnow",
        "getpid",
        "hash",
        "id",
    }
)
_SEEDED = frozenset({"seed", "default_rng", "RandomState", "SeedSequence", "Random", "Generator"})
"""Calls that take a seed, and draw one from the system if they get none."""


def adds_chance(before: Files, after: Files) -> str:
    """Return which source of chance a change brings in; empty if it brings in none.

    Clocks, process ids, the system's own random bytes, and generators made without a seed.
    """
    for path in sorted(after):
        if before.get(path) == after[path] or not is_python(path):
            continue
        for line, name in additions(_sources(before.get(path, "")), _sources(after[path])):
            return f"{path}:{line}: {name} draws on chance that no seed controls"
    return ""


@lru_cache(maxsize=KEPT)
def _sources(text: str) -> tuple[tuple[int, str], ...]:
    """Return (line, name) of every call that draws on chance of its own."""
    return tuple(_drawing(nodes_if_any(text)))


def _drawing(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        name = _called(node.func)
        unseeded = name in _SEEDED and not node.args and not node.keywords
        if name in _SOURCES or unseeded or (name in _SEEDED and _is_none(node)):
            yield node.lineno, written(node.func)


def _called(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _is_none(node: ast.Call) -> bool:
    values = [*node.args, *(keyword.value for keyword in node.keywords)]
    return any(isinstance(value, ast.Constant) and value.value is None for value in values)

"""Calls that a child may not add: an optional filter on what a change brings in."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import lru_cache

from lae_controller.change.additions import additions
from lae_controller.change.nodes import KEPT, nodes_if_any, written
from lae_controller.change.source import is_python
from lae_controller.errors import ChildError
from lae_controller.program import Files, Reason


def check_calls(before: Files, after: Files, forbidden: Iterable[str]) -> None:
    """Check that no file calls a forbidden name more often than it did before.

    It catches what is written out, not what is hidden: it is a courtesy, the sandbox is the wall.

    Args:
        forbidden: names such as ``eval``, ``setattr`` or ``os.system``.

    Raises:
        ChildError: PROTECTED, naming file, line and call.
    """
    names = frozenset(forbidden)
    for path in sorted(after) if names else ():
        if not is_python(path) or before.get(path) == after[path]:
            continue
        for line, name in additions(_calls(before.get(path, "")), _calls(after[path])):
            if name in names:
                raise ChildError(
                    Reason.PROTECTED,
                    f"{path}:{line}: calls {name}, which forbidden_calls does not allow",
                )


@lru_cache(maxsize=KEPT)
def _calls(text: str) -> tuple[tuple[int, str], ...]:
    """Return (line, dotted name) of every call by name."""
    return tuple(
        (node.lineno, written(node.func))
        for node in nodes_if_any(text)
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute))
    )

"""Changes that could have made the score without making the model: held back for a person.

None of this proves a cheat, and not every cheat is seen: training on the validation data in code
that may be edited looks like any other change to the data pipeline. A held-out test is the answer.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import PurePosixPath

from lae_controller.change.additions import additions
from lae_controller.change.nodes import KEPT, nodes_if_any, walk, written
from lae_controller.change.reaching import reaching
from lae_controller.change.source import is_python
from lae_controller.program import Files

_SHORTEST_NAME = 4


def suspicious_change(
    before: Files, after: Files, metric: str | None, pattern: str | None, data: Iterable[str]
) -> str | None:
    """Return what about a change calls for a look; None if nothing does.

    Args:
        metric: its name, as the training run prints it; None if runs print none.
        pattern: the user's own metric pattern, if any.
        data: paths of the project's data, relative to its root.
    """
    names = sorted(set(data))
    for path in sorted(after):
        old, new = before.get(path, ""), after[path]
        if old == new:
            continue
        sentence = _metric_text(path, old, new, metric, pattern) if metric else None
        sentence = sentence or _data_references(path, old, new, names) or _reaching(path, old, new)
        if sentence is not None:
            return sentence
    return None


def _reaching(path: str, old: str, new: str) -> str | None:
    """Say what of a Python file newly reaches into the interpreter."""
    found = reaching(old, new) if is_python(path) else None
    if found is None:
        return None
    return f"{path}:{found[0]}: newly reaches into the interpreter: {found[1]}"


def _metric_text(path: str, old: str, new: str, metric: str, pattern: str | None) -> str | None:
    """Say which statement that writes the metric is new or different."""
    was, now = (_writing(path, text, metric, pattern) for text in (old, new))
    for line, text in additions(was, now):
        return f"{path}:{line}: text that looks like the metric was added or changed: {text!r}"
    return None


@lru_cache(maxsize=KEPT)
def _writing(path: str, text: str, metric: str, pattern: str | None) -> tuple[tuple[int, str], ...]:
    return tuple(_metric_statements(path, text, metric, pattern))


def _metric_statements(
    path: str, text: str, metric: str, pattern: str | None
) -> Iterator[tuple[int, str]]:
    """Yield (line, statement) for each statement whose text could be read as the metric."""
    name = re.escape(metric)
    whole = re.compile(rf"(?<![\w\-/.]){name}(?![\w\-/])")
    own = re.compile(pattern) if pattern else None
    nodes = nodes_if_any(text) if is_python(path) else ()
    if not nodes:
        for number, line in enumerate(text.splitlines(), start=1):
            if re.search(rf"{whole.pattern}\s*[:=]?\s*[-+.\d]", line) or (own and own.search(line)):
                yield number, line.strip()
        return
    for statement in _simple_statements(nodes):
        literals = list(_literals(statement))
        if any(whole.search(part) or (own and own.search(part)) for part in literals):
            yield statement.lineno, written(statement)


def _simple_statements(nodes: Iterable[ast.AST]) -> Iterator[ast.stmt]:
    """Yield statements that hold no other statements, in order."""
    for node in nodes:
        if isinstance(node, ast.stmt) and not {"body", "cases"} & set(node._fields):
            yield node


def _literals(statement: ast.AST) -> Iterator[str]:
    """Yield the texts of a statement; an f-string as one text with its values left out."""
    inside: set[int] = set()
    for node in walk(statement):
        if isinstance(node, ast.JoinedStr):
            parts = [part for part in node.values if isinstance(part, ast.Constant)]
            inside.update(id(part) for part in parts)
            yield "".join(str(part.value) for part in parts)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in inside
        ):
            yield node.value


def _data_references(path: str, old: str, new: str, data: list[str]) -> str | None:
    """Say which data the new text speaks of more often than the old one."""
    for name in data:
        for word in (name, PurePosixPath(name).name):
            if len(word) < _SHORTEST_NAME or not {".", "/"} & set(word):
                continue
            look = re.compile(rf"(?<![\w\-]){re.escape(word)}(?![\w\-])")
            if len(look.findall(new)) > len(look.findall(old)):
                return f"{path}: newly refers to the data {word!r}"
    return None

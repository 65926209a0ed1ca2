"""The parent as the operators see it: parsed files that can be spliced."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cached_property

from lae_controller.change.diff import is_editable
from lae_controller.change.evolve_blocks import find_blocks
from lae_controller.change.protected import pattern_of
from lae_controller.change.source import BOM
from lae_controller.change.syntax import parse_python
from lae_controller.mutators.scopes import imports, workable
from lae_controller.program import Files
from lae_controller.sandbox.calls import functions
from lae_controller.task import Task

_LINE_END = re.compile(r"\r\n|\r|\n")
PYTHON = (".py",)
_DEEPEST = 150  # nested nodes: written code has 40, a sum of 500 terms has 500
YAML = (".yaml", ".yml", ".json")  # what JSON says, YAML 1.2 reads alike


@dataclass(frozen=True)  # no slots: what many operators ask for is kept
class Source:
    """One file with what is needed to splice it at positions of its syntax tree.

    Attributes:
        tree: empty for a file that is not Python.
        starts: offset of the first character of each line.
        closed: indices of lines that are protected or outside the evolve blocks.
    """

    path: str
    text: str
    tree: ast.Module
    starts: tuple[int, ...]
    closed: frozenset[int] = frozenset()

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """The nodes of the tree in order, without functions that measure or report."""
        return tuple(workable(self.tree))

    @cached_property
    def imports(self) -> dict[str, str]:
        """What each imported name stands for: ``nn`` -> ``torch.nn``."""
        return imports(self.tree)

    @property
    def newline(self) -> str:
        """The file's own line ending."""
        found = _LINE_END.search(self.text)
        return found[0] if found else "\n"

    def offset(self, line: int, column: int) -> int:
        """Return the character offset of a position of ``ast``: line from 1, UTF-8 bytes."""
        start = self.starts[line - 1]
        text = self.text[start : start + column]  # no fewer characters than asked for
        if not text.isascii():
            column = len(text.encode()[:column].decode())
        return start + column

    def span(self, node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
        """Return start and end offset of a node, without its decorators."""
        end_line, end_column = node.end_lineno, node.end_col_offset
        if end_line is None or end_column is None:
            raise ValueError(f"{self.path}:{node.lineno}: node without an end")
        return self.offset(node.lineno, node.col_offset), self.offset(end_line, end_column)

    def code(self, node: ast.expr | ast.stmt) -> str:
        """Return the source text of a node."""
        start, end = self.span(node)
        return self.text[start:end]

    def line_of(self, offset: int) -> int:
        """Return the index, from 0, of the line that holds ``offset``."""
        return bisect_right(self.starts, offset) - 1

    def is_open(self, start: int, end: int) -> bool:
        """Say whether every line that ``[start, end)`` touches may be changed."""
        first, last = self.line_of(start), self.line_of(max(start, end - 1))
        return self.closed.isdisjoint(range(first, last + 1))

    def line_start(self, offset: int) -> int:
        """Return the offset at which the line that holds ``offset`` begins."""
        return self.starts[self.line_of(offset)]

    def line_end(self, offset: int) -> int:
        """Return the offset behind the line that holds ``offset``, without its newline."""
        found = _LINE_END.search(self.text, offset)
        return found.start() if found else len(self.text)

    def next_line(self, offset: int) -> int:
        """Return the offset at which the line after ``offset`` begins, or the end of the text."""
        found = _LINE_END.search(self.text, offset)
        return found.end() if found else len(self.text)


def _parse(path: str, text: str) -> Source | None:
    """Return the parsed file with all lines open; None if no operator can work on it."""
    if not path.endswith(PYTHON + YAML) or not text.strip():
        return None
    try:
        tree = parse_python(text if path.endswith(PYTHON) else "")
    except SyntaxError:
        return None
    if _depth(tree) > _DEEPEST:
        return None
    first = len(BOM) if text.startswith(BOM) else 0
    starts = (first, *(match.end() for match in _LINE_END.finditer(text)))
    return Source(path, text, tree, starts)


def _depth(tree: ast.Module) -> int:
    deepest, level = 0, list[ast.AST]([tree])
    while level:
        deepest += 1
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return deepest


def editable_sources(task: Task) -> tuple[Source, ...]:
    """Return the parent's editable files that can be worked on, in order of their paths."""
    files = {path: text for path, text in task.files.items() if is_editable(path, task.editable)}
    return open_sources(files, task.protected, task.idle)


def open_sources(
    files: Files, protected: tuple[str, ...], idle: tuple[str, ...]
) -> tuple[Source, ...]:
    """Return the files that can be worked on, in order of their paths.

    Args:
        protected: settings whose lines are closed; see ``Task``.
        idle: functions that are never entered, whose lines are closed too.
    """
    return tuple(
        replace(source, closed=_closed_lines(source, protected) | _idle_lines(source, idle))
        for source in reference_sources(files)
    )


def _idle_lines(source: Source, idle: tuple[str, ...]) -> frozenset[int]:
    """Return the lines of functions that are never entered; one that was added is not known."""
    mine = [entry.partition("::") for entry in idle if entry.startswith(f"{source.path}::")]
    names = {name for _, _, name in mine}
    return frozenset(
        line
        for name, node in functions(source.path, source.text)
        if name in names and node.end_lineno is not None
        for line in range(node.lineno - 1, node.end_lineno)
    )


def reference_sources(files: Files) -> tuple[Source, ...]:
    """Return all files that can be read, in order of their paths, as if all could be edited."""
    sources = (_parse(path, files[path]) for path in sorted(files))
    return tuple(source for source in sources if source is not None)


def _closed_lines(source: Source, protected: tuple[str, ...]) -> frozenset[int]:
    ends = (*source.starts[1:], len(source.text))
    lines = [source.text[start:end] for start, end in zip(source.starts, ends, strict=True)]
    patterns = [pattern_of(entry) for entry in protected]
    shut = {
        number
        for number, line in enumerate(lines)
        if any(pattern.search(line.rstrip("\r\n")) for pattern in patterns)
    }
    blocks = find_blocks(source.path, source.text)
    if blocks:
        inside = {number for block in blocks for number in range(block.start, block.end - 1)}
        shut.update(number for number in range(len(lines)) if number not in inside)
    return frozenset(shut)

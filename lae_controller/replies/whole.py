"""Whole files in code fences.

A fence counts as a file only if that is plain: it holds most of what the file defines, and leaves
nothing out with a remark such as ``# the rest is unchanged``. In a file with one evolve block the
fence may hold the block alone, as it was shown.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from lae_controller.change.evolve_blocks import END, START, find_blocks
from lae_controller.change.source import BOM, is_python, split_lines
from lae_controller.change.syntax import parse_python
from lae_controller.errors import DiffError
from lae_controller.replies.fences import Fence, fences
from lae_controller.replies.program import Program, Reading

_MOST = 0.6  # of the names a file defines, or of its lines where it defines none
_FEWEST = 3  # names from which they tell more than the lines do
_REMARK = r"(?:#|//|/\*|<!--)"
_PARTS = r"(?:code|file|class|methods?|functions?|program|model|lines|imports)"
_LEFT_OUT = re.compile(
    rf"{_REMARK}?[ \t]*(?:\.\.\.|…)[ \t]*|{_REMARK}[ \t]*(?:\.\.\.|…).*"
    rf"|{_REMARK}.*\b(?:(?:rest of|remaining|existing|other)(?: the)? {_PARTS}|unchanged|omitted"
    r"|as (?:before|above)|goes here)\b.*",
    re.IGNORECASE,
)
_NOT_FILES = frozenset({"diff", "patch", "bash", "sh", "shell", "console", "text", "output"})


def read_whole(text: str, program: Program) -> Reading:
    """Take every fence that is plainly a whole file.

    Raises:
        DiffError: if there is none, or two for one file.
    """
    found: dict[str, str] = {}
    refused: list[str] = []
    for fence in fences(text, program.files):
        path = _path(fence, program)
        if path is None or not fence.text.strip():
            continue
        before = program.files.get(path)
        after = fence.text if before is None else _as_file(path, before, fence, refused)
        if after is None or after == before:
            continue
        if found.setdefault(path, after) != after:
            raise DiffError(f"{path}: the reply holds two versions of it; send the one that counts")
    if not found:
        raise DiffError(refused[0] if refused else _NOTHING)
    return Reading({**program.files, **found}, ("whole file",))


_NOTHING = (
    "the reply holds no file that differs from the parent's; send every changed file whole, in a "
    "code fence under a line with its path"
)


def _path(fence: Fence, program: Program) -> str | None:
    if fence.path is not None:
        return fence.path.removeprefix("./")
    if fence.language.lower() in _NOT_FILES:
        return None
    if len(program.mine) == 1:
        return program.mine[0]
    alike = [path for path in program.mine if resembles(path, fence.text, program.files[path])]
    return alike[0] if len(alike) == 1 else None


def _as_file(path: str, before: str, fence: Fence, refused: list[str]) -> str | None:
    """Return the file that a fence is; None, and the reason in ``refused``, if it is none."""
    gone = _left_out(before, fence.text)
    if gone is not None:
        refused.append(f"{path}: the line {gone!r} stands for code that was left out; send it all")
        return None
    if not fence.closed:
        refused.append(f"{path}: its code fence is never closed; was the reply cut off?")
        return None
    fault = _fault(path, fence.text)
    if fault is not None:
        refused.append(f"{path}: the file in the reply does not parse: {fault}")
        return None
    if not resembles(path, fence.text, before):
        refused.append(f"{path}: the code in the reply is not the whole file; send all of it")
        return None
    whole = restored(path, before, fence.text)
    if whole is None:
        refused.append(f"{path}: its evolve markers are gone; send the file with them")
    return whole


def _fault(path: str, text: str) -> str | None:
    if not is_python(path):
        return None
    try:
        parse_python(text)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    return None


def _left_out(before: str, after: str) -> str | None:
    there = {line.strip() for line in before.splitlines()}
    lines = (line.strip() for line in after.splitlines())
    return next((line for line in lines if _LEFT_OUT.fullmatch(line) and line not in there), None)


def resembles(path: str, text: str, before: str) -> bool:
    """Return whether ``text`` holds most of what the file (or its evolve blocks) holds."""
    inside = "".join(_inside(path, before)) or before
    names, there = _names(path, inside), _names(path, text)
    if names is not None and len(names) >= _FEWEST:
        return there is not None and len(names & there) >= _MOST * len(names)
    if names is not None and there is None:
        return False
    heads = _heads(inside)
    return len(heads & _heads(text)) >= _MOST * len(heads)


def _heads(text: str) -> set[str]:
    """Return what the lines begin with: a key, a variable, or all of a line that gives none."""
    return {re.split("[:=]", line, maxsplit=1)[0].strip() for line in text.splitlines()} - {""}


def _inside(path: str, text: str) -> Iterator[str]:
    lines = split_lines(text)
    for block in find_blocks(path, text):
        yield from lines[block.start : block.end - 1]


def _names(path: str, text: str) -> set[str] | None:
    """Return the names that Python code defines, methods with their class; None if it is none."""
    if not is_python(path):
        return None
    try:
        tree = parse_python(text)
    except SyntaxError:
        return None
    return set(_defined(tree.body, ""))


def _defined(body: list[ast.stmt], prefix: str) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + node.name
            if isinstance(node, ast.ClassDef):
                yield from _defined(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (prefix + name.id for name in targets if isinstance(name, ast.Name))


def restored(path: str, before: str, after: str) -> str | None:
    """Return ``after`` with the evolve markers that it lacks and all that stands outside them.

    None if the file has several blocks: which line belongs to which cannot be told.
    """
    after = after.removeprefix(BOM)
    blocks = find_blocks(path, before)
    if not blocks or START in after or END in after:
        return after
    if len(blocks) > 1:
        return None
    lines = split_lines(before)
    head, tail = lines[: blocks[0].start], lines[blocks[0].end - 1 :]
    body = split_lines(after)
    body = body[_outer(body, head) :]
    body = body[: len(body) - _outer(body[::-1], tail)]
    return "".join([*head, *body, *tail])


def _outer(lines: list[str], outside: list[str]) -> int:
    """Return how many of the first lines stand outside the block, blank ones among them."""
    known = {line.strip() for line in outside}
    count = 0
    for line in lines:
        if line.strip() and line.strip() not in known:
            break
        count += 1
    return count

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
from lae_controller.change.syntax import parse_python, tree_of
from lae_controller.errors import DiffError
from lae_controller.replies.fences import Fence, fences
from lae_controller.replies.imports import with_imports
from lae_controller.replies.program import Program, Reading

_MOST = 0.75  # of the names a file defines, or of its lines where it defines none
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
        fault = None if before is None else _fault(path, before, fence)
        if fault is not None and fence.path is not None:
            raise DiffError(fault)  # or the other files would be half of a change
        if fault is not None:
            refused.append(fault)
            continue
        after = fence.text if before is None else restored(path, before, fence.text)
        if after is not None and after != before and found.setdefault(path, after) != after:
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


def _fault(path: str, before: str, fence: Fence) -> str | None:
    """Return why a fence is not plainly the whole file; None if it is."""
    gap = left_out(before, fence.text)
    if gap is not None:
        return f"{path}: the line {gap!r} stands for code that was left out; send all of it"
    if not fence.closed:
        return f"{path}: its code fence is never closed; was the reply cut off?"
    broken = _syntax_error(path, fence.text)
    if broken is not None:
        return f"{path}: the file in the reply does not parse: {broken}"
    if not resembles(path, fence.text, before):
        return f"{path}: the code in the reply is not the whole file; send all of it"
    if restored(path, before, fence.text) is None:
        return f"{path}: which lines belong into the evolve blocks? Send the file with its markers"
    return None


def _syntax_error(path: str, text: str) -> str | None:
    if not is_python(path):
        return None
    try:
        parse_python(text)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    return None


def left_out(before: str, after: str) -> str | None:
    """Return a line of ``after`` that stands for code which is not there; None without any."""
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
    tree = tree_of(path, text)
    return None if tree is None else set(_defined(tree.body, ""))


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

    None if it cannot be told which lines belong into the block: there are several, or what
    stands outside is there too and differs.
    """
    after = after.removeprefix(BOM)
    blocks = find_blocks(path, before)
    if START in after or END in after:
        return after
    if not blocks:
        return with_imports(path, before, after)
    lines = split_lines(before)
    head, tail = lines[: blocks[0].start], lines[blocks[-1].end - 1 :]
    body = _without(_without(split_lines(after), head[:-1])[::-1], tail[:0:-1])[::-1]
    while body and body[0].startswith(("import ", "from ")) and body[0] in head:
        body = body[1:]
    outside = (_names(path, "".join(head)) or set()) | (_names(path, "".join(tail)) or set())
    if len(blocks) > 1 or outside & (_names(path, "".join(body)) or set()):
        return None
    return "".join([*head, *body, *tail])


def _without(lines: list[str], outside: list[str]) -> list[str]:
    """Return the lines without those at their beginning, if these are just what is outside."""
    wanted = [line.rstrip() for line in outside if line.strip()]
    filled = [at for at, line in enumerate(lines) if line.strip()][: len(wanted)]
    if not wanted or [lines[at].rstrip() for at in filled] != wanted:
        return lines
    return lines[filled[-1] + 1 :]

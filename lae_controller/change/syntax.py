"""What can be seen to be broken in a change before anything is run.

Only files that a change touched are looked at, and a file that its parent already had in a
form we cannot read (a template, another Python) is left alone: then nothing can be said.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import PurePosixPath
from types import CodeType

from lae_controller.change import yaml11
from lae_controller.change.source import BOM, encode_source, is_python
from lae_controller.errors import ChildError
from lae_controller.program import Files, Reason

if sys.version_info >= (3, 11):
    import tomllib

# Neither the filters of warnings nor CPython's count of nested nodes (SystemError: AST constructor
# recursion depth mismatch) is kept by thread, and a server searches in several.
_ONE_AT_A_TIME = threading.Lock()

YAML_SUFFIXES = frozenset({".yaml", ".yml"})


class _BrokenError(Exception):
    """A file does not parse; the text says at which line and why."""


def check_syntax(before: Files, after: Files) -> None:
    """Refuse files of ``after`` that differ from ``before`` and would fail as they are read.

    Python must compile and JSON and TOML (from Python 3.11 on) must parse; YAML must parse,
    hold no key twice in a map (merge keys excepted), and no number may have become text.

    Raises:
        ChildError: ``syntax`` with file, line and what to write instead; ``bad_diff`` if a
            character does not exist in the encoding of its file.
    """
    for path in sorted(after):
        if before.get(path) != after[path]:
            encode_source(path, after[path])
            _check_file(path, before.get(path), after[path])


def tree_of(path: str, text: str) -> ast.Module | None:
    """Return the syntax tree of a file; None if it is not Python, or none that parses."""
    try:
        return parse_python(text) if is_python(path) else None
    except SyntaxError:
        return None


def parse_python(text: str) -> ast.Module:
    """Return the syntax tree of ``text``, without warnings.

    Raises:
        SyntaxError: if it is no Python of the version that runs this.
    """
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text.removeprefix(BOM))
        except (ValueError, RecursionError, MemoryError) as exc:
            raise SyntaxError(str(exc) or "nested too deeply") from exc


def compile_quietly(source: bytes, path: str, optimize: int) -> CodeType:
    """Return the code object of a source file, without warnings.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: if it does not compile.
    """
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(source, path, "exec", dont_inherit=True, optimize=optimize)


def _check_file(path: str, before: str | None, after: str) -> None:
    check = _checker(path)
    if check is None:
        return
    try:
        check(after)
    except _BrokenError as exc:
        if before is None or _parses(check, before):
            raise ChildError(Reason.SYNTAX, f"{path}:{exc}") from exc
        return
    if check is _check_yaml:
        for root in yaml11.load(after):
            _refuse_duplicates(path, root)
        _refuse_numbers_as_text(path, before or "", after)


def _checker(path: str) -> Callable[[str], None] | None:
    suffix = PurePosixPath(path).suffix.lower()
    if is_python(path):
        return _check_python
    if suffix in YAML_SUFFIXES:
        return _check_yaml
    if suffix == ".json":
        return _check_json
    return _check_toml if suffix == ".toml" else None


def _parses(check: Callable[[str], None], text: str) -> bool:
    try:
        check(text)
    except _BrokenError:
        return False
    return True


def _check_python(text: str) -> None:
    try:
        tree = parse_python(text)
        # Some errors, such as a return outside a function, only show in the compiler.
        with _ONE_AT_A_TIME, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(tree, "<program>", "exec", dont_inherit=True)
    except SyntaxError as exc:
        shown = f": {exc.text.strip()!r}" if exc.text and exc.text.strip() else ""
        raise _BrokenError(
            f"{exc.lineno or 1}: {exc.msg}{shown}; expected Python that parses"
        ) from exc
    except (ValueError, RecursionError, MemoryError) as exc:
        raise _BrokenError(
            f"1: {exc or 'nested too deeply'}; expected Python that compiles"
        ) from exc


def _check_json(text: str) -> None:
    try:
        json.loads(text.removeprefix(BOM))
    except json.JSONDecodeError as exc:
        raise _BrokenError(f"{exc.lineno}: {exc.msg}; expected JSON") from exc
    except (ValueError, RecursionError) as exc:
        raise _BrokenError(f"1: {exc}; expected JSON") from exc


def _check_toml(text: str) -> None:
    if sys.version_info >= (3, 11):
        try:
            tomllib.loads(text.removeprefix(BOM))
        except (tomllib.TOMLDecodeError, RecursionError) as exc:
            line = re.search(r"at line (\d+)", str(exc))
            raise _BrokenError(f"{line[1] if line else 1}: {exc}; expected TOML") from exc


def _check_yaml(text: str) -> None:
    try:
        yaml11.load(text)
    except yaml11.BadYamlError as exc:
        raise _BrokenError(f"{exc.line}: {exc.problem}; expected YAML") from exc


def _refuse_duplicates(path: str, node: yaml11.Node) -> None:
    if isinstance(node, yaml11.Sequence):
        for item in node.items:
            _refuse_duplicates(path, item)
    if not isinstance(node, yaml11.Mapping):
        return
    seen: dict[tuple[str, str], int] = {}
    for key, value in node.pairs:
        _refuse_duplicates(path, value)
        if not isinstance(key, yaml11.Scalar) or key.is_merge:
            continue
        name = (key.kind, key.text)
        if name in seen:
            detail = (
                f"{path}:{key.line}: the key {key.text!r} stands here and in line {seen[name]}, "
                "and only the last one counts; change the one that is there"
            )
            raise ChildError(Reason.SYNTAX, detail)
        seen[name] = key.line


def _refuse_numbers_as_text(path: str, before: str, after: str) -> None:
    """Refuse a key whose number became something that PyYAML reads as text."""
    try:
        old = yaml11.load(before)
    except yaml11.BadYamlError:
        return
    for was, now in zip(old, yaml11.load(after), strict=False):
        known = yaml11.scalars(was)
        for keys, scalar in yaml11.scalars(now).items():
            earlier = known.get(keys)
            if earlier is None or earlier.kind != "number" or scalar.kind != "text":
                continue
            cure = yaml11.as_number(scalar.text)
            # Items of a list move when one is put in, so there only a number counts as one.
            if cure is not None or all(isinstance(key, str) for key in keys):
                detail = (
                    f"{path}:{scalar.line}: {'.'.join(map(str, keys))} was the number "
                    f"{earlier.text} and {scalar.text!r} is read as text; "
                    f"write {cure or 'a number'}{'' if scalar.plain else ' without quotes'}"
                )
                raise ChildError(Reason.SYNTAX, detail)

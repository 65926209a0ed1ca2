"""The source files of a program as they come in: paths, sizes, languages, evolve blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from lae_controller.change.evolve_blocks import END, START, find_blocks
from lae_controller.change.source import encode_source
from lae_controller.errors import ChildError, ConfigError
from lae_controller.service import limits
from lae_controller.service.api_errors import ApiError, Code, invalid

_LONGEST_NAME = 255  # bytes of one path component on common file systems
_FILES = "content.files"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of a program.

    Attributes:
        language: as it was given; empty if it was not.
    """

    path: str
    content: str
    language: str = ""
    description: str = ""

    def to_wire(self, language: str) -> dict[str, Any]:
        """Return the ``SourceFile`` message; ``language`` is the experiment's."""
        wire = {"path": self.path, "content": self.content, "programLanguage": language}
        return {**wire, "description": self.description} if self.description else wire


@dataclass(frozen=True, slots=True)
class Content:
    """The files of a seed program, in the order in which they were given."""

    files: tuple[SourceFile, ...]
    description: str = ""

    @property
    def evolved(self) -> tuple[str, ...]:
        """The paths of the files that hold an evolve block; only they may change."""
        return tuple(file.path for file in self.files if find_blocks(file.path, file.content))


def read_content(wire: Mapping[str, Any] | None, language: str) -> Content:
    """Return the program that a ``Content`` message means.

    Args:
        wire: as ``messages.READER`` gives it; None if there was none.
        language: the experiment's.

    Raises:
        ApiError: INVALID_ARGUMENT for the first thing that is not allowed.
    """
    listed: Sequence[Mapping[str, Any]] = (wire or {}).get("files", [])
    if wire is None or not listed:
        raise invalid(_FILES, "is empty", "at least one source file")
    if len(listed) > limits.FILES:
        raise invalid(_FILES, f"holds {len(listed)} files", f"at most {limits.FILES}")
    description = _described(wire, "content.description", limits.PROGRAM_DESCRIPTION)
    files = tuple(_file(item, f"{_FILES}[{at}]", language) for at, item in enumerate(listed))
    _check_together([file.path for file in files])
    _check_entry(files, language)
    _check_blocks(files)
    return Content(files, description)


def _file(wire: Mapping[str, Any], where: str, language: str) -> SourceFile:
    path, text = wire.get("path", ""), wire.get("content", "")
    _check_path(path, where)
    if not text:
        raise invalid(f"{where}.content", f"is empty (path {path!r})", "the text of the file")
    given = wire.get("programLanguage", "")
    if given and given != language:
        raise invalid(
            f"{where}.programLanguage",
            f"is {given[:60]!r} (path {path!r})",
            f"{language!r}, the experiment's own",
        )
    try:
        encode_source(path, text)
    except ChildError as error:
        raise ApiError(Code.INVALID_ARGUMENT, error.detail, f"{where}.content") from None
    description = _described(wire, f"{where}.description", limits.FILE_DESCRIPTION)
    return SourceFile(path, text, given, description)


def _described(wire: Mapping[str, Any], where: str, longest: int) -> str:
    text: str = wire.get("description", "")
    if len(text) > longest:
        raise invalid(where, f"has {len(text)} characters", f"at most {longest}")
    return text


def _check_path(path: str, where: str) -> None:
    """Check that a path stays below whatever folder it will be joined to."""
    field = f"{where}.path"
    if not path:
        raise invalid(field, "is missing or empty", "a relative path with a file name")
    if len(path) > limits.PATH:
        raise invalid(field, f"has {len(path)} characters", f"at most {limits.PATH}")
    parts = path.split("/")
    plain = all(part not in ("", ".", "..") for part in parts) and "\\" not in path
    printable = path.isprintable() and not path.startswith("~") and ":" not in parts[0]
    short = all(len(part.encode("utf-8")) <= _LONGEST_NAME for part in parts)
    if not (plain and printable and short):
        raise invalid(field, f"is {path!r}", "a relative path such as src/main.py, without . or ..")
    if path.lower().endswith(".ipynb"):
        raise invalid(field, f"is {path!r}", "a source file; a notebook holds code as JSON")
    if parts[0].startswith(".git") or "__pycache__" in parts:
        raise invalid(field, f"is {path!r}", "a path outside .git and __pycache__")


def _check_together(paths: Sequence[str]) -> None:
    seen = set()
    for at, path in enumerate(paths):
        if path in seen:
            raise invalid(f"{_FILES}[{at}].path", f"is {path!r} again", "each path once")
        seen.add(path)
    folders = {str(parent) for path in paths for parent in PurePosixPath(path).parents}
    both = next((at for at, path in enumerate(paths) if path in folders), None)
    if both is not None:
        expected = "a file that is not also the folder of another"
        raise invalid(f"{_FILES}[{both}].path", f"is {paths[both]!r}", expected)


def _check_entry(files: Sequence[SourceFile], language: str) -> None:
    """Check that the entry point of a Python program can be told.

    A single file is its own entry point whatever its name, as in Google's own example.
    """
    if language.lower() != "python" or len(files) == 1:
        return
    if all(PurePosixPath(file.path).name != limits.PYTHON_ENTRY for file in files):
        raise invalid(
            _FILES,
            f"holds {len(files)} files and none is called {limits.PYTHON_ENTRY}",
            "the entry point of a Python program under that name",
        )


def _check_blocks(files: Sequence[SourceFile]) -> None:
    try:
        found = [find_blocks(file.path, file.content) for file in files]
    except ConfigError as error:
        raise ApiError(Code.INVALID_ARGUMENT, str(error), _FILES) from None
    if not any(found):
        raise invalid(
            _FILES,
            "has no region that may be changed",
            f"at least one with code between {START} and {END}, each alone on a line",
        )

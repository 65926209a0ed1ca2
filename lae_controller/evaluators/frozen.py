"""Files that no candidate may change: tests, and what tells a test runner what to do."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from lae_controller.config import Settings
from lae_controller.errors import ConfigError
from lae_controller.files import copy_file, make_folder, remove_tree
from lae_controller.sandbox.snapshot import Entry, matches
from lae_controller.scoring import TESTS

ALWAYS = (
    *("tests", "test", "test_*.py", "*_test.py", "conftest.py", "pytest.ini", "tox.ini"),
    *("setup.cfg", "pyproject.toml", ".coveragerc"),
)


def frozen_globs(settings: Settings) -> tuple[str, ...]:
    """Return what is restored before every run; nothing but in the mode ``test_gate``."""
    scoring = settings.scoring
    return (*ALWAYS, *scoring.frozen) if scoring.mode == TESTS else ()


def without_frozen(settings: Settings, editable: Iterable[str]) -> tuple[str, ...]:
    """Return the editable files that may really change.

    Raises:
        ConfigError: if a frozen file is named as editable, or nothing else is.
    """
    globs = frozen_globs(settings)
    found = tuple(editable)
    named = next((path for path in settings.editable_files if matches(path, globs)), None)
    kept = tuple(path for path in found if not matches(path, globs))
    if named is not None or (found and not kept):
        raise ConfigError(
            f"{settings.path.name}: editable_files holds {named or found[0]!r}, which is frozen: "
            "tests and their configuration decide the score. Expected the code that they test"
        )
    return kept


def restore(work: Path, base: Path, entries: Iterable[Entry], globs: Iterable[str]) -> None:
    """Make the frozen files of a copy what they were in the original: no fewer, no more."""
    globs = tuple(globs)
    known = {entry.path: entry for entry in entries}
    for folder, subfolders, names in os.walk(work):
        for name in (*subfolders, *names):
            path = Path(folder, name)
            relative = path.relative_to(work).as_posix()
            is_link = path.is_symlink()
            if (path.is_dir() and not is_link) or not matches(relative, globs):
                continue
            if relative not in known:
                path.unlink()
    for name, entry in known.items():
        if entry.kind == "copy" and matches(name, globs):
            target = work / name
            remove_tree(target)
            make_folder(target.parent)
            target.unlink(missing_ok=True)
            copy_file(base / name, target)

"""Imports the candidate, and notes if it cannot be. Stand-alone, no packages."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import traceback
import types

NAME = "candidate"


def own_files(own: list[str]) -> list[str]:
    """Return absolute paths of the candidate's files, which lie below the working directory."""
    here = os.getcwd()
    return [os.path.join(here, path) for path in own]


class Finder(importlib.abc.MetaPathFinder):
    """Finds the module ``candidate`` in the file that is the entry, whatever its own name."""

    def __init__(self, entry: str) -> None:
        self.path = os.path.join(os.getcwd(), entry)

    def find_spec(
        self, name: str, _path: object = None, _target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return how to load ``candidate``; None for other modules."""
        if name != NAME:
            return None
        is_package = os.path.basename(self.path) == "__init__.py"
        folders = [os.path.dirname(self.path)] if is_package else None
        loader = _Loader(name, self.path)
        return importlib.util.spec_from_file_location(
            name, self.path, loader=loader, submodule_search_locations=folders
        )


class _Loader(importlib.machinery.SourceFileLoader):
    def exec_module(self, module: types.ModuleType) -> None:
        try:
            super().exec_module(module)
        except BaseException:
            sys.audit("lae.failed", traceback.format_exc()[-4000:])
            raise

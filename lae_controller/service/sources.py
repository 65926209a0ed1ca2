"""The source files of served programs, read from where the search froze them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path

from lae_controller.change.source import read_source
from lae_controller.service.book import SEED_ID, Book
from lae_controller.service.content import SourceFile

_KEPT = 128


class Sources:
    """Reads programs of one experiment; the latest few stay in memory.

    Paths come from the seed program, which was checked when it came in, and ids from the journal.
    """

    def __init__(self, book: Book, folder: Path) -> None:
        self._book = book
        self._programs = folder / "lae" / "programs"
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[SourceFile, ...]] = OrderedDict()

    def files(self, child: str) -> tuple[SourceFile, ...]:
        """Return the files of a program that is ready, in the order of the seed's.

        Raises:
            ConfigError: if one cannot be read.
        """
        if self._book.seed is None:
            return ()
        if child == SEED_ID:
            return self._book.seed.files
        with self._lock:
            known = self._known.get(child)
        return known if known is not None else self._read(child, self._book.seed.files)

    def _read(self, child: str, seed: tuple[SourceFile, ...]) -> tuple[SourceFile, ...]:
        directory = self._programs / child
        files = tuple(replace(file, content=read_source(directory / file.path)) for file in seed)
        with self._lock:
            self._known[child] = files
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return files

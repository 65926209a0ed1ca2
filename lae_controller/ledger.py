"""The ledgers of a run: the journal, which is the truth, and its two public views.

    journal.jsonl   one event a line, appended and fsynced; the state is a fold over it
    history.tsv     every child once, in the order in which it was told
    archive.tsv     the current elites

Nothing here is overwritten when it cannot be read: a torn last line is cut off (a copy is kept
in ``salvaged/``), an empty or zeroed file is moved there, and anything else is a LedgerError.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from lae_controller.errors import LedgerError
from lae_controller.files import append, is_blank, make_folder, sync_file, sync_folder, write_atomic
from lae_controller.remarks import Say
from lae_controller.rows import (
    ARCHIVE_HEADER,
    HISTORY_HEADER,
    ArchiveRow,
    HistoryRow,
    archive_bytes,
    archive_row,
    history_row,
    line_of,
)

Event = dict[str, Any]

_DECODER = msgspec.json.Decoder()


class Ledger:
    """The ledger files of one ``lae/`` directory. Only the holder of its lock may write."""

    def __init__(self, folder: Path, say: Say) -> None:
        self.folder = folder
        self.journal = folder / "journal.jsonl"
        self.history = folder / "history.tsv"
        self.archive = folder / "archive.tsv"
        self._say = say
        self._unsynced: set[Path] = set()

    # -- journal -----------------------------------------------------------------------------

    def append(self, events: Sequence[Event], *, durable: bool = True) -> None:
        """Append events as a whole.

        Args:
            durable: whether they, and all before them, outlive a loss of power once this returns.
                What follows from something durable may wait for the next ``sync``: nothing that
                depends on it may be begun before.
        """
        lines = [json.dumps(event, allow_nan=False, ensure_ascii=False) for event in events]
        raw = "".join(line + "\n" for line in lines).encode("utf-8")
        append(self.journal, raw, durable=durable)
        self._note(self.journal, durable=durable)

    def sync(self) -> None:
        """Make the journal durable as far as it goes."""
        if self.journal in self._unsynced:
            sync_file(self.journal)
            self._unsynced.discard(self.journal)

    def sync_all(self) -> None:
        """Make the journal and both views durable as far as they go."""
        if not self._unsynced:
            return
        for path in sorted(self._unsynced):
            sync_file(path)
        sync_folder(self.folder)
        self._unsynced.clear()

    def _note(self, path: Path, *, durable: bool) -> None:
        if durable:
            self._unsynced.discard(path)
        else:
            self._unsynced.add(path)

    def read_journal(self, *, mend: bool) -> list[Event] | None:
        """Return all events at once (see ``events``)."""
        events = self.events(mend=mend)
        return None if events is None else list(events)

    def events(self, *, mend: bool) -> Iterator[Event] | None:
        """Return the events one by one, so that never all are held; None if there is no journal.

        Args:
            mend: whether a torn last line may be cut off, and an emptied file moved aside.

        Raises:
            LedgerError: on the way, if a line before the last does not parse.
        """
        if is_blank(self.journal):
            self._content(self.journal, mend=mend)
            return None
        return self._parsed(mend=mend)

    def _parsed(self, *, mend: bool) -> Iterator[Event]:
        whole, torn = 0, b""
        with self.journal.open("rb") as stream:
            for number, raw in enumerate(stream, start=1):
                if not raw.endswith(b"\n"):
                    torn = raw
                    break
                yield _event(self.journal, number, raw.decode("utf-8", "replace").strip())
                whole += len(raw)
        if torn and mend:
            self._cut(self.journal, whole, torn)

    # -- views -------------------------------------------------------------------------------

    # Shown at once, durable with the next ``sync_all``: a loss of power may leave a view behind the
    # journal, from which it is then rebuilt.

    def append_history(self, rows: Iterable[HistoryRow]) -> None:
        """Append rows to ``history.tsv``, with its header if the file is new."""
        text = "".join(line_of(row.fields()) for row in rows)
        if not self.history.exists():
            text = line_of(HISTORY_HEADER) + text
        append(self.history, text.encode("utf-8"), durable=False)
        self._note(self.history, durable=False)

    def write_archive(self, rows: Iterable[ArchiveRow]) -> None:
        """Replace ``archive.tsv``."""
        write_atomic(self.archive, archive_bytes(rows), durable=False)
        self._note(self.archive, durable=False)

    def read_history(self, *, mend: bool) -> list[HistoryRow] | None:
        """Return the rows of ``history.tsv``; None if it is missing or was emptied.

        Raises:
            LedgerError: if a row does not parse.
        """
        return self._read(self.history, HISTORY_HEADER, history_row, mend=mend)

    def read_archive(self, *, mend: bool) -> list[ArchiveRow] | None:
        """Return the rows of ``archive.tsv``; None if it is missing or was emptied.

        Raises:
            LedgerError: if a row does not parse.
        """
        return self._read(self.archive, ARCHIVE_HEADER, archive_row, mend=mend)

    def _read(
        self,
        path: Path,
        header: tuple[str, ...],
        parse: Callable[[list[str]], Any],
        *,
        mend: bool,
    ) -> list[Any] | None:
        raw = self._content(path, mend=mend)
        if raw is None:
            return None
        lines, torn = _split(raw)
        rows = []
        for index, line in enumerate(lines):
            fields = line.split("\t")
            if tuple(fields) == header:
                if index > 0:
                    self._say(f"{path}:{index + 1}: a stray header row; skipped")
                continue
            try:
                rows.append(parse(fields))
            except (ValueError, TypeError):
                expected = f"{len(header)} columns ({' '.join(header)})"
                raise LedgerError(_damaged(path, index + 1, line, expected)) from None
        if torn is not None and mend:
            self._cut(path, torn, raw[torn:])
        return rows

    def holds(self, path: Path, expected: bytes) -> bool:
        """Say whether a view is byte for byte what is expected."""
        return path.exists() and path.read_bytes() == expected

    def mend_view(self, path: Path, expected: bytes, what: str) -> None:
        """Make a view equal to what the journal says, keeping a copy of what was there."""
        there = path.read_bytes() if path.exists() else None
        if there == expected:
            return
        if there:
            self._keep(path, there)
        write_atomic(path, expected)
        self._say(f"{path}: rebuilt from {self.journal.name} ({what})")

    # -- what cannot be read -----------------------------------------------------------------

    def _content(self, path: Path, *, mend: bool) -> bytes | None:
        try:
            raw = path.read_bytes()
        except FileNotFoundError:
            return None
        if raw.strip(b"\0"):
            return raw
        if mend:
            self._keep(path, raw)
            path.unlink()
            self._say(f"{path}: empty or zeroed; moved to {self.folder.name}/salvaged")
        return None

    def _cut(self, path: Path, whole: int, torn: bytes) -> None:
        self._keep(path, torn)
        with path.open("r+b") as stream:
            stream.truncate(whole)
            stream.flush()
            os.fsync(stream.fileno())
        self._say(f"{path}: a torn last line ({len(torn)} bytes) was cut off")

    def _keep(self, path: Path, raw: bytes) -> None:
        folder = self.folder / "salvaged"
        make_folder(folder)
        write_atomic(folder / f"{path.name}.{time.time_ns()}", raw)


def _event(path: Path, number: int, line: str) -> Event:
    """Return the event of one line of a journal.

    Raises:
        LedgerError: if it is none.
    """
    try:
        event: Event = _DECODER.decode(line)
        event["event"].upper()  # every event has a name
    except (ValueError, KeyError, TypeError, AttributeError):
        raise LedgerError(_damaged(path, number, line, "a JSON event")) from None
    return event


def _split(raw: bytes) -> tuple[list[str], int | None]:
    """Return the whole lines, and the offset of a torn last one (or None)."""
    end = raw.rfind(b"\n") + 1
    lines = raw[:end].decode("utf-8", "replace").split("\n")[:-1]
    return lines, None if end == len(raw) else end


def _damaged(path: Path, line: int, found: str, expected: str) -> str:
    return (
        f"{path}:{line}: does not parse: {found[:80]!r}; expected {expected}. Nothing was "
        "overwritten; mend that line by hand, or move the file away to go on from the others"
    )

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lae_controller.errors import LedgerError
from lae_controller.ledger import Ledger
from lae_controller.rows import (
    HISTORY_HEADER,
    ArchiveRow,
    HistoryRow,
    complexity_text,
    parse_complexity,
)


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def ledger(tmp_path: Path, said: list[str]) -> Ledger:
    return Ledger(tmp_path, said.append)


def row(child: str, metric: float | None = 0.5) -> HistoryRow:
    status = "crash" if metric is None else "evaluated"
    cell = None if metric is None else (1, 2)
    return HistoryRow(1, 0, "g0-i0-a0", child, metric, metric, status, metric is not None, cell)


def test_rows_read_back_equal(ledger: Ledger) -> None:
    rows = [row("g1-i0-a0", 0.1 + 0.2), row("g1-i1-a1", None), row("g1-i2-a2", 1e-300)]
    ledger.append_history(rows[:1])
    ledger.append_history(rows[1:])
    assert ledger.read_history(mend=False) == rows
    lines = ledger.history.read_text().splitlines()
    assert len(lines) == 4
    assert {line.count("\t") for line in lines} == {8}


def test_the_header_is_the_contract_s(ledger: Ledger) -> None:
    ledger.append_history([row("g1-i0-a0")])
    ledger.write_archive([])
    assert ledger.history.read_text().splitlines()[0].split("\t") == list(HISTORY_HEADER)
    archive = "island cell metric child_id parent_id sandbox_path complexity diversity"
    assert ledger.archive.read_text() == archive.replace(" ", "\t") + "\n"


def test_an_archive_row_reads_back(ledger: Ledger) -> None:
    path = "lae/programs/g4-i0-a1"
    elite = ArchiveRow(0, (2, 7), 0.71, "g4-i0-a1", "g2-i0-a3", path, "2.1M", 0.71)
    ledger.write_archive([elite])
    assert ledger.read_archive(mend=False) == [elite]


def test_a_torn_last_line_is_cut_off_kept_and_said(ledger: Ledger, said: list[str]) -> None:
    ledger.append_history([row("g1-i0-a0"), row("g1-i0-a1")])
    with ledger.history.open("ab") as stream:
        stream.write(b"1\t0\tg0-i0-a0\tg1-i0")
    assert [r.child_id for r in ledger.read_history(mend=True) or []] == ["g1-i0-a0", "g1-i0-a1"]
    ledger.append_history([row("g1-i0-a2")])
    assert [r.child_id for r in ledger.read_history(mend=False) or []][-1] == "g1-i0-a2"
    assert "torn last line" in said[0]
    (kept,) = (ledger.folder / "salvaged").iterdir()
    assert kept.read_bytes() == b"1\t0\tg0-i0-a0\tg1-i0"


def test_looking_does_not_mend(ledger: Ledger) -> None:
    ledger.append_history([row("g1-i0-a0")])
    with ledger.history.open("ab") as stream:
        stream.write(b"torn")
    before = ledger.history.read_bytes()
    assert len(ledger.read_history(mend=False) or []) == 1
    assert ledger.history.read_bytes() == before


def test_a_stray_header_is_skipped_and_said(ledger: Ledger, said: list[str]) -> None:
    ledger.append_history([row("g1-i0-a0")])
    with ledger.history.open("a") as stream:
        stream.write("\t".join(HISTORY_HEADER) + "\n")
    ledger.append_history([row("g1-i0-a1")])
    assert len(ledger.read_history(mend=True) or []) == 2
    assert "history.tsv:3: a stray header row" in said[0]


@pytest.mark.parametrize(
    "line", ["a\tb", "1\t0\t-\tg1-i0-a0\tx\t-\tcrash\tn\t-", "1\t0\t-\tc1\t-\t-\tcrash\tn\t-"]
)
def test_a_row_that_does_not_parse_is_named_and_left(ledger: Ledger, line: str) -> None:
    ledger.append_history([row("g1-i0-a0")])
    with ledger.history.open("a") as stream:
        stream.write(line + "\n")
    ledger.append_history([row("g1-i0-a1")])
    before = ledger.history.read_bytes()
    with pytest.raises(LedgerError, match=r"history\.tsv:3: does not parse"):
        ledger.read_history(mend=True)
    assert ledger.history.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"\0" * 64])
def test_an_emptied_file_is_kept_aside(ledger: Ledger, said: list[str], content: bytes) -> None:
    ledger.history.write_bytes(content)
    assert ledger.read_history(mend=True) is None
    (kept,) = (ledger.folder / "salvaged").iterdir()
    assert kept.read_bytes() == content
    assert "empty or zeroed" in said[0]


def test_journal_events_read_back_in_order(ledger: Ledger) -> None:
    events = [{"event": "ask", "n": n} for n in range(3)]
    ledger.append(events[:2])
    ledger.append(events[2:])
    assert ledger.read_journal(mend=True) == events


def test_a_torn_event_is_cut_off(ledger: Ledger) -> None:
    ledger.append([{"event": "ask"}])
    with ledger.journal.open("ab") as stream:
        stream.write(json.dumps({"event": "told"}).encode()[:-3])
    assert ledger.read_journal(mend=True) == [{"event": "ask"}]
    ledger.append([{"event": "stop"}])
    assert ledger.read_journal(mend=True) == [{"event": "ask"}, {"event": "stop"}]


@pytest.mark.parametrize("line", ["{", "[]", "{}", '{"event": 3}', "null"])
def test_a_broken_event_in_the_middle_is_named(ledger: Ledger, line: str) -> None:
    ledger.append([{"event": "ask"}])
    with ledger.journal.open("a") as stream:
        stream.write(line + "\n")
    ledger.append([{"event": "stop"}])
    with pytest.raises(LedgerError, match=r"journal\.jsonl:2: does not parse"):
        ledger.read_journal(mend=True)


def test_free_text_cannot_make_columns_or_rows(ledger: Ledger) -> None:
    path = "lae/programs/a\tb\nc"
    ledger.write_archive([ArchiveRow(0, (0, 0), 1.0, "g0-i0-a0", None, path, "3loc", 0.0)])
    lines = ledger.archive.read_text().splitlines()
    assert len(lines) == 2
    assert lines[1].count("\t") == 7


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (610, "params", "610"),
        (12_345, "params", "12.3k"),
        (2_100_000, "params", "2.1M"),
        (7e9, "params", "7B"),
        (180, "loc", "180loc"),
    ],
)
def test_complexity_is_readable(value: float, unit: str, text: str) -> None:
    assert complexity_text(value, unit) == text
    again, same = parse_complexity(text)
    assert same == unit
    assert again == pytest.approx(value, rel=0.01)

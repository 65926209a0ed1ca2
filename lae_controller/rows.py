"""The rows of a run's two public views, as values and as text.

history.tsv     every child once, in the order in which it was told
archive.tsv     the current elites
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lae_controller.program import Cell, parse_child_id

HISTORY_HEADER = (
    "gen",
    "island",
    "parent_id",
    "child_id",
    "smoke_metric",
    "full_metric",
    "status",
    "kept",
    "cell",
)
ARCHIVE_HEADER = (
    "island",
    "cell",
    "metric",
    "child_id",
    "parent_id",
    "sandbox_path",
    "complexity",
    "diversity",
)


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One line of ``history.tsv``."""

    gen: int
    island: int
    parent_id: str | None
    child_id: str
    smoke_metric: float | None
    full_metric: float | None
    status: str
    kept: bool
    cell: Cell | None

    def fields(self) -> tuple[str, ...]:
        """Return the texts of the columns."""
        return (
            str(self.gen),
            str(self.island),
            self.parent_id or "-",
            self.child_id,
            number(self.smoke_metric),
            number(self.full_metric),
            self.status,
            "y" if self.kept else "n",
            cell_text(self.cell),
        )


@dataclass(frozen=True, slots=True)
class ArchiveRow:
    """One line of ``archive.tsv``; complexity is text such as ``2.1M`` or ``180loc``."""

    island: int
    cell: Cell | None
    metric: float
    child_id: str
    parent_id: str | None
    sandbox_path: str
    complexity: str
    diversity: float

    def fields(self) -> tuple[str, ...]:
        """Return the texts of the columns."""
        return (
            str(self.island),
            cell_text(self.cell),
            number(self.metric),
            self.child_id,
            self.parent_id or "-",
            self.sandbox_path,
            self.complexity,
            f"{self.diversity:.4f}",
        )


def number(value: float | None) -> str:
    """Write a metric so that reading gives the same float back; ``-`` for none."""
    return "-" if value is None else repr(float(value))


def cell_text(cell: Cell | None) -> str:
    """Write a cell as ``(c,d)``; ``-`` for none."""
    return "-" if cell is None else f"({cell[0]},{cell[1]})"


def complexity_text(value: float, unit: str) -> str:
    """Write a complexity for people: ``610``, ``12.3k``, ``2.1M`` parameters, or ``180loc``."""
    if unit == "loc":
        return f"{int(value)}loc"
    for factor, suffix in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:.3g}{suffix}"
    return str(int(value))


def parse_complexity(text: str) -> tuple[float, str]:
    """Read what ``complexity_text`` wrote: (value, ``params`` or ``loc``)."""
    if text.endswith("loc"):
        return float(text.removesuffix("loc")), "loc"
    factor = {"k": 1e3, "M": 1e6, "B": 1e9}.get(text[-1:], 1.0)
    return float(text.rstrip("kMB")) * factor, "params"


def line_of(fields: Sequence[str]) -> str:
    """Return one line of a table; what would break it becomes a blank."""
    line = "\t".join(fields)
    if line.count("\t") >= len(fields) or "\n" in line or "\r" in line:
        unclean = set("\t\n\r")
        line = "\t".join(" ".join(it.split()) if unclean & set(it) else it for it in fields)
    return line + "\n"


def _table(header: Sequence[str], rows: Iterable[HistoryRow | ArchiveRow]) -> bytes:
    return (line_of(header) + "".join(line_of(row.fields()) for row in rows)).encode("utf-8")


def history_bytes(rows: Iterable[HistoryRow]) -> bytes:
    """Return what ``history.tsv`` holds for these rows."""
    return _table(HISTORY_HEADER, rows)


def archive_bytes(rows: Iterable[ArchiveRow]) -> bytes:
    """Return what ``archive.tsv`` holds for these rows."""
    return _table(ARCHIVE_HEADER, rows)


def _optional(text: str) -> str | None:
    return None if text == "-" else text


def _number(text: str) -> float | None:
    return None if text == "-" else float(text)


def _cell(text: str) -> Cell | None:
    if text == "-":
        return None
    complexity, diversity = text.removeprefix("(").removesuffix(")").split(",")
    return int(complexity), int(diversity)


def history_row(fields: list[str]) -> HistoryRow:
    """Read the columns of one line of ``history.tsv``.

    Raises:
        ValueError: if they are none.
    """
    gen, island, parent, child, smoke, full, status, kept, cell = fields
    parse_child_id(child)
    if kept not in ("y", "n"):
        raise ValueError(kept)
    return HistoryRow(
        int(gen),
        int(island),
        _optional(parent),
        child,
        _number(smoke),
        _number(full),
        status,
        kept == "y",
        _cell(cell),
    )


def archive_row(fields: list[str]) -> ArchiveRow:
    """Read the columns of one line of ``archive.tsv``.

    Raises:
        ValueError: if they are none.
    """
    island, cell, metric, child, parent, path, complexity, diversity = fields
    parse_child_id(child)
    parse_complexity(complexity)
    return ArchiveRow(
        int(island),
        _cell(cell),
        float(metric),
        child,
        _optional(parent),
        path,
        complexity,
        float(diversity),
    )

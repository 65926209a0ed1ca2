"""Tables with a header: CSV and TSV by the standard library, Parquet where pyarrow is there."""

from __future__ import annotations

import csv
import io
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lae_controller.errors import ConfigError, PrerequisiteError, RefusedError
from lae_controller.evaluators.measures import Value

LEAST_ROWS = 5
"""Rows of one unit below which its score is hardly more than a coin."""

FEW_ROWS = 24

Row = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows without the target, and the target beside them."""

    rows: Sequence[Row]
    targets: Sequence[Value]


@dataclass(frozen=True, slots=True)
class Split:
    """A table taken apart; no row is in two parts.

    Attributes:
        fit: what a candidate may learn from.
        units: one table for each shard, all of one size.
    """

    fit: Table
    units: tuple[Table, ...]


def read_table(path: Path, target: str) -> Table:
    """Read a table; numbers are floats in columns that hold nothing else, empty fields None.

    Raises:
        ConfigError: if it is no such table, has no such column, or a row has no answer.
        PrerequisiteError: for Parquet without pyarrow.
    """
    columns = _parquet(path) if path.suffix == ".parquet" else _delimited(path)
    if target not in columns:
        raise ConfigError(
            f"{path.name}: no column {target!r} (scoring.target); its columns are "
            f"{', '.join(columns)}. Set scoring.target to one of them"
        )
    typed = {name: _typed(values) for name, values in columns.items()}
    targets = typed.pop(target)
    missing = next((index for index, value in enumerate(targets) if value is None), None)
    if missing is not None:
        raise ConfigError(
            f"{path.name}: row {missing + 1} (the header not counted) has no {target}; expected an "
            "answer in every row"
        )
    names = list(typed)
    rows = [dict(zip(names, values, strict=True)) for values in zip(*typed.values(), strict=True)]
    return Table(rows or [{} for _ in targets], targets)


def _delimited(path: Path) -> dict[str, list[str]]:
    delimiter = "\t" if path.suffix == ".tsv" else ","
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read ({error}); expected UTF-8 text") from None
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    header = next(reader, [])
    if not header or len(set(header)) < len(header):
        raise ConfigError(f"{path.name}:1: the header is {header}; expected names, each once")
    columns: dict[str, list[str]] = {name: [] for name in header}
    for row in reader:
        if not row:
            continue
        if len(row) != len(header):
            raise ConfigError(
                f"{path.name}:{reader.line_num}: {len(row)} fields; expected {len(header)}, as in "
                "the header"
            )
        for name, field in zip(header, row, strict=True):
            columns[name].append(field)
    return columns


def _parquet(path: Path) -> dict[str, list[object]]:
    try:
        from pyarrow import ArrowException, parquet
    except ModuleNotFoundError:
        raise PrerequisiteError(
            f"{path.name}: Parquet needs pyarrow, which is missing. "
            "`python -m pip install 'lae-controller[data]'` brings it; a CSV file needs nothing"
        ) from None
    try:
        columns: dict[str, list[object]] = parquet.read_table(path).to_pydict()
    except (OSError, ArrowException) as error:
        raise ConfigError(
            f"{path}: cannot be read as Parquet ({error}); expected a whole file of that format, "
            "or a CSV file of another name"
        ) from None
    return columns


def _typed(values: Sequence[object]) -> list[Value]:
    """Return a column as numbers if it holds nothing else, as text otherwise."""
    present = [value for value in values if value not in (None, "")]
    numbers = [_number(value) for value in present]
    if all(number is not None for number in numbers):
        return [None if value in (None, "") else _number(value) for value in values]
    return [None if value in (None, "") else str(value) for value in values]


def _number(value: object) -> float | None:
    if isinstance(value, str) and "_" in value:  # 1_000 is a number to Python alone
        return None
    if isinstance(value, bool | int | float | str):
        try:
            number = float(value)
        except ValueError:
            return None
        return number if math.isfinite(number) else None
    return None


def split_table(table: Table, units: int, fit_share: float, seed: int) -> Split:
    """Shuffle the rows and deal them out: first what is fitted on, then the units.

    Args:
        units: how many, all of one size; rows that are left over go to what is fitted on.
        seed: of the shuffle, the same for the whole run.

    Raises:
        RefusedError: if a unit would hold too few rows.
    """
    order = list(range(len(table.rows)))
    random.Random(f"{seed}:dataset:split").shuffle(order)
    size = int(len(order) * (1.0 - fit_share) + 1e-9) // units
    if size < LEAST_ROWS:
        raise RefusedError(
            f"scoring: {len(order)} rows, of which a share of {fit_share:g} is for fitting, make "
            f"{units} units (rollout, gate and test) of {size} rows; expected at least "
            f"{LEAST_ROWS} rows a unit, better {FEW_ROWS}: so few score like a coin. Add rows or "
            "lower fit_share"
        )
    first = len(order) - units * size
    parts = [order[first + n * size : first + (n + 1) * size] for n in range(units)]
    return Split(_picked(table, order[:first] if fit_share else []), tuple(
        _picked(table, part) for part in parts
    ))  # fmt: skip


def _picked(table: Table, indices: Sequence[int]) -> Table:
    return Table([table.rows[i] for i in indices], [table.targets[i] for i in indices])

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lae_controller.errors import ConfigError, PrerequisiteError, RefusedError
from lae_controller.evaluators.table import Table, read_table, split_table


def table(tmp_path: Path, text: str, name: str = "t.csv", target: str = "y") -> Table:
    path = tmp_path / name
    path.write_bytes(text.encode())
    return read_table(path, target)


def test_columns_are_numbers_where_they_hold_nothing_else(tmp_path: Path) -> None:
    found = table(tmp_path, '\ufeffa,b,y\r\n1,x,2.5\r\n,"y, z",3\r\n')
    assert list(found.rows) == [{"a": 1.0, "b": "x"}, {"a": None, "b": "y, z"}]
    assert list(found.targets) == [2.5, 3.0]


def test_labels_stay_text(tmp_path: Path) -> None:
    found = table(tmp_path, "a\ty\n1_0\tcat\n2\tnan\n", name="t.tsv")
    assert list(found.targets) == ["cat", "nan"]
    assert found.rows[0] == {"a": "1_0"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "no column 'y' .scoring.target.; its columns are a, b"),
        ("a,y\n1,2\n3,\n", "row 2 .* has no y"),
        ("a,y\n1,2,3\n", r"t\.csv:2: 3 fields; expected 2"),
        ("a,a,y\n1,2,3\n", "expected names, each once"),
        ("", "expected names"),
    ],
)
def test_a_table_that_is_none_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        table(tmp_path, text)


def numbered(rows: int) -> Table:
    return Table([{"a": float(n)} for n in range(rows)], [float(n) for n in range(rows)])


def test_every_row_is_in_one_part_only() -> None:
    split = split_table(numbered(217), units=16, fit_share=0.5, seed=42)
    sizes = {len(unit.rows) for unit in split.units}
    dealt = [*split.fit.targets, *(t for unit in split.units for t in unit.targets)]
    assert sizes == {6}
    assert len(split.fit.rows) == 217 - 16 * 6
    assert sorted(map(float, map(str, dealt))) == [float(n) for n in range(217)]
    assert all(
        row["a"] == target for row, target in zip(split.fit.rows, split.fit.targets, strict=True)
    )


def test_the_split_hangs_on_the_seed_alone() -> None:
    one, again, other = (split_table(numbered(100), 16, 0.0, seed) for seed in (1, 1, 2))
    assert one == again != other
    assert not one.fit.rows


def test_too_few_rows_a_unit_are_refused() -> None:
    with pytest.raises(RefusedError, match=r"make 16 units .* of 4 rows; expected at least 5"):
        split_table(numbered(79), 16, 0.0, 1)


def test_parquet_without_its_package_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(PrerequisiteError, match=r"pip install 'lae-controller\[data\]'"):
        table(tmp_path, "", name="t.parquet")


def test_parquet_reads_like_csv(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "t.parquet"
    parquet.write_table(pyarrow.table({"a": [1, None], "y": ["p", "q"]}), path)
    found = read_table(path, "y")
    assert (list(found.rows), list(found.targets)) == ([{"a": 1.0}, {"a": None}], ["p", "q"])

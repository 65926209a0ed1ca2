from __future__ import annotations

import pytest

from lae_controller.change.changed_lines import changed_lines


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ("a\nb\nc\n", "a\nx\n\ny\nc\n", ["-b", "+x", "+y"]),
        ("a\n  b\n", "a\n    b\nc", ["-  b", "+    b", "+c"]),
        ("a\nb\n", "a\r\nb\r\n", []),
        ("", "a\n", ["+a"]),
        ("a\nb\n", "a\n", ["-b"]),
    ],
)
def test_lines_that_go_and_come(before: str, after: str, lines: list[str]) -> None:
    assert changed_lines(before, after) == lines

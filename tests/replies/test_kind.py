from __future__ import annotations

import pytest

from lae_controller.program import Intervention
from lae_controller.replies.kind import describe, kind_of


def files(text: str) -> dict[str, str]:
    return {"net.py": text, "same.py": "dropout = 0.1\n"}


@pytest.mark.parametrize(
    ("before", "after", "stated", "kind"),
    [
        ("lr = 1\nx = dropout\n", "lr = 2\nx = dropout\n", None, "optimiser"),
        ("lr = 1\n", "lr = 1\nwarmup = 2\n", "optimiser", "schedule"),
        ("lr = 1\n", "lr = 2\nwarmup = 2\n", "optimiser", "optimiser"),
        ("a = 1\n", "a = 2\n", "init", "init"),
        ("a = 1\n", "a = 2\n", None, "other"),
        ("lr = 1\n", "lr = 2\n", "other", "optimiser"),
        ("x = relu(y)\n", "x = tanh(y)\n", "data", "data"),
        ("x = relu(y)\n", "x = tanh(y)\n", None, "architecture"),
    ],
)
def test_the_changed_lines_tell_the_kind(
    before: str, after: str, stated: str | None, kind: str
) -> None:
    said = Intervention(stated) if stated else None
    assert kind_of(files(before), files(after), said) is Intervention(kind)


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ("a = 1\nb = 2\n", "a = 3\nb = 2\n", "a = 1 -> a = 3"),
        ("a = 1\n", "a = 1\nb = f(1, 2)\n", "with b = f(1; 2)"),
        ("a = 1\nb = 2\n", "a = 1\n", "without b = 2"),
        ("a = 1\n", "a = 1\n\n", "nothing but blank lines"),
        ("a\n", f"{'x' * 200}\n", f"a -> {'x' * 134}…"),
        ("a\n", "b\nc\nd\ne\n", "a -> b / c / d"),
    ],
)
def test_a_change_is_described_by_its_lines(before: str, after: str, line: str) -> None:
    assert describe(files(before), files(after)) == line


def test_new_files_count() -> None:
    assert kind_of({}, {"a.py": "momentum = 0.9\n"}, None) is Intervention.OPTIMISER

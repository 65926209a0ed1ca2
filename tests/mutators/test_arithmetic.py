from __future__ import annotations

import pytest
from mutator_tasks import texts

from lae_controller.mutators import arithmetic


@pytest.mark.parametrize(
    ("text", "children"),
    [
        ("y = a + b\n", {"y = a - b\n"}),
        ("y = (a + b) * c\n", {"y = (a - b) * c\n", "y = (a + b) / c\n"}),
        ("y = (a\n     - b)\n", {"y = (a\n     + b)\n"}),
        ("y -= g\n", {"y += g\n"}),
        ("y = max(a, b)\n", {"y = min(a, b)\n"}),
        ("y = np.minimum(a, b)\n", {"y = np.maximum(a, b)\n"}),
        ("y = a < b\n", {"y = a <= b\n"}),
        ("y = x[i + 1]\n", set()),
        ("y = np.zeros((n + 1, 2))\n", set()),
        ("y = nn.Linear(a + b)\n", set()),
        ("y = int(a * b)\n", set()),
        ("y = 'a' + b\n", set()),
        ("y = a @ b\n", set()),
        ("loss = a + b\n", set()),
        ("def evaluate(a):\n    return a + 1\n", set()),
    ],
)
def test_one_operator_changes(text: str, children: set[str]) -> None:
    assert texts(arithmetic.operator_changes, text) == children

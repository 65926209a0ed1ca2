from __future__ import annotations

import pytest

from lae_controller.change.identifiers import setting, words


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("learningRate", ("learning", "rate")),
        ("N_EMBD", ("n", "embd")),
        ("BatchNorm1d", ("batch", "norm", "d")),
        ("MLPHead", ("mlp", "head")),
        ("lr0", ("lr",)),
    ],
)
def test_words(name: str, parts: tuple[str, ...]) -> None:
    assert words(name) == parts


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("    LR = 0.1  # per step", ("LR", "0.1")),
        ("lr: float = 1e-3", ("lr", "1e-3")),
        ("  width: 16", ("width", "16")),
        ("kind='adam',", ("kind", "'adam'")),
        ("self.bias = False", ("self.bias", "False")),
        ("x = f(1)", None),
        ("x = 2 * y", None),
        ("x == 1", None),
        ("x += 1", None),
        ("return 1", None),
    ],
)
def test_settings(line: str, found: tuple[str, str] | None) -> None:
    assert setting(line) == found

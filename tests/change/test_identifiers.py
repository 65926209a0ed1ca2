from __future__ import annotations

import pytest

from lae_controller.change.identifiers import words


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

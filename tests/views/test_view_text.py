from __future__ import annotations

import math

import pytest

from lae_controller.views.text import gain_text


@pytest.mark.parametrize(
    ("gain", "error", "text"),
    [
        (0.4, 0.0368371, "+0.400 ± 0.037"),
        (-0.01234, 0.2, "-0.01 ± 0.20"),
        (12.3456, 3.21, "+12.3 ± 3.2"),
        (1234.5, 120.0, "+1234 ± 120"),
        (2.5e-9, 1.26e-9, "+2.5e-09 ± 1.3e-09"),
        (0.25, 0.0, "+0.25 ± 0"),
        (0.25, math.inf, "+0.25 ± inf"),
    ],
)
def test_a_gain_is_shown_as_exactly_as_it_is_known(gain: float, error: float, text: str) -> None:
    assert gain_text(gain, error) == text

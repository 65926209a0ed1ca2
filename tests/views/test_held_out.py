from __future__ import annotations

from lae_controller.program import Direction
from lae_controller.views.held_out import held_out


def test_both_stand_side_by_side() -> None:
    lines = held_out("acc", Direction.MAXIMIZE, (0.6, 0.9), (0.58, 0.86))
    assert [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]] == [
        ["search (acc)", "0.6", "0.9", "+0.3"],
        ["held-out test", "0.58", "0.86", "+0.28"],
    ]


def test_a_warning_when_they_part() -> None:
    lines = held_out("loss", Direction.MINIMIZE, (2.0, 1.0), (2.0, 2.1))
    assert lines[-1].startswith("Warning: the gain of 1 is not there on the held-out test (-0.1)")


def test_a_test_that_failed_is_said() -> None:
    lines = held_out("acc", Direction.MAXIMIZE, (0.6, 0.9), (0.58, None), "timeout: 60 s")
    assert lines[3].split("|")[3].strip() == "-"
    assert lines[-1] == "The held-out test could not be read: timeout: 60 s."

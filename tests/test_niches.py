from __future__ import annotations

from lae_controller.niches import empty_regions


def test_empty_ninths_are_named_from_the_nearest_on() -> None:
    held = [(0, 0), (9, 0), (4, 5), None]
    assert empty_regions(held, 10) == (
        "middle-sized programs, much like the others",
        "small programs, rather unlike the others",
        "large programs, rather unlike the others",
        "small programs, very unlike the others",
    )


def test_a_full_map_has_none() -> None:
    assert empty_regions([(c, d) for c in range(3) for d in range(3)], 3) == ()

from __future__ import annotations

import pytest

from lae_controller.probing.damage import MOST, Kind, damaged, raising

MODEL = """\
LR = 0.1
HIDDEN = 16
SEED = 3


def predict(rows):
    return [row * LR for row in rows]


def step(weights, rate):
    weights -= rate
"""
CONFIG = "optimiser:\n  lr: 1e-3  # usual\n  epochs: 5\ndropout: 0.0\n"


def whats(files: dict[str, str], *, protected: tuple[str, ...] = (), idle: str = "") -> list[str]:
    return [it.what for it in damaged(files, filter(None, [idle]), protected)]


def test_each_kind_has_its_turn_and_the_most_telling_comes_first() -> None:
    found = damaged({"m.py": MODEL}, (), ())
    assert [(it.kind, it.what) for it in found] == [
        (Kind.SHUFFLED, "m.py:6 predict in reverse order"),
        (Kind.CONSTANT, "m.py:1 LR 0.1 -> 0.0"),
        (Kind.HOLLOW, "m.py:6 predict times 0"),
        (Kind.CONSTANT, "m.py:2 HIDDEN 16 -> 1"),
        (Kind.HOLLOW, "m.py:10 step emptied"),
        (Kind.HOLLOW, "m.py:6 predict emptied"),
        (Kind.CONSTANT, "m.py:1 LR 0.1 -> 100.0"),
    ]
    assert found[1].files["m.py"] == MODEL.replace("LR = 0.1", "LR = 0.0")
    assert len({it.what for it in found}) == len(found)


def test_settings_files_are_damaged_but_neither_budget_nor_what_is_off() -> None:
    found = damaged({"c.yaml": CONFIG}, (), ())
    assert [it.what for it in found] == [
        "c.yaml:2 optimiser.lr 1e-3 -> 0.0",
        "c.yaml:2 optimiser.lr 1e-3 -> 1.0",
    ]
    assert found[0].files["c.yaml"] == CONFIG.replace("1e-3", "0.0")


def test_protected_settings_and_idle_functions_stay() -> None:
    found = whats({"m.py": MODEL}, protected=("LR",), idle="m.py::step")
    assert not any("LR" in what or "step" in what for what in found)
    assert any("predict" in what for what in found)


def test_other_files_of_the_program_come_along() -> None:
    found = damaged({"c.yaml": CONFIG, "main.c": "int main;"}, (), ())
    assert all(it.files["main.c"] == "int main;" for it in found)


def test_what_no_longer_parses_is_no_damage() -> None:
    # Without its first statement the decorated function inside would stand alone with its sign.
    code = "def f(x):\n    @print\n    def g():\n        pass\n    x.a = g\n"
    assert whats({"m.py": code}) == []


def test_a_large_program_gives_no_more_than_can_be_run() -> None:
    code = "".join(f"def f{n}(x):\n    return x + {n}.5\n\n\n" for n in range(40))
    assert len(whats({"m.py": code})) == MOST


def test_nothing_is_found_where_nothing_can_be_read() -> None:
    assert whats({"main.c": "float lr = 0.1;"}) == []
    assert raising({"main.c": "float lr = 0.1;"}, ()) is None


@pytest.mark.parametrize(
    ("files", "what"),
    [
        ({"m.py": MODEL}, "m.py:6 predict raises"),
        ({"a.yaml": CONFIG, "m.py": "RATE = 1\n"}, "m.py raises"),
    ],
)
def test_one_copy_raises(files: dict[str, str], what: str) -> None:
    found = raising(files, ())
    assert found is not None
    assert (found.kind, found.what) == (Kind.RAISING, what)
    assert "damaged on purpose" in found.files["m.py"]


def test_a_text_loses_its_order_or_most_of_its_words() -> None:
    letter = "Dear all,\nplease do come on time.\n"
    found = damaged({"letter.md": letter}, (), ())
    assert [(it.kind, it.what, it.files["letter.md"]) for it in found] == [
        (
            Kind.SHUFFLED,
            "letter.md with its words in reverse order",
            "time. on come do please all, Dear\n",
        ),
        (Kind.HOLLOW, "letter.md cut to its first words", "Dear\n"),
    ]


def test_of_a_text_with_evolve_blocks_only_these_are_damaged() -> None:
    text = "A b\n<!-- EVOLVE-BLOCK-START -->\nc d\ne\n<!-- EVOLVE-BLOCK-END -->\nf g\n"
    (found, _) = damaged({"letter.md": text}, (), ())
    assert found.files["letter.md"] == text.replace("c d\ne\n", "e d c\n")

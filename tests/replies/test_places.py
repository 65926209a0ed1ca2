from __future__ import annotations

import pytest

from lae_controller.replies.places import place_loosely, replace_part, without_some_numbers

NET = """\
RATE = 0.5  # per step

class Net:
    def __init__(self):
        self.a = 1

        self.b = 2

    def step(self):
        if self.a:
            self.a += RATE
        return self.a
"""


def placed(search: str, replace: str, text: str = NET) -> str | None:
    return place_loosely(search.splitlines(), replace.splitlines(), text)


@pytest.mark.parametrize(
    ("search", "replace", "old", "new"),
    [
        pytest.param(
            "def __init__(self):\n        self.a = 1\n",
            "def __init__(self):\n        self.a = 3\n        self.c = 4\n",
            "        self.a = 1\n",
            "        self.a = 3\n        self.c = 4\n",
            id="one level lost its indentation",
        ),
        pytest.param(
            "if self.a:\nself.a += RATE\nreturn self.a\n",
            "if self.a:\nself.a += 2 * RATE\nreturn self.a\n",
            "            self.a += RATE\n",
            "            self.a += 2 * RATE\n",
            id="all levels lost it",
        ),
        pytest.param(
            "        self.a = 1\n        self.b = 2\n",
            "        self.a = 1\n        self.b = 5\n",
            "\n        self.b = 2\n",
            "        self.b = 5\n",
            id="a blank line was left out",
        ),
        pytest.param("RATE = 0.5\n", "RATE = 0.1\n", "RATE = 0.5  # per step\n", "RATE = 0.1\n"),
        pytest.param(
            "RATE = 0.5\n\nclass Net:\n",
            "RATE = 0.5\nSIZE = 3\n\nclass Net:\n",
            "RATE = 0.5  # per step\n",
            "RATE = 0.5  # per step\nSIZE = 3\n",
            id="the comment of a line that stays was left out",
        ),
    ],
)
def test_slips_are_forgiven(search: str, replace: str, old: str, new: str) -> None:
    assert placed(search, replace) == NET.replace(old, new)


@pytest.mark.parametrize(
    ("search", "replace"),
    [
        ("self.a = 7\n", "self.a = 8\n"),
        ("RATE = 0\n", "RATE = 1\n"),
        ("", "x = 1\n"),
        ("if self.a:\nself.a += RATE\n", "if self.a:\nself.a += RATE\nself.b += RATE\n"),
    ],
    ids=["not there", "part of a line", "empty", "depth of the new line unknown"],
)
def test_what_is_not_certain_is_left_alone(search: str, replace: str) -> None:
    assert placed(search, replace) is None


def test_two_places_are_one_too_many() -> None:
    assert placed("a = 1\n", "a = 2\n", "if x:\n    a = 1\nelse:\n    a = 1\n") is None


def test_line_ends_and_a_missing_final_newline_stay() -> None:
    assert placed("b = 2\n", "b = 3\n", "if a:\r\n    b = 2  # two") == "if a:\r\n    b = 3"


def test_numbers_go_where_new_lines_have_none() -> None:
    bare = without_some_numbers(["3 | a", "4 | b"], ["3 | a", "c", "4 | b"])
    assert bare == (["a", "b"], ["a", "c", "b"])
    assert without_some_numbers(["a", "4 | b"], ["c"]) is None


@pytest.mark.parametrize(
    ("search", "replace", "after"),
    [
        (["tanh(x)"], ["relu(x)"], "y = relu(x) + a\nz = tanh(y)\nb = 1.5\n"),
        (["  tanh(y)"], ["  exp(y)"], "y = tanh(x) + a\nz = exp(y)\nb = 1.5\n"),
        (["tanh"], ["relu"], None),
        (["anh(x)"], ["cos(x)"], None),
        (["y = tanh(x)"], ["y = x"], None),
        (["b = 1"], ["b = 2"], None),
        (["tanh(x)"], [""], None),
        (["tanh(x)"], ["relu(x)", "+ 1"], None),
        (["y = tanh(x) + a", "z"], ["y"], None),
    ],
)
def test_a_part_of_one_line(search: list[str], replace: list[str], after: str | None) -> None:
    text = "y = tanh(x) + a\nz = tanh(y)\nb = 1.5\n"
    assert replace_part(search, replace, text) == after

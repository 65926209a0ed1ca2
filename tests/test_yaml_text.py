from __future__ import annotations

import pytest

from lae_controller.errors import ConfigError
from lae_controller.yaml_text import get_scalar, load_yaml, set_scalar

TEXT = """\
# by hand
train:
  epochs: 10   # keep the comment
  name: "a b"
sizes: [1, 2, 3]
base: &base
  rate: 1e-3
small:
  <<: *base
"""


@pytest.mark.parametrize(
    ("key", "value", "before", "after"),
    [
        ("train.epochs", "3", "epochs: 10   #", "epochs: 3   #"),
        ("train.name", "x", 'name: "a b"', "name: x"),
        ("sizes.1", "9", "[1, 2, 3]", "[1, 9, 3]"),
        ("base.rate", "0.5", "rate: 1e-3", "rate: 0.5"),
    ],
)
def test_one_value_is_set_and_nothing_else(key: str, value: str, before: str, after: str) -> None:
    assert set_scalar(TEXT, key, value, "c.yaml") == TEXT.replace(before, after)


def test_windows_line_ends_stay() -> None:
    text = "a: 1\r\nb: 2\r\n"
    assert set_scalar(text, "b", "3", "c.yaml") == "a: 1\r\nb: 3\r\n"


@pytest.mark.parametrize("key", ["train.steps", "train", "sizes.7", "train.epochs.x"])
def test_a_key_that_is_no_scalar_is_refused(key: str) -> None:
    with pytest.raises(ConfigError, match="c.yaml: "):
        set_scalar(TEXT, key, "1", "c.yaml")


def test_numbers_are_those_of_yaml_1_2() -> None:
    values = load_yaml("a: 1e-3\nb: off\nc: 010\n", "c.yaml")
    assert values == {"a": 0.001, "b": "off", "c": 10}
    assert get_scalar(TEXT, "base.rate", "c.yaml") == "1e-3"


@pytest.mark.parametrize("text", ["a: 1\na: 2\n", "a: [1\n", "\tb: 1\n", "a: b: c\n"])
def test_what_does_not_parse_names_file_and_line(text: str) -> None:
    with pytest.raises(ConfigError, match=r"c\.yaml:\d+: "):
        load_yaml(text, "c.yaml")

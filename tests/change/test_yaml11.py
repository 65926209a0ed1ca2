from __future__ import annotations

import pytest

from lae_controller.change import yaml11
from lae_controller.change.yaml11 import BadYamlError, Scalar, load, scalars


def plain(text: str) -> Scalar:
    return Scalar(text, plain=True, tag=None, anchor=None, line=1)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("number", "0 -1 +1 1_000 0x1F 0b101 010 1:30 190:20:30 190:20:30.15"),
        ("number", "0.1 1. .5 -1.5 1.0e-8 1.0e+8 5.0e-5 1_0.5 .inf -.INF .nan"),
        ("text", "5e-5 1e3 1.0e8 08 1e+3 -.5 inf nan 0o17 1.2.3 word y N yEs <<"),
        ("bool", "yes Yes YES no on Off TRUE false"),
        ("null", "~ null Null NULL"),
    ],
)
def test_plain_scalars_are_read_as_yaml_1_1_reads_them(kind: str, words: str) -> None:
    assert {word: plain(word).kind for word in words.split()} == dict.fromkeys(words.split(), kind)


def test_quotes_and_tags_decide_before_the_spelling() -> None:
    (root,) = load("[ '1', \"yes\", !!float 5e-5, !!str 1, !own 1, 1 ]")
    assert isinstance(root, yaml11.Sequence)
    kinds = [item.kind for item in root.items if isinstance(item, Scalar)]
    assert kinds == ["text", "text", "number", "text", "other", "number"]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5e-5", "5.0e-5"),
        ("1e3", "1.0e+3"),
        ("-2.5E6", "-2.5e+6"),
        (".5e3", "0.5e+3"),
        ("-.5", "-0.5"),
        ("08", "08.0"),
        ("0.25", "0.25"),
        ("word", None),
        ("", None),
        (".", None),
        ("1.2.3", None),
        ("5e", None),
    ],
)
def test_the_spelling_that_yaml_1_1_takes_for_a_number(text: str, number: str | None) -> None:
    assert yaml11.as_number(text) == number
    if number is not None:
        assert plain(number).kind == "number"
        assert float(number) == float(text)


def test_scalars_are_listed_by_their_keys() -> None:
    (root,) = load("a: 1\nb:\n  c: [2, {d: 3}]\n  ? [x]\n  : 4\n")
    found = {keys: scalar.text for keys, scalar in scalars(root).items()}
    assert found == {("a",): "1", ("b", "c", 0): "2", ("b", "c", 1, "d"): "3"}


def test_merged_keys_count_where_they_are_merged() -> None:
    text = "x: &x {a: 1, b: 2}\ny: &y {b: 3}\nz: {<<: [*x, *y], a: 4}\nw: {<<: {c: 5}}\nv: *x\n"
    (root,) = load(text)
    found = {keys: scalar.text for keys, scalar in scalars(root).items()}
    assert found[("z", "a")] == "4"
    assert found[("z", "b")] == "2"
    assert found[("w", "c")] == "5"
    assert ("v", "a") not in found


def test_an_alias_stands_for_its_scalar() -> None:
    (root,) = load("a: &rate 0.5\nb: *rate\n")
    assert scalars(root)[("b",)].text == "0.5"


def test_nested_merges_do_not_explode() -> None:
    lines = ["k0: &k0 {a: 1}"]
    lines += [f"k{n}: &k{n} {{<<: [*k{n - 1}, *k{n - 1}]}}" for n in range(1, 60)]
    (root,) = load("\n".join(lines))
    assert len(scalars(root)) == 60


@pytest.mark.parametrize(
    ("text", "line"),
    [("a: 1\nb: [\n", 3), ("a: b: c\n", 1), ("a: *gone\n", 1), ("\tx: 1\n", 1), ("a: \x01\n", 1)],
)
def test_what_does_not_parse_has_a_line(text: str, line: int) -> None:
    with pytest.raises(BadYamlError) as info:
        load(text)
    assert info.value.line == line
    assert info.value.problem


def test_several_documents_and_none() -> None:
    assert [scalars(root)[()].text for root in load("a\n---\nb\n")] == ["a", "b"]
    assert load("") == ()
    assert load("# only a remark\n") == ()


def test_deep_nesting_is_refused_not_crashed_on() -> None:
    with pytest.raises(BadYamlError, match="nested too deeply"):
        load("[" * 600 + "]" * 600)

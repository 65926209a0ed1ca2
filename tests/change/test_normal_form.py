from __future__ import annotations

import re

import pytest

from lae_controller.change.normal_form import digest

NET = "RATE = 0.05\nDEPTH = 2\n\n\ndef net(n):\n    return [n] * DEPTH\n"


def same(path: str, one: str, other: str) -> bool:
    return digest({path: one}) == digest({path: other})


def test_digest_is_32_hex_digits_whatever_the_files_hold() -> None:
    for files in ({}, {"a.py": "x = 1"}, {"a.py": "(", "b.yaml": "{", "c": "\ud800"}):
        assert re.fullmatch("[0-9a-f]{32}", digest(files))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (NET, NET.replace("\n", "\r\n")),
        (NET, "# tuned\nRATE  =  0.05\n\nDEPTH = 2  # two\ndef net( n ):\n  return [ n ]*DEPTH"),
        (NET, NET.replace("0.05", "0.050")),
        (NET, NET.replace("0.05", "5e-2")),
        (NET, NET.replace("[n] * DEPTH", "([n] * (DEPTH))")),
        (NET, NET.replace("(n):\n", '(n):\n    """Build it."""\n')),
        (NET, '"""The net."""\n' + NET),
        ("a = 'x'\n", 'a = u"x"\n'),
        ("a = 1_000\n", "a = 1000\n"),
        ("\ufeffa = 1\n", "a = 1\n"),
    ],
)
def test_formatting_of_python_does_not_count(one: str, other: str) -> None:
    assert same("net.py", one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (NET, NET.replace("0.05", "0.06")),
        (NET, NET.replace("DEPTH = 2", "DEPTH = 2.0")),
        (NET, NET.replace("return [n]", "return (n,)")),
        ("a = 1\nb = 2\n", "b = 2\na = 1\n"),
        ("a = 'x y'\n", "a = 'x  y'\n"),
        ("if a:\n    b()\n    c()\n", "if a:\n    b()\nc()\n"),
        ("def f():\n    'doc'\n    return 'doc'\n", "def f():\n    return 'dog'\n"),
        ("a = 1\n'text'\n", "a = 1\n'other'\n"),
    ],
)
def test_what_python_does_counts(one: str, other: str) -> None:
    assert not same("net.py", one, other)


def test_docstrings_count_by_their_words_where_the_program_reads_them() -> None:
    text = '"""Train a net.\n\n    Usage: net RATE\n    """\nprint(__doc__)\n'
    assert same("net.py", text, text.replace("    ", "  "))
    assert not same("net.py", text, text.replace("RATE", "DEPTH"))
    reader = {"main.py": "import net, inspect\nhelp = inspect.getdoc(net)\n"}
    one, other = "'''Be brief.'''\n", "'''Be thorough.'''\n"
    assert digest({**reader, "net.py": one}) != digest({**reader, "net.py": other})
    assert same("net.py", one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("rate: 0.05\n", "# tuned\nrate:   0.050  # base\n"),
        ("rate: 1.0e-5\n", "rate: 1.00e-05\n"),
        ("m:\n  a: 1\n  b: [x, y]\n", "m: {a: 1, b: [\"x\", 'y']}\n"),
        ("a: relu\n", "a: 'relu'\r\n\r\n"),
        ("a: b c\n", "a: b\n   c\n"),
    ],
)
def test_formatting_of_yaml_does_not_count(one: str, other: str) -> None:
    assert same("plan.yaml", one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("rate: 0.05\n", "rate: 0.06\n"),
        ("rate: 5.0e-5\n", "rate: 5e-5\n"),
        ("a: 1\n", "a: 1.0\n"),
        ("a: 1\n", "a: '1'\n"),
        ("a: yes\n", "a: 'yes'\n"),
        ("a: 2001-01-01\n", "a: '2001-01-01'\n"),
        ("a: 010\n", "a: 8\n"),
        ("a: 1\nb: 2\n", "b: 2\na: 1\n"),
        ("a: {b: 1}\nc: 2\n", "a: {b: 1, c: 2}\n"),
        ("a: [1, 2]\n", "a: {1: 2}\n"),
        ("a: x\n", "a: !own x\n"),
        ("a: &x 1\nb: 2\n", "a: &x 1\nb: *x\n"),
        ("a: |\n  x\n  y\n", "a: x y\n"),
    ],
)
def test_what_yaml_says_counts(one: str, other: str) -> None:
    assert not same("plan.yaml", one, other)


@pytest.mark.parametrize("path", ["net.lua", "broken.py", "broken.yaml", "Makefile"])
def test_other_files_count_by_their_stripped_lines(path: str) -> None:
    text = "if [ {\n  x: (\n"
    assert same(path, text, "\n  if [ {  \r\n\r\nx: (")
    assert not same(path, text, "if [ { x: (\n")
    assert not same(path, text, text.replace("x", "y"))


def test_numbers_too_long_for_decimal_fall_back_to_lines() -> None:
    assert same("net.py", f"a = 0x{'f' * 5000}\n", f"a = 0x{'f' * 5000}\n\n")
    assert same("plan.yaml", f"a: {'9' * 5000}\n", f"a:   {'9' * 5000}\n")


def test_paths_belong_to_the_program_but_their_order_does_not() -> None:
    files = {"a.py": "x = 1\n", "b.py": "y = 2\n"}
    assert digest(files) == digest(dict(reversed(files.items())))
    assert digest(files) != digest({"a.py": "y = 2\n", "b.py": "x = 1\n"})
    assert digest(files) != digest({"a.py": "x = 1\n", "c.py": "y = 2\n"})
    assert digest(files) != digest({"a.py": "x = 1\ny = 2\n"})
    assert digest({"a": "1", "b": "2"}) != digest({"a": "11:b1:2"})

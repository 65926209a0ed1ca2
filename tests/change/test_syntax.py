from __future__ import annotations

import gc
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

from lae_controller.change.syntax import check_syntax, parse_python
from lae_controller.errors import ChildError
from lae_controller.program import Reason


def refusal(path: str, before: str | None, after: str) -> ChildError:
    files = {} if before is None else {path: before}
    with pytest.raises(ChildError) as info:
        check_syntax(files, {path: after})
    return info.value


def accepts(path: str, before: str, after: str) -> bool:
    check_syntax({path: before}, {path: after})
    return True


# -- Python ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("after", "message"),
    [
        ("a = 1\ndef f(:\n    pass\n", r"net\.py:2: .*'def f\(:'"),
        ("if a:\n\tb = 1\n        c = 2\n", r"net\.py:3: .*tabs and spaces"),
        ("if a:\n    b = 1\n  c = 2\n", r"net\.py:3: unindent"),
        ("a = 1\nreturn a\n", r"net\.py:2: 'return' outside function"),
        ("a = 'x\n", r"net\.py:1: unterminated string"),
        ("(" * 500, r"net\.py:1: "),
        ("x = " + "-" * 100_000 + "1\n", r"net\.py:1: "),
    ],
)
def test_python_that_does_not_compile_is_refused_with_its_line(after: str, message: str) -> None:
    error = refusal("net.py", "a = 1\n", after)
    assert error.reason is Reason.SYNTAX
    with pytest.raises(ChildError, match=message):
        raise error


def test_a_new_file_is_checked_too() -> None:
    assert "lib/new.py:1" in refusal("lib/new.py", None, "def\n").detail


def test_warnings_about_the_childs_code_do_not_leak() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert accepts("net.py", "a = 1\n", "a = 1 is 1\nb = '\\d'\nassert (a, b)\n")


def test_only_changed_files_are_looked_at() -> None:
    broken = "def f(:\n"
    check_syntax({"old.py": broken, "a.py": "x = 1\n"}, {"old.py": broken, "a.py": "x = 2\n"})


def test_a_file_that_its_parent_had_unreadable_is_left_alone() -> None:
    assert accepts("net.py", "print 'python two'\n", "print 'still'\n")
    assert accepts("plan.yaml", "a: {{ rate }}: {%\n", "a: {{ speed }}: {%\n")


def test_byte_order_mark_and_other_line_ends_are_no_errors() -> None:
    assert accepts("net.py", "a = 1\n", "\ufeffa = 1\r\nif a:\r\n    a = 2\r\n")


def test_text_that_its_encoding_cannot_hold_is_refused() -> None:
    error = refusal("net.py", "# coding: ascii\n", "# coding: ascii\n# \u03b7\n")
    assert error.reason is Reason.BAD_DIFF
    assert "line 2" in error.detail


def test_files_of_other_kinds_pass() -> None:
    assert accepts("notes.txt", "a", "def f(:")


def test_parse_python_raises_nothing_but_syntax_errors() -> None:
    for text in ("x = 1\0", "(" * 1000, "x = " + "-" * 100_000 + "1"):
        with pytest.raises(SyntaxError):
            parse_python(text)


# -- YAML ------------------------------------------------------------------------------------

PLAN = """\
# tuned by hand
rate: 0.001   # base
warm: 1.0e-3
model:
  width: 32
  act: relu
layers: [8, 16, relu]
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0.001", "1e-4", r"plan\.yaml:2: rate was the number 0\.001 .*write 1\.0e-4$"),
        ("0.001", "1.5e3", r"write 1\.5e\+3$"),
        ("1.0e-3", "1e-3", r"plan\.yaml:3: warm was the number 1\.0e-3 .*write 1\.0e-3$"),
        ("width: 32", 'width: "64"', r"plan\.yaml:5: model\.width .*write 64 without quotes$"),
        ("width: 32", "width: wide", r"'wide' is read as text; write a number$"),
        ("8, 16", "8, 1e2", r"plan\.yaml:7: layers\.1 .*write 1\.0e\+2$"),
    ],
)
def test_a_number_that_became_text_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(ChildError, match=message) as info:
        check_syntax({"plan.yaml": PLAN}, {"plan.yaml": PLAN.replace(old, new)})
    assert info.value.reason is Reason.SYNTAX


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.001", "5.0e-5"),
        ("0.001", "1"),
        ("0.001", "null"),
        ("0.001", "!!float 1e-4"),
        ("0.001", "[0.1, 0.2]"),
        ("act: relu", "act: 1e-4"),
        ("act: relu", "act: 3"),
        ("model:", "wd: 1e-4\nmodel:"),
        ("[8, 16, relu]", "[relu, 8, 16]"),
        ("rate: 0.001   # base\n", ""),
    ],
)
def test_other_changes_of_values_pass(old: str, new: str) -> None:
    assert accepts("plan.yaml", PLAN, PLAN.replace(old, new))


def test_a_merged_number_may_not_become_text_either() -> None:
    before = "base: &base\n  rate: 0.1\nbig:\n  <<: *base\n"
    error = refusal("plan.yml", before, before + "  rate: 1e-1\n")
    assert "plan.yml:5: big.rate was the number 0.1" in error.detail


def test_anchors_and_merge_keys_pass_untouched() -> None:
    before = "base: &base\n  rate: 0.1\na:\n  <<: *base\nb:\n  <<: *base\n  <<: {c: 1}\n  rate: 2\n"
    assert accepts("plan.yaml", before, before.replace("0.1", "0.5"))


@pytest.mark.parametrize(
    ("after", "key", "line", "first"),
    [
        ("seed: 1\nrate: 0.5\nrate: 0.1\n", "rate", 3, 2),
        ("rate: 0.1\nm:\n  - {a: 1, a: 2}\n", "a", 3, 3),
        ("rate: 0.1\n'rate': 0.2\n", "rate", 2, 1),
        ("rate: 0.1\n---\nb: 1\nb: 2\n", "b", 4, 3),
    ],
)
def test_duplicate_keys_are_refused_by_name(after: str, key: str, line: int, first: int) -> None:
    error = refusal("plan.yaml", "seed: 1\nrate: 0.1\n", after)
    assert error.reason is Reason.SYNTAX
    assert f"plan.yaml:{line}: the key {key!r} stands here and in line {first}" in error.detail


def test_duplicates_are_refused_even_if_the_parent_had_them() -> None:
    error = refusal("plan.yaml", "a: 1\na: 2\n", "a: 3\na: 2\n")
    assert "the key 'a'" in error.detail


def test_yaml_that_does_not_parse_is_refused_with_its_line() -> None:
    assert "plan.yaml:2: mapping values" in refusal("plan.yaml", "a: 1\n", "a: 1\nb: c: d\n").detail
    assert "the alias *x" in refusal("plan.yaml", None, "a: *x\n").detail


# -- JSON and TOML ---------------------------------------------------------------------------


def test_json_that_does_not_parse_is_refused() -> None:
    assert "plan.json:2: " in refusal("plan.json", '{"a": 1}', '{"a": 1,\n}').detail
    assert accepts("plan.json", '{"a": 1}', '\ufeff{"a": NaN}')
    assert accepts("plan.json", "{} // remark", '{"a": 1} // remark')


@pytest.mark.skipif(sys.version_info < (3, 11), reason="no TOML parser in the standard library")
def test_toml_that_does_not_parse_is_refused() -> None:
    assert "plan.toml:2: " in refusal("plan.toml", "a = 1\n", "a = 1\nb = \n").detail
    assert accepts("plan.toml", "a = 1\n", "a = 2\n")


class Garbage:
    """An object in a ring, whose end lets another thread run in the middle of whatever runs."""

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        time.sleep(0)


def test_several_threads_may_parse_at_the_same_time() -> None:
    text = "\n".join(f"def f{n}(x):\n    return [x * {n} + (x - {n}) ** 2]" for n in range(60))

    def parsed(_: int) -> int:
        for _ in range(5):
            Garbage()
        return len(parse_python(text).body)

    before = gc.get_threshold()
    gc.set_threshold(50)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert set(pool.map(parsed, range(40))) == {60}
    finally:
        gc.set_threshold(*before)

from __future__ import annotations

from pathlib import Path

import pytest

from lae_controller.change.source import encode_source, read_source, split_lines, write_source
from lae_controller.errors import ChildError, ConfigError
from lae_controller.program import Reason


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("net.py", b"width = 8\nrate = 0.5\n"),
        ("net.py", b"width = 8\r\nrate = 0.5\r\n"),
        ("net.py", b"width = 8\rrate = 0.5"),
        ("net.py", b"a = 1\r\nb = 2\nc = 3\r"),
        ("net.py", b""),
        ("net.py", b"\xef\xbb\xbfwidth = 8\n"),
        ("net.py", b"# -*- coding: latin-1 -*-\n# na\xefve\nrate = 0.5\n"),
        ("net.py", b"#!/usr/bin/env python\n# vim: set fileencoding=cp1252 :\nunit = '\x80'\n"),
        ("net.py", "# coding: shift_jis\nname = '\u5b66\u7fd2'\n".encode("shift_jis")),
        ("net.py", "note = '\u2028 and \x0c'\n".encode()),
        ("plan.yaml", "rate: 0.5  # \u03b7\n".encode()),
        ("plan.yaml", b"\xef\xbb\xbfrate: 0.5\r\n"),
        ("notes.txt", b"# coding: latin-1\n\xc3\xa9\n"),
    ],
)
def test_reading_and_writing_back_gives_the_same_bytes(
    tmp_path: Path, name: str, data: bytes
) -> None:
    source, target = tmp_path / name, tmp_path / "made" / "here" / name
    source.write_bytes(data)
    write_source(target, read_source(source))
    assert target.read_bytes() == data


def test_declared_encoding_is_followed_for_python_only(tmp_path: Path) -> None:
    head = b"# coding: latin-1\n"
    (tmp_path / "a.py").write_bytes(head + b"\xe9")
    assert read_source(tmp_path / "a.py") == "# coding: latin-1\n\xe9"
    (tmp_path / "a.txt").write_bytes(head + b"\xe9")
    with pytest.raises(ConfigError, match=r"a\.txt: byte 18 \(0xe9\) is not utf-8"):
        read_source(tmp_path / "a.txt")


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("m.py", b"x = 1\ny = 2\n# \xe9\n", r"m\.py: byte 14 \(0xe9\).*declare its encoding"),
        ("m.py", b"# \xe9\n", r"byte 2 \(0xe9\).*declare its encoding"),
        ("m.py", b"# coding: ascii\n# \xe9\n", r"byte 18 \(0xe9\) is not ascii"),
        ("m.py", b"# coding: klingon\n", "unknown encoding"),
        ("m.py", b"\xef\xbb\xbf# coding: latin-1\n", "m.py: .*encoding"),
        ("m.py", b"# coding: rot13\n", "not a text encoding.*save it as UTF-8"),
        ("m.py", b"# coding: utf-7\nx = '+AOk-'; y = '+AGE-'\n", "changes its bytes"),
        ("m.yaml", b"a: \xff\n", r"m\.yaml: byte 3 \(0xff\) is not utf-8.*save it as UTF-8"),
        ("m.py", b"x = 1\0\n", "byte 5 is NUL.*binary or UTF-16"),
        ("m.txt", "text".encode("utf-16"), "binary or UTF-16"),
    ],
)
def test_what_cannot_be_read_is_refused_with_place_and_cure(
    tmp_path: Path, name: str, data: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ConfigError, match=message):
        read_source(tmp_path / name)


def test_notebook_is_refused_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "train.ipynb"
    path.write_text('{"cells": []}')
    with pytest.raises(ConfigError, match=r"export it to \.py"):
        read_source(path)


def test_missing_file_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.py: No such file"):
        read_source(tmp_path / "gone.py")


def test_character_outside_the_declared_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    with pytest.raises(
        ChildError, match="line 2: '\u03bb' cannot be written in iso-8859-1"
    ) as info:
        write_source(path, "# coding: latin-1\nname = '\u03bb'\n")
    assert info.value.reason is Reason.BAD_DIFF
    assert not path.exists()


def test_a_new_declaration_decides_how_the_file_is_written() -> None:
    text = "# coding: {}\n# \xe9\n"
    assert encode_source("a.py", text.format("latin-1")).endswith(b"# \xe9\n")
    assert encode_source("a.py", text.format("utf-8")).endswith(b"# \xc3\xa9\n")


@pytest.mark.parametrize(
    ("text", "reason", "message"),
    [
        ("# coding: klingon\n", Reason.SYNTAX, "unknown encoding"),
        ("# coding: rot13\n", Reason.SYNTAX, "declared encoding"),
        ("x = '\ud800'\n", Reason.BAD_DIFF, "line 1"),
        ("a\nb\0\n", Reason.BAD_DIFF, "line 2 holds a NUL"),
    ],
)
def test_text_that_no_file_can_hold_is_the_childs_failure(
    text: str, reason: Reason, message: str
) -> None:
    with pytest.raises(ChildError, match=message) as info:
        encode_source("a.py", text)
    assert info.value.reason is reason


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("a", ["a"]),
        ("a\n\nb", ["a\n", "\n", "b"]),
        ("a\r\nb\rc\n", ["a\r\n", "b\r", "c\n"]),
        ("a\r\r\nb", ["a\r", "\r\n", "b"]),
        ("x\x0cy\u2028z\x85\n", ["x\x0cy\u2028z\x85\n"]),
    ],
)
def test_only_carriage_return_and_line_feed_end_a_line(text: str, lines: list[str]) -> None:
    assert split_lines(text) == lines
    assert "".join(split_lines(text)) == text

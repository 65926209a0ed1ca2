from __future__ import annotations

from typing import Any

import pytest
from serve_helpers import PROGRAM

from lae_controller.service.api_errors import ApiError, Code
from lae_controller.service.content import Content, read_content

CPP = "// EVOLVE-BLOCK-START\nint f() { return 1; }\n// EVOLVE-BLOCK-END\n"


def file(path: str = "initial_program.py", content: str = PROGRAM, **more: Any) -> dict[str, Any]:
    return {"path": path, "content": content, **more}


def read(*files: dict[str, Any], language: str = "python", **more: Any) -> Content:
    return read_content({"files": list(files), **more}, language)


def test_several_files_in_any_language_keep_their_order() -> None:
    content = read(
        file("src/b.cpp", CPP), file("a.hpp", "int f();\n", description="head"), language="cpp"
    )
    assert [it.path for it in content.files] == ["src/b.cpp", "a.hpp"]
    assert content.evolved == ("src/b.cpp",)
    assert content.files[1].to_wire("cpp")["description"] == "head"


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../up.py",
        "a/../b.py",
        "./a.py",
        "a//b.py",
        "a/",
        "~/a.py",
        "C:/a.py",
        "a\\b.py",
        "a\0b.py",
        "a\nb.py",
        ".git/hooks/x.py",
        "a/__pycache__/b.py",
        "x" * 257,
        "é" * 130 + ".py",
        "a.ipynb",
        "",
    ],
)
def test_a_path_that_could_leave_its_folder_is_refused(path: str) -> None:
    with pytest.raises(ApiError, match=r"content.files\[0\].path"):
        read(file(path))


@pytest.mark.parametrize("path", ["x" * 252 + ".py", "deep/er/a-b_c.py", "ü.py"])
def test_a_plain_path_is_taken(path: str) -> None:
    assert read(file(path)).files[0].path == path


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([], "content.files is empty; expected at least one source file"),
        ([file(content="")], r"content is empty \(path 'initial_program.py'\)"),
        ([file(), file()], "'initial_program.py' again"),
        ([file("a.py"), file("b.py")], "none is called initial_program.py"),
        ([file("a"), file("a/initial_program.py")], "also the folder of another"),
        ([file(programLanguage="Python")], "expected 'python', the experiment's own"),
        ([file(description="x" * 501)], "has 501 characters; expected at most 500"),
        ([file(content="x = 1\n")], "no region that may be changed"),
        ([file(content="# coding: latin-1\n# EVOLVE-BLOCK-START\nx = '\u20ac'\n")], "iso-8859-1"),
        ([file(content="x\0")], "NUL"),
    ],
)
def test_programs_have_rules(files: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(ApiError, match=said) as caught:
        read(*files)
    assert caught.value.code is Code.INVALID_ARGUMENT


START, END = "# EVOLVE-BLOCK-START", "# EVOLVE-BLOCK-END"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["a = 1", f"{START} {END}"], "initial_program.py:2: the line holds both"),
        ([f"a = 1  {START}"], "initial_program.py:1"),
        ([START, "a = 1", START], "initial_program.py:3: .*inside the one of line 1"),
        (["a = 1", END], "initial_program.py:2: .*never opened"),
        (["", START, "a = 1"], "initial_program.py:2: .*never closed"),
        ([START, '"""Words."""', "# more", END], "initial_program.py:1: .*comments only"),
    ],
)
def test_every_malformed_marker_is_named_with_its_line(lines: list[str], said: str) -> None:
    with pytest.raises(ApiError, match=said):
        read(file(content="\n".join(lines) + "\n"))


def test_a_single_file_is_its_own_entry_point() -> None:
    assert read(file("program.py")).files[0].path == "program.py"


def test_descriptions_have_limits() -> None:
    assert read(file(), description="x" * 1_000).description
    with pytest.raises(ApiError, match="has 1001 characters; expected at most 1000"):
        read(file(), description="x" * 1_001)

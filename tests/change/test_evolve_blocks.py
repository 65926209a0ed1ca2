from __future__ import annotations

import pytest

from lae_controller.change.evolve_blocks import Block, blocks_only, find_blocks, outside_changed
from lae_controller.errors import ConfigError

PROGRAM = """\
import data

# EVOLVE-BLOCK-START
rate = 0.5
# EVOLVE-BLOCK-END

def harness():
    # EVOLVE-BLOCK-START
    return data.fit(rate)
    # EVOLVE-BLOCK-END
"""


def test_blocks_are_found_by_the_lines_of_their_markers() -> None:
    assert find_blocks("net.py", PROGRAM) == (Block(3, 5), Block(8, 10))


def test_a_file_without_markers_has_no_blocks() -> None:
    assert find_blocks("net.py", "rate = 0.5\n") == ()
    assert find_blocks("net.py", "") == ()


@pytest.mark.parametrize(
    ("path", "start", "code", "end"),
    [
        ("net.cu", "// EVOLVE-BLOCK-START", "#define N 4", "// EVOLVE-BLOCK-END"),
        ("net.c", "/* EVOLVE-BLOCK-START */", "int n = 4;", "/* EVOLVE-BLOCK-END */"),
        ("page.html", "<!-- EVOLVE-BLOCK-START -->", "<p>", "<!-- EVOLVE-BLOCK-END -->"),
        ("net.ml", "(* EVOLVE-BLOCK-START *)", "let n = 4", "(* EVOLVE-BLOCK-END *)"),
        ("net.lua", "--EVOLVE-BLOCK-START", "n = 4", "--EVOLVE-BLOCK-END"),
        ("net.m", "  % EVOLVE-BLOCK-START", "n = 4", "  % EVOLVE-BLOCK-END"),
        ("net.lisp", ";; EVOLVE-BLOCK-START", "(setq n 4)", ";; EVOLVE-BLOCK-END"),
        ("net.bas", "REM EVOLVE-BLOCK-START", "n = 4", "REM EVOLVE-BLOCK-END"),
        ("plan.yaml", "# EVOLVE-BLOCK-START", "n: 4", "# EVOLVE-BLOCK-END"),
        ("prompt.txt", "EVOLVE-BLOCK-START", "Be brief.", "EVOLVE-BLOCK-END"),
        ("net.py", "\ufeff# EVOLVE-BLOCK-START", "n = 4", "# EVOLVE-BLOCK-END  "),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_markers_work_in_any_comment(
    path: str, start: str, code: str, end: str, newline: str
) -> None:
    assert find_blocks(path, newline.join([start, code, end])) == (Block(1, 3),)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["# EVOLVE-BLOCK-START EVOLVE-BLOCK-END"], "net.py:1: .* both evolve markers"),
        (["a = 1", "b = 2  # EVOLVE-BLOCK-START"], "net.py:2: .* more than EVOLVE-BLOCK-START"),
        (["# EVOLVE-BLOCK-START here"], "net.py:1: .* more than EVOLVE-BLOCK-START"),
        (["'EVOLVE-BLOCK-END'"], "net.py:1: .* more than EVOLVE-BLOCK-END"),
        (
            ["# EVOLVE-BLOCK-START", "a = 1", "# EVOLVE-BLOCK-START", "# EVOLVE-BLOCK-END"],
            "net.py:3: .* inside the one of line 1",
        ),
        (["a = 1", "# EVOLVE-BLOCK-END"], "net.py:2: .* never opened"),
        (["a = 1", "# EVOLVE-BLOCK-START", "b = 1"], "net.py:2: .* never closed"),
        (["# EVOLVE_BLOCK_START", "b = 1"], "net.py:1: .* not quite a marker"),
        (["# evolve-block-end"], "net.py:1: .* not quite a marker"),
        (["# EVOLVE-BLOCK-BEGIN"], "net.py:1: .* not quite a marker"),
    ],
)
def test_every_malformed_marker_has_its_own_error(lines: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        find_blocks("net.py", "\n".join(lines))


@pytest.mark.parametrize(
    ("path", "lead", "body"),
    [
        ("net.py", "#", ""),
        ("net.py", "#", "\n   \n"),
        ("net.py", "#", "# only a remark\n"),
        ("net.py", "#", '    """Only a docstring,\n    of two lines."""\n'),
        ("net.c", "//", "// remark\n\n/* another\n   of two lines */\n"),
        ("net.sql", "--", "-- remark\n"),
        ("net.lisp", ";;", "; remark\n"),
        ("net.bas", "REM", "REM remark\n"),
    ],
)
def test_a_block_without_code_is_refused(path: str, lead: str, body: str) -> None:
    text = f"top\n{lead} EVOLVE-BLOCK-START\n{body}{lead} EVOLVE-BLOCK-END\n"
    with pytest.raises(ConfigError, match=f"{path}:2: .*blanks and comments only"):
        find_blocks(path, text)


@pytest.mark.parametrize(
    "body", ["    rate = 1", "x = [", '"""open', "f(", "    return 1\nelse:", "pass", "  'a'.x"]
)
def test_a_fragment_of_python_is_code(body: str) -> None:
    text = f"# EVOLVE-BLOCK-START\n{body}\n# EVOLVE-BLOCK-END\n"
    assert find_blocks("net.py", text) == (Block(1, text.count("\n")),)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("rate = 0.5\n", "rate = 0.1\ndecay = 0.9\n"),
        ("rate = 0.5\n", ""),
        ("    return data.fit(rate)\n", "    return data.fit(rate, 2)\n"),
        ("rate = 0.5\n", "# nothing left\n"),
    ],
)
def test_changes_inside_the_blocks_are_free(old: str, new: str) -> None:
    assert outside_changed("net.py", PROGRAM, PROGRAM.replace(old, new)) is None


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("import data", "import rigged as data", "net.py:1: 'import data'"),
        ("def harness", "def Harness", "net.py:7: 'def harness():'"),
        (
            "    # EVOLVE-BLOCK-END\n",
            "    # EVOLVE-BLOCK-END\nx = 1\n",
            "net.py:11: 'x = 1' was add",
        ),
        ("\n# EVOLVE-BLOCK-START", "# EVOLVE-BLOCK-START", "net.py:2: ''"),
        ("import data\n", "import data\r\n", "net.py:1: "),
        ("# EVOLVE-BLOCK-START\nrate", "# EVOLVE-BLOCK-START \nrate", "net.py:3: "),
        (
            "rate = 0.5\n",
            "rate = 0.5\n# EVOLVE-BLOCK-END\nx = 1\n# EVOLVE-BLOCK-START\ny = 2\n",
            "net.py:6: ''",
        ),
        ("rate = 0.5\n", "# EVOLVE-BLOCK-START\n", "breaks the evolve blocks: net.py:4"),
        ("    # EVOLVE-BLOCK-END\n", "", "breaks the evolve blocks: net.py:8"),
    ],
)
def test_changes_outside_are_named_with_their_line(old: str, new: str, where: str) -> None:
    sentence = outside_changed("net.py", PROGRAM, PROGRAM.replace(old, new, 1))
    assert sentence is not None
    assert where in sentence


def test_a_removed_tail_is_named() -> None:
    text = "# EVOLVE-BLOCK-START\na = 1\n# EVOLVE-BLOCK-END\nend()\n"
    sentence = outside_changed("net.py", text, text.replace("end()\n", ""))
    assert sentence is not None
    assert "net.py:4: 'end()' was removed" in sentence


def test_without_markers_everything_may_change() -> None:
    assert outside_changed("net.py", "a = 1\n", "b = 2\n# EVOLVE-BLOCK-END\n") is None


def test_blocks_only_leaves_out_what_may_not_change() -> None:
    assert blocks_only(PROGRAM) == "rate = 0.5\n...\n    return data.fit(rate)\n"
    assert blocks_only("a = 1\n") == "a = 1\n"

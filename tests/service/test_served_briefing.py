from __future__ import annotations

from dataclasses import replace

import pytest
from serve_helpers import SESSION, a_config

from lae_controller.service.book import Book, Created
from lae_controller.service.briefing import briefing
from lae_controller.service.content import read_content

BLOCK = "// EVOLVE-BLOCK-START\nint f() { return 1; }\n// EVOLVE-BLOCK-END\n"


def book(*, full: bool, context: str = "", helper: str = "int g();\n") -> Book:
    config = replace(a_config(), language="cpp", full_program=full, context=context)
    files = [
        {"path": "f.cpp", "content": BLOCK, "description": "what is evolved"},
        {"path": "g.hpp", "content": helper},
    ]
    made = Book(Created("x", SESSION, config, 0.0))
    made.seed = read_content({"files": files, "description": "a small sorter"}, "cpp")
    return made


def test_problem_language_descriptions_and_context_are_told() -> None:
    assert briefing(book(full=False, context="Keep it short.\n")).split("\n\n") == [
        "make it steep",
        "The program is written in cpp.",
        "a small sorter\n- f.cpp: what is evolved",
        "Keep it short.",
    ]


def test_other_files_are_shown_with_the_whole_program_only() -> None:
    text = briefing(book(full=True))
    assert "These files of the program stay as they are:" in text
    assert "int g();" in text
    assert "int f()" not in text


@pytest.mark.parametrize(("lines", "shown"), [(10, True), (20_000, False)])
def test_other_files_have_a_bound(lines: int, shown: bool) -> None:
    text = briefing(book(full=True, helper="int g();\n" * lines))
    assert ("g.hpp (left out here)" in text) is not shown
    assert len(text) < 100_500

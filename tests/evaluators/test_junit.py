from __future__ import annotations

import pytest

from lae_controller.errors import ChildError
from lae_controller.evaluators.junit import read_junit

REPORT = b"""<?xml version="1.0"?>
<testsuites><testsuite name="s">
<testcase classname="a.B" name="one" time="0.1"/>
<testcase classname="a.B" name="two"><failure message="1 != 2">at line 3</failure></testcase>
<testcase classname="a.B" name="three"><error>boom</error></testcase>
<testcase classname="a.B" name="four"><skipped/></testcase>
<testcase name="one"/><testcase name="one"/>
</testsuite></testsuites>"""


def test_every_case_has_an_outcome() -> None:
    assert read_junit(REPORT) == {
        "a.B::one": ("passed", ""),
        "a.B::two": ("failed", "1 != 2 at line 3"),
        "a.B::three": ("failed", "boom"),
        "a.B::four": ("skipped", ""),
        "one": ("passed", ""),
        "one#2": ("passed", ""),
    }


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "not well-formed"),
        (b"<testsuite><testcase name='a'/>", "not well-formed"),
        (b"<!DOCTYPE x [<!ENTITY a 'b'>]><testsuite/>", "document type"),
    ],
)
def test_what_is_no_report_gives_no_score(raw: bytes, said: str) -> None:
    with pytest.raises(ChildError, match=said):
        read_junit(raw)

from __future__ import annotations

import pytest

from lae_controller.program import Intervention
from lae_controller.replies.stated import Stated, read_stated, without_stated

BLOCK = "<<<<<<< SEARCH\nkind: adam\n=======\nkind: sgd\nsummary: none\n>>>>>>> REPLACE\n"


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("SUMMARY: more units\nKIND: architecture\n", ("more units", "architecture", None)),
        ("**Summary:** more, wider\n**Kind**: optimizer.\n", ("more; wider", "optimiser", None)),
        ("> KIND: learning rate\n", ("", "optimiser", None)),
        ("KIND: magic\n", ("", None, None)),
        ("PROMISE: 7\n", ("", None, 7.0)),
        ("Promise: 6.5/10 or so\n", ("", None, 6.5)),
        ("PROMISE: 11\n", ("", None, None)),
        ("PROMISE: <7>\n", ("", None, 7.0)),
        ("PROMISE: high\n", ("", None, None)),
        ("SUMMARY: a\nSUMMARY: b\n", ("b", None, None)),
        (BLOCK, ("", None, None)),
        (f"```\nSUMMARY: a\n{BLOCK}```\nPROMISE: 3", ("a", None, 3.0)),
        ("```yaml\nkind: schedule\n```\n", ("", None, None)),
        ("-kind: schedule\n+kind: init\n", ("", None, None)),
    ],
)
def test_labelled_lines(text: str, stated: tuple[str, str | None, float | None]) -> None:
    summary, kind, promise = stated
    assert read_stated(text) == Stated(summary, Intervention(kind) if kind else None, promise)


def test_only_labelled_lines_are_taken_out() -> None:
    assert without_stated(f"net.yaml\nSUMMARY: a\nKIND: init\n{BLOCK}PROMISE: 3\n") == (
        f"net.yaml\n{BLOCK}"
    )

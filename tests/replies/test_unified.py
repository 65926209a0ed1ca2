from __future__ import annotations

import pytest

from lae_controller.replies.unified import as_blocks


def block(old: str, new: str, path: str = "") -> str:
    title = f"`{path}`\n" if path else ""
    return f"{title}<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n"


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        (
            "--- a/net.py\n+++ b/net.py\n@@ -3,2 +3,2 @@ class Net:\n a\n-b\n+c\n",
            block("a\nb\n", "a\nc\n", "net.py"),
        ),
        (
            "--- net.py\t2024-01-01\n+++ net.py\t2024-01-02\n@@ -1 +1 @@\n-b\n+c\n",
            block("b\n", "c\n", "net.py"),
        ),
        ("Do this:\n```diff\n-b\n+c\n```\nIt helps.\n", block("b\n", "c\n")),
        ("@@\n-b\n+c\n\nIt helps.\n- a lot\n", block("b\n", "c\n")),
        ("```diff\n--- a/n.py\n+++ b/n.py\n-b\n+c\n```", block("b\n", "c\n", "n.py")),
        (
            "@@ -1,2 +1,2 @@\n-b\n+c\n@@ -9 +9 @@\n-d\n+e\n\\ No newline at end of file\n",
            block("b\n", "c\n") + block("d\n", "e\n"),
        ),
        (
            "--- a/n.py\n+++ b/n.py\n@@ -1 +1 @@\n-b\n+c\n"
            "--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-d\n+e\n",
            block("b\n", "c\n", "n.py") + block("d\n", "e\n", "m.py"),
        ),
        (
            "--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+x = 1\n",
            block("", "x = 1\n", "new.py"),
        ),
        ("@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", block("a\n\nb\n", "a\n\nc\n")),
        ("@@ -1,2 +1,2 @@\n a\n b\n", None),
        ("A list:\n- one\n- two\n+ three\n", None),
        ("```python\n-b\n+c\n```\n", None),
    ],
)
def test_hunks_become_blocks(text: str, blocks: str | None) -> None:
    assert as_blocks(text) == blocks

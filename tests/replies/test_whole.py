from __future__ import annotations

import pytest

from lae_controller.errors import DiffError
from lae_controller.replies.fences import Fence, fences
from lae_controller.replies.program import Program
from lae_controller.replies.whole import read_whole, restored

NET = "RATE = 0.5\nSIZE = 8\n\n\nclass Net:\n    def step(self):\n        return RATE\n"
CONFIG = "rate: 0.1\nsize: 8\nseed: 1\n"
BLOCKED = f"import math\n# EVOLVE-BLOCK-START\n{NET}# EVOLVE-BLOCK-END\nprint(Net())\n"


def fenced(text: str, info: str = "python") -> str:
    return f"```{info}\n{text}```\n"


def read(text: str, **files: str) -> dict[str, str]:
    program = Program({path.replace("_", "."): text for path, text in files.items()}, ("**",))
    return dict(read_whole(text, program).files)


def refusal(text: str, **files: str) -> str:
    with pytest.raises(DiffError) as info:
        read(text, **files)
    return info.value.detail


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("net.py\n```python\na\n```\n", "net.py"),
        ("**`net.py`**:\n\n```python\na\n```\n", "net.py"),
        ("### File: src/net.py\n```\na\n```\n", "src/net.py"),
        ("```python net.py\na\n```\n", "net.py"),
        ("```python:net.py\na\n```\n", "net.py"),
        ("The new file is:\n```python\na\n```\n", None),
        ("Change e.g. this\n```python\na\n```\n", None),
    ],
)
def test_the_path_of_a_fence(text: str, path: str | None) -> None:
    (fence,) = fences(text, {"net.py"})
    assert (fence.path, fence.text, fence.closed) == (path, "a\n", True)


def test_a_path_in_the_first_line_stays_in_the_file() -> None:
    (fence,) = fences("```python\n# net.py\na\n```\n", {"net.py"})
    assert (fence.path, fence.text) == ("net.py", "# net.py\na\n")


def test_longer_fences_hold_shorter_ones_and_the_last_may_be_open() -> None:
    text = "````md\n```\na\n```\n````\n~~~\nb\n"
    assert fences(text, ()) == (
        Fence("md", None, "```\na\n```\n", True),
        Fence("", None, "b\n", False),
    )


def test_a_whole_file() -> None:
    after = NET.replace("0.5", "0.1")
    assert read(f"Lower:\n{fenced(after)}Done.", net_py=NET) == {"net.py": after}


def test_several_files_by_path_and_a_new_one() -> None:
    text = "net.py\n" + fenced(NET + "\nx = 1\n") + "extra.py\n" + fenced("y = 2\n")
    assert read(text, net_py=NET, c_yaml=CONFIG) == {
        "net.py": NET + "\nx = 1\n",
        "c.yaml": CONFIG,
        "extra.py": "y = 2\n",
    }


def test_without_a_path_the_one_file_that_it_resembles_is_meant() -> None:
    after = CONFIG.replace("0.1", "0.2")
    assert read(fenced(after, "yaml"), net_py=NET, c_yaml=CONFIG)["c.yaml"] == after


def test_the_parent_repeated_beside_the_change_is_passed_over() -> None:
    after = NET.replace("0.5", "0.1")
    assert read(f"Before:\n{fenced(NET)}After:\n{fenced(after)}", net_py=NET) == {"net.py": after}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Lower the rate.", "holds no file"),
        (fenced(NET), "holds no file"),
        (fenced("RATE = 0.1\n"), "not the whole file"),
        (fenced("RATE = 0.1\nSIZE = 8\n# ... the rest as before\n"), "stands for code"),
        (fenced(NET.replace("        return RATE\n", "        ...\n")), "stands for code"),
        (fenced("RATE = 0.1\n# rest of the code unchanged\n"), "stands for code"),
        (fenced(NET.replace("class Net:", "class Net")), "does not parse: line 5"),
        (f"```python\n{NET}x = 1\n", "never closed"),
        (fenced(NET + "x = 1\n") + fenced(NET + "x = 2\n"), "two versions"),
        (fenced(NET + "x = 1\n", "bash"), "holds no file"),
    ],
)
def test_what_is_not_plainly_the_file_is_refused(text: str, why: str) -> None:
    assert why in refusal(text, net_py=NET)


def test_a_comment_on_what_remains_is_no_gap() -> None:
    after = NET + "left = 3\n# remaining steps, the rest of them at a lower rate\n"
    assert read(fenced(after), net_py=NET) == {"net.py": after}


@pytest.mark.parametrize(
    "text",
    [
        NET.replace("8", "16"),
        "import math\n" + NET.replace("8", "16"),
        "import math\n\n" + NET.replace("8", "16") + "\nprint(Net())\n",
        BLOCKED.replace("8", "16"),
    ],
    ids=["block alone", "with what is above", "all but the markers", "all"],
)
def test_markers_and_what_stands_around_the_block_come_back(text: str) -> None:
    after = restored("net.py", BLOCKED, text)
    assert after is not None
    assert [line for line in after.splitlines() if line] == [
        line for line in BLOCKED.replace("8", "16").splitlines() if line
    ]


def test_of_several_blocks_it_is_not_known_which_line_is_whose() -> None:
    assert restored("net.py", BLOCKED + BLOCKED, NET) is None


def test_a_last_line_that_stands_outside_too_stays() -> None:
    before = BLOCKED.replace("print(Net())", "def run():\n        return RATE")
    assert restored("net.py", before, NET) == before


def test_what_stands_outside_may_not_come_changed_into_the_block() -> None:
    before = BLOCKED.replace("print(Net())", "def main():\n    print(Net())")
    assert restored("net.py", before, NET + "def main():\n    pass\n") is None


def test_an_import_that_is_still_used_comes_back() -> None:
    before = "import math\n" + NET + "print(math.pi)\n"
    after = before.replace("0.5", "0.1")
    assert read(fenced(after.removeprefix("import math\n")), net_py=before) == {"net.py": after}


def test_a_file_that_is_not_whole_takes_the_others_with_it() -> None:
    text = "net.py\n" + fenced(NET + "x = 1\n") + "c.yaml\n" + fenced("rate: 2\n", "yaml")
    assert "c.yaml: the code in the reply is not the whole" in refusal(
        text, net_py=NET, c_yaml=CONFIG
    )

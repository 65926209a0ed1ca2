from __future__ import annotations

import pytest

from lae_controller.change.diff import apply_change
from lae_controller.errors import ChildError, DiffError
from lae_controller.program import Files, Intervention, Reason
from lae_controller.replies import Reply, read_reply

NET = """\
RATE = 0.5
WIDTH = 8


class Net:
    def __init__(self):
        self.units = WIDTH

    def step(self, x):
        y = x * RATE
        return y
"""
FILES = {"net.py": NET}
LOWER = "<<<<<<< SEARCH\nRATE = 0.5\n=======\nRATE = 0.1\n>>>>>>> REPLACE\n"
BLOCKED = f"import math\n# EVOLVE-BLOCK-START\n{NET}# EVOLVE-BLOCK-END\nprint(Net())\n"


def read(text: str, files: Files = FILES, *, mode: str = "diff") -> tuple[Reply, Files]:
    """Read a reply and apply what it says, which must fit exactly."""
    reply = read_reply(text, files, tuple(files), mode)
    applied = apply_change(files, reply.change, editable=tuple(files))
    assert not applied.repaired
    return reply, applied.files


def refusal(text: str, files: Files = FILES, *, mode: str = "diff") -> ChildError:
    with pytest.raises(ChildError) as info:
        read_reply(text, files, tuple(files), mode)
    return info.value


def test_a_reply_as_it_was_asked_for() -> None:
    reply, files = read(f"SUMMARY: a lower rate, for once\nKIND: optimiser\n{LOWER}PROMISE: 4\n")
    assert reply == Reply(
        "net.py\n" + LOWER, "a lower rate; for once", Intervention.OPTIMISER, 4.0, ()
    )
    assert files["net.py"] == NET.replace("0.5", "0.1")


def test_what_a_reply_does_not_say_is_read_off_the_change() -> None:
    reply, _ = read(LOWER)
    assert reply.summary == "RATE = 0.5 -> RATE = 0.1"
    assert reply.intervention is Intervention.OPTIMISER
    assert reply.promise is None


@pytest.mark.parametrize(
    ("stated", "kind"),
    [
        ("optimiser", Intervention.OPTIMISER),
        ("schedule", Intervention.OPTIMISER),
        ("nonsense", Intervention.OPTIMISER),
    ],
)
def test_the_change_wins_over_what_is_said_about_it(stated: str, kind: Intervention) -> None:
    assert read(f"KIND: {stated}\n{LOWER}")[0].intervention is kind


def test_a_kind_that_the_names_do_not_contradict_stands() -> None:
    change = "KIND: schedule\n" + LOWER.replace("RATE = 0.1", "RATE = 0.1\nDECAY = 0.9")
    assert read(change)[0].intervention is Intervention.SCHEDULE


def test_the_path_line_is_seen_past_the_labelled_lines() -> None:
    files = {**FILES, "other.py": "x = 1\n"}
    reply, _ = read(f"net.py\nSUMMARY: lower\nKIND: optimiser\n{LOWER}", files)
    assert reply.change == "net.py\n" + LOWER


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        pytest.param(
            LOWER.replace("=======", ">>>>>>> REPLACE").replace("0.1\n>>>>>>> REPLACE\n", "0.1\n"),
            ("markers",),
            id="no separator",
        ),
        pytest.param(f"```\n{LOWER[:-16]}```\n", ("markers",), id="closed by its fence"),
        pytest.param(
            "<<<<<<< SEARCH\n1 | RATE = 0.5\n=======\n1 | RATE = 0.1\n>>>>>>> REPLACE\n",
            ("indentation",),
            id="line numbers",
        ),
        pytest.param(
            f"<<<<<<< SEARCH\n{NET.replace('y = x', 'z = x')}=======\n"
            f"{NET.replace('0.5', '0.1')}>>>>>>> REPLACE\n",
            ("the whole file in one block",),
            id="whole file with a slip",
        ),
        pytest.param("@@ -1 +1 @@\n-RATE = 0.5\n+RATE = 0.1\n", ("unified diff",), id="diff"),
        pytest.param(
            f"Try this:\n```python\n{NET.replace('0.5', '0.1')}```\n", ("whole file",), id="file"
        ),
        pytest.param(f"<think>\n{LOWER.replace('0.1', '9')}</think>\n{LOWER}", (), id="thoughts"),
        pytest.param(f"Sure!\n```python\n{LOWER}```\nIt helps.\n", (), id="prose and fence"),
        pytest.param(f"Setext\n=======\nis a heading.\n{LOWER}", ("markers",), id="heading"),
    ],
)
def test_other_spellings_of_the_same_change(text: str, repaired: tuple[str, ...]) -> None:
    reply, files = read(text)
    assert files["net.py"] == NET.replace("0.5", "0.1")
    assert reply.repaired == repaired


def test_one_loose_block_beside_an_exact_one() -> None:
    text = LOWER + (
        "<<<<<<< SEARCH\ndef step(self, x):\n        y = x * RATE\n=======\n"
        "def step(self, x):\n        y = x * RATE + 1\n>>>>>>> REPLACE\n"
    )
    reply, files = read(text)
    assert reply.repaired == ("indentation",)
    assert "        y = x * RATE + 1\n" in files["net.py"]


@pytest.mark.parametrize("path", ["", "net.py\n"])
def test_lines_that_stand_in_one_other_file_are_found_there(path: str) -> None:
    files = {**FILES, "c.yaml": "rate: 1\nsize: 2\n"}
    reply, after = read(
        path + LOWER.replace("RATE = 0.5", "rate: 1").replace("RATE = 0.1", "rate: 3"), files
    )
    assert after["c.yaml"] == "rate: 3\nsize: 2\n"
    assert reply.repaired == ("the path of a file",)


def test_lines_that_stand_in_two_other_files_are_not() -> None:
    files = {**FILES, "c.yaml": "rate: 1\n", "d.yaml": "rate: 1\n"}
    text = "net.py\n" + LOWER.replace("RATE = 0.5", "rate: 1")
    assert "matches nothing" in refusal(text, files).detail


@pytest.mark.parametrize(
    ("text", "reason", "why"),
    [
        ("  \n", Reason.MUTATOR_ERROR, "empty"),
        ("<think>What now?", Reason.MUTATOR_ERROR, "empty"),
        ("API Error: Rate limit reached", Reason.ENVIRONMENT, "Rate limit"),
        ('{"type": "error", "error": {"type": "overloaded_error"}}', Reason.ENVIRONMENT, "error"),
        ("Error code: 529 - overloaded", Reason.ENVIRONMENT, "529"),
        ("Lower the rate to 0.1.", Reason.BAD_DIFF, "no SEARCH/REPLACE block"),
        ("```python\nRATE = 0.1\n```\n", Reason.BAD_DIFF, "no SEARCH/REPLACE block"),
        ("new.py\n```python\nRATE = 0.1\n```\n", Reason.BAD_DIFF, "no SEARCH/REPLACE block"),
        (LOWER[:-16], Reason.BAD_DIFF, "never closed"),
        ("RATE = 0.5\n=======\nRATE = 0.1\n>>>>>>> REPLACE\n", Reason.BAD_DIFF, "unpaired"),
        (LOWER.replace("RATE = 0.5", "MOMENTUM = 0.5"), Reason.BAD_DIFF, "matches nothing"),
        (LOWER.replace("0.1", "0.5"), Reason.NO_CHANGE, "leaves every file"),
        ("../net.py\n" + LOWER, Reason.OUT_OF_BOUNDS, "holds '..'"),
        ("train.py\n" + LOWER, Reason.BAD_DIFF, "no such file"),
    ],
)
def test_refusals(text: str, reason: Reason, why: str) -> None:
    error = refusal(text)
    assert (error.reason, why in error.detail) == (reason, True), error


def test_a_refusal_quotes_the_nearest_lines() -> None:
    error = refusal(LOWER.replace("RATE = 0.5", "RATES = 0.5"))
    assert isinstance(error, DiffError)
    assert "1 | RATE = 0.5" in error.detail


def test_a_repair_that_breaks_the_program_is_none() -> None:
    text = "<<<<<<< SEARCH\nRATE = 0.5\n>>>>>>> REPLACE\nRATE = 0.1\n\nThis lowers it.\n"
    assert "no ======= line" in refusal(text).detail


TWICE = f"{NET}LIMIT = 2.0\n\n\ndef after():\n    limit = 3.0\n"


@pytest.mark.parametrize(
    ("text", "old", "new", "slip"),
    [
        pytest.param(
            LOWER.replace("RATE = 0.5", "RATE = 0.25"),
            "RATE = 0.5",
            "RATE = 0.1",
            "numbers",
            id="SEARCH is of an earlier program",
        ),
        pytest.param(
            LOWER.replace(">>>>>>>", "=======\nRATE = 0.1\n>>>>>>>"),
            "RATE = 0.5",
            "RATE = 0.1",
            "separators",
            id="the same replacement twice",
        ),
        pytest.param(
            LOWER.replace("RATE = 0.1", "RATE = 0.5\n=======\nRATE = 0.1"),
            "RATE = 0.5",
            "RATE = 0.1",
            "separators",
            id="SEARCH again",
        ),
        pytest.param(
            "=======\n    LIMIT = 4.0\n>>>>>>> REPLACE\nSUMMARY: a higher limit\n",
            "LIMIT = 2.0",
            "LIMIT = 4.0",
            "SEARCH",
            id="no SEARCH",
        ),
        pytest.param(
            "```python\nlimit = 1.0\n>>>>>>> REPLACE\n```\n",
            "    limit = 3.0",
            "    limit = 1.0",
            "SEARCH",
            id="no SEARCH, in a function and a fence",
        ),
    ],
)
def test_what_leaves_no_doubt_is_taken(text: str, old: str, new: str, slip: str) -> None:
    reply, files = read(text, {"net.py": TWICE})
    assert files["net.py"] == TWICE.replace(old, new, 1)
    assert reply.repaired == (slip,)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("=======\nself.a = 4.0\n>>>>>>> REPLACE\n", id="no such name"),
        pytest.param("=======\nLIMIT = 4.0\nRATE = 1\n>>>>>>> REPLACE\n", id="two lines"),
        pytest.param("=======\nnew = 3\n>>>>>>> REPLACE\n", id="a new name"),
        pytest.param(
            "<<<<<<< SEARCH\n    limit = 7.0\n=======\n    limit = 7.0\n>>>>>>> REPLACE\n",
            id="nothing new",
        ),
        pytest.param(
            "limit = 1.0\n>>>>>>> REPLACE\nLIMIT = 4.0\n>>>>>>> REPLACE\n",
            id="two new values",
        ),
        pytest.param(f"LIMIT = 4.0\n>>>>>>> REPLACE\n{LOWER}", id="a new value and a block"),
    ],
)
def test_what_leaves_a_doubt_is_not(text: str) -> None:
    assert isinstance(refusal(text, {"net.py": TWICE}), DiffError)


def test_replacements_that_differ_stay_as_they_were_written() -> None:
    text = LOWER.replace(">>>>>>>", "=======\nRATE = 0.2\n>>>>>>>")
    reply, files = read(text, {"net.py": TWICE})
    assert reply.repaired == ()
    assert files["net.py"].startswith("RATE = 0.1\n=======\nRATE = 0.2\n")


def test_search_again_and_nothing_else_takes_no_line_away() -> None:
    text = LOWER.replace("RATE = 0.1", "RATE = 0.5\n=======")
    reply, files = read(text, {"net.py": TWICE})
    assert reply.repaired == ()
    assert files["net.py"].startswith("RATE = 0.5\n=======\n")  # which is refused as no Python


def test_a_name_that_is_assigned_twice_needs_a_search() -> None:
    text = "=======\nLIMIT = 4.0\n>>>>>>> REPLACE\n"
    assert refusal(text, {"net.py": f"{TWICE}LIMIT = 5\n"}).reason is Reason.BAD_DIFF


def test_numbers_that_fit_in_two_places_are_refused() -> None:
    files = {"net.py": "a.b = 1\nc = 2\na.b = 3\n"}
    text = "<<<<<<< SEARCH\na.b = 7\n=======\na.b = 8\n>>>>>>> REPLACE\n"
    assert "SEARCH matches nothing" in refusal(text, files).detail


def test_a_number_within_a_name_is_not_one() -> None:
    files = {"net.py": "w1 = 0.5\n"}
    text = "<<<<<<< SEARCH\nw2 = 0.5\n=======\nw2 = 0.7\n>>>>>>> REPLACE\n"
    assert "SEARCH matches nothing" in refusal(text, files).detail


@pytest.mark.parametrize(
    ("line", "old", "new"),
    [
        ("fit(rate=0.3, steps=20)", "fit(rate=0.1, steps=10)", "fit(rate=0.1, steps=15)"),
        ("w[0] = 1.0", "w[1] = 1.0", "w[1] = 2.0"),
    ],
)
def test_a_number_that_is_of_an_earlier_program_is_not_put_back(
    line: str, old: str, new: str
) -> None:
    text = f"<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"
    assert "SEARCH matches nothing" in refusal(text, {"net.py": f"{TWICE}{line}\n"}).detail


def test_a_number_that_stands_twice_is_told_apart() -> None:
    text = "<<<<<<< SEARCH\nf(1, 1)\n=======\nf(1, 5)\n>>>>>>> REPLACE\n"
    _, after = read(text, {"net.py": "f(1, 2)\n"})
    assert after["net.py"] == "f(1, 5)\n"


def test_what_applies_exactly_is_not_judged() -> None:
    _, files = read(LOWER.replace("RATE = 0.1", "RATE = = 0.1"))
    assert "RATE = = 0.1" in files["net.py"]


def test_only_evolve_blocks_change() -> None:
    files = {"net.py": BLOCKED}
    _, after = read(f"```python\n{NET.replace('0.5', '0.1')}```\n", files)
    assert after["net.py"] == BLOCKED.replace("0.5", "0.1")
    error = refusal(LOWER.replace("RATE = 0.5", "import math").replace("RATE = 0.1", "x"), files)
    assert error.reason is Reason.OUT_OF_BOUNDS


def test_half_a_marker_in_a_new_file_is_refused() -> None:
    new = "new.py\n<<<<<<< SEARCH\n=======\n# EVOLVE-BLOCK-START\nx = 1\n>>>>>>> REPLACE\n"
    error = refusal(LOWER + new)
    assert error.reason is Reason.OUT_OF_BOUNDS
    assert "new.py:1" in error.detail


def test_whole_files_are_what_the_mode_asked_for() -> None:
    files = {**FILES, "c.yaml": "rate: 1\nsize: 2\n"}
    text = (
        f"SUMMARY: both\nnet.py\n```python\n{NET}x = 1\n```\nc.yaml\n```yaml\nrate: 3\nsize: 2\n```"
    )
    reply, after = read(text, files, mode="files")
    assert after == {"net.py": NET + "x = 1\n", "c.yaml": "rate: 3\nsize: 2\n"}
    assert (reply.summary, reply.repaired) == ("both", ())
    assert (
        "not the whole file" in refusal("net.py\n```\nRATE = 1\n```\n", files, mode="files").detail
    )


def test_blocks_are_read_where_whole_files_were_asked_for() -> None:
    assert read(LOWER, mode="files")[1]["net.py"] == NET.replace("0.5", "0.1")

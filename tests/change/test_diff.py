from __future__ import annotations

import random

import pytest

from lae_controller.change.diff import Applied, apply_change, is_editable, make_change
from lae_controller.errors import DiffError
from lae_controller.program import Reason

NET = """\
class Tiny:
    def step(self, batch):
        loss = self.cost(batch)
        return loss

    def cost(self, batch):
        return batch.mean()
"""


def block(search: str, replace: str, path: str = "") -> str:
    head = f"{path}\n" if path else ""
    return f"{head}<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n"


def edit(text: str, change: str) -> Applied:
    """Apply to the one file of a program."""
    return apply_change({"net.py": text}, change, editable=["net.py"])


def edited(text: str, change: str) -> str:
    return edit(text, change).files["net.py"]


def refusal(text: str, change: str) -> DiffError:
    with pytest.raises(DiffError) as info:
        edit(text, change)
    return info.value


# -- exact matches ---------------------------------------------------------------------------


def test_one_block_replaces_its_lines_and_nothing_else() -> None:
    applied = edit("a = 1\nb = 2\nc = 3\n", block("b = 2\n", "b = 4\nd = 5\n"))
    assert applied == Applied(
        {"net.py": "a = 1\nb = 4\nd = 5\nc = 3\n"}, changed=("net.py",), added=(), repaired=False
    )


@pytest.mark.parametrize(
    ("text", "search", "replace", "result"),
    [
        ("a\r\nb\r\n", "b\n", "c\nd\n", "a\r\nc\r\nd\r\n"),
        ("a\nb\n", "b\r\n", "c\r\n", "a\nc\n"),
        ("a\rb\r", "b\n", "c\nd\n", "a\rc\rd\r"),
        ("a\r\nb\nc\nd\n", "a\nb\n", "a\nx\n", "a\r\nx\nc\nd\n"),
        ("a\r\nb\nc\nd\n", "a\n", "x\n", "x\r\nb\nc\nd\n"),
    ],
)
def test_line_ends_are_the_files_own(text: str, search: str, replace: str, result: str) -> None:
    assert edited(text, block(search, replace)) == result


@pytest.mark.parametrize(
    ("text", "search", "replace", "result"),
    [
        ("a\nb", "b\n", "c\n", "a\nc"),
        ("a\nb", "b\n", "b\nc\n", "a\nb\nc"),
        ("a\nb", "b\n", "", "a\n"[:-1]),
        ("a\nb", "a\n", "c\n", "c\nb"),
        ("a\nb\n", "b\n", "", "a\n"),
        ("a", "a\n", "", ""),
    ],
)
def test_missing_final_newline_stays_missing(
    text: str, search: str, replace: str, result: str
) -> None:
    assert edited(text, block(search, replace)) == result


def test_replacement_is_spliced_literally() -> None:
    new = 'rule = re.compile(r"\\w+\\1\\g<0>")\nend = "\\r\\n"\n'
    assert edited("import re\nrule = None\n", block("rule = None\n", new)) == "import re\n" + new


def test_form_feed_and_line_separator_do_not_break_lines() -> None:
    text = "a = 'x\u2028y'\n\x0c\nb = 1\n"
    assert edited(text, block("b = 1\n", "b = 2\n")) == "a = 'x\u2028y'\n\x0c\nb = 2\n"
    assert edited(text, block("a = 'x\u2028y'\n", "a = 1\n")) == "a = 1\n\x0c\nb = 1\n"


def test_byte_order_mark_is_no_part_of_the_first_line() -> None:
    assert edited("\ufeffa = 1\nb = 2\n", block("a = 1\n", "a = 3\n")) == "\ufeffa = 3\nb = 2\n"


def test_untouched_lines_of_a_block_keep_their_bytes() -> None:
    text = "a = 1   \r\nb = 2\nc = 3\n"
    assert edited(text, block("a = 1\nb = 2\nc = 3\n", "a = 1\nb = 9\nc = 3\n")) == (
        "a = 1   \r\nb = 9\nc = 3\n"
    )


# -- several blocks --------------------------------------------------------------------------


def test_blocks_apply_one_after_another() -> None:
    change = block("a = 1\n", "a = 2\nb = 2\n") + block("b = 2\n", "b = 3\n")
    assert edited("a = 1\n", change) == "a = 2\nb = 3\n"


def test_a_block_that_fails_undoes_the_ones_before_it() -> None:
    files = {"net.py": "a = 1\nb = 2\n"}
    change = block("a = 1\n", "a = 5\n") + block("depth = 2\n", "depth = 3\n")
    with pytest.raises(DiffError, match=r"block 2 \(net\.py\): SEARCH matches nothing") as info:
        apply_change(files, change, editable=["net.py"])
    assert files == {"net.py": "a = 1\nb = 2\n"}
    assert info.value.reason is Reason.BAD_DIFF


def test_a_refusal_quotes_the_parent_not_the_half_edited_text() -> None:
    change = block("width = 8\n", "size = 9\n") + block("width = 7\n", "width = 9\n")
    assert "1 | width = 8" in refusal("width = 8\nrate = 1\n", change).detail


@pytest.mark.parametrize("extra", ["a = 1\n", "not in the file\n"])
def test_identical_block_beside_a_real_one_is_skipped(extra: str) -> None:
    change = block(extra, extra) + block("b = 2\n", "b = 3\n")
    assert edited("a = 1\nb = 2\n", change) == "a = 1\nb = 3\n"


@pytest.mark.parametrize(
    "change",
    [
        block("a = 1\n", "a = 1\n"),
        block("a = 1\n", "a = 2\n") + block("a = 2\n", "a = 1\n"),
        block("  1 | a = 1\n", "  1 | a = 1\n"),
    ],
)
def test_a_change_that_changes_nothing_is_named_so(change: str) -> None:
    assert refusal("a = 1\n", change).reason is Reason.NO_CHANGE


# -- files and paths -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "title",
    [
        "sub/b.py",
        "`sub/b.py`",
        "**sub/b.py**",
        "**`sub/b.py`**:",
        "sub/b.py:",
        "### sub/b.py",
        "- `sub/b.py`",
        "# sub/b.py",
        "// sub/b.py",
        "File: sub/b.py",
        "./sub/b.py",
        "sub/b.py\n\n",
        "sub/b.py\n```python",
        "```python\nsub/b.py",
        "```python sub/b.py",
        "```python:sub/b.py",
        "Narrower.\n\n```sub/b.py",
    ],
)
def test_path_line_may_be_dressed_up(title: str) -> None:
    files = {"a.py": "x = 1\n", "sub/b.py": "x = 1\n"}
    change = block("x = 1\n", "x = 2\n", title) + "```\n"
    applied = apply_change(files, change, editable=["**"])
    assert applied.files == {"a.py": "x = 1\n", "sub/b.py": "x = 2\n"}
    assert applied.changed == ("sub/b.py",)


def test_blocks_without_a_path_line_belong_to_the_path_above() -> None:
    files = {"a.py": "x = 1\ny = 1\n", "b.py": "x = 1\ny = 1\n"}
    change = (
        block("x = 1\n", "x = 2\n", "b.py")
        + "\nand then\n\n"
        + block("y = 1\n", "y = 2\n")
        + block("y = 1\n", "y = 3\n", "a.py")
    )
    applied = apply_change(files, change, editable=["*.py"])
    assert applied.files == {"a.py": "x = 1\ny = 3\n", "b.py": "x = 2\ny = 2\n"}
    assert applied.changed == ("a.py", "b.py")


@pytest.mark.parametrize("name", ["Makefile", "my net.py", "base"])
def test_a_known_path_counts_however_it_looks(name: str) -> None:
    files = {name: "x = 1\n", "z.py": "x = 1\n"}
    applied = apply_change(files, block("x = 1\n", "x = 2\n", name), editable=["*"])
    assert applied.changed == (name,)


def test_without_a_path_the_only_editable_file_is_meant() -> None:
    files = {"net.py": "x = 1\n", "harness.py": "x = 1\n"}
    applied = apply_change(files, block("x = 1\n", "x = 2\n"), editable=["net.py"])
    assert applied.changed == ("net.py",)


def test_without_a_path_several_editable_files_are_refused_by_name() -> None:
    files = {"a.py": "x = 1\n", "b.py": "y = 1\n"}
    with pytest.raises(DiffError, match=r"no path line.*2 editable files \(a\.py, b\.py\)"):
        apply_change(files, block("x = 1\n", "x = 2\n"), editable=["*.py"])


@pytest.mark.parametrize(
    ("search", "replace", "text"),
    [
        ("", "import math\n\nTAU = 2 * math.pi\n", "import math\n\nTAU = 2 * math.pi\n"),
        ("\n", "TAU = 6.28\n", "TAU = 6.28\n"),
        ("", "", ""),
        ("", "Title\n=======\ntext\n", "Title\n=======\ntext\n"),
    ],
)
def test_empty_search_creates_a_file(search: str, replace: str, text: str) -> None:
    files = {"net.py": "x = 1\n"}
    applied = apply_change(files, block(search, replace, "lib/tau.py"), editable=["net.py"])
    assert applied.files == {"net.py": "x = 1\n", "lib/tau.py": text}
    assert (applied.changed, applied.added) == ((), ("lib/tau.py",))
    assert files == {"net.py": "x = 1\n"}


def test_a_created_file_can_be_edited_by_the_next_block() -> None:
    change = block("", "a = 1\n", "new.py") + block("a = 1\n", "a = 2\n")
    applied = apply_change({}, change, editable=[])
    assert applied.files == {"new.py": "a = 2\n"}
    assert applied.added == ("new.py",)


def test_empty_search_fills_an_empty_file_but_never_a_full_one() -> None:
    assert edited("", block("", "a = 1\n")) == "a = 1\n"
    error = refusal("b = 1\nc = 2\n", block("", "a = 1\n"))
    assert "SEARCH is empty, but the file holds 2 lines" in error.detail


def test_search_in_a_missing_file_names_the_files() -> None:
    error = refusal("x = 1\n", block("x = 1\n", "x = 2\n", "nets.py"))
    assert error.reason is Reason.BAD_DIFF
    assert "no such file; did you mean net.py? The files are net.py" in error.detail


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/etc/passwd.py", "absolute"),
        ("~/x.py", "absolute"),
        ("C:\\x.py", "absolute"),
        ("../net.py", r"'\.\.'"),
        ("a/../../net.py", r"'\.\.'"),
        ("sub\\net.py", "written? it with|write it with '/'"),
        ("`a\tb.py`", "character"),
        ("sub/", "directory"),
        ("./", "directory"),
        (f"{'n' * 300}.py", "255 bytes"),
        ("harness.py", r"editable files \(net\.py\)"),
        ("./harness.py", r"editable files \(net\.py\)"),
        ("net.py/more.py", r"beside net\.py"),
        ("`lib`", r"beside lib/a\.py"),
    ],
)
def test_path_out_of_bounds_is_refused_by_name(path: str, message: str) -> None:
    files = {"net.py": "x = 1\n", "harness.py": "x = 1\n", "lib/a.py": ""}
    for search in ("", "x = 1\n"):
        with pytest.raises(DiffError, match=message) as info:
            apply_change(files, block(search, "x = 2\n", path), editable=["net.py"])
        assert info.value.reason is Reason.OUT_OF_BOUNDS
        assert path.strip("`").replace("\\", "\\\\").replace("\t", "\\t") in info.value.detail


@pytest.mark.parametrize(
    ("path", "pattern", "expected"),
    [
        ("net.py", "net.py", True),
        ("net.py", "./net.py", True),
        ("net.py", "*.py", True),
        ("lib/net.py", "*.py", False),
        ("lib/net.py", "**/*.py", True),
        ("net.py", "**/*.py", True),
        ("lib/deep/net.py", "lib/*.py", False),
        ("lib/deep/net.py", "lib/**", True),
        ("lib/deep/net.py", "lib/", True),
        ("libs/net.py", "lib/", False),
        ("net1.py", "net[0-3].py", True),
        ("net4.py", "net[0-3].py", False),
        ("net[z-a].py", "net[z-a].py", True),
        ("nets.py", "net.py", False),
    ],
)
def test_globs(path: str, pattern: str, expected: bool) -> None:
    assert is_editable(path, [pattern]) is expected


# -- refusals that help the next try ---------------------------------------------------------


def test_ambiguous_search_gives_count_and_lines() -> None:
    text = "def f(n):\n    return n + 1\n\ndef g(n):\n    return n + 1\n"
    detail = refusal(text, block("    return n + 1\n", "    return n - 1\n")).detail
    assert "matches 2 places, at lines 2 and 5" in detail


def test_overlapping_matches_count() -> None:
    assert "matches 2 places" in refusal("a\na\na\n", block("a\na\n", "b\n")).detail


def test_missed_search_shows_the_nearest_lines_with_numbers() -> None:
    text = "".join(f"layer_{n} = Dense({n})\n" for n in range(1, 40)) + "rate = 0.25\n"
    detail = refusal(text, block("rates = 0.25\n", "rate = 0.5\n")).detail
    assert "40 | rate = 0.25\n" in detail
    assert " 1 | layer_1" not in detail


def test_missed_search_shows_where_it_first_differs() -> None:
    lines = [f"w{n} = {n * 37 % 11}\n" for n in range(60)]
    search = "".join(lines[10:40]).replace("w30 = ", "w30 == ")
    detail = refusal("".join(lines), block(search, "pass\n")).detail
    assert f"31 | {lines[30]}" in detail
    assert "11 | " not in detail


def test_nothing_alike_is_said() -> None:
    error = refusal("a = 1\n", block("zzz yyy xxx\n", "b\n"))
    assert "no line of the file is like it" in error.detail


@pytest.mark.parametrize("search", ["rate=0.5\n", "model, rate=0.5)\nfit(\n"])
def test_part_of_a_line_is_refused_as_such(search: str) -> None:
    text = "opt = Adam(model, rate=0.5)\nfit(opt)\n"
    detail = refusal(text, block(search, "rate=0.1\n")).detail
    assert "whole lines needed" in detail
    assert "part of line 1, which reads\nopt = Adam(model, rate=0.5)\n" in detail


# -- the one tolerance -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("search", "replace", "result"),
    [
        pytest.param(
            "loss = self.cost(batch)\nreturn loss\n",
            "loss = self.cost(batch)\nif loss > 9:\n    loss = 9\nreturn loss\n",
            "        if loss > 9:\n            loss = 9\n        return loss\n",
            id="shifted left",
        ),
        pytest.param(
            "            loss = self.cost(batch)\n            return loss\n",
            "            return self.cost(batch)\n",
            "        return self.cost(batch)\n",
            id="shifted right",
        ),
        pytest.param(
            "def step(self, batch):\n        loss = self.cost(batch)\n        return loss\n",
            "def step(self, batch):\n        return 2 * self.cost(batch)\n",
            "    def step(self, batch):\n        return 2 * self.cost(batch)\n",
            id="first line lost its indentation",
        ),
        pytest.param(
            "def step(self, batch):\n        loss = self.cost(batch)\n        return loss\n",
            "def step(self, batch, k=1):\n        return k * self.cost(batch)\n",
            "    def step(self, batch, k=1):\n        return k * self.cost(batch)\n",
            id="first line lost its indentation and changed",
        ),
        pytest.param(
            "        loss = self.cost(batch)  \n        return loss\t\n",
            "        loss = 0\n",
            "        loss = 0\n",
            id="trailing blanks",
        ),
        pytest.param(
            "\tdef step(self, batch):\n\t\tloss = self.cost(batch)\n",
            "\tdef step(self, batch):\n\t\tif batch:\n\t\t\tloss = 1\n",
            "    def step(self, batch):\n        if batch:\n            loss = 1\n",
            id="tabs for blanks",
        ),
        pytest.param(
            " 3 |         loss = self.cost(batch)\n 4 |         return loss\n",
            " 3 |         return self.cost(batch)\n",
            "        return self.cost(batch)\n",
            id="line numbers",
        ),
    ],
)
def test_one_slip_is_repaired(search: str, replace: str, result: str) -> None:
    applied = edit(NET, block(search, replace))
    assert applied.repaired
    assert result in applied.files["net.py"]
    compile(applied.files["net.py"], "net.py", "exec")


TABBED = "class Tiny:\n\tdef cost(self):\n\t\treturn self.c\n"


@pytest.mark.parametrize(
    ("search", "replace", "result"),
    [
        pytest.param(
            "    def cost(self):\n        return self.c\n",
            "    def cost(self):\n        if self.c:\n            return 1\n",
            "class Tiny:\n\tdef cost(self):\n\t\tif self.c:\n\t\t\treturn 1\n",
            id="four blanks a level",
        ),
        pytest.param(
            "  def cost(self):\n    return self.c\n",
            "  def cost(self):\n    if self.c:\n      return 1\n",
            "class Tiny:\n\tdef cost(self):\n\t\tif self.c:\n\t\t\treturn 1\n",
            id="two blanks a level",
        ),
        pytest.param(
            "def cost(self):\n    return self.c\n",
            "def cost(self):\n    return -self.c\n",
            "class Tiny:\n\tdef cost(self):\n\t\treturn -self.c\n",
            id="shifted as well",
        ),
        pytest.param(
            "        return self.c\n",
            "        if self.c:\n            return 1\n",
            "class Tiny:\n\tdef cost(self):\n\t\tif self.c:\n\t\t\treturn 1\n",
            id="one line",
        ),
        pytest.param(
            "    return self.c\n",
            "    if self.c:\n      return 1\n",
            "class Tiny:\n\tdef cost(self):\n\t\tif self.c:\n\t\t\treturn 1\n",
            id="one line, two blanks a level",
        ),
        pytest.param(
            "    class Tiny:\n        def cost(self):\n            return self.c\n",
            "    class Tiny:\n        def cost(self):\n            return 1\n",
            "class Tiny:\n\tdef cost(self):\n\t\treturn 1\n",
            id="shifted right",
        ),
    ],
)
def test_blanks_are_retyped_as_the_tabs_of_the_file(search: str, replace: str, result: str) -> None:
    applied = edit(TABBED, block(search, replace))
    assert applied.repaired
    assert applied.files["net.py"] == result


def test_a_place_at_the_margin_takes_the_kind_of_the_rest_of_the_file() -> None:
    change = block("    a = 1\n", "    if b:\n        a = 2\n")
    assert edited("a = 1\nif b:\n\tc = 1\n", change) == "if b:\n\ta = 2\nif b:\n\tc = 1\n"


def test_tabs_are_retyped_by_the_step_of_the_file() -> None:
    text = "def f(a):\n  if a:\n    return a\n"
    change = block("\t\treturn a\n", "\t\tif a > 1:\n\t\t\treturn 1\n")
    assert edited(text, change) == "def f(a):\n  if a:\n    if a > 1:\n      return 1\n"


def test_tabs_are_retyped_by_the_step_of_the_place_first() -> None:
    text = "if a:\n  b = 1\nif b:\n  c = 1\nif c:\n    if d:\n        e = 1\n"
    change = block("\tif d:\n\t\te = 1\n", "\tif d:\n\t\te = 2\n")
    assert edited(text, change) == text.replace("e = 1", "e = 2")


def test_mixed_indentation_is_shifted_as_it_stands() -> None:
    text = "if a:\n\tf(b,\n\t  c)\n"
    applied = edit(text, block("f(b,\n  c)\n", "f(b,\n  c,\n  d)\n"))
    assert applied.files["net.py"] == "if a:\n\tf(b,\n\t  c,\n\t  d)\n"


@pytest.mark.parametrize(
    ("text", "search", "replace"),
    [
        pytest.param(NET, "loss = self.cost(batch)\n    return loss\n", "x\n", id="uneven"),
        pytest.param(
            NET,
            "            loss = self.cost(batch)\n",
            "  loss = 1\n",
            id="replacement lies further left than the shift",
        ),
        pytest.param(
            TABBED,
            "    def cost(self):\n        return self.c\n",
            "    def cost(self):\n          return 1\n",
            id="half a level",
        ),
        pytest.param(
            TABBED,
            "def cost(self):\n\treturn self.c\n",
            "def cost(self):\n    return 1\n",
            id="the reply mixes tabs and blanks",
        ),
        pytest.param(
            NET,
            "def step(self, batch):\n        loss = self.cost(batch)\n",
            "  def step(self, batch):\n        loss = 1\n",
            id="first line neither lost nor kept",
        ),
        pytest.param(NET, " 3 | loss = 1\n 4 | return loss\n", " 3 | x\n", id="other lines"),
        pytest.param(
            NET, " 3 |         loss = self.cost(batch)\n", "        loss = 1\n", id="half numbered"
        ),
        pytest.param(
            NET,
            " 3 |         loss = self.cost(batch)\n 9 |         return loss\n",
            " 3 | x\n",
            id="numbers with a gap",
        ),
        pytest.param(
            NET, "        return loss\n", " 4 |         return loss + 1\n", id="numbers in REPLACE"
        ),
    ],
)
def test_what_is_not_one_slip_is_refused(text: str, search: str, replace: str) -> None:
    error = refusal(text, block(search, replace))
    assert error.reason is Reason.BAD_DIFF
    assert "whole lines needed" not in error.detail


def test_two_loose_matches_are_ambiguous() -> None:
    text = "if a:\n    x = 1\nif b:\n        x = 1\n"
    detail = refusal(text, block("x = 1\n", "x = 2\n")).detail
    assert "matches 2 places but for its indentation" in detail
    assert "lines 2 and 4" in detail


def test_an_exact_match_comes_before_loose_ones() -> None:
    text = "x = 1\nif b:\n    x = 1\n"
    applied = edit(text, block("x = 1\n", "x = 2\n"))
    assert applied.files["net.py"] == "x = 2\nif b:\n    x = 1\n"
    assert not applied.repaired


def test_a_table_that_looks_numbered_is_left_alone() -> None:
    text = "  1 | one\n  2 | two\n"
    assert edited(text, block("  2 | two\n", "  2 | zwei\n")) == "  1 | one\n  2 | zwei\n"


# -- separators ------------------------------------------------------------------------------

GUIDE = '"""Guide.\n\nUsage\n=======\nCall it once.\n"""\nrate = 1\n'


def test_of_several_separators_the_longest_search_that_matches_wins() -> None:
    change = block("Usage\n=======\nCall it once.\n", "Usage\n=======\nCall it twice.\n")
    assert edited(GUIDE, change) == GUIDE.replace("once", "twice")


def test_a_replacement_may_bring_separators() -> None:
    change = block("rate = 1\n", "note = '''\n=======\n'''\n")
    assert edited(GUIDE, change).endswith("note = '''\n=======\n'''\n")


@pytest.mark.parametrize(
    "search",
    ["Usage\n=======\nCall it one.\n", "Use\n=======\nCall it once.\n"],
)
def test_a_slip_beside_a_separator_never_applies_half_a_search(search: str) -> None:
    change = block(search, "Usage\n=======\nCall it twice.\n")
    detail = refusal(GUIDE, change).detail
    assert "lines 3, 5, 7 of the reply could all be the ======= separator" in detail


def test_a_reply_that_goes_round_is_refused_unread() -> None:
    change = block("rate = 1\n", "rate = 2\n=======\n" * 5000)
    detail = refusal(GUIDE, change).detail
    assert "5001 lines could be the ======= separator; write one" in detail


# -- markers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("opening", "separator", "closing"),
    [
        ("<<<<<<< SEARCH>", "=======", ">>>>>>> REPLACE>"),
        ("<<<<< search", "=====", ">>>>> replace"),
        ("<<<<<<<<< Search", "=========", ">>>>>>>>> Replace"),
        ("------- SEARCH", "=======", "+++++++ REPLACE"),
        ("<<<<<<< SEARCH <<<<<<<", "======= ", ">>>>>>> REPLACE >>>>>>>"),
        ("  <<<<<<<SEARCH  ", "  =======", "  >>>>>>>REPLACE"),
    ],
)
def test_tolerated_spellings(opening: str, separator: str, closing: str) -> None:
    change = f"{opening}\na = 1\n{separator}\na = 2\n{closing}\n"
    assert edited("a = 1\n", change) == "a = 2\n"


@pytest.mark.parametrize(
    ("change", "number", "line"),
    [
        ("<<<< SEARCH\na = 1\n=======\na = 2\n>>>> REPLACE\n", 1, "<<<< SEARCH"),
        ("<<<<<<< ORIGINAL\na = 1\n=======\na = 2\n>>>>>>> UPDATED\n", 1, "<<<<<<< ORIGINAL"),
        ("<<<<<<< SEARCH net.py\na = 1\n", 1, "<<<<<<< SEARCH net.py"),
        ("Try:\n<SEARCH>\na = 1\n</SEARCH>\n", 2, "<SEARCH>"),
        ("<<<<<<< SEARCH\na = 1\n=======\na = 2\n>>>>>>> UPDATED\n", 5, ">>>>>>> UPDATED"),
        (
            "<<<<<<< SEARCH\na = 1\n=======\na = 2\n>>>> END\n"
            "<<<< BEGIN\nb = 1\n=======\nb = 2\n>>>>>>> REPLACE\n",
            5,
            ">>>> END",
        ),
        (block("a = 1\n", "a = 2\n") + "+++ REPLACE\n", 6, "+++ REPLACE"),
    ],
)
def test_other_spellings_are_quoted(change: str, number: int, line: str) -> None:
    detail = refusal("a = 1\nb = 1\n", change).detail
    assert f"markers not understood: line {number} of the reply is {line!r}" in detail


def test_a_misspelt_marker_never_gets_into_a_new_file() -> None:
    error = refusal("a = 1\n", block("", "b = 1\n>>>> END\n", "new.py"))
    assert "line 5 of the reply is '>>>> END'" in error.detail


def test_missing_separator_is_said() -> None:
    error = refusal("a = 1\n", "<<<<<<< SEARCH\na = 1\n>>>>>>> REPLACE\n")
    assert "block 1 (line 1 of the reply) has no ======= line" in error.detail


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("I lower it.\na = 1\n=======\na = 2\n>>>>>>> REPLACE\n", "line 3 of the reply"),
        ("a = 2\n>>>>>>> REPLACE\n", "line 2 of the reply"),
        (block("a = 1\n", "a = 2\n") + ">>>>>>> REPLACE\n", "line 6 of the reply"),
        ("<<<<<<< SEARCH\na = 1\n=======\na = 2\n", "opens in line 1 .* never closed"),
        ("<<<<<<< SEARCH\na = 1\n" + block("a = 1\n", "a = 2\n"), "opens in line 1 .* never"),
    ],
)
def test_unpaired_markers_are_refused(change: str, message: str) -> None:
    with pytest.raises(DiffError, match=f"unpaired markers: .*{message}"):
        edit("a = 1\n", change)


@pytest.mark.parametrize(
    "change",
    ["", "\n", "A smaller rate should be steadier.", "```python\na = 2\n```\n", "## a -- b\n"],
)
def test_a_reply_without_a_block_is_refused_as_such(change: str) -> None:
    error = refusal("a = 1\n", change)
    assert error.reason is Reason.BAD_DIFF
    assert "no SEARCH/REPLACE block found" in error.detail


def test_a_marker_that_stands_in_the_file_may_stay() -> None:
    text = "a = 1\n<<<<<<< HEAD\nb = 2\n"
    change = block("a = 1\n<<<<<<< HEAD\n", "a = 2\n<<<<<<< HEAD\n")
    assert edited(text, change) == "a = 2\n<<<<<<< HEAD\nb = 2\n"


# -- the reverse -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({"a.py": "x\ny\n"}, {"a.py": "x\nz\n"}, id="replace"),
        pytest.param({"a.py": "x\n" * 9 + "y\n"}, {"a.py": "x\n" * 10 + "y\n"}, id="same lines"),
        pytest.param({"a.py": "x\n"}, {"a.py": "w\nx\n"}, id="insert at the start"),
        pytest.param({"a.py": "x\n"}, {"a.py": "x\nw\n"}, id="insert at the end"),
        pytest.param({"a.py": "x\ny"}, {"a.py": "x\ny\nz"}, id="no final newline"),
        pytest.param({"a.py": "x\ny"}, {"a.py": "x\ny\n"}, id="gains a final newline"),
        pytest.param({"a.py": "x\r\ny\r\n"}, {"a.py": "x\r\nz\r\ny\r\n"}, id="crlf"),
        pytest.param({"a.py": "\ufeffx\n"}, {"a.py": "\ufeffy\n"}, id="byte order mark"),
        pytest.param({"a.py": "x\n"}, {"a.py": ""}, id="emptied"),
        pytest.param({"a.py": ""}, {"a.py": "x\n"}, id="filled"),
        pytest.param({"a.md": ""}, {"a.md": "=======\n=======\n"}, id="filled with rows"),
        pytest.param({}, {"lib/a.py": "x\n", "b.py": ""}, id="new files"),
        pytest.param({}, {"Makefile": "all:\n", "b c.txt": "x\n"}, id="odd new names"),
        pytest.param(
            {"a.py": "x\n", "b.py": "x\n"}, {"a.py": "y\n", "b.py": "z\n"}, id="two files"
        ),
        pytest.param(
            {"a.md": "T\n=====\nx\n=====\nx\n"}, {"a.md": "T\n=====\nx\n=====\ny\n"}, id="rows"
        ),
        pytest.param({"a.md": "x\n"}, {"a.md": "x\n=======\n"}, id="separator comes"),
        pytest.param({"a.md": "=======\n"}, {"a.md": "x\n"}, id="separator goes"),
        pytest.param({"a.py": "    x\nx\n"}, {"a.py": "    y\nx\n"}, id="indentation twins"),
        pytest.param({"a.py": "a\\1\n"}, {"a.py": "\\g<0>\u2028\x0c\n"}, id="odd characters"),
    ],
)
def test_the_written_change_gives_exactly_the_new_files(
    before: dict[str, str], after: dict[str, str]
) -> None:
    applied = apply_change(before, make_change(before, after), editable=["**"])
    assert applied.files == after
    assert not applied.repaired


def test_equal_programs_need_no_change() -> None:
    assert make_change({"a.py": "x\n"}, {"a.py": "x\n"}) == ""


def test_blocks_are_small() -> None:
    text = "".join(f"v{n} = {n}\n" for n in range(50))
    change = make_change({"a.py": text}, {"a.py": text.replace("v7 = 7\n", "v7 = 8\n")})
    assert change == block("v7 = 7\n", "v7 = 8\n", "a.py")


def test_near_edits_go_into_one_block() -> None:
    change = make_change({"a.py": "a\nb\nc\n"}, {"a.py": "x\nb\ny\n"})
    assert change == block("a\nb\nc\n", "x\nb\ny\n", "a.py")


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        ("x\r\ny\r\n", "x\nz\n", "x\r\nz\r\n"),
        ("x\ny\n", "x\nz", "x\nz\n"),
        ("x\n", "\ufeffy\n", "y\n"),
        (None, "x", "x\n"),
        (None, "x\r\ny\r\n", "x\ny\n"),
    ],
)
def test_line_ends_and_final_newline_follow_the_rules_for_applying(
    before: str | None, after: str, kept: str
) -> None:
    files = {} if before is None else {"a.py": before}
    change = make_change(files, {"a.py": after})
    assert apply_change(files, change, editable=["**"]).files == {"a.py": kept}


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ({"a.py": "x\n", "b.py": ""}, {"a.py": "x\n"}, r"b\.py is deleted"),
        ({"a.py": "x\n"}, {"a.py": "<<<<<<< SEARCH\n"}, r"a\.py"),
        ({"a.py": "x\n"}, {"a.py": ">>>>>>> REPLACE\n"}, r"a\.py"),
    ],
)
def test_what_cannot_be_expressed_is_a_value_error(
    before: dict[str, str], after: dict[str, str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make_change(before, after)


POOL = ["a", "b", "", "    a", "\ta", "=======", "=====", "x = 1", "    x = 1", "  ", "a  "]
POOL += ["\u2028q", "\x0c", "def f():", "    return 1", "# SEARCH", "<<< x", "\u00e9", "- `a.py`"]


def draw(rng: random.Random, end: str) -> str:
    text = end.join(rng.choices(POOL, k=rng.randrange(12)))
    return text + end if text and (end not in text or rng.random() < 0.5) else text


def rewrite(rng: random.Random, text: str, end: str) -> str:
    lines = text.split(end)
    for _ in range(rng.randrange(1, 5)):
        at = rng.randrange(len(lines) + 1)
        cut = rng.randrange(3)
        lines[at : at + cut] = rng.choices(POOL, k=rng.randrange(3))
    new = end.join(lines)
    return new + end if new and text.endswith(end) and not new.endswith(end) else new


@pytest.mark.parametrize("seed", range(8))
def test_random_edits_come_back_exactly(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(40):
        before, after = {}, {}
        for path in rng.sample(["a.py", "lib/b.yaml", "Makefile", "c d.txt"], k=2):
            end = rng.choice(["\n", "\n", "\r\n"])
            before[path] = draw(rng, end)
            after[path] = rewrite(rng, before[path], end if before[path] else "\n")
            if not before[path] and after[path]:
                after[path] = after[path].rstrip("\n") + "\n"
        after["new.py"] = "".join(f"{line}\n" for line in rng.choices(POOL, k=rng.randrange(4)))
        applied = apply_change(before, make_change(before, after), editable=["**"])
        assert applied.files == after
        assert not applied.repaired


@pytest.mark.parametrize("seed", range(8))
def test_no_reply_raises_anything_but_a_diff_error_or_edits_in_place(seed: int) -> None:
    rng = random.Random(seed)
    markers = ["<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", "------- SEARCH", "```", "a.py"]
    markers += [
        "1 | a",
        "2 | b",
        "lib/b.yaml:",
        "../x.py",
        "C:\\y",
        "\ud800",
        "\0",
        "`",
        "**",
        ">>>>",
    ]
    for _ in range(120):
        files = {"a.py": draw(rng, "\n"), "lib/b.yaml": draw(rng, "\r\n")}
        kept = dict(files)
        replies = [rng.choice(markers) if rng.random() < 0.5 else rng.choice(POOL)]
        for _ in range(rng.randrange(25)):
            replies.append(rng.choice(markers if rng.random() < 0.5 else POOL))
        change = rng.choice(["\n", "\r\n"]).join(replies)
        if rng.random() < 0.5:
            lines = rng.choice(list(files.values())).splitlines() or [""]
            body = "\n".join(rng.sample(lines, k=1))
            change = block(f"{body}\n", f"{rng.choice(POOL)}\n", "a.py") + change * (seed % 2)
        try:
            applied = apply_change(files, change, editable=["a.py", "lib/*"])
        except DiffError:
            assert files == kept
        else:
            assert files == kept != applied.files

from __future__ import annotations

import pytest

from lae_controller.replies.markers import holds_markers, mend_markers

MEANT = "<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n"


@pytest.mark.parametrize(
    "text",
    [
        MEANT,
        "<<<< SEARCH\nold\n=======\nnew\n>>>> REPLACE\n",
        "**<<<<<<< SEARCH**\nold\n=======\nnew\n**>>>>>>> REPLACE**\n",
        "<<<<<<< SEARCH:\nold\n======= REPLACE\nnew\n>>>>>>> REPLACE <<<<<<<\n",
        "<<<<<<< ORIGINAL\nold\n=======\nnew\n>>>>>>> UPDATED\n",
        "<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>>\n",
        "<<<<<<< SEARCH\nold\n>>>>>>> REPLACE\nnew\n",
        "<<<<<<< SEARCH\nold\n<<<<<<< REPLACE\nnew\n>>>>>>> REPLACE\n",
        "<<<<<<< SEARCH\nold\n>>>>>>> SEARCH\n<<<<<<< REPLACE\nnew\n>>>>>>> REPLACE\n",
        "<<<<<<< SEARCH\nold\n>>>>>>> SEARCH\n=======\nnew\n>>>>>>> REPLACE\n",
        "<<<<<<< SEARCH\n```python\nold\n```\n=======\n```python\nnew\n```\n>>>>>>> REPLACE\n",
        "<<<<<<< SEARCH\nold\n>>>>>>> REPLACE\nnew\n>>>>>>> REPLACE\n",
        "SEARCH\nold\nREPLACE\nnew\n",
        "<<<<<<< SEARCH\nold\n>>>>>>> REPLACE\n=======\nnew\n>>>>>>> REPLACE\n",
    ],
)
def test_misspelt_markers_are_written_as_they_were_meant(text: str) -> None:
    assert mend_markers(text) == MEANT


def test_the_fence_that_holds_a_block_closes_it() -> None:
    text = "So:\n```\n<<<<<<< SEARCH\nold\n=======\nnew\n```\nIt helps.\n"
    assert mend_markers(text) == f"So:\n```\n{MEANT}```\nIt helps.\n"


def test_a_block_without_separator_ends_where_the_next_begins() -> None:
    one = "<<<<<<< SEARCH\nold\n>>>>>>> REPLACE\nnew\n"
    assert mend_markers(one + one) == MEANT + MEANT


def test_what_stands_around_the_blocks_stays() -> None:
    text = "net.py\n<<<<<< SEARCH\nold\n=======\nnew\n>>>>>> REPLACE\nDone.\n"
    assert mend_markers(text) == f"net.py\n{MEANT}Done.\n"


@pytest.mark.parametrize(
    "text",
    [
        "<<<<<<< SEARCH\nold\n=======\nnew\n",
        "<<<<<<< SEARCH\nold\n",
        "<<<<<<< SEARCH\nold\n>>>>>>> REPLACE\n",
        "<<<<<<< SEARCH\nold\n>>>>>>> REPLACE\n\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n",
        "<<<<<<< SEARCH\nold\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n",
        "<<<<<<< SEARCH\nold\n=======\nnew\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n",
        "<<<<<<< SEARCH\nold\n>>>>>>> SEARCH\nthen replace it by\nnew\n",
    ],
)
def test_what_is_open_or_mixed_up_is_not_mended(text: str) -> None:
    assert mend_markers(text) is None


def test_code_and_headings_hold_no_markers() -> None:
    assert not holds_markers("Results\n=======\n>>> print(1 << 4)\n# search\nx <<= 3\n")
    assert holds_markers("LR = 1\n=======\nLR = 2\n>>>>>>> REPLACE\n")

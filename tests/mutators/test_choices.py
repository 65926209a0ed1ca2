from __future__ import annotations

import pytest
from mutator_tasks import draws, make_task, texts

from lae_controller.mutators import choices

TABLE = """\
def relu(x):
    return max(x, 0.0)


def tanh(x):
    return x


ACTS = {"relu": relu, "tanh": tanh}
"""


@pytest.mark.parametrize(
    "offer",
    [
        TABLE,
        "if act == 'relu':\n    y = 1\nelif act == 'tanh':\n    y = 2\n",
        "def f(act: Literal['relu', 'tanh']):\n    pass\n",
        "p.add_argument('--a', choices=['relu', 'tanh'])\n",
        "match act:\n    case 'relu':\n        y = 1\n    case 'tanh':\n        y = 2\n",
        "ok = act in ('relu', 'tanh')\n",
    ],
)
def test_a_string_swaps_with_what_the_program_offers(offer: str) -> None:
    files = {"net.py": offer, "c.yaml": "net: {act: relu}  # first\n"}
    found = {child["c.yaml"] for _, child in draws(choices.options, make_task(files))}
    assert found == {"net: {act: tanh}  # first\n"}


def test_quotes_stay_and_the_offer_itself_does_not_change() -> None:
    text = TABLE + "act = 'relu'\n"
    assert texts(choices.options, text) == {TABLE + "act = 'tanh'\n"}


@pytest.mark.parametrize("pair", [("train", "val"), ("cpu", "cuda"), ("min", "max")])
def test_splits_devices_and_modes_are_no_options(pair: tuple[str, str]) -> None:
    text = f"if a == {pair[0]!r} or a == {pair[1]!r}:\n    pass\nb = {pair[0]!r}\n"
    assert texts(choices.options, text) == set()


def test_a_setting_table_is_no_offer() -> None:
    assert texts(choices.options, "A = {'lr': 0.1, 'wd': 0.2}\nb = 'lr'\n") == set()


def test_own_functions_of_one_family_swap_where_they_are_used() -> None:
    assert texts(choices.own_names, TABLE + "y = relu(x)\n") == {TABLE + "y = tanh(x)\n"}


def test_functions_alike_but_for_a_word_of_the_family_swap() -> None:
    text = (
        "def cosine_rate(t):\n    return t\n\n\ndef linear_rate(t):\n    return t\n\n\n"
        "def linear_thing(t, u):\n    return t\n\n\ny = cosine_rate(3)\n"
    )
    assert texts(choices.own_names, text) == {text.replace("y = cosine_rate", "y = linear_rate")}


def test_imported_functions_swap_with_others_that_are_imported() -> None:
    files = {
        "acts.py": "def relu(x):\n    return x\n\n\ndef gelu(x):\n    return x\n\n\n"
        "def silu(x):\n    return x\n",
        "net.py": "from acts import gelu, relu\n\ny = relu(1)\n",
    }
    found = {child["net.py"] for _, child in draws(choices.own_names, make_task(files))}
    assert found == {"from acts import gelu, relu\n\ny = gelu(1)\n"}

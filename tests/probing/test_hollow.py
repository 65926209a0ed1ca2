from __future__ import annotations

from typing import Any

import pytest

from lae_controller.mutators.sources import open_sources
from lae_controller.probing import hollow
from lae_controller.probing.hollow import Target, targets

CODE = '''\
"""What it is about."""
from __future__ import annotations


def double(x):
    """Twice."""
    y = x + x  # a remark
    return y


def both(x):
    if x > 5:
        return x, [x]
    return (
        x * 2
        + 1,
        [x],
    )


def note(seen, x):
    seen.append(x)


def turned(seen): seen.reverse(); return seen


def numbers(n):
    for i in range(n):
        yield i


class Net:
    def __init__(self):
        self.total = 0

    @property
    def size(self):
        return self.total + 1

    def add(self, x):
        def inner():
            return 7

        self.total += inner()
        loss = x
        return loss

    def predict(self, rows):
        return [row + self.total for row in rows]


def mean_loss(x):
    loss = x / 2
    return loss


def evaluate(x):
    return x
'''


def found(code: str = CODE, *idle: str) -> dict[str, Target]:
    sources = open_sources({"m.py": code}, (), ())
    return {target.name: target for target in targets(sources, frozenset(idle))}


def run(code: str | None) -> dict[str, Any]:
    assert code is not None
    names: dict[str, Any] = {}
    exec(compile(code, "m.py", "exec"), names)
    return names


def test_the_core_comes_first_and_what_measures_or_yields_is_left_alone() -> None:
    names = list(found())
    assert names[0] == "Net.predict"
    assert set(names) == {
        *("double", "both", "note", "turned", "Net.size", "Net.add", "Net.add.inner"),
        *("Net.predict", "mean_loss"),
    }


def test_what_the_baseline_never_entered_is_left_out() -> None:
    assert "double" not in found(CODE, "m.py::double")


def test_only_what_lies_inside_the_evolve_blocks_is_taken() -> None:
    code = (
        "def a(x):\n    return x + 1\n\n\n"
        "# EVOLVE-BLOCK-START\ndef b(x):\n    return x + 1\n# EVOLVE-BLOCK-END\n"
    )
    assert list(found(code)) == ["b"]


def test_an_emptied_function_returns_as_much_as_before() -> None:
    seen: list[int] = []
    run(hollow.emptied(found()["note"]))["note"](seen, 1)
    assert seen == []
    assert run(hollow.emptied(found()["double"]))["double"](3) == 0.0
    assert run(hollow.emptied(found()["both"]))["both"](3) == (0.0, 0.0)
    assert run(hollow.emptied(found()["turned"]))["turned"]([1, 2]) == [1, 2]
    net = run(hollow.emptied(found()["Net.add"]))["Net"]()
    assert (net.add(3), net.total) == (0.0, 0)


def test_what_only_reports_is_not_emptied() -> None:
    assert hollow.emptied(found()["mean_loss"]) is None


def test_a_zeroed_function_runs_and_returns_nothing_of_worth() -> None:
    assert run(hollow.zeroed(found()["double"]))["double"](3) == 0
    both = run(hollow.zeroed(found()["both"]))["both"]
    assert both(3) == (0, [])
    assert both(6) == (0, [])
    assert run(hollow.zeroed(found()["Net.size"]))["Net"]().size == 0


@pytest.mark.parametrize("name", ["note", "mean_loss", "Net.add"])
def test_there_is_nothing_to_zero_where_nothing_or_a_loss_is_returned(name: str) -> None:
    assert hollow.zeroed(found()[name]) is None


def test_rows_come_in_reverse_order() -> None:
    net = run(hollow.reversed_rows(found()["Net.predict"]))["Net"]()
    assert net.predict([1, 2, 3]) == [3, 2, 1]


def test_tensors_are_turned_round_by_a_method_of_theirs() -> None:
    code = "import torch\n\n\ndef predict(x):\n    return x, 1\n"
    text = hollow.reversed_rows(found(code)["predict"])
    assert text is not None
    assert "return (x).flip(0), 1\n" in text


def test_starred_values_stay() -> None:
    text = hollow.zeroed(found("def f(x):\n    return x, *x\n")["f"])
    assert text == "def f(x):\n    return (x) * 0, *x\n"


def test_a_raising_function_raises_when_it_is_called() -> None:
    names = run(hollow.raising(found()["double"]))
    assert names["both"](6) == (6, [6])
    with pytest.raises(RuntimeError, match="damaged on purpose"):
        names["double"](1)


@pytest.mark.parametrize(
    "code",
    ['"""Words."""\nfrom __future__ import annotations\n\nRATE = 1\n', "RATE = 1", "# nothing\n"],
)
def test_a_module_without_functions_raises_as_it_runs(code: str) -> None:
    (source,) = open_sources({"m.py": code}, (), ())
    with pytest.raises(RuntimeError, match="damaged on purpose"):
        run(hollow.raising_module(source))

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import pytest

from lae_controller.codec import decode, encode
from lae_controller.program import Artifacts, Direction, Evaluation, Intervention, Status, Usage
from lae_controller.task import Credit, Task, Tried


class Colour(str, Enum):
    RED = "red"


@dataclass(frozen=True)
class Inner:
    number: float
    pair: tuple[int, int] | None = None


@dataclass(frozen=True)
class Outer:
    name: str
    colour: Colour
    inner: Inner | None
    many: tuple[Inner, ...] = ()
    table: dict[str, Inner] = field(default_factory=dict)


@pytest.mark.parametrize(
    "value",
    [
        Outer("a", Colour.RED, None),
        Outer("a", Colour.RED, Inner(1.5, (2, 3)), (Inner(1.0), Inner(2.0)), {"k": Inner(0.1)}),
    ],
)
def test_a_value_comes_back_equal(value: Outer) -> None:
    assert decode(Outer, json.loads(json.dumps(encode(value)))) == value


def test_floats_come_back_to_the_last_bit() -> None:
    assert decode(Inner, json.loads(json.dumps(encode(Inner(0.1 + 0.2))))).number == 0.1 + 0.2


def test_a_missing_field_takes_its_default_and_an_unknown_one_is_ignored() -> None:
    assert decode(Inner, {"number": 1, "later": "x"}) == Inner(1.0)


def test_what_an_older_version_wrote_is_read_with_every_default() -> None:
    whole = encode(Evaluation(Status.EVALUATED, metric=0.5, repeats=(0.5, 0.25)))
    for name in whole:
        if name == "status":
            continue
        older = {key: value for key, value in whole.items() if key != name}
        default = getattr(Evaluation(Status.EVALUATED), name)
        expected = replace(decode(Evaluation, whole), **{name: default})
        assert decode(Evaluation, older) == expected
    with pytest.raises(ValueError, match="required field `status`"):
        decode(Evaluation, {"metric": 0.5})


@pytest.mark.parametrize(
    ("data", "named"),
    [
        ({}, "`name`"),
        ({"name": "a", "colour": "blue", "inner": None}, r"\$\.colour"),
        ({"name": "a", "colour": "red", "inner": {"number": "x"}}, r"\$\.inner\.number"),
        ({"name": "a", "colour": "red", "inner": {"number": 1, "pair": [1]}}, r"\.inner\.pair"),
        ([1], "object"),
    ],
)
def test_what_does_not_fit_is_refused_by_the_name_of_its_field(data: Any, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        decode(Outer, data)


def test_a_whole_number_may_have_been_written_with_a_point() -> None:
    assert decode(Usage, {"input_tokens": 12.0}) == Usage(input_tokens=12)


def test_a_task_travels_whole() -> None:
    task = Task(
        child_id="g1-i0-a0",
        parent_id="g0-i0-a0",
        gen=1,
        island=0,
        attempt=0,
        seed=3,
        metric_name="loss",
        direction=Direction.MINIMIZE,
        editable=("a.py",),
        protected=("seed",),
        files={"a.py": "x = 1\r\n"},
        parent_metric=0.25,
        parent_artifacts=Artifacts(curve=((1.0, 2.0),), per_class={"cat": 0.5}),
        inspirations=(),
        tried=(Tried("g1-i0-a1", "s", Intervention.INIT, "kept", 0.1, "d"),),
        credits={"scale": Credit(2.0, 1.0)},
    )
    assert decode(Task, json.loads(json.dumps(encode(task)))) == task

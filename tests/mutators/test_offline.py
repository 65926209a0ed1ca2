from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

from mutator_tasks import make_task

from lae_controller.change.diff import apply_change
from lae_controller.change.normal_form import digest
from lae_controller.mutators.offline import OfflineMutator
from lae_controller.program import Intervention
from lae_controller.task import Credit, Tried

FILES = {"train.py": "lr = 0.1\nwidth = 64\nuse_bias = True\ndropout = 0.0\n"}


def operators(task_credits: dict[str, Credit], times: int = 200) -> Counter[str]:
    task = make_task(FILES, credits=task_credits)
    return Counter(
        OfflineMutator().mutate(task, random.Random(number)).operator for number in range(times)
    )


def test_gives_up_with_an_empty_change() -> None:
    files = {"m.py": "use_bias = True\n"}
    child = {"m.py": "use_bias = False\n"}
    first = OfflineMutator().mutate(make_task(files), random.Random(0))
    assert apply_change(files, first.change, editable=("m.py",)).files == child
    last = OfflineMutator().mutate(make_task(files, tried=[digest(child)]), random.Random(0))
    assert last.change == ""
    assert last.summary == "nothing left to try"
    assert last.operator == "-"


def test_what_paid_off_is_drawn_more_often() -> None:
    plain = operators({})
    told = operators({"flip-flag": Credit(20, 18), "scale-rate": Credit(20, 0)})
    assert told["flip-flag"] > plain["flip-flag"]
    assert told["scale-rate"] < plain["scale-rate"]


def test_a_kind_that_failed_here_is_drawn_less_often() -> None:
    task = make_task(FILES)
    failed = tuple(
        Tried(f"g1-i1-a{number}", "", Intervention.OPTIMISER, "not kept", 0.1, None)
        for number in range(8)
    )
    weary = replace(task, tried=failed)
    mutator = OfflineMutator()
    kinds = [
        Counter(mutator.mutate(t, random.Random(n)).intervention for n in range(150))
        for t in (task, weary)
    ]
    assert kinds[1][Intervention.OPTIMISER] < kinds[0][Intervention.OPTIMISER]


def test_a_file_that_does_not_parse_is_left_alone() -> None:
    files = {"a.py": "lr = = 0.1\n", "b.yaml": "lr: [0.1\n", "c.py": "width = 8\n"}
    for number in range(10):
        mutation = OfflineMutator().mutate(make_task(files), random.Random(number))
        child = apply_change(files, mutation.change, editable=("**",))
        assert child.changed == ("c.py",)


def test_a_file_nested_too_deeply_is_left_alone() -> None:
    files = {"a.py": f"x = {' + '.join(['1'] * 600)}\n", "b.yaml": "a: " + "[" * 600 + "]" * 600}
    assert OfflineMutator().mutate(make_task(files), random.Random(0)).change == ""


def test_one_change_may_touch_two_files() -> None:
    files = {"a.py": "lr = 0.1\n", "b.yaml": "width: 64\n"}
    changes = (
        OfflineMutator().mutate(make_task(files), random.Random(number)) for number in range(60)
    )
    touched = {apply_change(files, m.change, editable=("**",)).changed for m in changes}
    assert touched == {("a.py",), ("b.yaml",), ("a.py", "b.yaml")}

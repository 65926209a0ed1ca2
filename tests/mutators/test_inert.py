"""A value whose change came to nothing is remembered, and seldom changed again."""

from __future__ import annotations

import json
import math
import random
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from mutator_tasks import make_task
from tiny_project import make_project

from lae_controller import build, config, load
from lae_controller.api import Loop
from lae_controller.change.diff import apply_change
from lae_controller.children import Children
from lae_controller.hosted import evaluate
from lae_controller.mutators.inert import Inert, equal_on_each_seed, lines_of, without_effect
from lae_controller.mutators.offline import OfflineMutator
from lae_controller.program import Artifacts, Evaluation, Reason, Status
from lae_controller.sandbox.launch import Lifelines
from lae_controller.state import Asked
from lae_controller.steps import Steps
from lae_controller.task import Task

RAN = Evaluation(
    Status.EVALUATED,
    smoke_metric=0.7,
    metric=0.5,
    params=610,
    repeats=(0.5, 0.6),
    artifacts=Artifacts(
        curve=((1.0, 0.912345678), (2.0, 0.6543217891), (3.0, 0.5)), per_class={"a": 0.25}
    ),
)


def test_a_run_that_shows_all_that_its_parent_s_first_one_did() -> None:
    assert without_effect(replace(RAN, repeats=(0.5,), seconds=9.0), RAN)


@pytest.mark.parametrize(
    "change",
    [
        {"repeats": (0.5000001,)},
        {"smoke_metric": 0.70001},
        {"params": 620},
        {
            "artifacts": replace(
                RAN.artifacts, curve=((1.0, 0.912345678), (2.0, 0.6543217892), (3.0, 0.5))
            )
        },
        {"artifacts": replace(RAN.artifacts, per_class={"a": 0.26})},
    ],
    ids=["metric", "smoke", "params", "curve", "class"],
)
def test_whatever_differs_is_an_effect(change: dict[str, object]) -> None:
    assert not without_effect(replace(RAN, **change), RAN)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "telling"),
    [
        ([], False),
        ([0.5], False),
        ([0.5, 0.5], False),
        ([0.55, 0.7, 0.85, 0.9], False),  # of 20 examples
        ([0.5333, 0.7333, 0.9667], False),  # of 30, rounded
        ([44 / 60, 51 / 60, 53 / 60, 1.0], False),
        ([0.0, -1.5, math.inf, 1e-5], False),
        ([1.4142136, 1.4142136], False),
        ([2.1938, 1.4017, 1.1273, 0.9881], True),
        ([-2.193847, 1.401723, 1.127365], True),
        ([0.6931471805599453, 0.6213894417], True),
    ],
)
def test_a_curve_of_few_digits_may_be_chance(values: list[float], telling: bool) -> None:
    curve = tuple((float(at), value) for at, value in enumerate(values))
    ran = replace(RAN, artifacts=replace(RAN.artifacts, curve=curve))
    assert without_effect(ran, ran) is telling


def test_a_later_seed_may_show_an_effect() -> None:
    assert equal_on_each_seed(RAN, (0.5, 0.6))
    assert equal_on_each_seed(RAN, (0.5,))
    assert not equal_on_each_seed(RAN, (0.5, 0.61))
    assert not equal_on_each_seed(replace(RAN, repeats=()), (0.5,))


@pytest.mark.parametrize("reason", [Reason.SHADOWED, Reason.EXIT, Reason.SUSPECT])
def test_what_did_not_run_to_its_end_says_nothing(reason: Reason) -> None:
    assert not equal_on_each_seed(replace(RAN, reason=reason), RAN.repeats)


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ("a = 1\nb = 2\n", "a = 1\nb = 2.5e-3\n", ["m.py: b = 2", "m.py: b = 2.5e-3"]),
        ("f(x, True, 'no')\n", 'f(x, False, "yes")\n', [*"??"]),
        ("x: 0.1\ny: 1\n", "x: -.5\ny: 1\n", [*"??"]),
        (
            "r = 0.1  # was 0.3\nb = 2\n",
            "r = 0.1  # was 0.2\nb = 3\n",
            ["m.py: b = 2", "m.py: b = 3"],
        ),
        ("r = 0.10\nb = 'x#1'\n", "r = 1e-1\nb = 'x#2'\n", ["m.py: b = 'x#1'", "m.py: b = 'x#2'"]),
        ("a:\n  r: 0.1\nb:\n  r: 0.1\n", "a:\n  r: 0.2\nb:\n  r: 0.1\n", []),
        ("a:\n  r: 0.1\nb:\n  r: 0.5\n", "a:\n  r: 0.5\nb:\n  r: 0.5\n", []),
        ("a = 1\nb = 2\n", "b = 2\na = 1\n", []),
        ("a = x * 2\n", "a = x + x\n", []),
        ("a = 1\n", "a = 1\nb = 2\n", []),
        ("a = 1\nb = 2\n", "a = 1\n", []),
        ("a = 1\nb = 2\n", "a = 3\nb = c\n", []),
        ("a = 1  # " + 200 * "-", "a = 2  # " + 200 * "-", []),
        ("".join(f"v{n} = 1\n" for n in range(13)), "".join(f"v{n} = 2\n" for n in range(13)), []),
    ],
)
def test_only_values_say_what_has_no_effect(before: str, after: str, lines: list[str]) -> None:
    if "?" in lines:
        lines = [f"m.py: {text.splitlines()[0]}" for text in (before, after)]
    assert lines_of({"m.py": before}, {"m.py": after}) == tuple(lines)


OPTIONS = "add('--layers', type=int, default=4)\nadd('--heads', type=int, default=2)\n"


def test_options_of_other_names_are_other_lines() -> None:
    after = {"m.py": OPTIONS.replace("=4", "=5")}
    said = (
        "m.py: add('--layers', type=int, default=4)",
        "m.py: add('--layers', type=int, default=5)",
    )
    assert lines_of({"m.py": OPTIONS}, after) == said
    inert = Inert()
    inert.tell(said)
    assert inert.among({"m.py": OPTIONS}) == said[:1]


def test_a_text_that_another_section_may_come_to_hold_says_nothing() -> None:
    before = "idle:\n  kind: 'sgd'\nused:\n  kind: 'lion'\n"
    assert lines_of({"m.yaml": before}, {"m.yaml": before.replace("sgd", "adam")}) == ()


def test_a_new_file_says_nothing() -> None:
    assert lines_of({"m.py": "a = 1\n"}, {"m.py": "a = 2\n", "n.py": ""}) == ()


def test_what_a_program_has_of_it_is_told_latest_last() -> None:
    inert = Inert()
    inert.tell(["m.py: a = 1", "m.py: a = 2"])
    inert.tell(["n.py: b = 1", "m.py: a = 1"])
    assert inert.among({"m.py": "    a = 1\nb = 1\n", "n.py": "b = 1\n"}) == (
        "n.py: b = 1",
        "m.py: a = 1",
    )
    assert inert.among({"m.py": "a = 1\nif b:\n    a = 3\n", "n.py": "b = 1\n"}) == ("n.py: b = 1",)
    inert.tell(f"m.py: c = {number}" for number in range(400))
    assert inert.among({"m.py": "a = 1\nc = 0\n"}) == ("m.py: c = 0",)


def changed(task: Task, times: int = 200) -> Counter[tuple[str, ...]]:
    """Return which lines of a program children change, and how often."""
    found: Counter[tuple[str, ...]] = Counter()
    for number in range(times):
        mutation = OfflineMutator().mutate(task, random.Random(number))
        after = apply_change(task.files, mutation.change, editable=("m.py",)).files
        pairs = zip(task.files["m.py"].splitlines(), after["m.py"].splitlines(), strict=True)
        found[tuple(old.split()[0] for old, new in pairs if old != new)] += 1
    return found


def test_lines_that_were_changed_in_vain_are_seldom_changed() -> None:
    task = make_task({"m.py": "first_rate = 0.1\nsecond_rate = 0.2\n"})
    plain = changed(task)
    weary = changed(replace(task, inert=("m.py: first_rate = 0.1",)))
    assert plain["first_rate",] > 50
    assert 0 < weary["first_rate",] < 20
    assert weary["second_rate",] > plain["second_rate",] + 15


def test_where_nothing_else_is_left_they_are_changed() -> None:
    task = replace(make_task({"m.py": "rate = 0.1\n"}), inert=("m.py: rate = 0.1",))
    for number in range(20):
        assert OfflineMutator().mutate(task, random.Random(number)).change


def proposed(api: Loop, before: str, after: str) -> str:
    """Let a child change a line, evaluate and tell it; return its id."""
    (task,) = api.ask(1).tasks
    path = task.directory / "model.py"
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after))
    assert evaluate.evaluate_here(api.settings, task.child_id) is not None
    api.tell(task.child_id)
    return task.child_id


def test_a_run_finds_and_tells_it(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project", "isolation: none\n")
    text = (project / "loop.run.yaml").read_text()
    text = text.replace("schedule: generational", "schedule: async")
    (project / "loop.run.yaml").write_text(text.replace("num_islands: 2", "num_islands: 1"))
    (project / "model.py").write_text((project / "model.py").read_text() + "\n\nLAYERS = 4\n")
    build.prepared_run(config.load(project), Lifelines(), [].append)
    api = load(project)
    vain = proposed(api, "LAYERS = 4", "LAYERS = 5")
    better = proposed(api, "RATE = 0.5", "RATE = 0.3")
    journal = (project / "sandbox/lae/journal.jsonl").read_text().splitlines()
    told = {
        event["record"]["child_id"]: event["record"]["inert"]
        for event in map(json.loads, journal)
        if event["event"] == "told"
    }
    assert told == {
        "g0-i0-a0": [],
        vain: ["model.py: LAYERS = 4", "model.py: LAYERS = 5"],
        better: [],
    }
    (task,) = api.ask(1).tasks
    assert task.parent_id == better
    said = (task.directory.parents[1] / "tasks" / task.child_id / "TASK.md").read_text()
    assert "nothing at all came of it, so leave these lines:\n- model.py: LAYERS = 4" in said


def test_a_child_is_told_though_its_parent_s_program_is_gone(tmp_path: Path) -> None:
    settings = config.load(make_project(tmp_path / "project", "isolation: none\n"))
    prepared = build.prepared_run(settings, Lifelines(), [].append)
    steps = Steps(replace(build.unread(settings, [].append), prepared=prepared))
    steps.begin(0)
    child, lae = Asked("g1-i0-a0", 0, 1, "g0-i0-a0", "by_rank"), settings.lae_dir
    evaluation, program = prepared.baseline.evaluation(charged=True), lae / "programs"
    shutil.copytree(program / "g0-i0-a0", program / "g1-i0-a0")
    (program / "g1-i0-a0/model.py").write_text("RATE = 0.5\n")
    shutil.rmtree(program / "g0-i0-a0")
    later = Children(settings, prepared, Lifelines())  # has no program in memory
    assert later.changed_in_vain(child, evaluation, steps.state) == ()
    steps.close()

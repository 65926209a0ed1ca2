from __future__ import annotations

from dataclasses import replace

import pytest
from prompt_tasks import plain_task

from lae_controller.program import Intervention, child_id
from lae_controller.prompts.ideas import IDEAS, Idea, idea_for, overused, underused
from lae_controller.task import Credit

NET = """\
LR = 0.1
BATCH = 8
class Net:
    def train(self, hidden, x):
        w = normal(x)
        return relu(grad(w))
"""
PROGRAM = {"net.py": NET}


def idea_of(text: str) -> Idea:
    return next(idea for idea in IDEAS if text.partition(", see `")[0] in idea.wordings)


def stated(generations: int, slots: int, files: dict[str, str] = PROGRAM) -> list[Idea]:
    return [
        idea_of(idea_for(plain_task(files, child_id(gen, gen % 2, slot))))
        for gen in range(1, generations + 1)
        for slot in range(slots)
    ]


def test_the_children_of_a_generation_get_different_ideas() -> None:
    assert len({idea.wordings for idea in stated(1, 8)}) == 8


@pytest.mark.parametrize(("generations", "slots"), [(30, 1), (15, 2), (8, 4)])
def test_every_idea_comes_round(generations: int, slots: int) -> None:
    assert {idea.wordings for idea in stated(generations, slots)} == {
        idea.wordings for idea in IDEAS
    }


def test_the_same_child_gets_the_same_idea() -> None:
    task = plain_task(PROGRAM)
    assert idea_for(task) == idea_for(replace(task, attempt=1, tried=(), insights=("x",)))


def test_an_idea_needs_a_foothold() -> None:
    task = plain_task({"sort.py": "def sort(items):\n    return items\n"})
    found = {idea_for(replace(task, child_id=child_id(gen, 0, 0))) for gen in range(1, 60)}
    assert "a simpler form of one function" in found
    assert not {text for text in found if "rate" in text or "batch" in text}


def test_a_worn_kind_gives_way_every_second_time() -> None:
    kinds = {"optimiser": Credit(20.0, 0.0), "init": Credit(4.0, 4.0)}
    ids = [child_id(gen, 0, 0) for gen in range(1, 200)]
    plain = [idea_of(idea_for(plain_task(PROGRAM, name))).kind for name in ids]
    worn = [idea_of(idea_for(replace(plain_task(PROGRAM, n), kinds=kinds))).kind for n in ids]
    before = plain.count(Intervention.OPTIMISER)
    assert 0.3 * before < worn.count(Intervention.OPTIMISER) < 0.8 * before


def shares(broken: float) -> float:
    """Return the share of ideas that need new code, where ``broken`` of 20 children broke."""
    kinds = {"optimiser": Credit(10.0, 5.0, broken), "other": Credit(10.0, 5.0)}
    ids = [child_id(gen, 0, 0) for gen in range(1, 300)]
    tasks = [replace(plain_task(PROGRAM, name), kinds=kinds) for name in ids]
    return sum(not idea_of(idea_for(task)).anchored for task in tasks) / len(tasks)


def test_where_many_children_break_numbers_are_asked_for() -> None:
    sound, some, many, all_of_them = (shares(broken) for broken in (0.0, 5.0, 7.0, 20.0))
    assert sound == shares(3.0)
    assert 0.4 * sound < some < 0.8 * sound
    assert 0.03 < many < 0.25 * sound
    assert many == all_of_them


def test_a_few_broken_children_say_nothing() -> None:
    task = plain_task(PROGRAM, child_id(3, 0, 0))
    plain = [idea_for(replace(task, child_id=child_id(gen, 0, 0))) for gen in range(1, 60)]
    few = {"other": Credit(5.0, 0.0, 5.0)}
    told = replace(task, kinds=few)
    assert [idea_for(replace(told, child_id=child_id(gen, 0, 0))) for gen in range(1, 60)] == plain


def test_worn_and_rare_kinds() -> None:
    kinds = {
        "optimiser": Credit(9.0, 1.0),
        "schedule": Credit(9.0, 6.0),
        "data": Credit(5.0, 0.0),
        "other": Credit(9.0, 4.0),
    }
    assert overused(kinds) == (Intervention.OPTIMISER,)
    assert underused(kinds) == (
        Intervention.ARCHITECTURE,
        Intervention.REGULARISATION,
        Intervention.INIT,
    )


def test_nothing_is_worn_or_rare_at_first() -> None:
    assert overused({}) == underused({}) == ()
    assert underused({"init": Credit(2.0, 0.0)}) == ()

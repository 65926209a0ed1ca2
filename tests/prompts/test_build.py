from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from prompt_tasks import CONFIG, FAILURES, NET, full_task, plain_task

from lae_controller.config import MutatorSettings
from lae_controller.errors import ChildError
from lae_controller.program import Artifacts, Reason
from lae_controller.prompts import Prompt, agent_prompt, build_prompt, estimate_tokens
from lae_controller.prompts.code import fenced
from lae_controller.task import Failure, Task


def prompt(task: Task, *, reply: str = "diff", token_limit: int = 8000) -> Prompt:
    return build_prompt(task, MutatorSettings(reply=reply), token_limit=token_limit)


def asked(task: Task, token_limit: int = 8000) -> str:
    return prompt(task, token_limit=token_limit).turns[-1].text


@pytest.mark.parametrize("reply", ["diff", "files"])
@pytest.mark.parametrize("failures", [(), FAILURES])
def test_turns_alternate_and_none_is_empty(reply: str, failures: tuple[Failure, ...]) -> None:
    turns = prompt(replace(full_task(), failures=failures), reply=reply).turns
    assert turns[0].role == turns[-1].role == "user"
    assert all(one.role != other.role for one, other in pairwise(turns))
    assert all(turn.text.strip() for turn in turns)


def test_what_comes_before_the_cache_mark_is_the_same_for_every_child() -> None:
    one = prompt(full_task())
    other = prompt(
        replace(full_task(), child_id="g9-i3-a2", parent_metric=0.1, tried=(), failures=FAILURES)
    )
    marks = [at for at, turn in enumerate(one.turns) if turn.cacheable]
    assert marks == [3]
    assert (one.system, one.turns[:4]) == (other.system, other.turns[:4])
    assert one.turns[4] != other.turns[4]


def test_no_example_of_the_form_stands_in_the_instructions() -> None:
    assert "SEARCH\n" not in prompt(full_task()).system
    assert "```" not in prompt(full_task(), reply="files").system


@pytest.mark.parametrize("share", [1.0, 0.95, 0.85, 0.75, 0.65])
def test_a_prompt_keeps_to_its_limit_and_says_what_is_missing(share: float) -> None:
    limit = int(prompt(full_task()).tokens * share)
    built = prompt(full_task(), token_limit=limit)
    assert built.tokens <= limit
    assert built.tokens == estimate_tokens(built.system + "".join(t.text for t in built.turns))
    for part in built.dropped:
        assert part in built.turns[-1].text
    assert bool(built.dropped) == (share < 1)


def test_the_code_is_the_last_to_go() -> None:
    limits = range(1500, 580, -40)
    gone = [prompt(full_task(), token_limit=limit).dropped for limit in limits]
    files = [at for at, parts in enumerate(gone) if any("lines)" in part for part in parts)]
    examples = [at for at, parts in enumerate(gone) if "examples left out" in parts]
    log = [at for at, parts in enumerate(gone) if "log left out" in parts]
    assert log[0] < examples[0] < files[0]


def test_files_that_do_not_fit_are_others_for_other_children() -> None:
    long = {f"{name}.py": f"# {name}\n" + "x = 1\n" * 400 for name in "abc"}
    texts = [asked(plain_task(long, f"g{gen}-i0-a0"), token_limit=1500) for gen in range(1, 4)]
    assert ["# a" in text for text in texts] != ["# b" in text for text in texts]
    assert all("(401 lines) left out" in text for text in texts)


def test_a_program_of_which_no_file_fits_is_refused() -> None:
    with pytest.raises(ChildError, match=r"net\.py alone .* at most 900") as info:
        prompt(plain_task({"net.py": "x = 1\n" * 1000}), token_limit=900)
    assert info.value.reason is Reason.MUTATOR_ERROR


def test_the_older_attempts_go_before_the_last() -> None:
    failures = tuple(Failure(f"reply {n} " + "y" * 900, Reason.SYNTAX, "bad") for n in range(3))
    built = prompt(replace(plain_task(), failures=failures), token_limit=1150)
    texts = "".join(turn.text for turn in built.turns)
    assert "reply 2" in texts
    assert "reply 1" not in texts
    assert "earlier attempts shortened" in built.dropped


def test_only_the_evolve_blocks_are_shown_unless_all_is_asked_for() -> None:
    task = plain_task({"net.py": NET})
    assert "print(Net()" not in asked(task)
    assert "`def main():`" in asked(task)
    whole = asked(replace(task, whole_files=True))
    assert f"```python\n{NET}```" in whole
    assert "only what is between them" in prompt(replace(task, whole_files=True)).system


def test_without_signatures_the_lines_next_to_the_block_are_told() -> None:
    text = "; settings\n; speed\n# EVOLVE-BLOCK-START\nspeed = 1\n# EVOLVE-BLOCK-END\nend\n"
    assert "`; settings`; `; speed`; `end`" in asked(plain_task({"a.ini": text}))


def test_a_fence_is_longer_than_any_in_the_code() -> None:
    assert fenced("a\n```\nb", "x.md") == "````md\na\n```\nb\n````"


def test_a_log_that_the_curve_tells_already_is_left_out() -> None:
    quiet = Artifacts(curve=((1.0, 2.0), (2.0, 1.0)), log_tail="epoch 2 loss 1.0")
    assert "epoch 2" not in asked(replace(plain_task(), parent_artifacts=quiet))
    loud = replace(quiet, log_tail="epoch 2 loss 1.0\nUserWarning: slow")
    assert "UserWarning" in asked(replace(plain_task(), parent_artifacts=loud))
    assert "epoch 2" in asked(
        replace(plain_task(), parent_artifacts=Artifacts(log_tail="epoch 2 loss 1.0"))
    )


def test_nothing_that_is_named_like_a_secret_is_told() -> None:
    failures = (Failure("x", Reason.EXIT, "env MY_PASSWORD=hush missing"),)
    task = replace(full_task(), failures=failures, insights=("used API_KEY=hush",))
    built = prompt(task)
    texts = built.system + "".join(turn.text for turn in built.turns) + agent_prompt(task)
    assert "hush" not in texts


def test_an_agent_gets_no_examples_and_long_code_is_left_to_it() -> None:
    text = agent_prompt(full_task())
    assert "Heater" not in text
    assert "edit them there" in text
    long = agent_prompt(plain_task({"net.py": "x = 1\n" * 15_000, "c.yaml": CONFIG}))
    assert "net.py (15000 lines) left out" in long
    assert len(long) < 5000


def test_all_facts_are_of_the_task() -> None:
    bare = prompt(replace(plain_task(), parent_metric=None))
    assert "None" not in bare.system + bare.turns[-1].text
    assert "larger is better" in bare.system

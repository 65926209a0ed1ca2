from __future__ import annotations

from dataclasses import replace

import pytest
from mutator_tasks import make_task

from lae_controller.config import MutatorSettings
from lae_controller.errors import ConfigError
from lae_controller.mutators.cost_limit import check_cost_limit, worst_cost
from lae_controller.prices import DEFAULT_MODEL, cost_of, price_of, worst_call
from lae_controller.program import Reason, Usage
from lae_controller.task import Failure

ASKED = MutatorSettings("anthropic", model="claude-opus-5-5", max_tokens=1000)
TASK = make_task({"train.py": "LR = 0.1\n" * 200})
MILLION = 1_000_000


@pytest.mark.parametrize(
    ("usage", "usd"),
    [
        (Usage(input_tokens=MILLION), 4.0),
        (Usage(output_tokens=MILLION), 20.0),
        (Usage(cache_write_tokens=MILLION), 5.0),
        (Usage(cache_read_tokens=MILLION), 0.2),
        (Usage(), 0.0),
    ],
)
def test_each_kind_of_token_has_its_price(usage: Usage, usd: float) -> None:
    assert cost_of("claude-opus-5-5", usage) == pytest.approx(usd)


@pytest.mark.parametrize(
    "name",
    [
        "claude-opus-5-5",
        "claude-opus-5-5-20261001",
        "claude-opus-5-5-latest",
        "claude-opus-5-5@20261001",
        "anthropic/claude-opus-5-5",
    ],
)
def test_spellings_of_one_model_cost_the_same(name: str) -> None:
    assert price_of(name) == price_of("claude-opus-5-5") is not None


@pytest.mark.parametrize("name", ["", "qwen", "claude-opus-5", "claude-opus-5-5-mini"])
def test_the_price_of_another_model_is_not_guessed(name: str) -> None:
    assert price_of(name) is None
    assert cost_of(name, Usage(input_tokens=5)) is None


def test_the_default_model_has_a_price() -> None:
    assert price_of(DEFAULT_MODEL) is not None


def test_a_limit_without_a_price_is_refused_by_name() -> None:
    limited = replace(ASKED, model="qwen", max_cost_usd=2.5)
    with pytest.raises(ConfigError, match=r"max_cost_usd is 2\.5.*'qwen'.*claude-haiku-5-5, claud"):
        check_cost_limit(limited)
    for fine in (ASKED, replace(limited, max_cost_usd=None), replace(limited, backend="offline")):
        check_cost_limit(fine)
    check_cost_limit(replace(limited, model=None))


def test_one_call_costs_at_most_its_prompt_uncached_and_the_longest_reply() -> None:
    assert worst_call("claude-opus-5-5", 1000, 2000) == pytest.approx((5 * 1000 + 20 * 2000) / 1e6)
    assert worst_call("qwen", 1000, 2000) is None


def test_the_bound_of_a_proposal_counts_its_repairs() -> None:
    costs = [worst_cost(TASK, replace(ASKED, repair_attempts=n)) for n in (0, 1, 2)]
    first, second, third = (cost or 0.0 for cost in costs)
    assert 0.04 < first < 0.2  # two replies of 1000 tokens, and small prompts
    assert second > 2 * first
    assert third > second + first
    failed = replace(TASK, failures=(Failure("x", Reason.BAD_DIFF, "no such line"),))
    left = worst_cost(failed, replace(ASKED, repair_attempts=2))
    assert left is not None
    assert first < left < third


def test_what_cannot_be_bounded_is_none_and_what_is_free_is_zero() -> None:
    assert worst_cost(TASK, replace(ASKED, model="qwen")) is None
    assert worst_cost(TASK, replace(ASKED, backend="agent")) is None
    assert worst_cost(TASK, MutatorSettings()) == 0.0

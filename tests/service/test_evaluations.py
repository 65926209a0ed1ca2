from __future__ import annotations

from typing import Any

import pytest
from serve_helpers import an_evaluation

from lae_controller.codec import decode, encode
from lae_controller.program import Reason, Status
from lae_controller.service.api_errors import ApiError
from lae_controller.service.evaluations import Insight, Scored, penalty, read_evaluation


def test_an_evaluation_reads_as_it_is_written() -> None:
    wire = {
        **an_evaluation({"accuracy": 0.95, "latency": -42.5}),
        "insights": {"insights": [{"label": "tests", "text": "5 of 5"}]},
    }
    scored = read_evaluation(wire, "evaluation")
    assert scored.to_wire() == wire
    assert list(decode(Scored, encode(scored)).scores) == ["accuracy", "latency"]


@pytest.mark.parametrize(
    ("wire", "said"),
    [
        ({}, "evaluation.scores.scores is empty"),
        (an_evaluation({}), "is empty"),
        ({"scores": {"scores": [{"score": 1}]}}, r"scores\[0\].metric is missing"),
        ({"scores": {"scores": [{"metric": "a"}]}}, r"score is missing \(metric 'a'\)"),
        (an_evaluation({"a": float("nan")}), r"score is nan \(metric 'a'\)"),
        (an_evaluation({"a": float("-inf")}), "score is -inf"),
        ({"scores": {"scores": [{"metric": "a", "score": 1}] * 2}}, "'a' again"),
        (an_evaluation({f"m{n}": 1.0 for n in range(101)}), "holds 101 scores"),
    ],
)
def test_scores_have_rules(wire: dict[str, Any], said: str) -> None:
    with pytest.raises(ApiError, match=said):
        read_evaluation(wire, "evaluation")


def test_the_search_goes_by_one_metric_and_is_told_the_others() -> None:
    told = Scored({"b": -1.0, "a": 0.5}).evaluation("a", 3.0)
    assert (told.status, told.metric, told.metrics) == (Status.EVALUATED, 0.5, {"b": -1.0})
    assert (told.seconds, told.charge) == (3.0, 1.0)


@pytest.mark.parametrize("scores", [{"a": -100_000.0}, {"a": -1e12}, {"b": 2.0}])
def test_a_program_that_was_not_measured_is_a_crash_and_never_mended(
    scores: dict[str, float],
) -> None:
    told = Scored(scores, (Insight("error", "it broke"),)).evaluation("a", 1.0)
    assert (told.status, told.metric, told.reason) == (Status.CRASH, None, Reason.TIMEOUT)
    assert "it broke" in told.detail


def test_remarks_are_few_and_short_and_name_all_scores() -> None:
    insights = tuple(Insight(f"l{n}", "x" * 2_000) for n in range(20))
    remarks = Scored({"a": 1.0, "b": 2.0}, insights).remarks()
    assert remarks[0] == "scores: a 1, b 2"
    assert len(remarks) == 11
    assert max(map(len, remarks)) == 1_000


def test_the_penalty_is_the_api_s_for_every_metric() -> None:
    assert penalty(["a", "b"]).scores == {"a": -100_000.0, "b": -100_000.0}
    assert penalty([]).failed

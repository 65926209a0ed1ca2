from __future__ import annotations

import json
from pathlib import Path

import pytest

from lae_controller import results
from lae_controller.errors import ConfigError
from lae_controller.program import Artifacts, Evaluation, Intervention, Reason, Status


def result(evaluation: Evaluation) -> results.Result:
    return results.Result(
        "g3-i1-a2", "g1-i1-a0", 1, "add, a norm", Intervention.ARCHITECTURE, "swap", "d", evaluation
    )


@pytest.mark.parametrize(
    "evaluation",
    [
        Evaluation(
            Status.EVALUATED, 0.61, 0.71, params=610, charge=1.25, seconds=3.5, repeats=(0.71,),
            metrics={"f1": 0.5},
            artifacts=Artifacts(((1.0, 0.5),), {"cat": 0.9}, "tail", ("odd",)),
        ),
        Evaluation(Status.SMOKE_DROPPED, 0.4, detail="worse", charge=0.25),
        Evaluation(Status.CRASH, reason=Reason.BAD_DIFF, detail="no block"),
    ],
)  # fmt: skip
def test_a_result_reads_back(tmp_path: Path, evaluation: Evaluation) -> None:
    (tmp_path / "results").mkdir()
    results.write(tmp_path, result(evaluation))
    found = results.read(tmp_path, "g3-i1-a2")
    assert found is not None
    assert found.evaluation == evaluation
    assert found.summary == "add; a norm"
    value = json.loads(results.path_of(tmp_path, "g3-i1-a2").read_text())
    assert value["sandbox_path"] == "lae/programs/g3-i1-a2"


def test_a_metric_without_an_evaluation_is_refused(tmp_path: Path) -> None:
    wrong = result(Evaluation(Status.CRASH, metric=0.5))
    with pytest.raises(ConfigError, match="metric"):
        results.write(tmp_path, wrong)


def test_a_missing_or_torn_result_is_none(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    assert results.read(tmp_path, "g3-i1-a2") is None
    results.path_of(tmp_path, "g3-i1-a2").write_text('{"child_id": "g3')
    assert results.read(tmp_path, "g3-i1-a2") is None

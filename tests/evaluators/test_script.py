from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from scored_project import Scored

from lae_controller.errors import ChildError, ConfigError
from lae_controller.evaluators.script import leave_guarded_job, read_score, sealed_answer
from lae_controller.program import Reason

SETTINGS = """\
metric: score
metric_direction: maximize
editable_files: [solver.py]
scoring: {mode: custom_script, script: judge/score.py}
"""
SCRIPT = '''\
"""Counts."""
import json, os, pathlib
import candidate
found = sorted(str(p) for p in pathlib.Path().rglob("*.*") if "__pycache__" not in str(p))
score = candidate.solve([int(word) for word in os.environ["LAE_SHARDS"].split(",")])
print(found)
with open(os.environ["LAE_RESULT"], "w") as stream:
    metrics = {"score": score, "shard 1": 0.2}
    json.dump({"valid": True, "metrics": metrics, "error": "so so"}, stream)
'''
SOLVER = "def solve(shards):\n    return len(shards) / 10\n"


@pytest.fixture
def scored(tmp_path: Path) -> Scored:
    files = {"solver.py": SOLVER, "judge/score.py": SCRIPT, "data.txt": "secret", "other.py": ""}
    return Scored(tmp_path, SETTINGS, files)


def test_the_script_runs_alone_with_the_candidate(scored: Scored) -> None:
    found = scored.measure()
    assert (found.metric, found.reason, found.proven) == (0.8, None, True)
    assert "['judge/score.py', 'solver.py']" in found.artifacts.log_tail
    assert found.artifacts.log_tail.startswith("so so")
    assert found.artifacts.per_class == {"shard 1": 0.2}
    again = scored.measure(stage="smoke")
    assert again.metric == 0.4


@pytest.mark.parametrize(
    ("result", "reason", "said"),
    [
        ([], Reason.NO_METRIC, "expected an object"),
        ({"valid": False, "error": "line 3"}, Reason.NO_METRIC, "invalid: line 3"),
        ({"valid": 1, "metrics": {"score": 1.0}}, Reason.NO_METRIC, "invalid"),
        ({"valid": True, "metrics": 1.0}, Reason.NO_METRIC, "metrics.score is None"),
        ({"valid": True, "metrics": {"score": "1"}}, Reason.NO_METRIC, "'1'; expected a number"),
        ({"valid": True, "metrics": {"score": True}}, Reason.NO_METRIC, "True; expected a number"),
        ({"valid": True, "metrics": {"score": math.nan}}, Reason.NON_FINITE, "is nan"),
        ({"valid": True, "metrics": {"score": math.inf}}, Reason.NON_FINITE, "is inf"),
        ({"valid": True, "metrics": {"score": 1.01}}, Reason.NO_METRIC, "expected 0 .worst. to 1"),
        ({"valid": True, "metrics": {"score": -0.1}}, Reason.NO_METRIC, "expected 0 .worst. to 1"),
        ({"valid": True, "metrics": {"score": 10**400}}, Reason.NO_METRIC, "expected 0 .worst."),
    ],
)
def test_a_result_that_is_no_score(result: object, reason: Reason, said: str) -> None:
    with pytest.raises(ChildError, match=said) as caught:
        read_score(result, [])
    assert caught.value.reason is reason


def test_further_metrics_are_those_that_the_script_gives() -> None:
    metrics = {"score": 1, "size": 3.5, "time": math.nan, "note": "x"}
    found = read_score({"valid": True, "metrics": metrics}, ["size", "time"])
    assert (found.value, found.metrics, found.parts) == (1.0, {"size": 3.5}, {})


@pytest.mark.parametrize(
    ("solver", "reason", "said"),
    [
        ("raise ValueError('no')", Reason.EXIT, 'solver.py", line 1'),
        ("import os\nos._exit(0)", Reason.NO_METRIC, "ended before the scoring was over"),
        ("import json\njson.dump = print\n" + SOLVER, Reason.HARNESS_CHANGED, "json.dump was set"),
    ],
)
def test_a_broken_candidate_has_no_score(
    scored: Scored, solver: str, reason: Reason, said: str
) -> None:
    found = scored.measure({"solver.py": solver})
    assert (found.metric, found.reason) == (None, reason)
    assert said in found.detail


def test_a_candidate_that_hangs_while_it_prints_has_no_score(scored: Scored) -> None:
    noisy = "while True:\n    print('x' * 1000000)\n"
    found = scored.measure(
        {"solver.py": noisy}, limit=0.5, evaluator=scored.evaluator(stop_grace=0.1)
    )
    assert (found.metric, found.reason) == (None, Reason.TIMEOUT)


def test_a_file_that_would_take_the_place_of_a_module_is_refused(scored: Scored) -> None:
    found = scored.measure({"json.py": "def dump(value, stream): stream.write('1')\n"})
    assert (found.metric, found.reason) == (None, Reason.OUT_OF_BOUNDS)
    assert "in place of the module json" in found.detail


def test_a_candidate_that_is_not_imported_is_not_scored(tmp_path: Path) -> None:
    script = SCRIPT.replace("import candidate\n", "").replace("candidate.solve", "len")
    scored = Scored(tmp_path, SETTINGS, {"solver.py": SOLVER, "judge/score.py": script})
    found = scored.measure()
    assert (found.metric, found.reason) == (None, Reason.SHADOWED)
    assert "solver.py: the candidate was never imported" in found.detail


def test_a_script_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file; expected a Python script"):
        Scored(tmp_path, SETTINGS, {"solver.py": SOLVER}).evaluator()


def forge(place: Path, result: str, **seal: object) -> None:
    secret = json.loads((place / "secret.json").read_text())
    (place / "tmp" / secret["result"]).write_text(result)
    (place / "tmp" / "lae-seal.json").write_text(json.dumps(seal))


@pytest.mark.parametrize(
    ("nonce", "digest", "said"),
    [("guessed", "", "ended before the scoring was over"), (None, "0" * 64, "changed afterwards")],
)
def test_a_seal_that_does_not_fit_seals_nothing(
    tmp_path: Path, nonce: str | None, digest: str, said: str
) -> None:
    (tmp_path / "tmp").mkdir()
    leave_guarded_job(tmp_path, {})
    right = json.loads((tmp_path / "secret.json").read_text())["nonce"]
    forge(tmp_path, "{}", nonce=nonce or right, digest=digest, failed="")
    with pytest.raises(ChildError, match=said.replace("changed afterwards", "changed after")):
        sealed_answer(tmp_path)


def test_a_result_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    leave_guarded_job(tmp_path, {})
    right = json.loads((tmp_path / "secret.json").read_text())
    forge(tmp_path, "{}", nonce=right["nonce"], digest="", failed="")
    place = tmp_path / "tmp" / right["result"]
    place.unlink()
    place.symlink_to(tmp_path / "secret.json")
    with pytest.raises(ChildError, match="cannot be read"):
        sealed_answer(tmp_path)

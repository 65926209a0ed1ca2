from __future__ import annotations

import json
from pathlib import Path

import pytest
from scored_project import Scored

from lae_controller.errors import ConfigError, RefusedError
from lae_controller.evaluators.baseline import BASELINE_ID
from lae_controller.program import Reason
from lae_controller.sandbox.tiers import probe_tiers
from lae_controller.sandbox.view import Tier

SETTINGS = """\
metric: {metric}
metric_direction: {direction}
editable_files: [model.py]
scoring: {{mode: dataset_metric, dataset: t.csv, target: y{more}}}
"""
ROWS = "x,y\n" + "".join(f"{n},{2 * n + 1}\n" for n in range(200))
LINE = "def predict(rows):\n    return [2 * row['x'] for row in rows]\n"


def scored(
    root: Path, model: str = LINE, metric: str = "mae", more: str = ", fit_share: 0"
) -> Scored:
    direction = "minimize" if metric in ("mae", "rmse", "seconds") else "maximize"
    if "relative" in more or "reciprocal" in more:
        direction = "maximize"
    settings = SETTINGS.format(metric=metric, direction=direction, more=more)
    return Scored(root, settings, {"model.py": model, "t.csv": ROWS})


def test_predictions_are_compared_with_answers_that_no_program_holds(tmp_path: Path) -> None:
    spy = "import os\nprint(sorted(os.listdir()))\n"
    project = scored(tmp_path, spy + LINE)
    found = project.measure()
    assert (found.metric, found.proven) == (1.0, True)
    assert found.artifacts.per_class == {f"shard {n}": 1.0 for n in range(4, 12)}
    assert "'model.py']" in found.artifacts.log_tail
    assert "t.csv" not in found.artifacts.log_tail
    job = json.loads((project.lae / "runs" / BASELINE_ID / "full/tmp/lae-job.json").read_text())
    assert all(set(row) == {"x"} for unit in job["shards"] for row in unit)


@pytest.mark.parametrize("isolation", ["bwrap", "landlock"])
def test_the_answers_are_out_of_reach(tmp_path: Path, isolation: str) -> None:
    if not probe_tiers().works(Tier(isolation)):
        pytest.skip(f"{isolation} does not work on this machine")
    places = [str(tmp_path / "t.csv"), str(tmp_path / "sandbox/lae/scoring/dataset.csv")]
    spy = (
        f"for place in {places!r}:\n    try:\n        print('read', len(open(place).read()))\n"
        "    except OSError as error:\n        print('refused', error.errno)\n"
    )
    settings = SETTINGS.format(metric="mae", direction="minimize", more=", fit_share: 0")
    project = Scored(tmp_path, settings, {"model.py": spy + LINE, "t.csv": ROWS}, isolation)
    found = project.measure()
    assert (found.metric, found.tier) == (1.0, isolation)
    assert found.artifacts.log_tail.count("refused") == 2
    assert "read" not in found.artifacts.log_tail


def test_stages_see_rows_of_their_own_and_a_fit_sees_others(tmp_path: Path) -> None:
    model = (
        "def fit(rows, targets):\n    return {row['x']: y for row, y in zip(rows, targets)}\n\n\n"
        "def predict(rows, known):\n    return [known.get(row['x'], -1) for row in rows]\n"
    )
    project = scored(tmp_path, model, metric="accuracy", more="")
    assert [project.measure(stage=stage).metric for stage in ("smoke", "full", "test")] == [0, 0, 0]
    folder = project.lae / "runs" / BASELINE_ID
    jobs = [json.loads((folder / s / "tmp/lae-job.json").read_text()) for s in ("smoke", "test")]
    asked = [{row["x"] for unit in job["shards"] for row in unit} for job in jobs]
    assert not asked[0] & asked[1]
    assert len(jobs[0]["fit"]["rows"]) == 104
    assert json.loads((project.lae / "scoring/split.json").read_text()) == {
        "rows": 200, "fit": 104, "unit": 6,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("model", "reason", "said"),
    [
        (LINE.replace("2 * row['x']", "float('nan')"), Reason.NON_FINITE, "a prediction is nan"),
        ("raise ValueError('no')\n", Reason.EXIT, "ValueError: no"),
    ],
)
def test_a_broken_candidate_has_no_metric(
    tmp_path: Path, model: str, reason: Reason, said: str
) -> None:
    found = scored(tmp_path, metric="rmse").measure({"model.py": model})
    assert (found.metric, found.reason) == (None, reason)
    assert said in found.detail


def test_forged_answers_are_predictions_like_any_other(tmp_path: Path) -> None:
    forger = (
        "import json, os\nwith open(os.environ['TMPDIR'] + '/lae-predictions.json', 'w') as f:\n"
        "    json.dump({'score': 1.0}, f)\nos._exit(0)\n"
    )
    found = scored(tmp_path).measure({"model.py": forger})
    assert (found.metric, found.reason) == (None, Reason.NO_METRIC)


def test_a_link_to_the_answers_is_not_followed(tmp_path: Path) -> None:
    project = scored(tmp_path)
    answers = project.lae / "scoring" / "dataset.csv"
    forger = (
        "import os\nplace = os.environ['TMPDIR'] + '/lae-predictions.json'\n"
        f"os.symlink({str(answers)!r}, place)\nos._exit(0)\n"
    )
    found = project.measure({"model.py": forger})
    assert (found.metric, found.reason) == (None, Reason.NO_METRIC)
    assert "cannot be read" in found.detail


def test_a_score_relative_to_the_baseline(tmp_path: Path) -> None:
    project = scored(tmp_path, more=", fit_share: 0, normaliser: relative_to_baseline")
    better = LINE.replace("2 * row['x']", "2 * row['x'] + 0.5")
    assert project.measure({"model.py": better}).metric == pytest.approx(2 / 3)  # measures both
    assert project.measure().metric == 0.5


def test_the_time_of_wrong_answers_is_no_metric(tmp_path: Path) -> None:
    right = LINE.replace("2 * row['x']", "2 * row['x'] + 1")
    project = scored(tmp_path, right, metric="seconds")
    whole = project.measure()
    assert whole.metric == whole.seconds
    clock = "import time\ntime.time = time.perf_counter = time.monotonic = lambda: 0.0\n"
    faked = project.measure({"model.py": clock + right})
    assert faked.metric == faked.seconds  # the clock outside of the run is read
    wrong = project.measure({"model.py": "def predict(rows):\n    return [0] * len(rows)\n"})
    assert (wrong.metric, wrong.reason) == (None, Reason.NO_METRIC)
    assert "0.00% of the answers are right; the starting point's are 100.00%" in wrong.detail


def test_the_table_of_a_run_is_the_one_it_began_with(tmp_path: Path) -> None:
    project = scored(tmp_path)
    before = project.measure().metric
    (tmp_path / "t.csv").write_text(ROWS.replace("1,3\n", "1,3000\n"))
    assert project.measure(stage="full-2").metric == before


def test_a_split_that_is_too_thin_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="of 3 rows; expected at least 5"):
        scored(tmp_path, more=", fit_share: 0.7").measure()


def test_text_has_no_error(tmp_path: Path) -> None:
    project = scored(tmp_path)
    (tmp_path / "t.csv").write_text("x,y\n" + "1,cat\n" * 200)
    with pytest.raises(ConfigError, match="holds text; expected numbers, or metric: accuracy"):
        project.measure()


def test_a_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    project = scored(tmp_path)
    (tmp_path / "t.csv").unlink()
    with pytest.raises(ConfigError, match="scoring.dataset is 't.csv', but the project has no"):
        project.measure()

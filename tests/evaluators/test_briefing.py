from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from made import made_baseline

from lae_controller import config
from lae_controller.evaluators.baseline import Baseline
from lae_controller.evaluators.briefing import project_brief, scoring_brief, scoring_notes, shape
from lae_controller.files import make_folder, write_json
from lae_controller.program import Artifacts

HEAD = "metric_direction: maximize\neditable_files: [candidate.py]\ntotal_budget: 9\n"


def settings(root: Path, scoring: str, metric: str = "score") -> config.Settings:
    return config.parse(f"metric: {metric}\n{HEAD}scoring: {{{scoring}}}\n", root / "loop.run.yaml")


def baseline(
    tier: str = "bwrap", metrics: tuple[float, ...] = (0.5, 0.5), **parts: float
) -> Baseline:
    scores = {name.replace("_", " "): value for name, value in parts.items()}
    return made_baseline(
        *metrics, editable=(), digest="", smoke_budget=4, smoke_metric=0.5, smoke_lines=0,
        metric_lines=0, tier=tier, budget_effect=None, artifacts=Artifacts(per_class=scores),
    )  # fmt: skip


def test_the_docstring_of_a_script_is_shown(tmp_path: Path) -> None:
    (tmp_path / "score.py").write_text('"""Packs boxes.\n\nEach shard is a van.\n"""\n')
    brief = scoring_brief(settings(tmp_path, "mode: custom_script, script: score.py"), tmp_path)
    assert brief.endswith("Packs boxes.\n\nEach shard is a van.")


@pytest.mark.parametrize(
    ("scoring", "metric", "said"),
    [
        ("mode: dataset_metric, dataset: d.csv, target: y", "r2", "is called first with other"),
        ("mode: test_gate", "score", "restored before every run"),
        (
            "mode: llm_judge, rubric: rubric.md, scale: [1, 5]",
            "score",
            "from 1 to 5 by this rubric",
        ),
    ],
)
def test_every_mode_says_how_it_scores(
    tmp_path: Path, scoring: str, metric: str, said: str
) -> None:
    assert said in scoring_brief(settings(tmp_path, scoring, metric), tmp_path)


def trained(root: Path, more: str = "") -> config.Settings:
    text = (
        "metric: acc\nmetric_direction: maximize\neditable_files: [model.py]\ntotal_budget: 9\n"
        f'run_cmd: "python train.py --epochs {{budget}}"\ngate: epochs\nbudget: 8\n{more}'
    )
    return config.parse(text, root / "loop.run.yaml")


def test_a_harness_that_the_mutator_does_not_see_speaks_for_itself(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text('"""Calls step(x, y) for every batch."""\n')
    brief = project_brief(trained(tmp_path), tmp_path)
    assert (
        brief
        == "`train.py`, which stays as it is, says of itself:\nCalls step(x, y) for every batch."
    )


def test_the_users_words_come_first(tmp_path: Path) -> None:
    said = trained(tmp_path, 'mutator: {context: "Tell digits apart."}\n')
    assert project_brief(said, tmp_path) == "Tell digits apart."


@pytest.mark.parametrize("script", ["x = 1\n", "def (\n", None])
def test_a_script_that_says_nothing_is_not_mentioned(tmp_path: Path, script: str | None) -> None:
    if script is not None:
        (tmp_path / "train.py").write_text(script)
    assert project_brief(trained(tmp_path), tmp_path) == ""


def test_an_entry_point_that_may_be_edited_is_seen_whole_anyway(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text('"""Trains."""\n')
    editable = replace(trained(tmp_path), editable_files=("train.py",))
    assert project_brief(editable, tmp_path) == ""


def test_nothing_is_fitted_without_a_share(tmp_path: Path) -> None:
    scoring = "mode: dataset_metric, dataset: d.csv, target: y, fit_share: 0"
    assert "fit(" not in scoring_brief(settings(tmp_path, scoring, "r2"), tmp_path)


def test_the_shape_tells_what_a_shard_is(tmp_path: Path) -> None:
    found = settings(tmp_path, "mode: test_gate")
    make_folder(found.lae_dir / "scoring")
    write_json(found.lae_dir / "scoring" / "cases.json", [["a", "b"], ["c", "d", "e"]])
    assert shape(found).endswith("test shards of 2 or more of 5 test cases")


def test_tied_and_binary_shards_are_warned_about(tmp_path: Path) -> None:
    found = settings(tmp_path, "mode: custom_script, script: score.py")
    tied = baseline(shard_4=0.5, shard_5=0.5)
    assert scoring_notes(found, tied)[0].startswith("all 2 units score 0.5")
    assert scoring_notes(found, baseline(shard_4=1.0, shard_5=0.0))[0].startswith("every unit")
    assert scoring_notes(found, baseline(shard_4=0.2, shard_5=0.4, other=0.4)) == []


def test_noise_small_shards_and_open_answers_are_warned_about(tmp_path: Path) -> None:
    found = settings(tmp_path, "mode: dataset_metric, dataset: d.csv, target: y", "r2")
    make_folder(found.lae_dir / "scoring")
    write_json(found.lae_dir / "scoring" / "split.json", {"rows": 90, "fit": 10, "unit": 5})
    said = scoring_notes(found, baseline("none", (0.5, 0.6)))
    assert [text.split()[0] for text in said] == ["the", "5", "isolation"]
    enough = replace(found, scoring=replace(found.scoring, mode="test_gate"))
    assert scoring_notes(enough, baseline(metrics=(1.0, 1.0)))[0].startswith("every group passes")

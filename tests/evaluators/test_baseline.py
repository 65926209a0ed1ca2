from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from lae_controller import build, config
from lae_controller.budget import Budget
from lae_controller.config import Gate
from lae_controller.errors import ConfigError, LedgerError, RefusedError
from lae_controller.evaluators.baseline import Prepared
from lae_controller.sandbox.launch import Lifelines


def prepare(settings: config.Settings, said: list[str] | None = None) -> Prepared:
    say = (said if said is not None else []).append
    return build.prepared_run(settings, Lifelines(), say)


def with_train(project: Path, script: str, extra: str = "") -> config.Settings:
    (project / "train.py").write_text(script)
    with (project / "loop.run.yaml").open("a") as stream:
        stream.write(extra)
    return config.load(project)


READ = "import sys\nbudget = int(sys.argv[2])\n"


def test_the_baseline_is_run_and_charged(project: Path) -> None:
    found = prepare(config.load(project)).baseline
    assert found.metrics == (1.475, 1.475)
    assert found.smoke_metric == pytest.approx(1.775)
    assert (found.spread, found.charge, found.params) == (0.0, 2.25, 80)
    assert (found.smoke_budget, found.budget_effect) == (1.0, True)
    assert found.limit == 60.0


SEEDED = "import sys\nbudget, seed = int(sys.argv[2]), int(sys.argv[3])\n"


def seeded(project: Path, script: str) -> config.Settings:
    """Let the project take a seed; three baseline runs."""
    path = project / "loop.run.yaml"
    text = path.read_text().replace("--epochs {budget}", "--epochs {budget} {seed}")
    path.write_text(text.replace("baseline_runs: 2", "baseline_runs: 3"))
    return with_train(project, SEEDED + script)


def test_where_runs_differ_the_smoke_stage_is_measured_too(project: Path) -> None:
    script = "print('val_loss:', 8 / budget + (seed - 42) / budget)\n"
    settings = seeded(project, script)
    found = prepare(settings).baseline
    assert (found.metrics, found.smoke_metric, found.smokes) == ((2.0, 2.25, 2.5), 8.0, (9.0, 10.0))
    assert (found.spread, found.smoke_spread) == (0.25, 1.0)
    assert found.charge == 3 + 3 * 0.25
    assert found.plan(settings).smoke_slack == pytest.approx(2 * 2**0.5)
    assert not found.is_exact


def test_where_they_do_not_it_costs_nothing(project: Path) -> None:
    settings = seeded(project, "print('val_loss:', 8 / budget)\n")
    found = prepare(settings).baseline
    assert (found.smokes, found.smoke_spread, found.varies) == ((), None, False)
    assert found.charge == 3 + 0.25
    assert found.plan(settings).smoke_slack == 0.0
    assert found.is_exact


def test_a_tie_of_runs_that_differ_otherwise_is_no_proof(project: Path) -> None:
    script = (
        "for epoch in range(budget):\n    print(f'epoch {epoch + 1}: loss {seed / (epoch + 1)}')\n"
        "print('val_loss:', 8 / budget)\n"
    )
    settings = seeded(project, script)
    found = prepare(settings).baseline
    assert (found.spread, found.varies, found.is_exact) == (0.0, True, False)
    assert found.smokes == (8.0, 8.0)
    assert found.plan(settings).smoke_slack == 0.0
    assert Budget(settings, found, 0.25).reserve == 2.0


def test_a_smoke_run_that_fails_on_another_seed_is_said(project: Path) -> None:
    script = (
        "if budget == 1 and seed == 43: sys.exit('too short')\n"
        "print('val_loss:', 8 / budget + seed)\n"
    )
    said: list[str] = []
    found = prepare(seeded(project, script), said).baseline
    assert found.smokes == (52.0,)
    assert any(line.startswith("baseline smoke-2: no val_loss: ") for line in said)


def test_it_is_not_run_twice(project: Path) -> None:
    settings = config.load(project)
    first = prepare(settings)
    (project / "train.py").write_text("raise SystemExit('must not run')")
    assert prepare(settings) == first


def test_a_later_edit_of_the_tree_changes_nothing(project: Path) -> None:
    settings = config.load(project)
    prepare(settings)
    (project / "model.py").write_text("RATE = 9\n")
    assert "RATE = 0.5" in (settings.lae_dir / "base" / "model.py").read_text()


def test_smoke_goes_up_until_a_metric_appears(project: Path) -> None:
    script = READ + "if budget >= 3: print('val_loss:', 1 / budget)\n"
    said: list[str] = []
    found = prepare(with_train(project, script), said).baseline
    assert (found.smoke_budget, found.smoke_metric) == (4.0, None)
    assert found.plan(config.load(project)).smoke is None
    assert "its budget goes up to 2" in said[0]


def test_no_smoke_run_takes_more_than_half_a_full_one(project: Path) -> None:
    path = project / "loop.run.yaml"
    path.write_text(path.read_text().replace("budget: 4\n", "budget: 10\nsmoke_budget: 1\n"))
    said: list[str] = []
    script = READ + "if budget >= 7: print('val_loss:', 1 / budget)\n"
    found = prepare(with_train(project, script), said).baseline
    raised = [line.rpartition(" ")[2] for line in said if "goes up" in line]
    assert raised == ["2", "4", "10"]
    assert found.smoke_budget == 10.0
    assert found.charge == pytest.approx(0.1 + 0.2 + 0.4 + 1.0 + 2.0)


def test_a_baseline_that_crashes_is_refused_with_its_words(project: Path) -> None:
    settings = with_train(project, READ + "raise ValueError('no such data')\n")
    with pytest.raises(RefusedError, match="ValueError: no such data"):
        prepare(settings)


def test_a_metric_that_never_appears_is_refused(project: Path) -> None:
    with pytest.raises(RefusedError, match="no_metric"):
        prepare(with_train(project, READ + "print('accuracy: 1')\n"))


def test_a_budget_without_effect_is_seen(project: Path) -> None:
    assert prepare(with_train(project, "print('val_loss: 0.5')\n")).baseline.budget_effect is False


def test_what_runs_write_is_no_part_of_a_program(project: Path) -> None:
    resume = (
        "from pathlib import Path\n"
        "old = Path('out/model.pt')\n"
        "start = float(old.read_text()) if old.exists() else 1.0\n"
        "Path('out').mkdir(exist_ok=True)\n"
        "old.write_text(str(start / 2))\n"
        "print('val_loss:', start)\n"
    )
    (project / "out").mkdir()
    (project / "out" / "model.pt").write_text("0.001")
    (project / "out" / "other.pt").write_text("0.002")
    (project / "out" / "vocabulary.txt").write_text("a b c")
    said: list[str] = []
    prepared = prepare(with_train(project, resume), said)
    assert prepared.baseline.metrics == (1.0, 1.0)
    assert (prepared.baseline.smoke_metric, prepared.baseline.charge) == (1.0, 2.5)
    paths = {entry.path for entry in prepared.snapshot.entries}
    assert paths & {"out/model.pt", "out/other.pt", "out/vocabulary.txt"} == {"out/vocabulary.txt"}
    assert "out/model.pt" in said[0]


def test_an_interrupted_preparation_keeps_the_runs_it_has(project: Path) -> None:
    count = project.parent / "count"
    script = (
        "import os, sys\n"
        f"open({str(count)!r}, 'a').write(sys.argv[2] + '\\n')\n"
        "open('log.txt', 'a').write('x')\n"
        "if len(open(os.environ['COUNT']).read().split()) == 3: sys.exit('interrupted here')\n"
        "print('val_loss:', 1 / int(sys.argv[2]))\n"
    )
    (project / "log.txt").write_text("old")
    settings = with_train(project, script, f"isolation: none\nenv: {{COUNT: {count}}}\n")
    with pytest.raises(RefusedError, match="interrupted here"):
        prepare(settings)
    assert count.read_text().split() == ["1", "1", "4"]
    found = prepare(settings).baseline
    assert count.read_text().split()[3:] == ["4"] * len(count.read_text().split()[3:])
    assert (found.smoke_metric, found.charge) == (1.0, 2.5)


def test_fixed_settings_may_not_change_between_sessions(project: Path) -> None:
    settings = config.load(project)
    prepare(settings)
    with pytest.raises(ConfigError, match="budget is 8.0, but this run began with 4.0"):
        prepare(dataclasses.replace(settings, budget=8.0))
    prepare(dataclasses.replace(settings, concurrency=1))


def test_seeds_follow_on_each_other(project: Path) -> None:
    script = (
        "import sys\nprint('val_loss:', float(sys.argv[-1].split('=')[1]) + int(sys.argv[2]))\n"
    )
    settings = with_train(project, script, "seed_key: --seed\n")
    assert prepare(settings).baseline.metrics == (46.0, 47.0)


def test_a_project_that_was_mended_is_run_again(project: Path) -> None:
    settings = with_train(project, READ + "raise ValueError('no such data')\n")
    with pytest.raises(RefusedError):
        prepare(settings)
    (project / "train.py").write_text(READ + "print('val_loss:', 2 / budget)\n")
    assert prepare(settings).baseline.metrics == (0.5, 0.5)


def test_a_preparation_that_cannot_be_read_is_named(project: Path) -> None:
    settings = config.load(project)
    prepare(settings)
    base = settings.lae_dir / "base.json"
    value = json.loads(base.read_text())
    del value["baseline"]["metrics"]
    for damaged in ("", "{", "[]", '{"fixed": {}}', '{"fixed": 3}', json.dumps(value)):
        base.write_text(damaged)
        with pytest.raises((LedgerError, ConfigError), match=r"base\.json|began with"):
            prepare(settings)


def test_malformed_markers_are_named_before_anything_runs(project: Path) -> None:
    (project / "model.py").write_text("# EVOLVE-BLOCK-START\nRATE = 1\n")
    with pytest.raises(ConfigError, match=r"model\.py"):
        prepare(config.load(project))


def test_a_budget_key_that_is_not_there_is_refused(project: Path) -> None:
    text = (project / "loop.run.yaml").read_text().replace(" --epochs {budget}", "")
    (project / "loop.run.yaml").write_text(text + "budget_key: c.yaml:epochs\n")
    with pytest.raises(ConfigError, match="no such file in the project"):
        prepare(config.load(project))


def test_the_limit_of_a_time_budget_leaves_room_to_start(project: Path) -> None:
    text = (project / "loop.run.yaml").read_text().replace("gate: epochs", "gate: time")
    (project / "loop.run.yaml").write_text(text)
    script = "import sys\nprint('val_loss:', 1 / float(sys.argv[2]))\n"
    found = prepare(with_train(project, script))
    assert found.baseline.limit == 9.0
    plan = found.baseline.plan(config.load(project))
    assert plan.full.limit == 9.0
    assert config.load(project).gate is Gate.TIME
    assert plan.smoke is not None
    assert plan.smoke.limit == pytest.approx(5.4)

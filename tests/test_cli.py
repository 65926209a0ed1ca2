from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tiny_project import make_project
from typed import typed

ROOT = Path(__file__).resolve().parents[1]


def lae(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lae_controller", *words],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run inside a git repository."""
    root = tmp_path_factory.mktemp("cli") / "project"
    make_project(root)
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "start")
    done = lae("run", str(root), "--yes")
    assert done.returncode == 0, done.stderr
    return root


def git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True)
    return done.stdout.decode()


def best(run: Path) -> str:
    found = json.loads(typed("best", str(run), "--json").stdout)
    return str(found[0]["child_id"])


def test_every_command_has_help() -> None:
    listing = lae("--help").stdout
    for name in "probe init check run status stop best show diff export accept".split():
        assert f"  {name}" in listing
        assert typed(name, "--help").returncode == 0


def test_probe_prints_data_on_stdout() -> None:
    found = json.loads(typed("probe", "--json").stdout)
    assert found["concurrency"] >= 1
    assert found["cores"] >= 1


def test_a_wrong_flag_is_usage() -> None:
    assert lae("run", "--no-such-flag").returncode == 2
    assert lae("nonsense").returncode == 2


def test_without_a_config_it_says_what_to_do(tmp_path: Path) -> None:
    done = typed("check", str(tmp_path))
    assert done.returncode == 2
    assert "lae init" in done.stderr
    assert "Traceback" not in done.stderr


def test_nothing_is_created_without_a_yes(project: Path) -> None:
    done = lae("run", str(project))
    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert not (project / "sandbox").exists()


def test_check_reports_line_by_line_and_its_runs_are_reused(project: Path) -> None:
    done = typed("check", str(project), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["verdict"] == "ready"
    names = list(dict.fromkeys(item["name"] for item in found["checks"]))
    expected = "config machine isolation program smoke full budget test noise"
    assert names == [*expected.split(), "a/a", "errors", "damage", "headroom", "estimate"]
    again = typed("check", str(project))
    assert "baseline full" in done.stderr
    assert "probe: a byte-identical copy, full" in done.stderr
    assert again.stderr == ""
    assert "no spread: deterministic" in again.stdout


def test_a_budget_without_effect_is_refused_unless_forced(project: Path) -> None:
    (project / "train.py").write_text("print('val_loss: 0.5')\n")
    text = (project / "loop.run.yaml").read_text()  # with no room for probes
    (project / "loop.run.yaml").write_text(text.replace("total_budget: 10", "total_budget: 4"))
    assert typed("check", str(project)).returncode == 5
    refused = typed("run", str(project), "--yes")
    assert refused.returncode == 5
    assert "no effect" in refused.stderr
    assert typed("check", str(project), "--force").returncode == 0
    assert typed("run", str(project), "--yes").returncode == 0
    board = (project / "sandbox/lae/leaderboard.md").read_text()
    assert "overruled with --force: budget." in board


def test_the_run_ends_with_a_synthesis_on_stdout(run: Path) -> None:
    done = lae("run", str(run))
    assert done.returncode == 0
    for words in ("Global best", "Best of each island", "Diverse runners-up", "Map of all islands"):
        assert words in done.stdout
    assert "total budget" in done.stderr


def test_status_speaks_of_progress_and_spend(run: Path) -> None:
    found = json.loads(typed("status", str(run), "--json").stdout)
    assert found["running"] is False
    assert found["total"] == 10
    assert 8 < found["spent"] <= 10
    assert found["best"] == best(run)
    assert typed("status", str(run / "sandbox" / "lae")).returncode == 0


def test_stop_without_a_controller_says_so(run: Path) -> None:
    done = typed("stop", str(run))
    assert done.returncode == 2
    assert "no controller is running" in done.stderr


def test_best_is_ranked(run: Path) -> None:
    found = json.loads(typed("best", str(run), "--top", "3", "--json").stdout)
    metrics = [item["metric"] for item in found]
    assert metrics == sorted(metrics)
    assert len(metrics) == 3
    assert Path(found[0]["path"]).is_dir()


def test_show_tells_everything(run: Path) -> None:
    child = best(run)
    found = json.loads(typed("show", child, "--run", str(run), "--json").stdout)
    assert found["child_id"] == child
    assert found["lineage"][-1] == "g0-i0-a0"
    assert found["artifacts"]["curve"]
    assert "val_loss" in typed("show", child, "--run", str(run)).stdout


def test_an_unknown_child_is_named(run: Path) -> None:
    done = typed("show", "g99-i0-a0", "--run", str(run))
    assert done.returncode == 2
    assert "is no child of this run" in done.stderr


def test_diff_and_export_and_git_apply(run: Path, tmp_path: Path) -> None:
    child = best(run)
    against = typed("diff", child, "--run", str(run), "--against", "baseline").stdout
    assert against.startswith("diff --git a/model.py b/model.py")
    assert typed("diff", child, "--run", str(run)).stdout.startswith("diff --git")
    patch = tmp_path / "best.patch"
    assert typed("export", child, "--run", str(run), "-o", str(patch)).returncode == 0
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(run), str(clone))
    git(clone, "apply", str(patch))
    program = run / "sandbox" / "lae" / "programs" / child
    assert (clone / "model.py").read_bytes() == (program / "model.py").read_bytes()
    assert git(clone, "diff", "--stat").count("model.py") == 1


def test_the_baseline_has_nothing_to_export(run: Path) -> None:
    done = typed("export", "g0-i0-a0", "--run", str(run))
    assert done.returncode == 2
    assert "nothing to export" in done.stderr


def test_the_tree_shows_nothing_but_the_sandbox_ignoring_itself(run: Path) -> None:
    assert git(run, "status", "--porcelain") == ""


def test_detach_returns_and_the_run_goes_on(project: Path) -> None:
    done = lae("run", str(project), "--yes", "--detach", "--total-budget", "5")
    assert done.returncode == 0
    until = time.monotonic() + 180
    while "total budget" not in Path(done.stdout.strip()).read_text():
        assert time.monotonic() < until
        time.sleep(0.1)


def test_a_total_given_as_a_flag_is_what_status_shows(project: Path) -> None:
    done = typed("run", str(project), "--yes", "--json", "--total-budget", "5")
    assert json.loads(done.stdout)["total"] == 5
    assert json.loads(typed("status", str(project), "--json").stdout)["total"] == 5


def test_a_total_that_the_baseline_alone_would_spend_is_refused(project: Path) -> None:
    done = typed("run", str(project), "--yes", "--total-budget", "2")
    assert done.returncode == 2
    assert "total_budget is 2; expected at least 4" in done.stderr
    assert not (project / "sandbox").exists()


def test_a_run_can_be_looked_at_although_a_setting_was_changed(run: Path, tmp_path: Path) -> None:
    import shutil

    copied = tmp_path / "copied"
    shutil.copytree(run, copied, symlinks=True)
    path = copied / "loop.run.yaml"
    path.write_text(path.read_text().replace("budget: 4", "budget: 8", 1))
    assert typed("best", str(copied)).returncode == 0
    refused = typed("run", str(copied), "--yes")
    assert refused.returncode == 2
    assert "budget is 8.0, but this run began with 4.0" in refused.stderr


def test_status_speaks_of_a_run_that_is_still_at_its_baseline(project: Path) -> None:
    script = (project / "train.py").read_text()
    (project / "train.py").write_text("import time\ntime.sleep(3)\n" + script)
    started = subprocess.Popen(
        [sys.executable, "-m", "lae_controller", "run", str(project), "--yes"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 180
    while not (project / "sandbox/lae/controller.json").exists():
        assert time.monotonic() < until
        time.sleep(0.02)
    found = json.loads(lae("status", str(project), "--json").stdout)
    started.terminate()
    assert started.wait() == 130
    assert (found["running"], found["phase"]) == (True, "baseline")


def test_the_sandbox_may_lie_in_the_project_itself(project: Path) -> None:
    with (project / "loop.run.yaml").open("a") as stream:
        stream.write("sandbox_root: .\n")
    assert typed("run", str(project), "--yes", "--total-budget", "5").returncode == 0
    assert not (project / "lae" / "base" / "lae").exists()


def test_a_program_that_no_mutator_can_edit_is_refused(project: Path) -> None:
    (project / "notes.txt").write_text("rate 0.5\n")
    text = (project / "loop.run.yaml").read_text().replace("[model.py]", "[notes.txt]")
    (project / "loop.run.yaml").write_text(text)
    done = typed("check", str(project))
    assert done.returncode == 5
    assert "none of notes.txt" in done.stderr


def test_data_that_is_not_there_is_named(project: Path) -> None:
    with (project / "loop.run.yaml").open("a") as stream:
        stream.write("data_paths: [nowhere]\n")
    done = typed("check", str(project))
    assert done.returncode == 2
    assert "data_paths holds 'nowhere'" in done.stderr


@pytest.mark.parametrize(("content", "said"), [(b"\xff\xfe", "UTF-8"), (b"", "is missing")])
def test_init_on_a_file_that_is_none_says_so(project: Path, content: bytes, said: str) -> None:
    (project / "loop.run.yaml").write_bytes(content)
    done = typed("init", str(project), "--set", "budget=3")
    assert done.returncode == 2
    assert said in done.stderr or "holds no mapping" in done.stderr
    assert "Traceback" not in done.stderr


# -- init ----------------------------------------------------------------------------------------


@pytest.fixture
def bare(project: Path) -> Path:
    (project / "loop.run.yaml").unlink()
    return project


def test_init_proposes_and_writes_nothing(bare: Path) -> None:
    done = typed("init", str(bare))
    assert done.returncode == 0, done.stderr
    assert "run_cmd:" in done.stdout
    assert "val_loss" in done.stdout
    assert "editable_files" in done.stderr
    assert not (bare / "loop.run.yaml").exists()


def test_init_never_assumes_what_may_change(bare: Path) -> None:
    done = typed("init", str(bare), "--yes")
    assert done.returncode == 2
    assert "editable_files" in done.stderr
    assert not (bare / "loop.run.yaml").exists()


def test_init_with_the_missing_line_makes_a_run_possible(bare: Path) -> None:
    done = typed("init", str(bare), "--yes", "--set", "editable_files=model.py")
    assert done.returncode == 0, done.stderr
    checked = typed("check", str(bare))
    assert checked.returncode == 0, checked.stderr


def test_init_changes_a_line_and_keeps_the_rest(project: Path) -> None:
    path = project / "loop.run.yaml"
    path.write_text("# mine\n" + path.read_text())
    before = path.read_text()
    done = typed("init", str(project), "--yes", "--set", "total_budget=77", "--set", "reserve=3")
    assert done.returncode == 0, done.stderr
    assert (
        path.read_text() == before.replace("total_budget: 10", "total_budget: 77") + "reserve: 3\n"
    )


def test_init_sets_a_variable_of_the_training_environment(project: Path) -> None:
    assert typed("init", str(project), "--yes", "--set", "env.MODE=fast").returncode == 0
    assert (project / "loop.run.yaml").read_text().endswith('env:\n  MODE: "fast"\n')


@pytest.mark.parametrize("assignment", ["total_budgte=3", "budget", "budget=-1", "gate=meters"])
def test_init_refuses_what_cannot_be(project: Path, assignment: str) -> None:
    before = (project / "loop.run.yaml").read_text()
    assert typed("init", str(project), "--yes", "--set", assignment).returncode == 2
    assert (project / "loop.run.yaml").read_text() == before

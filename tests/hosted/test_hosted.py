"""ask, evaluate, tell: the same search as ``run``, step by step and from many processes."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hosting import command, lae, ledgers, mutate
from tiny_project import make_project
from typed import typed

from lae_controller import build, config, load, session
from lae_controller.api import Loop
from lae_controller.errors import ConfigError, LockedError
from lae_controller.hosted.ask import Handed
from lae_controller.lock import ControllerLock
from lae_controller.program import Reason, Status
from lae_controller.sandbox.launch import Lifelines


def measured(folder: Path, settings: str = "", schedule: str = "generational") -> Path:
    project = make_project(folder, settings)
    path = project / "loop.run.yaml"
    path.write_text(path.read_text().replace("schedule: generational", f"schedule: {schedule}"))
    build.prepared_run(config.load(project), Lifelines(), [].append)  # `check` without its probes
    return project


def shorter(project: Path) -> None:
    """Let a run have about four children."""
    path = project / "loop.run.yaml"
    path.write_text(path.read_text().replace("total_budget: 10", "total_budget: 8"))


def edit(task: Handed, before: str, after: str) -> None:
    path = task.directory / "model.py"
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose baseline is measured; copy it before changing anything."""
    return measured(tmp_path_factory.mktemp("fresh") / "project", "isolation: none\n", "async")


@pytest.fixture
def loop(fresh: Path, tmp_path: Path) -> Loop:
    return load(copied(fresh, tmp_path / "project"))


def copied(project: Path, to: Path) -> Path:
    shutil.copytree(project, to, symlinks=True)
    return to


def test_step_by_step_writes_the_ledgers_that_run_writes(tmp_path: Path) -> None:
    ran = make_project(tmp_path / "ran", "isolation: none\n")
    shorter(ran)
    load(ran).check()  # what it costs is part of the run
    loop = load(copied(ran, tmp_path / "stepped"))
    session.run_search(config.load(ran), [].append)
    while tasks := loop.ask().tasks:
        for task in reversed(tasks):  # whoever is first: the ledgers go by slots
            mutate(task)
            assert loop.evaluate(task.child_id, token=task.token) is not None
            told = loop.tell(task.child_id, task.token)
            assert told.pending == (task is not tasks[0])
    assert ledgers(loop.settings.root) == ledgers(ran)
    asking = loop.ask()
    assert asking.stop is not None
    assert asking.stop.reason == "budget"


def test_edits_in_the_directory_are_the_change(loop: Loop) -> None:
    (task,) = loop.ask(1).tasks
    assert "RATE" in task.task.read_text()
    assert task.token in task.task.read_text()
    edit(task, "RATE = 0.5", "RATE = 0.1")
    result = loop.evaluate(task.child_id, summary="a smaller, better rate")
    assert result is not None
    assert result.evaluation.status is Status.EVALUATED
    assert result.summary == "a smaller; better rate"
    told = loop.tell(task.child_id)
    assert told.kept
    assert told.best == (task.child_id, result.evaluation.metric)
    assert loop.tell(task.child_id) == told  # saying it twice changes nothing


def test_a_written_change_is_applied_and_is_no_part_of_the_program(loop: Loop) -> None:
    (task,) = loop.ask(1).tasks
    text = "model.py\n<<<<<<< SEARCH\nWIDTH = 8\n=======\nWIDTH = 48\n>>>>>>> REPLACE\n"
    (task.directory / "change.diff").write_text(text)
    result = loop.evaluate(task.child_id)
    assert result is not None
    assert result.evaluation.status is Status.EVALUATED
    assert "WIDTH = 48" in (task.directory / "model.py").read_text()
    assert not (task.directory / "change.diff").exists()


def test_a_failed_child_may_be_mended_and_pays_for_both(loop: Loop) -> None:
    (task,) = loop.ask(1).tasks
    edit(task, "RATE = 0.5", "RATE = nowhere")
    broken = loop.evaluate(task.child_id)
    assert broken is not None
    assert broken.evaluation.reason is Reason.EXIT
    assert "NameError" in broken.evaluation.detail
    edit(task, "RATE = nowhere", "RATE = 0.2")
    mended = loop.evaluate(task.child_id, again=True)
    assert mended is not None
    assert mended.evaluation.status is Status.EVALUATED
    assert mended.evaluation.charge == pytest.approx(1.25 + 0.25)
    with pytest.raises(ConfigError, match="--again is for a child that failed"):
        loop.evaluate(task.child_id, again=True)


def test_what_may_not_be_touched_is_refused_without_a_run(loop: Loop) -> None:
    first, second = loop.ask(2).tasks
    (first.directory / "train.py").write_text("print('val_loss: 0.0')\n")
    edit(first, "RATE = 0.5", "RATE = 0.4")
    refused = loop.evaluate(first.child_id)
    assert refused is not None
    assert refused.evaluation.reason is Reason.HARNESS_CHANGED
    assert refused.evaluation.charge == 0.0
    idle = loop.evaluate(second.child_id)
    assert idle is not None
    assert idle.evaluation.reason is Reason.NO_CHANGE


def test_equal_children_at_the_same_time_run_once(loop: Loop) -> None:
    tasks = loop.ask(2).tasks
    for task in tasks:
        edit(task, "RATE = 0.5", "RATE = 0.3")
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda task: loop.evaluate(task.child_id), tasks))
    reasons = [result.evaluation.reason for result in found if result is not None]
    assert sorted(reasons, key=str) == [None, Reason.DUPLICATE] or reasons[::-1] == [
        None,
        Reason.DUPLICATE,
    ]


def test_two_hosts_never_get_the_same_task(loop: Loop) -> None:
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: loop.ask(2).tasks, range(2)))
    ids = [task.child_id for tasks in found for task in tasks]
    assert len(ids) == len(set(ids)) == 4
    assert len({task.token for tasks in found for task in tasks}) == 4


def test_an_expired_lease_is_given_to_another(tmp_path: Path) -> None:
    project = measured(tmp_path / "project", "isolation: none\nlease: 1s\n", "async")
    loop = load(project)
    (old,) = loop.ask(1).tasks
    edit(old, "RATE = 0.5", "RATE = 0.45")
    time.sleep(1.1)
    (new,) = loop.ask(1).tasks
    assert new.child_id == old.child_id
    assert "RATE = 0.5" in (new.directory / "model.py").read_text()
    with pytest.raises(ConfigError, match="the task was given to another"):
        loop.evaluate(old.child_id, token=old.token)
    with pytest.raises(ConfigError, match="the task was given to another"):
        loop.tell(old.child_id, old.token)
    edit(new, "RATE = 0.5", "RATE = 0.35")
    assert loop.evaluate(new.child_id, token=new.token) is not None


def test_evaluation_outlives_its_caller(loop: Loop, tmp_path: Path) -> None:
    project = loop.settings.root
    text = (project / "sandbox/lae/base/train.py").read_text()
    assert "import model" in text
    (task,) = loop.ask(1).tasks
    gate = tmp_path / "gate"
    wait = f"import os, time\nwhile not os.path.exists({str(gate)!r}):\n    time.sleep(0.02)"
    edit(task, "RATE = 0.5", f"RATE = 0.3\n{wait}")
    words = [sys.executable, "-m", "lae_controller", "evaluate", task.child_id]
    caller = subprocess.Popen([*words, "--run", str(project)], start_new_session=True)
    while not (lae(project) / "runs" / task.child_id).exists():
        time.sleep(0.02)
    caller.send_signal(signal.SIGKILL)
    caller.wait()
    waiting = command("evaluate", task.child_id, "--run", str(project), "--wait", "0.05")
    assert (waiting.returncode, waiting.stdout) == (7, "")
    assert "still runs" in waiting.stderr
    gate.touch()
    last = command("evaluate", task.child_id, "--run", str(project), "--json")
    assert json.loads(last.stdout)["status"] == "evaluated"


def test_the_command_line_says_what_became_of_a_child(tmp_path: Path) -> None:
    project = measured(tmp_path / "project", "isolation: none\n")
    asked = json.loads(typed("ask", str(project), "--json").stdout)
    assert asked["stop"] is None
    first, second = (task["child_id"] for task in asked["tasks"])
    early = typed("tell", first, "--run", str(project))
    assert early.returncode == 2
    assert f"`lae evaluate {first}` makes one" in early.stderr
    for child in (first, second):
        assert typed("evaluate", child, "--run", str(project)).returncode == 0
    pending = [typed("tell", child, "--run", str(project)).stdout for child in (first, second)]
    assert pending[1].startswith(f"{second} kept=False cell=None best=g0-i0-a0 ")
    assert typed("ask", "--help").returncode == 0


def test_run_goes_on_from_what_a_host_left(loop: Loop) -> None:
    first, second = loop.ask(2).tasks
    edit(first, "RATE = 0.5", "RATE = 0.3")
    loop.evaluate(first.child_id)
    loop.run()
    history = (lae(loop.settings.root) / "history.tsv").read_text()
    for task in (first, second):
        assert history.count(f"\t{task.child_id}\t") >= 1
    assert loop.status()["best"].startswith(("g", "val"))


def test_a_running_controller_is_not_waited_for(loop: Loop) -> None:
    expected = pytest.raises(LockedError, match="another controller works here")
    with ControllerLock(loop.settings.lae_dir), expected:
        loop.ask(1)


def test_asking_needs_a_measured_baseline(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    with pytest.raises(ConfigError, match="`lae check` does that"):
        load(project).ask()
    assert not lae(project).exists()


def test_unknown_tasks_are_named(loop: Loop) -> None:
    loop.ask(1)
    with pytest.raises(ConfigError, match=r"g9-i0-a0: no such task; expected one of .* g1-i0-a0"):
        loop.evaluate("g9-i0-a0")


def test_the_lease_is_a_duration(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project", "lease: soon\n")
    with pytest.raises(ConfigError, match="lease"):
        config.load(project)


def test_a_copy_of_the_settings_gives_another_budget(loop: Loop) -> None:
    spent = replace(loop.settings, total_budget=config.TotalBudget(3, None))
    asking = Loop(spent).ask()
    assert asking.tasks == ()
    assert asking.stop is not None


def test_a_running_controller_does_what_is_left_by_itself(loop: Loop) -> None:
    (task,) = loop.ask(1).tasks
    edit(task, "RATE = 0.5", "RATE = 0.3")
    expected = pytest.raises(LockedError, match="another controller works here")
    with ControllerLock(loop.settings.lae_dir), expected:
        loop.evaluate(task.child_id)
    with ControllerLock(loop.settings.lae_dir, patience=5.0):  # as ask and tell hold it
        result = loop.evaluate(task.child_id)
    assert result is not None
    assert result.evaluation.status.value == "evaluated"

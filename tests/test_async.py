"""The async schedule: no barrier, nothing lost, and the journal replays to the same state."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest
from sessions import controller, state_of
from tiny_project import make_project

from lae_controller import config, session
from lae_controller.ledger import Ledger
from lae_controller.program import sort_key


def asynchronous(folder: Path, settings: str = "") -> Path:
    project = make_project(folder, settings)
    path = project / "loop.run.yaml"
    path.write_text(path.read_text().replace("  schedule: generational\n", ""))
    return project


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = asynchronous(tmp_path_factory.mktemp("async") / "project")
    stop, _ = session.run_search(config.load(project), [].append)
    assert stop.reason == "budget"
    return project


def test_the_budget_is_kept_and_used(finished: Path) -> None:
    state = state_of(finished)
    settings = config.load(finished)
    runs = settings.total_budget.runs
    assert runs is not None
    assert runs - (1 + settings.smoke_charge) < state.spent <= runs
    assert not state.asked


def test_ids_are_consecutive_and_islands_take_turns(finished: Path) -> None:
    ids = sorted((row.child_id for row in state_of(finished).rows if row.gen), key=sort_key)
    slots = [sort_key(child) for child in ids]
    assert [(gen, slot) for gen, slot, _ in slots] == [
        (1 + n // 2, n % 2) for n in range(len(slots))
    ]
    assert [island for _, _, island in slots] == [n % 2 for n in range(len(slots))]


def test_a_migration_follows_every_second_generation(finished: Path) -> None:
    events = Ledger(finished / "sandbox/lae", print).read_journal(mend=False)
    assert events is not None
    told, due = 0, []
    for event in events:
        if event["event"] == "told" and event["record"]["gen"]:
            told += 1
        if event["event"] == "migrate":
            due.append((event["gen"], told))
    assert due
    assert due == [(gen, 2 * gen) for gen in range(2, 2 * len(due) + 1, 2)]


def test_the_views_are_what_the_journal_says(finished: Path) -> None:
    said: list[str] = []
    state = state_of(finished, said)
    assert said == []
    assert len(state.rows) > 7  # even if each child goes through both stages


def test_kill_dash_nine_loses_nothing(tmp_path: Path) -> None:
    count = tmp_path / "count"
    project = asynchronous(tmp_path / "killed", f"isolation: none\nenv: {{COUNT_FILE: {count}}}\n")
    script = "import time\ntime.sleep(0.1)\n" + (project / "train.py").read_text()
    (project / "train.py").write_text(script)
    history = project / "sandbox/lae/history.tsv"
    pauses = random.Random(5)
    for told in (2, 5, 9):
        victim = controller(project)
        while not history.exists() or len(history.read_text().splitlines()) <= told:
            assert victim.poll() is None
            time.sleep(0.02)
        time.sleep(pauses.uniform(0.0, 0.3))
        victim.send_signal(signal.SIGKILL)
        victim.communicate()
    before = {row.child_id: row for row in state_of(project).rows}
    last = controller(project)
    _, said = last.communicate()
    assert last.returncode == 0, said
    state = state_of(project)
    rows = {row.child_id: row for row in state.rows}
    assert len(rows) == len(state.rows)
    assert all(rows[child] == row for child, row in before.items())
    assert not state.asked
    ran = Counter(count.read_text().splitlines())
    assert sum(times - 1 for times in ran.values()) == 1  # the baseline's second full run


def test_one_slow_child_holds_up_no_other(tmp_path: Path) -> None:
    project = asynchronous(tmp_path / "slow", "run_timeout: 4\nisolation: none\n")
    flag = tmp_path / "flag"
    script = (
        "import os, sys, time\n"
        "if int(sys.argv[2]) > 1 and os.environ.get('LAE_X') and 'RATE = 0.5' not in "
        "open('model.py').read() and not os.path.exists(os.environ['LAE_X']):\n"
        "    open(os.environ['LAE_X'], 'w').close()\n"
        "    time.sleep(30)\n"
    )
    text = (project / "loop.run.yaml").read_text() + f"env: {{LAE_X: {flag}}}\n"
    (project / "loop.run.yaml").write_text(text)
    (project / "train.py").write_text(script + (project / "train.py").read_text())
    session.run_search(config.load(project), [].append)
    rows = state_of(project).rows
    slow = next(row for row in rows if row.status == "crash" and row.smoke_metric is not None)
    later = rows[: rows.index(slow)]
    assert any(sort_key(row.child_id) > sort_key(slow.child_id) for row in later)

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sessions import controller, state_of
from tiny_project import make_project
from typed import typed

from lae_controller import build, config, session
from lae_controller.budget import Stop
from lae_controller.codec import decode
from lae_controller.evaluators import limits
from lae_controller.ledger import Ledger
from lae_controller.lock import ControllerLock
from lae_controller.program import Record, Status
from lae_controller.rows import HISTORY_HEADER, HistoryRow

LEDGERS = ("history.tsv", "archive.tsv")


def search(project: Path, said: list[str] | None = None) -> tuple[Stop, str]:
    say = (said if said is not None else []).append
    return session.run_search(config.load(project), say)


def lae(project: Path) -> Path:
    return project / "sandbox" / "lae"


def ledgers(project: Path) -> list[bytes]:
    return [(lae(project) / name).read_bytes() for name in LEDGERS]


def rows(project: Path) -> list[HistoryRow]:
    found = Ledger(lae(project), print).read_history(mend=False)
    assert found is not None
    return found


def journal(project: Path) -> list[dict[str, Any]]:
    text = (lae(project) / "journal.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing disturbed; copy it before changing anything."""
    root = tmp_path_factory.mktemp("finished") / "project"
    make_project(root)
    stop, _ = search(root)
    assert stop.reason == "budget"
    return root


@pytest.fixture
def copied(finished: Path, tmp_path: Path) -> Path:
    shutil.copytree(finished, tmp_path / "project", symlinks=True)
    return tmp_path / "project"


# -- what a run is -------------------------------------------------------------------------------


def test_a_run_improves_and_keeps_to_its_budget(finished: Path) -> None:
    view = build.view(config.load(finished), print)
    best = view.state.search.global_best()
    assert best is not None
    assert best.metric < view.prepared.baseline.metric
    assert 10 - 1.25 < view.state.spent <= 10
    assert view.state.generation_done


def test_every_generation_has_a_child_per_slot_in_round_robin(finished: Path) -> None:
    children = [row for row in rows(finished) if row.gen > 0]
    sizes = Counter(row.gen for row in children)
    assert set(sizes.values()) <= {1, 2}
    assert sizes[1] == 2
    assert [row.island for row in children[:4]] == [0, 1, 0, 1]
    assert [row.child_id for row in children[:2]] == ["g1-i0-a0", "g1-i1-a1"]


def test_the_baseline_has_one_row_per_island_and_is_charged_once(finished: Path) -> None:
    first, second = (row for row in rows(finished) if row.gen == 0)
    assert (first.child_id, second.child_id) == ("g0-i0-a0", "g0-i1-a0")
    assert first.full_metric == second.full_metric == 1.475
    told = [event for event in journal(finished) if event["event"] == "told"]
    charges = [event["record"]["charge"] for event in told][:2]
    assert charges == [2.25, 0.0]


def test_the_working_tree_is_not_written(finished: Path) -> None:
    names = {path.name for path in finished.iterdir()}
    assert names == {"loop.run.yaml", "model.py", "train.py", "sandbox"}
    assert (lae(finished) / ".gitignore").read_text() == "*\n"


def test_what_is_kept_of_a_child(finished: Path) -> None:
    row = next(row for row in rows(finished) if row.status == "evaluated" and row.gen > 0)
    assert (lae(finished) / "programs" / row.child_id / "train.py").is_file()
    result = json.loads((lae(finished) / "results" / f"{row.child_id}.json").read_text())
    assert result["metric"] == row.full_metric
    assert result["approach_summary"]
    assert "val_loss" in result["artifacts"]["log_tail"]
    change = (lae(finished) / "results" / f"{row.child_id}.diff").read_text()
    assert "<<<<<<< SEARCH" in change
    assert list((lae(finished) / "runs").iterdir()) == []
    assert list((lae(finished) / "tasks").iterdir()) == []


def test_a_program_holds_no_injected_budget(finished: Path) -> None:
    row = next(row for row in rows(finished) if row.status == "evaluated" and row.gen > 0)
    program = lae(finished) / "programs" / row.child_id
    assert (program / "train.py").read_bytes() == (finished / "train.py").read_bytes()


def test_two_runs_give_the_same_ledgers(finished: Path, tmp_path: Path) -> None:
    search(make_project(tmp_path / "again"))
    assert ledgers(tmp_path / "again") == ledgers(finished)


def test_another_seed_gives_another_run(finished: Path, tmp_path: Path) -> None:
    project = make_project(tmp_path / "other")
    text = (project / "loop.run.yaml").read_text()
    (project / "loop.run.yaml").write_text(text.replace("evolution:\n", "evolution:\n  seed: 7\n"))
    search(project)
    assert ledgers(project)[0] != ledgers(finished)[0]


def test_replay_gives_the_placements_that_were_written(finished: Path) -> None:
    view = build.view(config.load(finished), print)
    fresh = build.search_for(view.settings)
    for event in journal(finished):
        if event["event"] == "told":
            placement = fresh.tell(decode(Record, event["record"]))
            cell = None if placement.cell is None else list(placement.cell)
            assert (placement.kept, cell) == (event["kept"], event["cell"])
        elif event["event"] == "migrate":
            fresh.migrate()


def test_a_larger_budget_goes_on(copied: Path) -> None:
    before = rows(copied)
    settings = config.load(copied)
    larger = replace(settings, total_budget=config.TotalBudget(14, None))
    session.run_search(larger, print)
    after = rows(copied)
    assert after[: len(before)] == before
    assert len(after) > len(before)


def test_a_finished_run_stays_as_it_is(copied: Path) -> None:
    before = ledgers(copied)
    stop, text = search(copied)
    assert stop.reason == "budget"
    assert ledgers(copied) == before
    assert "Global best" in text


def test_initial_variants_belong_to_generation_zero(project: Path) -> None:
    text = (project / "loop.run.yaml").read_text()
    text = text.replace("evolution:\n", "evolution:\n  initial_variants: 1\n")
    (project / "loop.run.yaml").write_text(text.replace("total_budget: 10", "total_budget: 6"))
    search(project)
    first = [row.child_id for row in rows(project) if row.gen == 0]
    assert first == ["g0-i0-a0", "g0-i1-a0", "g0-i0-a1", "g0-i1-a1"]


def test_initial_variants_stay_within_the_budget(project: Path) -> None:
    text = (project / "loop.run.yaml").read_text()
    text = text.replace("evolution:\n", "evolution:\n  initial_variants: 50\n")
    (project / "loop.run.yaml").write_text(text)
    search(project)
    found = rows(project)
    first = [row.child_id for row in found if row.gen == 0]
    assert 4 <= len(first) <= 10
    assert state_of(project).spent <= 10.0
    assert [row.gen for row in found] == sorted(row.gen for row in found)


def test_the_leaderboard_shows_that_part_of_a_run_was_not_a_number(project: Path) -> None:
    script = (project / "train.py").read_text()
    (project / "train.py").write_text(script.replace("params:", "val_part: nan\\nparams:"))
    text = (project / "loop.run.yaml").read_text().replace("total_budget: 10", "total_budget: 5")
    (project / "loop.run.yaml").write_text(text)
    search(project)
    assert "[non-finite number in the output]" in (lae(project) / "leaderboard.md").read_text()


# -- children that fail --------------------------------------------------------------------------


def test_a_child_that_prints_nan_is_never_placed(project: Path) -> None:
    (project / "model.py").write_text(
        "RATE = 0.5\nWIDTH = 8\nDECAY = 0.25\n\n\ndef bend(x):\n"
        "    return x * x if WIDTH == 8 else float('nan')\n"
    )
    search(project)
    found = rows(project)
    failed = [row for row in found if row.status == Status.CRASH.value]
    assert failed
    assert all(row.full_metric is None and not row.kept for row in failed)
    ids = {row.child_id for row in failed}
    assert not ids & {row.parent_id for row in found}


def test_nothing_left_to_try_ends_with_a_reason(project: Path) -> None:
    (project / "model.py").write_text("import train_helper\n")
    (project / "train_helper.py").write_text("")
    (project / "train.py").write_text("import sys\nprint('val_loss:', 1 / int(sys.argv[2]))\n")
    stop, _ = search(project)
    assert stop.reason == "never_ran"
    assert "no_change" in stop.sentence
    assert {row.status for row in rows(project) if row.gen} == {"crash"}


# -- interruptions -------------------------------------------------------------------------------


def test_kill_dash_nine_changes_nothing_in_the_end(finished: Path, tmp_path: Path) -> None:
    count = tmp_path / "count"
    project = make_project(tmp_path / "killed", f"isolation: none\nenv: {{COUNT_FILE: {count}}}\n")
    script = "import time\ntime.sleep(0.1)\n" + (project / "train.py").read_text()
    (project / "train.py").write_text(script)
    for pause in (0.9, 1.7, 1.1):
        victim = controller(project)
        time.sleep(pause)
        victim.send_signal(signal.SIGKILL)
        victim.communicate()
    last = controller(project)
    _, said = last.communicate()
    assert last.returncode == 0, said
    assert ledgers(project) == ledgers(finished)
    ran = Counter(count.read_text().splitlines())
    baseline = [key for key, times in ran.items() if times == 2]
    assert all(times == 1 for key, times in ran.items() if key not in baseline)
    assert len(baseline) == 1  # its two full runs


def test_ctrl_c_ends_the_children_and_says_how_to_go_on(project: Path) -> None:
    script = (project / "train.py").read_text()
    (project / "train.py").write_text(
        script.replace('print(f"params', 'import time\ntime.sleep(0.3)\nprint(f"params')
    )
    run = controller(project, "--total-budget", "300")
    until = time.monotonic() + 180
    while not (lae(project) / "history.tsv").exists():
        assert time.monotonic() < until
        time.sleep(0.05)
    time.sleep(0.4)
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=30)
    assert run.returncode == 130
    assert "the state is saved" in said
    assert "goes on from there" in said
    assert _marked(project) == []


def _marked(project: Path) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                where = bytes((entry / "cwd").readlink()).decode()
            except OSError:
                continue
            if where.startswith(str(project)):
                found.append(entry.name)
    return found


def test_a_second_controller_is_turned_away_at_once(copied: Path) -> None:
    with ControllerLock(lae(copied)):
        second = controller(copied)
        _, said = second.communicate(timeout=30)
    assert second.returncode == 6
    assert f"pid {os.getpid()}" in said


def test_being_asked_to_stop(copied: Path) -> None:
    larger = replace(config.load(copied), total_budget=config.TotalBudget(30, None))
    told = len(rows(copied))

    def say(line: str) -> None:
        if line.startswith("gen "):
            (lae(copied) / "stop").write_text("asked\n")

    stop, _ = session.run_search(larger, say)
    assert stop.reason == "asked"
    assert told < len(rows(copied)) <= told + 2
    assert not (lae(copied) / "stop").exists()


def test_a_request_to_stop_does_not_outlive_its_session(copied: Path) -> None:
    larger = replace(config.load(copied), total_budget=config.TotalBudget(13, None))
    (lae(copied) / "stop").write_text("asked\n")
    stop, _ = session.run_search(larger, print)
    assert stop.reason == "budget"


@pytest.mark.parametrize("gone", ["base.json", "base", "programs"])
def test_what_a_run_cannot_do_without_is_named(copied: Path, gone: str) -> None:
    path = lae(copied) / gone
    before = (lae(copied) / "journal.jsonl").read_bytes()
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    run = typed("run", str(copied), "--yes", "--total-budget", "20")
    assert run.returncode == 4, run.stderr
    assert "Put it back" in run.stderr
    assert (lae(copied) / "journal.jsonl").read_bytes()[: len(before)] == before


def test_under_a_time_budget_all_runs_get_the_same_time(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that trains until it is told to stop: a longer run would score better."""
    monkeypatch.setattr(limits, "_SHORTEST_STARTUP_S", 1.0)
    (project / "train.py").write_text(
        "import signal, sys, time, model\n"
        "began = time.monotonic()\n"
        "def end(*_):\n"
        "    print('val_loss:', 1000 - round(time.monotonic() - began)); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "time.sleep(60)\n"
    )
    text = (project / "loop.run.yaml").read_text()
    text = text.replace("gate: epochs", "gate: time").replace(" --epochs {budget}", "")
    text = text.replace("budget: 4", "budget: 1", 1).replace("total_budget: 10", "total_budget: 4")
    (project / "loop.run.yaml").write_text(text)
    session.run_search(config.load(project), print)
    view = build.view(config.load(project), print)
    assert view.prepared.baseline.metrics == (998.0, 998.0)
    metrics = {row.full_metric for row in rows(project) if row.full_metric is not None}
    assert metrics == {998.0}


# -- damaged ledgers -----------------------------------------------------------------------------


def test_a_torn_journal_line_is_redone(copied: Path) -> None:
    before = ledgers(copied)
    journal = lae(copied) / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    told = max(i for i, line in enumerate(lines) if b'"told"' in line)
    journal.write_bytes(b"".join(lines[:told]) + lines[told][:40])
    said: list[str] = []
    search(copied, said)
    assert ledgers(copied) == before
    assert any("torn last line" in line for line in said)


@pytest.mark.parametrize("name", LEDGERS)
@pytest.mark.parametrize("content", [None, b"", b"\0" * 100])
def test_a_missing_or_emptied_view_is_rebuilt(
    copied: Path, name: str, content: bytes | None
) -> None:
    before = ledgers(copied)
    if content is None:
        (lae(copied) / name).unlink()
    else:
        (lae(copied) / name).write_bytes(content)
    said: list[str] = []
    search(copied, said)
    assert ledgers(copied) == before
    assert any(f"{name}: rebuilt" in line for line in said)


def test_a_header_written_twice_is_mended(copied: Path) -> None:
    before = ledgers(copied)
    with (lae(copied) / "history.tsv").open("a") as stream:
        stream.write("\t".join(HISTORY_HEADER) + "\n")
    said: list[str] = []
    search(copied, said)
    assert ledgers(copied) == before
    assert any("stray header" in line for line in said)


@pytest.mark.parametrize("name", ["journal.jsonl", *LEDGERS])
def test_a_row_that_does_not_parse_is_exit_4(copied: Path, name: str) -> None:
    path = lae(copied) / name
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:2], "garbage\n", *lines[2:]]))
    before = path.read_bytes()
    run = typed("run", str(copied), "--yes")
    assert run.returncode == 4
    assert f"{name}:3" in run.stderr
    assert path.read_bytes() == before


def test_without_a_journal_it_goes_on_from_the_views(copied: Path) -> None:
    before = rows(copied)
    archive = Ledger(lae(copied), print).read_archive(mend=False)
    (lae(copied) / "journal.jsonl").unlink()
    larger = replace(config.load(copied), total_budget=config.TotalBudget(13, None))
    spent = build.view(config.load(copied), print).state.spent
    assert spent == pytest.approx(10 - 1.25, abs=1.25)
    assert Ledger(lae(copied), print).read_archive(mend=False) == archive
    session.run_search(larger, print)
    after = rows(copied)
    assert after[: len(before)] == before
    assert len(after) > len(before)
    new = [row.child_id for row in after[len(before) :]]
    assert not set(new) & {row.child_id for row in before}
    session.run_search(larger, print)
    assert rows(copied) == after


def test_without_a_journal_the_archive_is_taken_as_it_stands(copied: Path) -> None:
    archive = Ledger(lae(copied), print).read_archive(mend=False)
    (lae(copied) / "journal.jsonl").unlink()
    search(copied)
    assert Ledger(lae(copied), print).read_archive(mend=False) == archive


def test_resuming_twice_adds_no_baseline(copied: Path) -> None:
    before = ledgers(copied)
    for _ in range(2):
        search(copied)
    assert ledgers(copied) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_full_disk_is_named_and_nothing_is_lost(finished: Path, tmp_path: Path) -> None:
    project = make_project(tmp_path / "small")
    (project / "sandbox").mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "none", str(project / "sandbox")],
        check=False,
        capture_output=True,
    )
    if mounted.returncode != 0:
        pytest.skip("tmpfs cannot be mounted here")
    try:
        first = controller(project)
        _, said = first.communicate()
        assert first.returncode == 3, said
        assert "no space left" in said
        subprocess.run(["mount", "-o", "remount,size=200m", str(project / "sandbox")], check=True)
        last = controller(project)
        _, said = last.communicate()
        assert last.returncode == 0, said
        assert ledgers(project) == ledgers(finished)
    finally:
        subprocess.run(["umount", str(project / "sandbox")], check=True)


def test_an_unwritable_place_is_named(project: Path) -> None:
    (project / "sandbox").write_text("a file where the folder should be")
    run = typed("run", str(project), "--yes")
    assert run.returncode == 3
    assert "cannot be written" in run.stderr

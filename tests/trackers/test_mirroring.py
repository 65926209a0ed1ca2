"""A run mirrored through the seam: one entry per child, once, whatever happens to the tracker."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tiny_project import make_project

from lae_controller import build, config, session
from lae_controller.cli import cli
from lae_controller.errors import PrerequisiteError
from lae_controller.ledger import Ledger
from lae_controller.quantities import TotalBudget
from lae_controller.trackers import check_trackers, near_end
from lae_controller.trackers.entry import Entry, Run
from lae_controller.trackers.far_end import Pulse, mirror

ROOT = Path(__file__).resolve().parents[2]


class StandIn:
    """A tracker that keeps what it is given; ``store`` outlives it as a server's would."""

    def __init__(self, store: dict[str, Any], dies_after: int | None = None) -> None:
        self.store = store
        self.left = dies_after
        self.points: list[tuple[int, float | None, float | None]] = []
        self.closed = False

    def begin(self, run: Run) -> dict[str, int]:
        self.store.setdefault("runs", []).append(run)
        return {child: entry.revision for child, entry in self.store.items() if child != "runs"}

    def put(self, entry: Entry) -> None:
        if self.left == 0:
            raise ConnectionError("the server is gone")
        self.left = None if self.left is None else self.left - 1
        self.store[entry.child_id] = entry

    def point(self, order: int, metric: float | None, best: float | None) -> None:
        self.points.append((order, metric, best))

    def close(self) -> None:
        self.closed = True


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run without any tracker; copy it before changing anything."""
    root = make_project(tmp_path_factory.mktemp("mirrored") / "project")
    session.run_search(config.load(root), lambda _: None)
    return root


def mirrored(root: Path, tracker: StandIn) -> int:
    ended = threading.Event()
    ended.set()
    return mirror(build.unread(config.load(root), print), tracker, ended, Pulse())


def entries(store: dict[str, Any]) -> dict[str, Entry]:
    return {child: entry for child, entry in store.items() if isinstance(entry, Entry)}


def told(root: Path) -> list[str]:
    rows = Ledger(root / "sandbox/lae", print).read_history(mend=False)
    assert rows is not None
    return [row.child_id for row in rows if row.child_id != "g0-i1-a0"]


def test_every_child_has_one_entry_with_what_the_ledger_says(finished: Path) -> None:
    tracker = StandIn({})
    count = mirrored(finished, tracker)
    made = entries(tracker.store)
    assert list(made) == told(finished)
    assert count == len(made)
    assert tracker.closed
    rows = Ledger(finished / "sandbox/lae", print).read_history(mend=False) or []
    for row in rows[2:]:
        entry = made[row.child_id]
        assert entry.metrics.get("val_loss") == row.full_metric
        assert entry.metrics.get("val_loss_smoke") == row.smoke_metric
        assert entry.tags["status"] == row.status
        assert (entry.tags["parent"], entry.tags["island"]) == (row.parent_id, str(row.island))
        assert entry.tags["kept"] == ("y" if row.kept else "n")
    baseline = made["g0-i0-a0"]
    assert baseline.order == 0
    assert baseline.diff == ""
    assert baseline.metrics["val_loss_spread"] == 0
    assert baseline.curve_name == "loss"
    assert [step for step, _ in baseline.steps] == [1, 2, 3, 4]
    changed = next(entry for entry in made.values() if "val_loss" in entry.metrics and entry.order)
    assert changed.diff.startswith("diff --git a/model.py") or "+++ b/model.py" in changed.diff
    assert changed.summary.endswith("in model.py")


def test_the_course_of_the_search_falls_to_the_best(finished: Path) -> None:
    tracker = StandIn({})
    mirrored(finished, tracker)
    assert [order for order, _, _ in tracker.points] == list(range(len(told(finished))))
    bests = [best for _, _, best in tracker.points if best is not None]
    metrics = [metric for _, metric, _ in tracker.points if metric is not None]
    assert bests == sorted(bests, reverse=True)
    assert bests[-1] == min(metrics)


def test_a_second_session_makes_no_entry_twice(finished: Path) -> None:
    store: dict[str, Any] = {}
    with pytest.raises(ConnectionError):
        mirrored(finished, StandIn(store, dies_after=3))
    assert len(entries(store)) == 3
    assert mirrored(finished, StandIn(store)) == len(told(finished)) - 3
    again = StandIn(store)
    assert mirrored(finished, again) == 0
    assert len(again.points) == len(told(finished))
    assert len({run.key for run in store["runs"]}) == 1


def test_a_further_run_renews_the_entry(finished: Path, tmp_path: Path) -> None:
    root = tmp_path / "project"
    shutil.copytree(finished, root, symlinks=True)
    store: dict[str, Any] = {}
    mirrored(root, StandIn(store))
    child = next(child for child in told(root)[1:] if "val_loss" in store[child].metrics)
    first = store[child].metrics["val_loss"]
    repeats = [first, first + 0.5]
    event = {"event": "rerun", "child_id": child, "repeats": repeats, "charge": 1, "seconds": 1}
    with (root / "sandbox/lae/journal.jsonl").open("a") as journal:
        journal.write(json.dumps(event) + "\n")
    assert mirrored(root, StandIn(store)) == 1
    entry = store[child]
    assert entry.revision == 1
    assert entry.metrics["val_loss"] == pytest.approx(first + 0.25)
    assert entry.metrics["val_loss_spread"] == pytest.approx(0.5 / 2**0.5)
    assert entry.metrics["lae_runs"] == 2


def test_no_secret_of_the_environment_is_passed_on(
    finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The program holds this text; if it were a token it would have to be hidden everywhere.
    monkeypatch.setenv("SOME_TOKEN", "def bend(x):")
    tracker = StandIn({})
    mirrored(finished, tracker)
    diffs = "".join(entry.diff for entry in entries(tracker.store).values())
    assert "[hidden]" in diffs
    assert "def bend" not in diffs


def test_a_torn_last_line_is_left_for_later(finished: Path, tmp_path: Path) -> None:
    root = tmp_path / "project"
    shutil.copytree(finished, root, symlinks=True)
    journal = root / "sandbox/lae/journal.jsonl"
    whole = journal.read_bytes()
    last = whole.rindex(b'{"event": "told"')
    journal.write_bytes(whole[: last + 40])
    store: dict[str, Any] = {}
    assert mirrored(root, StandIn(store)) == len(told(finished)) - 1
    journal.write_bytes(whole)
    assert mirrored(root, StandIn(store)) == 1


# -- in a process of its own ---------------------------------------------------------------------

_WRITER = """
import time

class SummaryWriter:
    def __init__(self, folder, flush_secs=1):
        {begin}
    def add_text(self, *_): pass
    def add_scalar(self, *_): pass
    def close(self): pass
"""


def library(folder: Path, begin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a stand-in for tensorboardX where this process and those it starts find it."""
    folder.mkdir()
    (folder / "tensorboardX.py").write_text(_WRITER.format(begin=begin))
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(near_end, "PATIENCE_S", 120.0)  # the machine of a test may be busy
    paths = [str(folder), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))


def watched(root: Path, runs: int) -> tuple[str, list[str]]:
    said: list[str] = []
    settings = replace(config.load(root), total_budget=TotalBudget(runs, None), reserve=0)
    stop, _ = session.run_search(settings, said.append)
    return stop.reason, [line for line in said if line.startswith("tracker ")]


def test_a_run_writes_as_it_goes_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library(tmp_path / "lib", "pass", monkeypatch)
    root = make_project(tmp_path / "project", "trackers: {tensorboard: {folder: ./boards}}\n")
    assert watched(root, 4) == ("budget", [])
    assert watched(root, 5) == ("budget", [])
    (board,) = (root / "boards").iterdir()
    assert sorted(path.name for path in (board / "children").iterdir()) == sorted(told(root))
    done = CliRunner().invoke(cli, ["track", str(root)])
    assert done.output == "tensorboard  0 entries made or renewed\n"


@pytest.mark.parametrize(
    ("begin", "patience", "said"),
    [
        (
            "if 'children' in folder: raise RuntimeError('no space left')",
            120.0,
            "tracker tensorboard failed: RuntimeError: no space left. The run is not touched",
        ),
        (
            "if 'children' in folder: time.sleep(600)",
            1.0,
            "tracker tensorboard did not catch up in time and was ended. The run is not touched",
        ),
    ],
)
def test_a_tracker_that_fails_or_hangs_costs_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begin: str, patience: float, said: str
) -> None:
    library(tmp_path / "lib", begin, monkeypatch)
    monkeypatch.setattr(near_end, "PATIENCE_S", patience)
    root = make_project(tmp_path / "project", "trackers: {tensorboard: true}\n")
    reason, lines = watched(root, 4)
    assert reason == "budget"
    assert len(lines) == 1
    assert lines[0].startswith(said)
    assert len(told(root)) > 1


_WATCHED = """
import threading, time
from lae_controller.trackers import far_end
far_end._LAST_S = 2.0
ended, pulse = threading.Event(), far_end.Pulse()
threading.Thread(target=far_end._watch, args=(ended, pulse), daemon=True).start()
ended.wait()
for _ in range(20):  # twice as long as it may be silent
    pulse.beat()
    time.sleep(0.2)
print("it got on", flush=True)
time.sleep(600)
"""


def test_who_is_told_to_end_may_take_as_long_as_it_gets_on() -> None:
    """Else a large run would never be mirrored to a store that takes its time."""
    words = [sys.executable, "-c", _WATCHED]
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert (done.returncode, done.stdout) == (70, "it got on\n")
    assert done.stderr == "it did not get on for 2 s: its store does not answer\n"


def test_the_reason_of_a_failure_shows_no_password(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library(tmp_path / "lib", "raise OSError('http://me:hunter22222@host')", monkeypatch)
    root = tmp_path / "project"
    shutil.copytree(finished, root, symlinks=True)
    with (root / "loop.run.yaml").open("a") as settings:
        uri = "http://me:hunter22222@host"
        settings.write(f"trackers: {{tensorboard: true, mlflow: {{uri: '{uri}'}}}}\n")
    done = CliRunner().invoke(cli, ["track", str(root), "--to", "tensorboard"])
    assert isinstance(done.exception, PrerequisiteError)
    assert "failed: OSError: http://[hidden]@host" in str(done.exception)


def test_a_tracker_that_is_not_installed_is_named_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    root = make_project(tmp_path / "project", "trackers: {wandb: true}\n")
    with pytest.raises(PrerequisiteError, match=r"pip install 'lae-controller\[wandb\]'"):
        session.run_search(config.load(root), lambda _: None)
    assert not (root / "sandbox/lae/base.json").exists()
    with pytest.raises(PrerequisiteError, match=r"trackers.wandb: wandb is not installed"):
        check_trackers(("wandb",))


def test_the_command_says_what_it_lacks(project: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["track", str(project)])
    assert "trackers names none" in str(done.exception)
    settings = config.load(project)
    assert settings.trackers.chosen == ()

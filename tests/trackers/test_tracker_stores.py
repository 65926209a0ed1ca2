"""The real libraries: what a run leaves in an MLflow store, TensorBoard files and W&B's folders."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tiny_project import make_project

from lae_controller import config, session
from lae_controller.ledger import Ledger
from lae_controller.quantities import TotalBudget
from lae_controller.rows import HistoryRow
from lae_controller.trackers import near_end

pytestmark = [
    pytest.mark.trackers,
    pytest.mark.filterwarnings("ignore"),  # theirs, not ours
]
ROOT = Path(__file__).resolve().parents[2]


def search(root: Path, runs: int, monkeypatch: pytest.MonkeyPatch) -> list[HistoryRow]:
    """Run or go on until ``runs`` are spent; nothing may be said of the tracker."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr(near_end, "PATIENCE_S", 120.0)
    said: list[str] = []
    settings = replace(config.load(root), total_budget=TotalBudget(runs, None), reserve=0)
    session.run_search(settings, said.append)
    assert [line for line in said if line.startswith("tracker ")] == []
    rows = Ledger(root / "sandbox/lae", print).read_history(mend=False)
    assert rows is not None
    return [row for row in rows if row.child_id != "g0-i1-a0"]


def key_of(root: Path) -> str:
    key: str = json.loads((root / "sandbox/lae/trackers/run.json").read_text())["key"]
    return key


def test_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tracking = pytest.importorskip("mlflow.tracking")
    root = make_project(tmp_path / "project", "trackers: {mlflow: {experiment: tiny}}\n")
    search(root, 4, monkeypatch)
    store = root / "sandbox/lae/trackers/mlflow"
    client = tracking.MlflowClient(tracking_uri=f"sqlite:///{store / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("tiny").experiment_id
    unfinished = client.search_runs([experiment], "tags.`lae.child` = 'g0-i0-a0'")[0]
    client.update_run(unfinished.info.run_id, "RUNNING")  # as a process killed there leaves it
    rows = search(root, 6, monkeypatch)

    found: dict[str, Any] = {}
    for run in client.search_runs([experiment], max_results=500):
        child = run.data.tags.get("lae.child", "")
        assert child not in found
        found[child] = run
    assert set(found) == {"", *(row.child_id for row in rows)}
    parent = found[""]
    assert parent.data.params["metric"] == "val_loss"
    history = client.get_metric_history(parent.info.run_id, "lae_best")
    assert [point.step for point in history] == list(range(len(rows)))
    for row in rows:
        run = found[row.child_id]
        assert run.data.tags["mlflow.parentRunId"] == parent.info.run_id
        assert run.data.metrics.get("val_loss") == row.full_metric
        assert run.data.tags["parent"] == (row.parent_id or "-")
        assert run.info.status == ("FAILED" if row.status == "crash" else "FINISHED")
        assert not {"mlflow.user", "mlflow.source.name"} & set(run.data.tags)
    finished = next(row for row in rows[1:] if row.full_metric is not None)
    run_id = found[finished.child_id].info.run_id
    steps = [point.step for point in client.get_metric_history(run_id, "curve/loss")]
    assert steps == [1, 2, 3, 4]
    patch = Path(client.download_artifacts(run_id, "change.diff", str(tmp_path))).read_text()
    assert "+++ b/model.py" in patch


def test_tensorboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tensorboardX")
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    root = make_project(tmp_path / "project", "trackers: {tensorboard: {folder: boards}}\n")
    search(root, 4, monkeypatch)
    board = root / "boards" / f"project-{key_of(root)}"
    (board / "children/g0-i0-a0/lae.json").unlink()  # as a process killed there leaves it
    rows = search(root, 6, monkeypatch)

    def read(folder: Path) -> Any:
        assert len(list(folder.glob("events*"))) == 1
        found = events.EventAccumulator(str(folder))
        found.Reload()
        return found

    assert {path.name for path in (board / "children").iterdir()} == {it.child_id for it in rows}
    for row in rows:
        one = read(board / "children" / row.child_id)
        if row.full_metric is not None:
            (scalar,) = one.Scalars("val_loss")
            assert scalar.value == pytest.approx(row.full_metric, rel=1e-6)
            assert [point.step for point in one.Scalars("curve/loss")] == [1, 2, 3, 4]
        (text,) = one.Tensors("child/text_summary")
        assert row.status in text.tensor_proto.string_val[0].decode()
    course = read(board / "search").Scalars("lae_best")
    assert [point.step for point in course] == list(range(len(rows)))


def logged(raw: bytes) -> Iterator[bytes]:
    """Yield the records of a .wandb file: LevelDB's log format behind seven bytes."""
    at, parts = 7, b""
    while at + 7 <= len(raw):
        if (1 << 15) - at % (1 << 15) < 7:
            at += (1 << 15) - at % (1 << 15)
            continue
        _, length, kind = struct.unpack("<IHB", raw[at : at + 7])
        parts += raw[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, or the last part
            yield parts
            parts = b""


def test_wandb_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    records = pytest.importorskip("wandb.proto.wandb_internal_pb2")
    monkeypatch.setenv("WANDB_API_KEY", "0123456789" * 4)
    monkeypatch.setenv("WANDB_MODE", "online")  # what the environment says must not win
    root = make_project(tmp_path / "project", "trackers: {wandb: {project: tiny}}\n")
    search(root, 4, monkeypatch)
    rows = search(root, 5, monkeypatch)
    folders = list((root / "sandbox/lae/trackers/wandb/wandb").glob("offline-run-*"))
    names = [folder.name.split(f"{key_of(root)}-")[1] for folder in folders]
    assert sorted(names) == sorted(row.child_id for row in rows)
    values = {row.child_id: row.full_metric for row in rows}
    for folder, child in zip(folders, names, strict=True):
        (path,) = folder.glob("*.wandb")
        assert b"0123456789" * 4 not in path.read_bytes()
        summary: dict[str, str] = {}
        for data in logged(path.read_bytes()):
            record = records.Record()
            record.ParseFromString(data)
            summary |= {it.key: it.value_json for it in record.summary.update}
        if values[child] is not None:
            assert json.loads(summary["val_loss"]) == values[child]

"""The real libraries: what a run leaves in an MLflow store, TensorBoard files and W&B's folders."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from made_runs import Made, make_run
from tiny_project import make_project
from typed import typed

from lae_controller import config, session
from lae_controller.errors import PrerequisiteError
from lae_controller.ledger import Ledger
from lae_controller.quantities import TotalBudget
from lae_controller.rows import HistoryRow
from lae_controller.trackers import Place, near_end
from lae_controller.trackers.entry import Entry, Run
from lae_controller.tracking import MlflowSettings

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


def test_what_is_made_twice_as_an_answer_was_lost_is_taken_away(tmp_path: Path) -> None:
    """The client asks again where no answer came, though the server may have done it."""
    tracking = pytest.importorskip("mlflow.tracking")
    from lae_controller.trackers.mlflow_store import MlflowStore

    lost: list[str] = []

    class Twice(tracking.MlflowClient):  # type: ignore[misc]
        def create_run(self, *args: Any, **more: Any) -> Any:
            lost.append(super().create_run(*args, **more).info.run_id)
            return super().create_run(*args, **more)

    place = Place(tmp_path, tmp_path / "mlflow", "tiny")
    run = Run("key", "tiny", "loss", {"metric": "loss"})
    children = [entry(order) for order in range(3)]

    def mirrored(count: int, *, whole: bool) -> dict[str, int]:
        store = MlflowStore(MlflowSettings(), place)
        store._client = Twice(tracking_uri=f"sqlite:///{place.folder / 'mlflow.db'}")
        held = store.begin(run)
        for child in children[:count]:
            if child.child_id not in held:
                store.put(child)
        if whole:
            store.close()
        return held

    assert mirrored(2, whole=False) == {}
    assert mirrored(3, whole=True) == {"g1-i0-a0": 0, "g1-i0-a1": 0}
    assert len(lost) == 4  # of the search and of each child
    client = tracking.MlflowClient(tracking_uri=f"sqlite:///{place.folder / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("tiny").experiment_id
    runs = client.search_runs([experiment])
    names = sorted(it.data.tags.get("lae.child", "") for it in runs)
    assert names == ["", *(child.child_id for child in children)]
    parent = next(it for it in runs if not it.data.tags.get("lae.child"))
    named = {it.data.tags.get("mlflow.parentRunId") for it in runs if it is not parent}
    assert named == {parent.info.run_id}


def test_a_renewal_that_was_cut_short_adds_no_point_twice(tmp_path: Path) -> None:
    pytest.importorskip("mlflow.tracking")
    from lae_controller.trackers.mlflow_store import MlflowStore

    place = Place(tmp_path, tmp_path / "mlflow", "tiny")
    run = Run("key", "tiny", "loss", {"metric": "loss"})
    store = MlflowStore(MlflowSettings(), place)
    store.begin(run)
    store.put(entry(0))
    again = replace(entry(0), revision=1, metrics={"loss": 0.25, "lae_order": 0.0})
    client, tagged = store._client, store._client.log_batch

    def dies(run_id: str, metrics: Any = (), params: Any = (), tags: Any = ()) -> None:
        if tags:
            raise ConnectionError("killed between metrics and tags")
        tagged(run_id, metrics)

    client.log_batch = dies
    with pytest.raises(ConnectionError):
        store.put(again)
    store = MlflowStore(MlflowSettings(), place)
    assert store.begin(run) == {"g1-i0-a0": 0}
    store.put(again)
    store.close()
    assert MlflowStore(MlflowSettings(), place).begin(run) == {"g1-i0-a0": 1}
    points = client.get_metric_history(store._known["g1-i0-a0"], "loss")
    assert [(it.step, it.value) for it in points] == [(0, 0.5), (1, 0.25)]


def test_a_request_whose_answer_breaks_off_is_made_again(tmp_path: Path) -> None:
    tracking = pytest.importorskip("mlflow.tracking")
    from mlflow.exceptions import MlflowException
    from requests import RequestException

    from lae_controller.trackers.mlflow_store import _Asking

    class Breaking(tracking.MlflowClient):  # type: ignore[misc]
        left = 1

        def get_run(self, run_id: str) -> Any:
            try:
                if self.left:
                    raise (OSError if run_id == "on a disk" else RequestException)(run_id)
            except OSError as error:
                self.left -= 1
                url = "http://me:hunter22222@127.0.0.1:5000/api/2.0/mlflow/runs/get"
                text = f"API request to {url} failed with exception {error}"
                raise MlflowException(text) from None
            return "the run"

    client = Breaking(tracking_uri=f"sqlite:///{tmp_path / 'mlflow.db'}")
    asking = _Asking(client)
    assert asking.get_run("once") == "the run"
    client.left = 2
    with pytest.raises(PrerequisiteError) as raised:
        asking.get_run("again")
    said = "http://127.0.0.1:5000 does not answer (its answer broke off)"
    assert str(raised.value) == f"trackers.mlflow.uri: {said}; expected an MLflow server there"
    client.left = 1
    with pytest.raises(PrerequisiteError, match=r"\(\[Errno 111\] Connection refused\)"):
        asking.get_run("Max retries exceeded: [Errno 111] Connection refused")
    assert client.left == 0
    client.left = 1
    with pytest.raises(MlflowException, match="failed with exception on a disk"):
        asking.get_run("on a disk")  # no server is at fault
    assert client.left == 0


def entry(order: int) -> Entry:
    metrics = {"loss": 0.5, "lae_order": float(order)}
    made = Entry(f"g1-i0-a{order}", order, 0, False, {}, {}, metrics, "", (), "", "+ a\n")
    return replace(made, params={"generation": "1"}, tags={"island": "0"}, summary="smaller")


# -- over HTTP -----------------------------------------------------------------------------------


@contextmanager
def served(folder: Path, port: int) -> Iterator[None]:
    """Run an MLflow server until the block ends, and then kill it as a machine that dies does."""
    words = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port)]
    words += ["--workers", "1", "--backend-store-uri", f"sqlite:///{folder / 'served.db'}"]
    words += ["--artifacts-destination", str(folder / "served")]
    with (folder / "served.log").open("ab") as log:
        server = subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)
    try:
        until = time.monotonic() + 180
        while not _answers(port):
            assert server.poll() is None, (folder / "served.log").read_text()
            assert time.monotonic() < until
            time.sleep(0.2)
        yield
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def _answers(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
            return True
    except OSError:
        return False


def test_mlflow_over_http_survives_its_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracking = pytest.importorskip("mlflow.tracking")
    pytest.importorskip("flask")  # mlflow-skinny brings no server
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    root = make_run(tmp_path, Made(children=15))
    with (root / "loop.run.yaml").open("a") as settings:
        settings.write(f"trackers: {{mlflow: {{uri: '{url}', experiment: tiny}}}}\n")

    down = typed("track", str(root))
    assert down.returncode == 3
    why = f"{url} does not answer ([Errno 111] Connection refused)"
    assert f"tracker mlflow failed: trackers.mlflow.uri: {why}" in down.stderr
    assert "the same command makes the others" in down.stderr

    words = [sys.executable, "-m", "lae_controller", "track", str(root)]
    client = tracking.MlflowClient(tracking_uri=url)
    with served(tmp_path, port):
        tracker = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        while len(_runs(client)) < 4:
            assert tracker.poll() is None
            time.sleep(0.1)
    with served(tmp_path, port):  # within the patience of its client
        said, _ = tracker.communicate(timeout=300)
        assert (tracker.returncode, said.split()[0]) == (0, "mlflow")
        again = typed("track", str(root), "--json")
        assert (again.returncode, json.loads(again.stdout)) == (0, {"mlflow": 0})
        runs = {run.data.tags.get("lae.child", ""): run for run in _runs(client)}
        assert len(runs) == len(_runs(client))
        rows = Ledger(root / "sandbox/lae", print).read_history(mend=False) or []
        rows = [row for row in rows if row.gen or row.island == 0]
        assert set(runs) == {"", *(row.child_id for row in rows)}
        course = client.get_metric_history(runs[""].info.run_id, "lae_best")
        assert [point.step for point in course] == list(range(len(rows)))
        for row in rows:
            run = runs[row.child_id]
            assert run.info.status == ("FAILED" if row.status == "crash" else "FINISHED")
            assert run.data.tags["mlflow.parentRunId"] == runs[""].info.run_id
            points = client.get_metric_history(run.info.run_id, "lae_order")
            assert len({point.step for point in points}) == len(points)


def _runs(client: Any) -> list[Any]:
    found = client.get_experiment_by_name("tiny")
    return list(client.search_runs([found.experiment_id], max_results=500)) if found else []


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

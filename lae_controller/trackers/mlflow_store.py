"""An MLflow store: one run for the search, with the course of it, and below it one per child."""

from __future__ import annotations

import re
import time
from typing import Any

from mlflow.entities import Metric, Param, RunTag, ViewType
from mlflow.tracking import MlflowClient

from lae_controller.files import make_folder
from lae_controller.trackers import Place
from lae_controller.trackers.entry import Entry, Run
from lae_controller.tracking import MlflowSettings

_KEY, _CHILD, _REVISION, _PARENT = "lae.run", "lae.child", "lae.revision", "mlflow.parentRunId"
_BATCH = 500
_LONGEST = 4000
"""Characters of a tag or parameter; servers refuse more than about 5,000."""

_BEST = "lae_best"


class MlflowStore:
    """Entries in one MLflow experiment; nothing about this machine or its user is noted."""

    def __init__(self, settings: MlflowSettings, place: Place) -> None:
        self._artifacts = None
        uri = settings.uri
        if uri is None:
            make_folder(place.folder)
            uri = f"sqlite:///{place.folder / 'mlflow.db'}"
            self._artifacts = (place.folder / "artifacts").as_uri()
        self._client = MlflowClient(tracking_uri=uri)
        self._experiment = self._experiment_of(settings.experiment or place.name)
        self._run: Run | None = None
        self._parent = ""
        self._known: dict[str, str] = {}
        self._last = -1

    def _experiment_of(self, name: str) -> str:
        found = self._client.get_experiment_by_name(name)
        if found is not None:
            return str(found.experiment_id)
        return str(self._client.create_experiment(name, artifact_location=self._artifacts))

    def begin(self, run: Run) -> dict[str, int]:
        """Return the children whose runs were finished; others are taken away."""
        self._run = run
        held: dict[str, int] = {}
        for found in self._found(run.key):
            child = found.data.tags.get(_CHILD, "")
            if not child:
                self._parent = found.info.run_id
            elif found.info.status == "RUNNING" or child in held:
                self._client.delete_run(found.info.run_id)
            else:
                self._known[child] = found.info.run_id
                held[child] = int(found.data.tags[_REVISION])
        if not self._parent:
            self._parent = self._new(f"{run.name} {run.key}", "")
        texts = [Param(key, value[:_LONGEST]) for key, value in run.params.items()]
        if "metric" not in self._client.get_run(self._parent).data.params:
            self._client.log_batch(self._parent, params=texts)
        course = self._client.get_metric_history(self._parent, _BEST)
        self._last = max((point.step for point in course), default=-1)
        self._client.update_run(self._parent, "RUNNING")
        return held

    def _found(self, key: str) -> list[Any]:
        """Return all runs of this search, page by page."""
        found: list[Any] = []
        token: str | None = None
        while True:
            page = self._client.search_runs(
                [self._experiment], f"tags.`{_KEY}` = '{key}'", ViewType.ACTIVE_ONLY, 500,
                page_token=token,
            )  # fmt: skip
            found += page
            token = page.token
            if not token:
                return found

    def _new(self, name: str, child: str) -> str:
        assert self._run is not None
        tags = {_KEY: self._run.key, _CHILD: child, "mlflow.runName": name}
        if child:
            tags[_PARENT] = self._parent
        return str(self._client.create_run(self._experiment, tags=tags).info.run_id)

    def put(self, entry: Entry) -> None:
        """Make the run of a child, or add to it what its further runs gave."""
        known = self._known.get(entry.child_id)
        run_id = known or self._new(entry.child_id, entry.child_id)
        now = int(time.time() * 1000)
        metrics = [
            Metric(_name(key), value, now, entry.revision) for key, value in entry.metrics.items()
        ]
        tags = {
            **entry.tags, _REVISION: str(entry.revision), "mlflow.note.content": entry.summary,
        }  # fmt: skip
        texts = [RunTag(key, value[:_LONGEST]) for key, value in tags.items() if value]
        if known is None:
            params = [Param(key, value[:_LONGEST]) for key, value in entry.params.items()]
            curve = _name(f"curve/{entry.curve_name}")
            metrics += [Metric(curve, value, now, step) for step, value in entry.steps]
            self._client.log_batch(run_id, params=params)
            if entry.diff:
                self._client.log_text(run_id, entry.diff, "change.diff")
        for start in range(0, len(metrics), _BATCH):
            self._client.log_batch(run_id, metrics=metrics[start : start + _BATCH])
        self._client.log_batch(run_id, tags=texts)
        if known is None:
            self._client.set_terminated(run_id, "FAILED" if entry.failed else "FINISHED")
            self._known[entry.child_id] = run_id

    def point(self, order: int, metric: float | None, best: float | None) -> None:
        """Add a child to the course of the search, unless an earlier process did."""
        if order > self._last and best is not None and self._run is not None:
            now = int(time.time() * 1000)
            points = [Metric(_BEST, best, now, order)]
            if metric is not None:
                points.append(Metric(_name(self._run.metric), metric, now, order))
            self._client.log_batch(self._parent, metrics=points)

    def close(self) -> None:
        """Say that the search has ended, for now."""
        self._client.set_terminated(self._parent, "FINISHED")


def _name(text: str) -> str:
    """Return a name that MLflow takes: letters, digits and ``_-. /``."""
    return re.sub(r"[^\w\-. /]", "_", text)

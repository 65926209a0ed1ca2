"""An MLflow store: one run for the search, with the course of it, and below it one per child."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

from mlflow.entities import Metric, Param, RunTag, ViewType
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient
from requests import RequestException

from lae_controller.errors import PrerequisiteError
from lae_controller.files import make_folder
from lae_controller.trackers import Place
from lae_controller.trackers.entry import Entry, Run
from lae_controller.tracking import MlflowSettings

_KEY, _CHILD, _REVISION, _PARENT = "lae.run", "lae.child", "lae.revision", "mlflow.parentRunId"
_BATCH = 500
_LONGEST = 4000
"""Characters of a tag or parameter; servers refuse more than about 5,000."""

_BEST = "lae_best"

_RETRIES = "MLFLOW_HTTP_REQUEST_MAX_RETRIES"
_WHY = re.compile(r"\[Errno \d+\] [\w ]+|too many \d+ error responses|timed out")


class _Asking:
    """A client that asks once more where an answer broke off, which its own patience leaves out.

    Each of its requests may be made twice without harm (see ``MlflowStore``). A server that does
    not answer at all is named.
    """

    def __init__(self, client: MlflowClient) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._client, name)

        @wraps(method)
        def asked(*args: Any, **more: Any) -> Any:
            try:
                try:
                    return method(*args, **more)
                except MlflowException as error:
                    if _cause(error) is None or "Max retries" in str(_cause(error)):
                        raise
                return method(*args, **more)
            except MlflowException as error:
                if _cause(error) is None:
                    raise
                raise _unanswered(error) from error

        return asked


def _cause(error: MlflowException) -> RequestException | None:
    """Return what befell the connection; None if the server answered, or if there is none."""
    cause = error.__cause__ or error.__context__
    return cause if isinstance(cause, RequestException) else None


def _unanswered(error: MlflowException) -> PrerequisiteError:
    address = re.search(r"(https?://)(?:[^/\s@]*@)?([^/\s]+)", str(error))
    why = _WHY.findall(str(_cause(error))) or ["its answer broke off"]
    return PrerequisiteError(
        f"trackers.mlflow.uri: {''.join(address.groups()) if address else 'the server'} does not "
        f"answer ({why[-1].strip()}); expected an MLflow server there"
    )


@contextmanager
def _impatient() -> Iterator[None]:
    """Ask a server but three times: whether one is there at all is to be known in seconds.

    MLflow's own patience, of four minutes, is for what happens later, a restart say. What a
    person has set stays.
    """
    if _RETRIES in os.environ:
        yield
        return
    os.environ[_RETRIES] = "2"
    try:
        yield
    finally:
        del os.environ[_RETRIES]


class MlflowStore:
    """Entries in one MLflow experiment; nothing about this machine or its user is noted.

    The client asks again when an answer is lost, so what was asked for may have been made twice.
    The second of anything is taken away, at the start and at the end.
    """

    def __init__(self, settings: MlflowSettings, place: Place) -> None:
        self._artifacts = None
        uri = settings.uri
        if uri is None:
            make_folder(place.folder)
            uri = f"sqlite:///{place.folder / 'mlflow.db'}"
            self._artifacts = (place.folder / "artifacts").as_uri()
        self._client = _Asking(MlflowClient(tracking_uri=uri))
        with _impatient():
            self._experiment = self._experiment_of(settings.experiment or place.name)
        self._run: Run | None = None
        self._parent = ""
        self._known: dict[str, str] = {}
        self._last = -1

    def _experiment_of(self, name: str) -> str:
        found = self._client.get_experiment_by_name(name)
        if found is None:
            try:
                return str(self._client.create_experiment(name, artifact_location=self._artifacts))
            except MlflowException:  # somebody else was first, or the answer to us was lost
                found = self._client.get_experiment_by_name(name)
                if found is None:
                    raise
        return str(found.experiment_id)

    def begin(self, run: Run) -> dict[str, int]:
        """Return the children whose runs were finished; others are taken away."""
        self._run = run
        held: dict[str, int] = {}
        everything = self._found(run.key)
        self._parent = self._parent_of(everything)
        for found in everything:
            child = found.data.tags.get(_CHILD, "")
            if child and found.info.status != "RUNNING" and child not in held:
                self._known[child] = found.info.run_id
                held[child] = int(found.data.tags[_REVISION])
        if not self._parent:
            self._parent = self._new(f"{run.name} {run.key}", "")
        self._tidy(everything)
        texts = [Param(key, value[:_LONGEST]) for key, value in run.params.items()]
        if "metric" not in self._client.get_run(self._parent).data.params:
            self._client.log_batch(self._parent, params=texts)
        course = self._client.get_metric_history(self._parent, _BEST)
        self._last = max((point.step for point in course), default=-1)
        self._client.update_run(self._parent, "RUNNING")
        return held

    def _parent_of(self, everything: Sequence[Any]) -> str:
        """Return the run of the search; of several, the one that children name. Empty if none."""
        named = Counter(found.data.tags.get(_PARENT, "") for found in everything)
        mine = [found for found in everything if not found.data.tags.get(_CHILD, "")]
        mine.sort(key=lambda it: (-named[it.info.run_id], it.info.start_time))
        return str(mine[0].info.run_id) if mine else ""

    def _tidy(self, everything: Sequence[Any]) -> None:
        """Take away runs of this search that are not those which are kept up."""
        mine = {self._parent, *self._known.values()}
        for found in everything:
            if found.info.run_id not in mine:
                self._client.delete_run(found.info.run_id)

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
        if known is not None:
            self._renew(known, entry)
            return
        run_id = self._new(entry.child_id, entry.child_id)
        now = int(time.time() * 1000)
        curve = _name(f"curve/{entry.curve_name}")
        metrics = _metrics(entry, now)
        metrics += [Metric(curve, value, now, step) for step, value in entry.steps]
        params = [Param(key, value[:_LONGEST]) for key, value in entry.params.items()]
        self._client.log_batch(run_id, metrics[:_BATCH], params, _tags(entry))
        for start in range(_BATCH, len(metrics), _BATCH):
            self._client.log_batch(run_id, metrics[start : start + _BATCH])
        if entry.diff:
            self._client.log_text(run_id, entry.diff, "change.diff")
        self._client.set_terminated(run_id, "FAILED" if entry.failed else "FINISHED")
        self._known[entry.child_id] = run_id

    def _renew(self, run_id: str, entry: Entry) -> None:
        """Add what further runs gave; the tag that says so comes last."""
        steps = {it.step for it in self._client.get_metric_history(run_id, "lae_order")}
        if entry.revision not in steps:  # else a process died here, between metrics and tags
            self._client.log_batch(run_id, _metrics(entry, int(time.time() * 1000)))
        self._client.log_batch(run_id, tags=_tags(entry))

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
        if self._run is not None:
            self._tidy(self._found(self._run.key))


def _metrics(entry: Entry, now: int) -> list[Metric]:
    return [Metric(_name(key), value, now, entry.revision) for key, value in entry.metrics.items()]


def _tags(entry: Entry) -> list[RunTag]:
    tags = {**entry.tags, _REVISION: str(entry.revision), "mlflow.note.content": entry.summary}
    return [RunTag(key, value[:_LONGEST]) for key, value in tags.items() if value]


def _name(text: str) -> str:
    """Return a name that MLflow takes: letters, digits and ``_-. /``."""
    return re.sub(r"[^\w\-. /]", "_", text)

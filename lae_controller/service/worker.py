"""``lae`` as the evaluator of an experiment elsewhere: acquire, sandbox, cascade, submit.

The experiment, in Google's cloud or on another server, makes the programs; this machine runs them
as it runs the children of its own searches: the project's harness and data, the same isolation,
the same limits. A program that fails in any way, or takes too long, gets the penalty score, so
that nobody waits for it.
"""

from __future__ import annotations

import hashlib
import random
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lae_controller.change.forbidden import check_calls
from lae_controller.change.normal_form import digest as digest_of
from lae_controller.change.source import read_source, write_source
from lae_controller.change.syntax import check_syntax
from lae_controller.config import Settings
from lae_controller.errors import ChildError, ConfigError, PrerequisiteError
from lae_controller.evaluators.baseline import Prepared
from lae_controller.evaluators.cascade import Job, Plan
from lae_controller.executors import Executor
from lae_controller.files import make_folder, remove_tree
from lae_controller.program import Evaluation, Files, Reason, Status
from lae_controller.remarks import Say
from lae_controller.sandbox.programs import build, check_bounds
from lae_controller.service import limits
from lae_controller.service.client import ApiClient, RemoteError
from lae_controller.service.safe_text import clean_remark

_TICK_S = 0.2
_ENDED = frozenset({"COMPLETED", "FAILED"})
_STALE = frozenset({"FAILED_PRECONDITION", "NOT_FOUND"})
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}")


@dataclass(frozen=True, slots=True)
class Equipment:
    """What this machine evaluates with.

    Attributes:
        prepared: the project with its measured baseline.
        executor: runs the jobs.
        limit: seconds that the evaluation of one program may take in all.
        poll: seconds between two looks at an empty queue, at most.
    """

    settings: Settings
    prepared: Prepared
    executor: Executor
    limit: float = limits.EVALUATION_SECONDS
    poll: float = 15.0


@dataclass(frozen=True, slots=True)
class Held:
    """A program that this worker acquired.

    Attributes:
        name: resource name.
        token: to be sent back exactly as it came.
        parents: resource names.
        files: its sources, by the project's own paths.
    """

    name: str
    token: str
    parents: tuple[str, ...]
    files: Files

    @property
    def key(self) -> str:
        """A name for folders here; never a path of the server's making."""
        last = self.name.rpartition("/")[2]
        if _PLAIN.fullmatch(last):
            return last
        return hashlib.sha256(self.name.encode()).hexdigest()[:16]


class Worker:
    """Evaluates programs of one experiment until it ends.

    Args:
        experiment: resource name.
        rng: for the jitter of pauses.
    """

    def __init__(
        self, client: ApiClient, experiment: str, equipment: Equipment, say: Say, rng: random.Random
    ) -> None:
        settings = equipment.settings
        self._client = client
        self._experiment = experiment
        self._settings = settings
        self._prepared = equipment.prepared
        self._executor = equipment.executor
        self._poll = equipment.poll
        self._say = say
        self._rng = rng
        plan = equipment.prepared.baseline.plan(settings)
        self._plan = bounded(plan, equipment.limit, settings.stop_grace)
        self._folder = settings.lae_dir / "cloud"
        self._held: dict[str, Held] = {}
        self._smoke: dict[str, float] = {}
        self._next_ask = 0.0

    def run(self) -> int:
        """Work until the experiment ends; returns how many evaluations it took from here.

        Raises:
            LaeError: if the server or this machine cannot go on.
            Interrupted: if everything is being ended.
        """
        taken, ended = 0, False
        while not ended or self._held:
            if not ended and len(self._held) < self._executor.capacity():
                ended = self._ask()
            for attempt in self._executor.poll(_TICK_S):
                taken += self._finish(attempt)
        return taken

    # -- acquire -----------------------------------------------------------------------------

    def _ask(self) -> bool:
        """Acquire as many programs as there are free slots; returns whether there are no more."""
        now = time.monotonic()
        if now < self._next_ask:
            return False
        free = self._executor.capacity() - len(self._held)
        body = {"parent": self._experiment, "desiredProgramsCount": free}
        reply = self._client.call("POST", f"{self._experiment}:acquirePrograms", body)
        programs = reply.get("programs", [])
        for wire in programs:
            self._take(wire)
        if programs:
            return False
        self._next_ask = now + self._rng.uniform(0.5, 1.0) * self._poll
        state = self._client.call("GET", self._experiment).get("state")
        return state in _ENDED

    def _take(self, wire: Mapping[str, Any]) -> None:
        listed = wire.get("content", {}).get("files", [])
        files = {item["path"]: item["content"] for item in listed}
        parents = tuple(wire.get("parentPrograms", ()))
        held = Held(wire["name"], wire.get("lockToken", ""), parents, files)
        try:
            self._start(replace(held, files=self._own_paths(files)))
        except ChildError as error:
            evaluation = Evaluation(Status.CRASH, reason=error.reason, detail=error.detail)
            self._submit(held, evaluation)

    def _own_paths(self, files: Files) -> Files:
        """Return the files under the project's paths; a single file is the single editable one.

        Raises:
            ChildError: if the program has a file that the project may not change, or lacks one.
        """
        editable = self._prepared.baseline.editable
        if len(files) == len(editable) == 1:
            return {editable[0]: next(iter(files.values()))}
        if set(files) != set(editable):
            odd = min(set(files) ^ set(editable))
            raise ChildError(
                Reason.OUT_OF_BOUNDS,
                f"{odd[:200]}: not in both the program and editable_files of this project",
            )
        return dict(files)

    def _start(self, held: Held) -> None:
        """Check a program and hand it to a slot.

        Raises:
            ChildError: if it may not run.
        """
        base, snapshot = self._settings.lae_dir / "base", self._prepared.snapshot
        before = {path: read_source(base / path) for path in self._prepared.baseline.editable}
        check_syntax(before, held.files)
        check_calls(before, held.files, self._settings.forbidden_calls)
        directory = self._folder / held.key / "program"
        build(snapshot, base, directory)
        for path, text in held.files.items():
            make_folder((directory / path).parent)
            write_source(directory / path, text)
        check_bounds(directory, snapshot, base, self._prepared.baseline.editable)
        parent = next((self._smoke[name] for name in held.parents if name in self._smoke), None)
        job = Job(
            child_id=held.key,
            attempt=0,
            program=directory,
            digest=digest_of(held.files),
            folder=self._folder / held.key / "runs",
            plan=self._plan,
            parent_smoke=parent,
        )
        self._held[self._executor.submit(job)] = held
        self._say(f"{held.key}: acquired")

    # -- submit ------------------------------------------------------------------------------

    def _finish(self, attempt: str) -> bool:
        held = self._held.pop(attempt)
        evaluation = self._executor.collect(attempt)
        if evaluation.reason is Reason.ENVIRONMENT:
            raise PrerequisiteError(
                f"{held.key}: the machine failed, not the program: {evaluation.detail}. Mend it "
                "and give the same command again; the program is handed out anew once its lease "
                "is over"
            )
        if evaluation.smoke_metric is not None:
            self._smoke[held.name] = evaluation.smoke_metric
        remove_tree(self._folder / held.key)
        return self._submit(held, evaluation)

    def _submit(self, held: Held, evaluation: Evaluation) -> bool:
        """Report one program; returns whether it was taken. A stale result is dropped."""
        wire = report(evaluation, self._settings)
        submission = {"program": held.name, "lockToken": held.token, "evaluation": wire}
        body = {"parent": self._experiment, "evaluationSubmissions": [submission]}
        try:
            self._client.call("POST", f"{self._experiment}:submitProgramsEvaluations", body)
        except RemoteError as error:
            if error.status not in _STALE:
                raise
            self._say(f"{held.key}: dropped, {error}")
            return False
        self._say(f"{held.key}: {wire['scores']['scores'][0]['score']:g}")
        return True


def bounded(plan: Plan, limit: float, grace: float) -> Plan:
    """Return a plan whose stages together end within ``limit`` seconds.

    A smoke run takes at most a quarter of it.

    Raises:
        ConfigError: if so little is no time at all.
    """
    left = limit - 2 * grace
    if left <= 0:
        raise ConfigError(f"--limit {limit:g}: expected more than twice stop_grace ({grace:g} s)")
    smoke = plan.smoke
    if smoke is not None:
        smoke = replace(smoke, limit=min(smoke.limit or left, left / 4))
        left -= smoke.limit or 0.0
    return replace(
        plan, smoke=smoke, full=replace(plan.full, limit=min(plan.full.limit or left, left))
    )


def report(evaluation: Evaluation, settings: Settings) -> dict[str, Any]:
    """Return the ``Evaluation`` message for an outcome: larger is better, failure the penalty."""
    found = {settings.metric: (settings.direction, evaluation.metric)}
    for further in settings.metrics:
        found[further.name] = (further.direction, evaluation.metrics.get(further.name))
    done = evaluation.status is Status.EVALUATED and evaluation.metric is not None
    listed = [
        {
            "metric": name,
            "score": direction.fitness(value) if done and value is not None else limits.PENALTY,
        }
        for name, (direction, value) in found.items()
        if not done or value is not None
    ]
    return {"scores": {"scores": listed}, "insights": {"insights": _insights(evaluation, settings)}}


def _insights(evaluation: Evaluation, settings: Settings) -> list[dict[str, str]]:
    found = [{"label": "status", "text": evaluation.status.value}]
    if evaluation.metric is not None:
        found.append({"label": settings.metric, "text": f"{evaluation.metric:g}"})
    if evaluation.reason is not None or evaluation.detail:
        label = evaluation.reason.value if evaluation.reason is not None else "detail"
        found.append({"label": label, "text": clean_remark(evaluation.detail)})
    if evaluation.status is Status.CRASH and evaluation.artifacts.log_tail:
        tail = clean_remark(evaluation.artifacts.log_tail)
        found.append({"label": "end of the output", "text": tail[-600:]})
    if evaluation.artifacts.curve:
        step, value = evaluation.artifacts.curve[-1]
        found.append({"label": "curve", "text": f"last value {value:g} at step {step:g}"})
    return [item for item in found if item["text"]][: limits.INSIGHTS_SHOWN]

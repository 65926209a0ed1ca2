from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from serve_helpers import SESSION, Answer, an_evaluation, call, config_wire, running_service
from tiny_project import MODEL, make_project

from lae_controller import build
from lae_controller.config import FurtherMetric, Settings, load
from lae_controller.errors import ConfigError
from lae_controller.evaluators import Stage
from lae_controller.evaluators.cascade import Plan
from lae_controller.program import Artifacts, Direction, Evaluation, Reason, Status
from lae_controller.sandbox.launch import Lifelines
from lae_controller.service.backoff import Backoff
from lae_controller.service.client import ApiClient, RemoteError
from lae_controller.service.verbs import scores
from lae_controller.service.worker import Equipment, Worker, bounded, report

pytest.importorskip("starlette")

from lae_controller.service.app import make_app

EVOLVED = "# EVOLVE-BLOCK-START\n" + MODEL + "# EVOLVE-BLOCK-END\n"


class AppClient(ApiClient):
    """A client that speaks to an application without a socket."""

    def __init__(self, app: Any) -> None:
        super().__init__("http://127.0.0.1:1", lambda: None, random.Random(1), Backoff(tries=1))
        self._app = app

    def _send(self, method: str, name: str, body: Any, query: dict[str, str]) -> dict[str, Any]:
        asked = "&".join(f"{key}={value.replace(' ', '%20')}" for key, value in query.items())
        answer: Answer = call(self._app, method, f"/v1alpha/{name}?{asked}", body)
        if answer.status >= 400:
            raise RemoteError(answer.status, answer.error["status"], answer.error["message"])
        return answer.json if answer.raw else {}


@pytest.fixture(scope="module")
def equipment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Equipment]:
    """Yield a project whose baseline is measured, and the slots of this machine."""
    project = make_project(tmp_path_factory.mktemp("worker") / "project")
    (project / "model.py").write_text(EVOLVED)
    config = project / "loop.run.yaml"
    config.write_text(config.read_text().replace("baseline_runs: 2", "baseline_runs: 1"))
    settings, lifelines = load(project), Lifelines()
    prepared = build.prepared_run(settings, lifelines, lambda _: None)
    site = build.site_for(settings)
    executor = site.executor(lifelines, prepared.snapshot, prepared.baseline.editable)
    yield Equipment(settings, prepared, executor, poll=0.05)
    executor.close()


@pytest.fixture
def settings(equipment: Equipment) -> Settings:
    return equipment.settings


def seeded(client: ApiClient, path: str, content: str, score: float, **run: Any) -> str:
    wire = {"config": config_wire(**run)}
    name = str(client.call("POST", f"{SESSION}/alphaEvolveExperiments", wire)["name"])
    program = {
        "content": {"files": [{"path": path, "content": content}]},
        "evaluation": an_evaluation({"val_loss": score}),
    }
    client.call("POST", f"{name}/alphaEvolvePrograms", program)
    client.call("POST", f"{name}:start", {})
    return name


def test_programs_of_an_experiment_are_trained_here_and_reported(
    equipment: Equipment, tmp_path: Path
) -> None:
    said: list[str] = []
    with running_service(tmp_path / "server") as service:
        client = AppClient(make_app(service, "127.0.0.1", None))
        metric = equipment.prepared.baseline.metric
        name = seeded(client, "initial_program.py", EVOLVED, -metric, maxPrograms=3)
        worker = Worker(client, name, equipment, said.append, random.Random(5))
        assert worker.run() == 2
        assert client.call("GET", name)["state"] == "COMPLETED"
        found = client.listed(
            f"{name}/alphaEvolvePrograms", "alphaEvolvePrograms", {"orderBy": "val_loss desc"}
        )
        for program in found:
            assert scores(program)["val_loss"] < 0
            if program["name"].endswith("g0-i0-a0"):
                continue
            labels = [it["label"] for it in program["evaluation"]["insights"]["insights"]]
            assert labels[0] == "status"
    assert not list((equipment.settings.lae_dir / "cloud").glob("*"))
    assert not (equipment.settings.lae_dir / "journal.jsonl").exists()


def test_the_evaluation_of_a_program_that_is_gone_is_dropped(
    equipment: Equipment, tmp_path: Path
) -> None:
    said: list[str] = []
    broken = "# EVOLVE-BLOCK-START\nRATE = (\n# EVOLVE-BLOCK-END\n"
    with running_service(tmp_path / "server") as service:
        client = AppClient(make_app(service, "127.0.0.1", None))
        name = seeded(client, "model.py", broken, 0.0, maxPrograms=2)
        served = service.registry.get(_child(name))
        worker = Worker(client, name, equipment, said.append, random.Random(5))
        held = {
            "name": f"{name}/alphaEvolvePrograms/g9-i0-a0",
            "lockToken": "gone",
            "content": {"files": [{"path": "model.py", "content": broken}]},
        }
        worker._take(held)
        assert served.experiment.book.evaluated == 1
    assert "g9-i0-a0: dropped, the server says 404 NOT_FOUND" in said[0]


def _child(name: str) -> Any:
    from lae_controller.service.names import parse_experiment

    return parse_experiment(name)


# -- what is reported ----------------------------------------------------------------------------


def reported(settings: Settings, evaluation: Evaluation) -> tuple[float, dict[str, str]]:
    wire = report(evaluation, settings)
    (score,) = wire["scores"]["scores"]
    assert score["metric"] == "val_loss"
    return score["score"], {it["label"]: it["text"] for it in wire["insights"]["insights"]}


def test_larger_is_better_on_the_wire(settings: Settings) -> None:
    done = Evaluation(
        Status.EVALUATED, metric=0.25, artifacts=Artifacts(curve=((1, 0.5), (2, 0.25)))
    )
    score, insights = reported(settings, done)
    assert score == -0.25
    assert insights == {
        "status": "evaluated",
        "val_loss": "0.25",
        "curve": "last value 0.25 at step 2",
    }
    assert reported(replace(settings, direction=Direction.MAXIMIZE), done)[0] == 0.25


def test_further_metrics_are_reported_as_far_as_they_were_read(settings: Settings) -> None:
    further = (
        FurtherMetric("seconds", Direction.MINIMIZE),
        FurtherMetric("auc", Direction.MAXIMIZE),
    )
    several = replace(settings, metrics=further)
    done = Evaluation(Status.EVALUATED, metric=0.25, metrics={"seconds": 3.0})
    assert scores({"evaluation": report(done, several)}) == {"val_loss": -0.25, "seconds": -3.0}
    crash = scores({"evaluation": report(Evaluation(Status.CRASH), several)})
    assert crash == dict.fromkeys(("val_loss", "seconds", "auc"), -100_000.0)


@pytest.mark.parametrize(
    "evaluation",
    [
        Evaluation(Status.CRASH, reason=Reason.TIMEOUT, detail="over its time"),
        Evaluation(Status.SMOKE_DROPPED, smoke_metric=9.0, detail="over its time"),
    ],
)
def test_whatever_has_no_metric_gets_the_penalty_and_a_reason(
    settings: Settings, evaluation: Evaluation
) -> None:
    score, insights = reported(settings, evaluation)
    assert score == -100_000.0
    assert "over its time" in insights.values()


def test_a_traceback_leaves_as_its_last_line_only(settings: Settings) -> None:
    log = (
        'Traceback (most recent call last):\n  File "/srv/me/train.py", line 9, in <module>\n'
        "    go(TOKEN)\nValueError: SECRET_TOKEN=abc is bad"
    )
    crash = Evaluation(Status.CRASH, reason=Reason.EXIT, artifacts=Artifacts(log_tail=log))
    text = reported(settings, crash)[1]["end of the output"]
    assert text == "ValueError: SECRET_TOKEN=*** is bad (train.py:9)"


def plan(smoke: float | None, full: float | None) -> Plan:
    first = None if smoke is None else Stage("smoke", 1, 0, smoke)
    return Plan(first, Stage("full", 4, 0, full), 0.25, Direction.MINIMIZE)


@pytest.mark.parametrize(
    ("given", "smoke", "full"),
    [
        (plan(None, 60), None, 60),
        (plan(None, 9_000), None, 1_780),
        (plan(30, 60), 30, 60),
        (plan(9_000, 9_000), 445, 1_335),
        (plan(None, None), None, 1_780),
    ],
)
def test_all_stages_together_end_within_the_limit(
    given: Plan, smoke: float | None, full: float
) -> None:
    cut = bounded(given, 1_800.0, 10.0)
    assert (cut.smoke.limit if cut.smoke else None, cut.full.limit) == (smoke, full)


def test_a_limit_that_is_no_time_is_refused() -> None:
    with pytest.raises(ConfigError, match="expected more than twice stop_grace"):
        bounded(plan(None, 60), 15.0, 10.0)

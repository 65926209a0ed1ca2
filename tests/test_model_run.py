"""Whole runs with a scripted model: what goes wrong is mended, counted, or ends with a reason."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mutators.messages_server import MessagesServer, Request, Step, reply, status
from tiny_project import make_project

from lae_controller import config, session
from lae_controller.ahead import Ahead
from lae_controller.errors import PrerequisiteError

SECRETS = {
    "ANTHROPIC_API_KEY": "sk-ant-api03-planted-secret-0001",
    "HF_TOKEN": "hf_planted_secret_0002",
    "MY_PASSWORD": "planted-secret-0003",
    "AWS_SECRET_ACCESS_KEY": "planted/secret/0004",
}
MODEL = "mutator: {{backend: anthropic, model: claude-haiku-5-5, timeout: 60{more}}}\n"


def block(before: str, after: str) -> str:
    return (
        f"model.py\n<<<<<<< SEARCH\n{before}\n=======\n{after}\n>>>>>>> REPLACE\nSUMMARY: {after}"
    )


@dataclass
class Answering(MessagesServer):
    """Answers by what it is asked: the first children get these, repairs the mended one.

    All others get a change that nobody had yet.
    """

    first: tuple[Step, ...] = ()
    mended: Step | None = None
    tokens: int = 50

    def next(self, request: Request) -> Step:
        with self._lock:
            self.requests.append(request)
            repair = self.mended is not None and "RATE = missing" in str(request.body["messages"])
            if repair and self.mended is not None:
                return self.mended
            asked = sum("RATE = missing" not in str(r.body["messages"]) for r in self.requests)
            if asked <= len(self.first):
                return self.first[asked - 1]
            shown = "\n".join(text for role, text in request.turns if role == "user")
            width = re.findall(r"^WIDTH = \d+", shown, re.M)
            return reply(block(width[-1], f"WIDTH = {8 + asked}"), output_tokens=self.tokens)


def told(project: Path) -> list[dict[str, Any]]:
    lines = (project / "sandbox/lae/journal.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    return [e["record"] for e in events if e["event"] == "told" and e["record"]["gen"]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project with room for three children or so."""
    project = make_project(tmp_path / "project", "isolation: none\n" + MODEL.format(more=""))
    return budgeted(project, 10, 6)


def budgeted(project: Path, before: int, total: int) -> Path:
    path = project / "loop.run.yaml"
    path.write_text(path.read_text().replace(f"total_budget: {before}", f"total_budget: {total}"))
    return project


def run(project: Path, server: MessagesServer, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in {**SECRETS, "ANTHROPIC_BASE_URL": server.url}.items():
        monkeypatch.setenv(name, value)
    said: list[str] = []
    session.run_search(config.load(project), said.append)
    return "\n".join(said)


def test_a_crash_goes_back_with_its_traceback_and_costs_what_it_cost(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, good = block("RATE = 0.5", "RATE = missing"), block("RATE = 0.5", "RATE = 0.1")
    with Answering([], first=(reply(broken),), mended=reply(good)) as server:
        run(project, server, monkeypatch)
    records = {record["summary"]: record for record in told(project)}
    mended = records["RATE = 0.1"]
    assert mended["status"] == "evaluated"
    assert mended["charge"] == pytest.approx(0.25 + 1.25)
    assert mended["usage"]["calls"] == 2
    assert mended["usage"]["mends"] == 1
    assert mended["usage"]["cost_usd"] > 0
    asked_again = next(r for r in server.requests if "NameError" in str(r.body["messages"]))
    assert "model.py" in str(asked_again.body["messages"][-1])
    assert_nothing_leaks(project, server)


def assert_nothing_leaks(project: Path, server: MessagesServer) -> None:
    prompts = json.dumps([request.body for request in server.requests])
    files = [path for path in project.rglob("*") if path.is_file()]
    assert len(files) > 20
    for name, value in SECRETS.items():
        assert value not in prompts, name
        for path in files:
            assert value.encode() not in path.read_bytes(), f"{name} in {path}"


def test_no_training_is_wasted_on_what_is_no_change(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prose = reply("I would lower the learning rate, as it is far too large.")
    refusal = reply("", "refusal", stop_details={"category": "frontier_llm"})
    overload = status(529, "overloaded_error", "busy", retry_after="0")
    budgeted(project, 6, 10)
    with Answering([], first=(refusal, overload, prose)) as server:
        run(project, server, monkeypatch)
    records = told(project)
    refused = [record for record in records if record["reason"] == "refused"]
    assert [record["charge"] for record in refused] == [0.0]
    assert {record["reason"] for record in records} <= {"refused", "bad_diff", "duplicate", None}
    assert sum(record["status"] == "evaluated" for record in records) >= 3


class Failing(Answering):
    """Answers every second first request, and each failure that comes back, with prose."""

    prose = "I do not know."
    first_requests = 0

    def next(self, request: Request) -> Step:
        changed = super().next(request)
        sent_back = self.prose in str(request.body["messages"])
        with self._lock:
            self.first_requests += not sent_back
            return reply(self.prose) if sent_back or self.first_requests % 2 else changed


def test_what_a_model_never_mends_is_not_sent_back_for_ever(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budgeted(project, 6, 14)
    with Failing([]) as server:
        run(project, server, monkeypatch)
    calls = [record["usage"]["calls"] for record in told(project)]
    assert 3 in calls  # not the first told, if an evaluation ends before a third answer
    assert calls[-1] == 1


def test_a_bad_key_ends_the_run_at_once_and_nothing_is_told(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = status(401, "authentication_error", f"invalid key {SECRETS['ANTHROPIC_API_KEY']}")
    fails = pytest.raises(PrerequisiteError, match="401")
    with Answering([], first=(bad,) * 9) as server, fails as failure:
        run(project, server, monkeypatch)
    assert SECRETS["ANTHROPIC_API_KEY"] not in str(failure.value)
    assert told(project) == []
    assert_nothing_leaks(project, server)


def test_the_purse_is_never_overdrawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = 0.09
    settings = "isolation: none\n" + MODEL.format(more=f", max_cost_usd: {limit}")
    project = make_project(tmp_path / "project", settings)
    with Answering([], tokens=8000) as server:
        said = run(project, server, monkeypatch)
    spent = sum(record["usage"]["cost_usd"] for record in told(project))
    assert 0 < spent <= limit
    journal = (project / "sandbox/lae/journal.jsonl").read_text().splitlines()
    assert json.loads(journal[-1])["reason"] == "money", said


def test_a_child_sees_no_key(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = project.parent / "seen"
    code = f"RATE = 0.4\nimport os\nopen({str(seen)!r}, 'w').write(repr(dict(os.environ)))"
    with Answering([], first=(reply(block("RATE = 0.5", code)),)) as server:
        run(project, server, monkeypatch)
    environment = seen.read_text()
    assert "PYTHONPATH" in environment
    assert not [name for name, value in SECRETS.items() if value in environment]
    assert os.environ["HF_TOKEN"] == SECRETS["HF_TOKEN"]


def test_no_more_is_asked_at_a_time_than_is_useful(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = project / "loop.run.yaml"
    path.write_text(path.read_text().replace("  schedule: generational\n", ""))
    crowds: list[int] = []
    monkeypatch.setattr(Ahead, "useful", lambda *_: 1)
    monkeypatch.setattr(Ahead, "proposed", lambda _, crowd, *__, **___: crowds.append(crowd))
    with Answering([]) as server:
        run(project, server, monkeypatch)
    assert len(crowds) >= 3
    assert set(crowds) == {1}

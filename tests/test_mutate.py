"""How a Mutator process tells its end."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mutators.messages_server import MessagesServer, hang, reply, status
from mutators.mutator_tasks import make_task

from lae_controller import mutate
from lae_controller.codec import encode
from lae_controller.config import MutatorSettings
from lae_controller.mutators import MUTATORS, messages_service
from lae_controller.mutators.environment import mutator_environment
from lae_controller.program import Reason, Usage
from lae_controller.task import Mutation, MutatorFailure, Task

FILES = {"train.py": "LR = 0.1\nWIDTH = 16\n"}
DIFF = "<<<<<<< SEARCH\nLR = 0.1\n=======\nLR = 0.2\n>>>>>>> REPLACE\n"
KEY, OTHER = "sk-ant-api03-planted-key", "another-planted-secret"


def write_task(folder: Path, **settings: Any) -> Path:
    values = encode(MutatorSettings(**{"model": "claude-opus-5-5", **settings}))
    path = folder / "task.json"
    path.write_text(json.dumps({"mutator": values, "task": encode(make_task(FILES))}))
    return path


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """Let ``mutate.main`` be called in this process, and its traces be undone."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    return monkeypatch


def test_a_proposal_replaces_what_an_earlier_process_left(
    here: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "failure.json").write_text(json.dumps({"reason": "refused", "detail": "no"}))
    assert mutate.read_outcome(tmp_path) == MutatorFailure(Reason.REFUSED, "no")
    assert mutate.main(write_task(tmp_path, backend="offline")) == 0
    outcome = mutate.read_outcome(tmp_path)
    assert isinstance(outcome, Mutation)
    assert outcome == mutate.read_mutation(tmp_path)
    assert not (tmp_path / "failure.json").exists()


@pytest.mark.parametrize("torn", ["", "{", "[]", '{"reason": "tired", "detail": ""}', '{"a": 1}'])
def test_a_torn_outcome_is_none(tmp_path: Path, torn: str) -> None:
    assert mutate.read_outcome(tmp_path) is None
    (tmp_path / "failure.json").write_text(torn)
    assert mutate.read_outcome(tmp_path) is None


def test_a_failure_comes_over_whole(
    here: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with MessagesServer([reply("I would rather not change it.")]) as server:
        here.setenv("ANTHROPIC_BASE_URL", server.url)
        assert mutate.main(write_task(tmp_path, backend="anthropic")) == 1
    outcome = mutate.read_outcome(tmp_path)
    assert isinstance(outcome, MutatorFailure)
    assert outcome.reason is Reason.BAD_DIFF
    assert outcome.reply == "I would rather not change it."
    assert isinstance(outcome.usage, Usage)
    assert outcome.usage.output_tokens == 50
    assert not outcome.fatal
    assert capsys.readouterr().err.startswith("bad_diff: ")


def test_a_bad_key_is_fatal_and_hidden(
    here: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with MessagesServer([status(401, "authentication_error", f"bad key {KEY}")]) as server:
        here.setenv("ANTHROPIC_BASE_URL", server.url)
        assert mutate.main(write_task(tmp_path, backend="anthropic")) == 3
    outcome = mutate.read_outcome(tmp_path)
    assert isinstance(outcome, MutatorFailure)
    assert outcome.fatal
    assert "bad key [hidden]" in outcome.detail
    assert KEY not in (tmp_path / "failure.json").read_text() + capsys.readouterr().err


def test_a_stream_that_falls_silent_is_ended_by_the_process_itself(
    here: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    messages_service.warm_up()  # as where Mutators are forked off: the second is not for imports
    with MessagesServer([hang("<<<<<<< SEARCH")]) as server:
        here.setenv("ANTHROPIC_BASE_URL", server.url)
        assert mutate.main(write_task(tmp_path, backend="anthropic", timeout=1.0)) == 1
    outcome = mutate.read_outcome(tmp_path)
    assert isinstance(outcome, MutatorFailure)
    assert outcome.reason is Reason.ENVIRONMENT
    assert outcome.usage is not None
    assert outcome.usage.input_tokens == 1000


class Endless:
    def mutate(self, task: Task, rng: random.Random) -> Mutation:
        while True:
            rng.random()


def make_endless(settings: MutatorSettings) -> Endless:
    return Endless()


def test_any_backend_is_ended_in_time(here: pytest.MonkeyPatch, tmp_path: Path) -> None:
    here.setitem(MUTATORS, "endless", f"{__name__}:make_endless")
    assert mutate.main(write_task(tmp_path, backend="endless", timeout=0.2)) == 1
    outcome = mutate.read_outcome(tmp_path)
    assert isinstance(outcome, MutatorFailure)
    assert outcome.reason is Reason.MUTATOR_ERROR
    assert "within mutator.timeout (0.2 s)" in outcome.detail


def test_no_secret_leaves_a_process(tmp_path: Path) -> None:
    environ = {**os.environ, "ANTHROPIC_API_KEY": KEY, "WANDB_API_KEY": OTHER}
    diff = f"SUMMARY: the key is {KEY}\n{DIFF}"
    with MessagesServer([reply(diff)]) as server:
        settings = MutatorSettings("anthropic")
        env = mutator_environment(settings, {**environ, "ANTHROPIC_BASE_URL": server.url})
        env["PYTHONPATH"] = str(Path(mutate.__file__).parents[1])
        task = write_task(tmp_path, backend="anthropic")
        argv = [sys.executable, "-m", "lae_controller", "mutate", str(task)]
        ended = subprocess.run(argv, env=env, capture_output=True, check=True, text=True)
        prompt = str(server.requests[0].body)
    outcome = mutate.read_outcome(tmp_path)
    assert isinstance(outcome, Mutation)
    assert outcome.summary == "the key is [hidden]"
    record = (tmp_path / "mutation.json").read_text()
    for secret in (KEY, OTHER):
        assert secret not in prompt + record + ended.stdout + ended.stderr
        assert secret not in task.read_text()

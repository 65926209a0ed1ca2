"""The server as a process of its own, killed and started again; the verbs as its clients."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from serve_helpers import SESSION, a_program, an_evaluation, config_wire

from lae_controller.cli import cli
from lae_controller.errors import ConfigError, LaeError, PrerequisiteError
from lae_controller.service.backoff import Backoff
from lae_controller.service.client import ApiClient, RemoteError
from lae_controller.service.verbs import scores

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

LAE = [sys.executable, "-m", "lae_controller"]
ENV = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
PROGRAMS = 5


def client_of(url: str) -> ApiClient:
    return ApiClient(url, lambda: None, random.Random(1), Backoff(tries=1))


class Process:
    """``lae serve`` in a folder, on a port of its own choosing."""

    def __init__(self, folder: Path) -> None:
        argv = [*LAE, "serve", str(folder), "--port", "0"]
        self.popen = subprocess.Popen(argv, env=ENV, stderr=subprocess.PIPE, text=True)
        assert self.popen.stderr is not None
        line = self.popen.stderr.readline()
        found = re.search(r"http://\S+", line)
        assert found, line
        self.url = found[0]
        self.folder = folder

    def end(self, number: int) -> int:
        self.popen.send_signal(number)
        self.popen.communicate(timeout=30)
        return self.popen.returncode


class Crew:
    """Workers of one experiment that note what they hold and what they handed in."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.held: dict[str, str] = {}
        self.submitted: dict[str, float] = {}
        self.problems: list[str] = []
        self._lock = threading.Lock()

    def work(self, url: str, workers: int = 4) -> list[threading.Thread]:
        threads = [threading.Thread(target=self._work, args=(url,)) for _ in range(workers)]
        for thread in threads:
            thread.start()
        return threads

    def _work(self, url: str) -> None:
        client = client_of(url)
        try:
            while client.call("GET", self.name)["state"] != "COMPLETED":
                for one in client.call("POST", f"{self.name}:acquirePrograms", {}).get(
                    "programs", []
                ):
                    self._take(one["name"], one["lockToken"])
                    self.submit(client, one["name"], one["lockToken"])
                time.sleep(0.02)
        except PrerequisiteError:
            return  # the server was killed
        except RemoteError as error:
            self.problems.append(str(error))

    def _take(self, program: str, token: str) -> None:
        with self._lock:
            if program in self.held:
                self.problems.append(f"{program} was handed out twice")
            self.held[program] = token

    def submit(self, client: ApiClient, program: str, token: str) -> None:
        value = round(random.Random(program).random(), 6)
        one = {
            "program": program,
            "lockToken": token,
            "evaluation": an_evaluation({"steep": value}),
        }
        body = {"evaluationSubmissions": [one]}
        client.call("POST", f"{self.name}:submitProgramsEvaluations", body)
        with self._lock:
            self.submitted[program] = value


def begun(client: ApiClient) -> str:
    config = config_wire(maxPrograms=PROGRAMS, concurrency=4)
    made = client.call("POST", f"{SESSION}/alphaEvolveExperiments", {"config": config})
    name = str(made["name"])
    client.call("POST", f"{name}/alphaEvolvePrograms", a_program(0.5))
    client.call("POST", f"{name}:start", {"name": name})
    return name


def listed(client: ApiClient, name: str) -> dict[str, dict[str, Any]]:
    found = client.listed(f"{name}/alphaEvolvePrograms", "alphaEvolvePrograms")
    return {it["name"]: it for it in found}


@pytest.fixture(scope="module")
def survivor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Process, Crew]]:
    """Yield a server that was killed in the middle of an experiment, and who worked for it."""
    folder = tmp_path_factory.mktemp("served")
    server = Process(folder)
    try:
        crew = Crew(begun(client_of(server.url)))
        workers = crew.work(server.url)
        deadline = time.monotonic() + 180
        while len(crew.submitted) < 2 and time.monotonic() < deadline:
            time.sleep(0.005)
    finally:
        assert server.end(signal.SIGKILL) == -signal.SIGKILL
    for worker in workers:
        worker.join(60)
    server = Process(folder)
    try:
        yield server, crew
    finally:
        assert server.end(signal.SIGTERM) == 0


def test_kill_9_loses_nothing_and_hands_nothing_out_twice(survivor: tuple[Process, Crew]) -> None:
    server, crew = survivor
    client = client_of(server.url)
    kept, shown = dict(crew.submitted), listed(client, crew.name)
    assert len(kept) >= 2
    assert {name: scores(shown[name]) for name in kept} == {
        name: {"steep": value} for name, value in kept.items()
    }
    for program in crew.held.keys() - kept.keys():  # acquired before the kill, and still held
        if shown[program]["state"] == "EVALUATING":
            crew.submit(client, program, crew.held[program])
    for worker in crew.work(server.url):
        worker.join(60)
    assert crew.problems == []
    final = listed(client, crew.name)
    assert len(final) == PROGRAMS
    assert {it["state"] for it in final.values()} == {"COMPLETED"}
    assert client.call("GET", crew.name)["state"] == "COMPLETED"
    deadline = time.monotonic() + 180
    while any(server.folder.rglob("tasks/mutators")):  # what made proposals ends with the search
        assert time.monotonic() < deadline
        time.sleep(0.01)


def verb(url: str, *argv: str) -> str:
    ended = CliRunner().invoke(cli, [*argv, "--server", url])
    if isinstance(ended.exception, LaeError):
        raise ended.exception
    assert ended.exit_code == 0, ended.output
    return ended.output


def test_the_verbs_of_alphaevolve_work_on_it(survivor: tuple[Process, Crew]) -> None:
    server, crew = survivor
    nick = crew.name.rpartition("/")[2]
    assert nick in verb(server.url, "experiment", "list")
    best = json.loads(verb(server.url, "results", "best", nick, "--top", "2", "--json"))
    values = [scores(it)["steep"] for it in best]
    everything = sorted(
        scores(it)["steep"] for it in listed(client_of(server.url), crew.name).values()
    )
    assert values == everything[::-1][:2]
    table = verb(
        server.url, "program", "list", "Steeper", "--state=COMPLETED", "--order_by=steep desc"
    )
    assert len(table.splitlines()) == 1 + PROGRAMS
    assert "operations/resume-2" in verb(server.url, "experiment", "resume", nick[:-2])
    with pytest.raises(ConfigError, match="nobody: no experiment of that name; expected one of"):
        verb(server.url, "experiment", "resume", "nobody")


def test_a_verb_without_a_server_says_how_to_start_one() -> None:
    with pytest.raises(PrerequisiteError, match="no server answers .*`lae serve` starts it"):
        verb("http://127.0.0.1:9", "experiment", "list")


def test_another_address_without_a_token_is_not_served(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected a token"):
        CliRunner().invoke(
            cli, ["serve", str(tmp_path), "--host", "0.0.0.0"], catch_exceptions=False
        )
    assert not (tmp_path / "sandbox").exists()

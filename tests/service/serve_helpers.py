"""Small real things for the tests of the service: an experiment, a server without HTTP, a call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, MutableMapping
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lae_controller.codec import decode
from lae_controller.config import MutatorSettings, Settings
from lae_controller.evaluators.baseline import Prepared
from lae_controller.mutators import load_mutator
from lae_controller.program import rng_for
from lae_controller.service.catalogue import Catalogue
from lae_controller.service.engine import Engine
from lae_controller.service.experiment_config import ExperimentConfig, read_config
from lae_controller.service.messages import READER
from lae_controller.service.names import Session
from lae_controller.service.serve_config import ServeSettings
from lae_controller.service.served import ServedChildren
from lae_controller.service.service import Service
from lae_controller.task import Mutation, Task

SESSION = Session("12", "global", "default_collection", "eng", "s1")
CATALOGUE = Catalogue(MutatorSettings(), {"gemini-3.8-flash": "offline"})

PROGRAM = """\
import math

# EVOLVE-BLOCK-START
RATE = 0.5
WIDTH = 8
DECAY = 0.25


def value(x):
    return RATE * x + WIDTH * 0.125 - DECAY
# EVOLVE-BLOCK-END
"""


def config_wire(**run: Any) -> dict[str, Any]:
    """Return a ``Config`` message; ``run`` goes into its run settings."""
    return {
        "title": "Steeper",
        "problemDescription": "make it steep",
        "programLanguage": "python",
        "runSettings": {"maxPrograms": 4, "concurrency": 2, **run},
    }


def a_config(location: str = "global", **run: Any) -> ExperimentConfig:
    return read_config(READER.read("Config", config_wire(**run), "config"), location, CATALOGUE)


def a_program(score: float | None = 0.1, metric: str = "steep") -> dict[str, Any]:
    """Return a ``Program`` message as a client creates it."""
    wire: dict[str, Any] = {
        "content": {"files": [{"path": "initial_program.py", "content": PROGRAM}]}
    }
    if score is not None:
        wire["evaluation"] = an_evaluation({metric: score})
    return wire


def an_evaluation(scores: dict[str, float]) -> dict[str, Any]:
    listed = [{"metric": name, "score": value} for name, value in scores.items()]
    return {"scores": {"scores": listed}}


class Hand:
    """A clock that is turned by hand."""

    def __init__(self) -> None:
        self.time = 1_000_000.0

    def __call__(self) -> float:
        return self.time


class AtOnce(Executor):
    """A pool that works in the caller's thread."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    @property
    def error(self) -> dict[str, Any]:
        error: dict[str, Any] = self.json["error"]
        return error


def call(
    app: Any,
    method: str,
    path: str,
    body: Any = None,
    headers: dict[str, str] | None = None,
) -> Answer:
    """Send one request through an ASGI application; ``body`` is JSON unless it is bytes."""
    raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    plain, _, query = path.partition("?")
    given = {"host": "127.0.0.1:8080", "content-type": "application/json", **(headers or {})}
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "path": plain,
        "raw_path": plain.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "scheme": "http",
        "server": ("127.0.0.1", 8080),
        "client": ("127.0.0.1", 5000),
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": raw, "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    parts = [m.get("body", b"") for m in sent if m["type"] == "http.response.body"]
    start = sent[0]
    return Answer(
        start["status"],
        {name.decode().lower(): value.decode() for name, value in start["headers"]},
        b"".join(parts),
    )


class InProcess(ServedChildren):
    """Children whose Mutators run in this process: the same proposals, without its start."""

    def mutate(self, child_id: str) -> Mutation:
        value = json.loads((self.folder(child_id) / "task.json").read_text())
        task, settings = decode(Task, value["task"]), decode(MutatorSettings, value["mutator"])
        return load_mutator(settings).mutate(task, rng_for(task.seed, task.child_id, "mutate"))


class QuickEngine(Engine):
    def _children(self, settings: Settings, prepared: Prepared) -> ServedChildren:
        return InProcess(self._experiment, self._catalogue, settings, prepared, self._lifelines)


@contextmanager
def running_service(
    folder: Path, engine: type[Engine] = QuickEngine, **settings: Any
) -> Iterator[Service]:
    """Yield a service in ``folder``; closed at the end."""
    service = Service(ServeSettings(folder, **settings), lambda _: None, engine=engine)
    try:
        yield service
    finally:
        service.close()

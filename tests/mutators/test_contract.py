"""What every Mutator promises; a model that is asked answers with what offline edits would be."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from messages_server import MessagesServer, reply
from mutator_tasks import make_task

from lae_controller.change.diff import apply_change
from lae_controller.change.evolve_blocks import outside_changed
from lae_controller.change.normal_form import digest
from lae_controller.change.syntax import check_syntax
from lae_controller.config import MutatorSettings
from lae_controller.errors import ConfigError
from lae_controller.mutators import MUTATORS, Mutator, load_mutator
from lae_controller.mutators.anthropic_api import AnthropicMutator
from lae_controller.mutators.backoff import Patience
from lae_controller.mutators.environment import BASE_URL
from lae_controller.mutators.offline import OfflineMutator
from lae_controller.program import one_line
from lae_controller.task import Mutation, MutatorFailure, Task

MODEL = '''\
"""A perceptron."""

import numpy as np

SEED = 11


def relu(x):
    return np.maximum(x, 0.0)


def tanh(x):
    return np.tanh(x)


class Net:
    def __init__(self, rng, width=32, std=0.05):
        self.w = rng.normal(0, std, (64, width))
        self.v = np.zeros((width, 10))

    def step(self, x, d, lr=0.02):
        h = relu(x @ self.w)
        self.v -= lr * (h.T @ d)
        self.w -= lr * (x.T @ (d @ self.v.T))
'''
CONFIG = """\
optim:
  lr: 0.01  # tuned by hand
  momentum: 0.0
  epochs: 6
model: {depth: 2, bias: true}
"""
FILES = {"src/net.py": MODEL, "config.yaml": CONFIG}
ROUNDS = 12


def grown(mutator: Mutator, task: Task, rounds: int = ROUNDS) -> list[dict[str, str]]:
    """Return what the task's parent becomes with many states of the stream."""
    children = []
    for number in range(rounds):
        mutation = mutator.mutate(task, random.Random(number))
        applied = apply_change(task.files, mutation.change, editable=task.editable)
        assert not applied.repaired
        children.append(applied.files)
    return children


class Model:
    """The anthropic backend, asking a server that answers with what the offline one proposes."""

    def __init__(self, server: MessagesServer) -> None:
        self._server = server

    def mutate(self, task: Task, rng: random.Random) -> Mutation | MutatorFailure:
        offline = OfflineMutator().mutate(task, rng)
        stated = f"KIND: {offline.intervention.value}\nSUMMARY: a\tgood, small  change\n"
        self._server.steps.append(reply(f"{stated}\n{offline.change}"))
        environ = {BASE_URL: self._server.url}
        return AnthropicMutator(MutatorSettings("anthropic"), environ, Patience()).mutate(task, rng)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Model]:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)  # a whole bundle takes 0.1 s to read
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    with MessagesServer([]) as server:
        yield Model(server)


# What an agent proposes are edits of a directory; see test_agent_cli.
@pytest.fixture(params=sorted(MUTATORS.keys() - {"agent"}))
def mutator(request: pytest.FixtureRequest) -> Mutator:
    if request.param == "anthropic":
        return request.getfixturevalue("model")
    return load_mutator(MutatorSettings(backend=request.param))


class TestContract:
    """Holds for every backend."""

    def test_change_applies_and_parses(self, mutator: Mutator) -> None:
        for files in grown(mutator, make_task(FILES)):
            assert files.keys() == FILES.keys()
            assert files != FILES
            check_syntax(FILES, files)

    def test_summary_is_one_line(self, mutator: Mutator) -> None:
        for number in range(ROUNDS):
            mutation = mutator.mutate(make_task(FILES), random.Random(number))
            assert mutation.summary
            assert mutation.summary == one_line(mutation.summary)
            assert mutation.operator

    def test_protected_lines_stay(self, mutator: Mutator) -> None:
        task = make_task(FILES, protected=("optim.lr", "width", r"self\.v -="))
        for files in grown(mutator, task):
            assert "  lr: 0.01  # tuned by hand\n" in files["config.yaml"]
            assert "def __init__(self, rng, width=32, std=0.05):" in files["src/net.py"]
            assert files["src/net.py"].count("        self.v -= lr * (h.T @ d)\n") == 1

    def test_only_evolve_blocks_change(self, mutator: Mutator) -> None:
        text = MODEL.replace("class Net", "# EVOLVE-BLOCK-START\nclass Net")
        text += "# EVOLVE-BLOCK-END\n\nOTHER = 0.3\n"
        for files in grown(mutator, make_task({"net.py": text})):
            assert outside_changed("net.py", text, files["net.py"]) is None

    def test_only_editable_files_change(self, mutator: Mutator) -> None:
        for files in grown(mutator, make_task(FILES, editable=("src/*.py",))):
            assert files["config.yaml"] == CONFIG

    def test_line_ends_and_mark_stay(self, mutator: Mutator) -> None:
        text = "\ufeff" + MODEL.replace("A perceptron", "Ein Perzeptron, größer")
        text = text.rstrip("\n").replace("\n", "\r\n")
        for files in grown(mutator, make_task({"net.py": text})):
            child = files["net.py"]
            assert child.startswith("\ufeff")
            assert child.count("\n") == child.count("\r\n") > 20
            assert not child.endswith("\n")


class TestSearch:
    """Holds for backends that ask no one."""

    @pytest.fixture
    def mutator(self) -> Mutator:
        return load_mutator(MutatorSettings(backend="offline"))

    def test_same_stream_same_mutation(self, mutator: Mutator) -> None:
        task = make_task(FILES)
        first, second = (
            [mutator.mutate(task, random.Random(number)) for number in range(15)] for _ in "ab"
        )
        assert first == second
        assert len({mutation.change for mutation in first}) > 8

    def test_seed_and_budget_stay_without_being_protected(self, mutator: Mutator) -> None:
        for files in grown(mutator, make_task(FILES)):
            assert "SEED = 11\n" in files["src/net.py"]
            assert "  epochs: 6\n" in files["config.yaml"]

    def test_what_is_known_is_not_proposed_again(self, mutator: Mutator) -> None:
        tried: list[str] = []
        other = {**FILES, "config.yaml": CONFIG.replace("0.01", "0.02")}
        known = {digest(FILES), digest(other)}
        for number in range(ROUNDS):
            task = make_task(FILES, tried=tried, inspirations=[(other, 0.6)])
            mutation = mutator.mutate(task, random.Random(number % 3))
            child = apply_change(FILES, mutation.change, editable=task.editable).files
            assert digest(child) not in known
            known.add(digest(child))
            tried.append(digest(child))

    def test_nothing_to_change_gives_an_empty_change(self, mutator: Mutator) -> None:
        task = make_task({"notes.txt": "lr = 0.1\n", "net.py": "import numpy\n"})
        assert mutator.mutate(task, random.Random(0)).change == ""


def test_unknown_backend_is_named() -> None:
    with pytest.raises(ConfigError, match=r"mutator\.backend is 'onlin'; expected one of: .*offl"):
        load_mutator(MutatorSettings(backend="onlin"))

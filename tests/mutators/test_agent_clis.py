"""The real command lines of the agents, through their presets, against a scripted model.

    LAE_NODE_PREFIX=DIR pytest -m node tests/mutators/test_agent_clis.py

DIR is where npm installed them; ``python benchmarks/clients.py DIR`` does that and runs these tests
too. Without it they are looked for on PATH; those that are missing are skipped.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from agent_stage import MODEL, Stage, make_stage
from clients.scripted_model import Say, Script, call, scripted_model

from lae_controller.program import Intervention
from lae_controller.sandbox.tiers import probe_tiers
from lae_controller.sandbox.view import Tier
from lae_controller.task import Mutation, MutatorFailure

pytestmark = pytest.mark.node

LAST = Say("Halved the rate.\n\nSUMMARY: half the rate\nKIND: optimiser")
ISOLATIONS = ["bwrap", "landlock", "none"]


def script(agent: str, stage: Stage) -> Script:
    """Return what a model says: first it tries to edit the original, then the child's own file."""
    new = MODEL.replace("0.5", "0.25")
    steps: list[Say] = []
    for path in (str(stage.root / "model.py"), str(stage.child / "model.py")):
        if agent == "claude":
            edit = {"old_string": MODEL, "new_string": new}
            steps += [call("Read", file_path=path), call("Edit", file_path=path, **edit)]
        elif agent == "codex":
            steps += [call("exec_command", cmd=f"sed -i 's/0.5/0.25/' {path}")]
        elif agent == "gemini":
            edit = {"old_string": MODEL, "new_string": new, "instruction": "halve the rate"}
            steps += [call("replace", file_path=path, **edit)]
        else:
            edit = {"oldString": MODEL, "newString": new}
            steps += [call("read", filePath=path), call("edit", filePath=path, **edit)]
    return [*steps, LAST]


# Left to itself, Gemini CLI asks a model which model to ask.
MODELS = {"gemini": "gemini-2.5-flash"}
AGENTS = ["claude", "codex", "gemini", "opencode"]
CODEX = """\
model_provider = "local"
model = "test"
notify = ["touch", "{home}/notified"]

[model_providers.local]
name = "local"
base_url = "{url}/v1"
env_key = "LOCAL_TEST_KEY"
wire_api = "responses"

[mcp_servers.spy]
command = "touch"
args = ["{home}/spied"]
"""


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    prefix = os.environ.get("LAE_NODE_PREFIX")
    found = f"{prefix}/node_modules/.bin{os.pathsep}" if prefix else ""
    monkeypatch.setenv("PATH", f"{found}{os.environ['PATH']}")
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "CLAUDE", "CODEX", "OPENAI", "GEMINI", "GOOGLE", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    made = make_stage(tmp_path)
    for name in ("CLAUDE.md", "GEMINI.md"):
        (made.root / name).write_text("Say ahoy.\n")
    for name in ("objects", "refs/heads"):  # what is looked for upwards ends at a repository
        (made.root / ".git" / name).mkdir(parents=True)
    (made.root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return made


def log_in(agent: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the agent a key, and the address of the scripted model."""
    home = Path(os.environ["HOME"])
    if agent == "claude":
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-a-test")
    elif agent == "codex":
        monkeypatch.setenv("LOCAL_TEST_KEY", "key-of-a-test")
        (home / ".codex").mkdir()
        (home / ".codex" / "config.toml").write_text(CODEX.format(url=url, home=home))
        (home / ".codex" / "AGENTS.md").write_text("Say ahoy.\n")
    elif agent == "gemini":
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", url)
        monkeypatch.setenv("GEMINI_API_KEY", "key-of-a-test")
    else:
        monkeypatch.setenv("LOCAL_TEST_KEY", "key-of-a-test")
        folder = home / ".config" / "opencode"
        folder.mkdir(parents=True)
        options = {"baseURL": f"{url}/v1", "apiKey": "{env:LOCAL_TEST_KEY}"}
        provider = {"npm": "@ai-sdk/openai-compatible", "options": options}
        provider |= {"models": {"test": {"cost": {"input": 10, "output": 20}}}}
        (folder / "opencode.json").write_text(
            json.dumps({"provider": {"local": provider}, "model": "local/test"})
        )


def installed(agent: str) -> None:
    if shutil.which(agent) is None:
        pytest.skip(f"{agent} is not installed")


@pytest.mark.parametrize("isolation", ISOLATIONS)
@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_edits_the_child_and_nothing_else(
    agent: str, isolation: str, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(agent)
    if not probe_tiers().works(Tier(isolation)):
        pytest.skip(f"{isolation} does not work here")
    before = stage.files()
    stage = stage.isolated(isolation)
    with scripted_model({"": script(agent, stage)}) as model:
        log_in(agent, model.url, monkeypatch)
        home = sorted(Path(os.environ["HOME"]).rglob("*"))
        outcome = stage.mutate(agent, timeout=120.0, model=MODELS.get(agent))
    assert isinstance(outcome, Mutation), outcome
    assert (stage.child / "model.py").read_text() == MODEL.replace("0.5", "0.25")
    assert (stage.root / "model.py").read_text() == MODEL
    assert stage.files() == before
    assert sorted(Path(os.environ["HOME"]).rglob("*")) == home
    assert (outcome.change, outcome.operator) == ("", agent)
    assert (outcome.summary, outcome.intervention) == ("half the rate", Intervention.OPTIMISER)
    usage = outcome.usage
    assert usage is not None
    assert usage.input_tokens >= 1000
    assert usage.output_tokens >= 50
    assert (usage.cost_usd is not None) == (agent in ("claude", "opencode"))
    sent = "".join(model.texts())
    assert "The metric is accuracy" in sent
    assert "ahoy" not in sent
    assert "key-of-a-test" in "".join(model.headers)


@pytest.mark.parametrize("agent", AGENTS)
def test_a_key_that_is_refused_stops_the_run(
    agent: str, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(agent)
    with scripted_model({"": [LAST]}, refuse=401) as model:
        log_in(agent, model.url, monkeypatch)
        outcome = stage.mutate(agent, timeout=120.0, model=MODELS.get(agent))
    assert isinstance(outcome, MutatorFailure)
    assert outcome.fatal, outcome
    assert agent in outcome.detail

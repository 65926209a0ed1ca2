"""Codex, Gemini CLI and OpenCode: each finds the installed skill, loads it, runs the controller."""

from __future__ import annotations

import json
import shutil

import pytest

from clients.conftest import Stage, client
from clients.scripted_model import Model, Say, call, scripted_model

pytestmark = pytest.mark.node

PROMPT = "Please improve this classifier with the alpha-evolve skill. Nobody can answer questions."
SETTING = "--set editable_files=model.py,config.yaml --set total_budget=13 --set smoke_budget=2"
COMMAND = f"lae init . {SETTING} --yes && lae run . --yes --json && lae best . --json"


def report(seen: list[str]) -> Say:
    """Say which child the last result names as the best, in the words of a report."""
    result = seen[-1]
    found = [word for word in result.replace("\\", "").split('"') if word.startswith("g")]
    ids = [word for word in found if word.count("-") == 2 and word[1].isdigit()]
    return Say(f"Best: {ids[-1]}" if ids else f"No best in: {result[-300:]}")


def check(stage: Stage, said: str) -> None:
    """The controller ran to the end of its budget, and its best is what was reported."""
    assert "Best: g" in said
    status = json.loads(stage.run("lae", "status", ".", "--json").stdout)
    assert status["last_stop"] == "budget"
    best = json.loads(stage.run("lae", "best", ".", "--json").stdout)[0]
    assert f"Best: {best['child_id']}" in said


def body_was_read(model: Model) -> bool:
    return any("The controller does what" in text for text in model.texts())


def test_codex(stage: Stage) -> None:
    folder = stage.home / ".codex"
    folder.mkdir()
    script = [call("exec_command", cmd=COMMAND, yield_time_ms=120_000), report]
    with scripted_model({"improve this classifier": script}) as model:
        (folder / "config.toml").write_text(
            'model = "scripted"\nmodel_provider = "local"\n'
            '[model_providers.local]\nname = "local"\n'
            f'base_url = "{model.url}/v1"\nenv_key = "LOCAL_KEY"\nwire_api = "responses"\n'
        )
        done = stage.run(
            client("codex"),
            *("exec", "--skip-git-repo-check", "--sandbox", "workspace-write", "--json"),
            *("-o", str(stage.home / "last.txt"), PROMPT.replace("the alpha", "the $alpha")),
            LOCAL_KEY="dummy",
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert "Improves a training project" in model.text(0)
    assert body_was_read(model)
    check(stage, (stage.home / "last.txt").read_text())


def test_gemini(stage: Stage) -> None:
    folder = stage.home / ".gemini"
    folder.mkdir()
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    (folder / "settings.json").write_text(json.dumps(settings))
    script = [
        call("activate_skill", name="alpha-evolve"),
        call("run_shell_command", command=COMMAND),
        report,
    ]
    with scripted_model({"improve this classifier": script}) as model:
        done = stage.run(
            client("gemini"),
            *("-p", PROMPT, "--yolo", "--output-format", "json", "-m", "gemini-2.5-flash"),
            GEMINI_API_KEY="dummy",
            GOOGLE_GEMINI_BASE_URL=model.url,
            GEMINI_CLI_TRUST_WORKSPACE="true",
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert "Improves a training project" in model.text(0)
    assert body_was_read(model)
    check(stage, done.stdout)


@pytest.mark.skipif(shutil.which("rg") is None, reason="OpenCode would download ripgrep")
def test_opencode(stage: Stage) -> None:
    folder = stage.home / ".config" / "opencode"
    folder.mkdir(parents=True)
    script = [
        call("skill", name="alpha-evolve"),
        call("bash", command=COMMAND, description="evolve", timeout=180_000),
        report,
    ]
    with scripted_model({"improve this classifier": script}) as model:
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": f"{model.url}/v1", "apiKey": "dummy"},
            "models": {"scripted": {"name": "scripted"}},
        }
        setting = {"provider": {"local": provider}, "permission": "allow", "autoupdate": False}
        (folder / "opencode.json").write_text(json.dumps(setting))
        done = stage.run(
            client("opencode"), "run", "--format", "json", "-m", "local/scripted", PROMPT
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert any("Improves a training project" in model.text(i) for i in (0, 1))
    assert body_was_read(model)
    check(stage, done.stdout)

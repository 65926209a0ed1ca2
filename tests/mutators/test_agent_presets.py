from __future__ import annotations

from pathlib import Path

import pytest

from lae_controller.config import MutatorSettings
from lae_controller.mutators.agent_presets import (
    PRESETS,
    agent_environment,
    is_named,
    preset_of,
)
from lae_controller.mutators.environment import mutator_environment


def settings(command: str, **more: object) -> MutatorSettings:
    return MutatorSettings(backend="agent", command=command, **more)


@pytest.mark.parametrize(
    ("command", "preset", "named"),
    [
        ("claude", "claude", True),
        (" codex ", "codex", True),
        ("claude -p --model opus", "claude", False),
        ("/opt/bin/gemini --yolo", "gemini", False),
        ("my-agent claude", "agent", False),
        ("agent 'unclosed", "agent", False),
    ],
)
def test_a_command_is_a_preset_or_begins_with_one(command: str, preset: str, named: bool) -> None:
    assert preset_of(settings(command)).name == preset
    assert is_named(settings(command)) is named


@pytest.mark.parametrize("name", PRESETS)
def test_the_model_is_handed_over_where_one_is_set(name: str) -> None:
    arguments = PRESETS[name].arguments
    words = arguments(settings(name, model="m-1"), True)
    assert words[words.index("--model") + 1] == "m-1"
    assert "--model" not in arguments(settings(name), True)


def test_codex_relies_on_one_sandbox() -> None:
    arguments = PRESETS["codex"].arguments
    within, alone = arguments(settings("codex"), True), arguments(settings("codex"), False)
    assert within[within.index("--sandbox") + 1] == "danger-full-access"
    assert alone[alone.index("--sandbox") + 1] == "workspace-write"


ENVIRON = {
    "PATH": "/usr/bin",
    "HOME": "/nowhere",
    "HTTPS_PROXY": "http://user:pass@proxy:1",
    "ANTHROPIC_API_KEY": "1",
    "OPENAI_API_KEY": "2",
    "OPENAI_BASE_URL": "3",
    "GEMINI_API_KEY": "4",
    "HF_TOKEN": "5",
    "CLAUDECODE": "6",
    "CLAUDE_CODE_MESSAGING_SOCKET": "7",
    "CLAUDE_CODE_OAUTH_TOKEN": "8",
    "CODEX_THREAD_ID": "9",
    "SSH_AUTH_SOCK": "10",
    "DBUS_SESSION_BUS_ADDRESS": "11",
    "MY_KEY": "12",
    "AWS_SECRET_ACCESS_KEY": "13",
}
ALWAYS = {"PATH", "HOME", "HTTPS_PROXY", "PYTHONUNBUFFERED", "LC_ALL"}


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("claude", {"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"}),
        ("codex", {"OPENAI_API_KEY"}),
        ("gemini -p hello", {"GEMINI_API_KEY"}),
        ("opencode", {"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"}),
        ("my-agent", {"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"}),
    ],
)
def test_an_agent_sees_the_keys_of_its_own_model_alone(command: str, more: set[str]) -> None:
    env = agent_environment(settings(command), ENVIRON)
    # An address is no secret, whoever's it is.
    assert set(env) - {"OPENAI_BASE_URL"} == ALWAYS | more
    assert mutator_environment(settings(command), ENVIRON) == env


def test_keys_of_a_cloud_are_seen_if_the_model_is_reached_through_it() -> None:
    environ = {**ENVIRON, "CLAUDE_CODE_USE_BEDROCK": "1"}
    env = agent_environment(settings("claude"), environ)
    assert env["AWS_SECRET_ACCESS_KEY"] == "13"


def test_a_key_that_its_own_settings_name_is_seen(tmp_path: Path) -> None:
    (tmp_path / ".codex").mkdir()
    config = '[model_providers.mine]\nenv_key = "MY_KEY"\n'
    (tmp_path / ".codex" / "config.toml").write_text(config)
    environ = {**ENVIRON, "HOME": str(tmp_path)}
    assert agent_environment(settings("codex"), environ)["MY_KEY"] == "12"
    assert "MY_KEY" not in agent_environment(settings("claude"), environ)

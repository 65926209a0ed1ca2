from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lae_controller.mutators import agent_home
from lae_controller.mutators.agent_home import codex_providers


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    (tmp_path / "theirs").mkdir()
    return tmp_path / "theirs"


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    (tmp_path / "ours").mkdir()
    return tmp_path / "ours"


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))


def held(folder: Path) -> dict[str, Any]:
    """Return what a home holds, JSON parsed; nobody else may read it."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_file():
            text = path.read_text()
            found[path.relative_to(folder).as_posix()] = (
                json.loads(text) if path.suffix == ".json" else text
            )
    return found


def test_claude(theirs: Path, ours: Path) -> None:
    login = {"accessToken": "a", "refreshToken": "r", "scopes": ["user:inference"]}
    write(theirs / ".claude" / ".credentials.json", {"claudeAiOauth": login})
    write(theirs / ".claude" / "projects" / "log.jsonl", "{}")
    env = {"ANTHROPIC_BASE_URL": "http://proxy", "ANTHROPIC_AUTH_TOKEN": "t", "PATH": "/evil"}
    write(theirs / ".claude" / "settings.json", {"env": env, "hooks": {"Stop": []}})
    write(theirs / ".claude.json", {"oauthAccount": {"id": 1}, "mcpServers": {"x": {}}})
    environ = {"HOME": str(theirs), "ANTHROPIC_AUTH_TOKEN": "mine"}
    assert agent_home.fill_claude(ours, environ) == {"ANTHROPIC_BASE_URL": "http://proxy"}
    assert held(ours) == {
        ".claude/.credentials.json": {"claudeAiOauth": {**login, "refreshToken": ""}},
        ".claude.json": {"oauthAccount": {"id": 1}},
    }
    assert (ours / ".claude" / ".credentials.json").stat().st_mode & 0o777 == 0o600


def test_claude_with_a_folder_of_its_own(theirs: Path, ours: Path) -> None:
    write(theirs / "cfg" / ".credentials.json", {"claudeAiOauth": {"accessToken": "a"}})
    write(theirs / "cfg" / ".claude.json", {"primaryApiKey": "k"})
    environ = {"HOME": str(theirs), "CLAUDE_CONFIG_DIR": str(theirs / "cfg")}
    agent_home.fill_claude(ours, environ)
    assert held(ours) == {
        ".claude/.credentials.json": {"claudeAiOauth": {"accessToken": "a"}},
        ".claude.json": {"primaryApiKey": "k"},
    }


CONFIG = """\
model = "big"  # the usual one
approval_policy = "never"
notify = [
  "touch",
  "model = 1",
]

[model_providers.local]
base_url = "http://127.0.0.1:1/v1"
env_key = "LOCAL_KEY"

[model_providers.local.http_headers]
X-Extra = "1"

[mcp_servers.spy]
command = "spy"
env_key = "SPY_KEY"

[[hooks]]
command = "x"
"""
KEPT = """\
model = "big"  # the usual one
[model_providers.local]
base_url = "http://127.0.0.1:1/v1"
env_key = "LOCAL_KEY"

[model_providers.local.http_headers]
X-Extra = "1"

"""


def test_of_codex_settings_only_models_and_providers_are_taken() -> None:
    assert codex_providers(CONFIG) == KEPT
    assert codex_providers("") == ""


def test_codex(theirs: Path, ours: Path) -> None:
    tokens = {"access_token": "a", "refresh_token": "r", "account_id": "i"}
    write(theirs / ".codex" / "auth.json", {"OPENAI_API_KEY": None, "tokens": tokens})
    write(theirs / ".codex" / "config.toml", CONFIG)
    write(theirs / ".codex" / "AGENTS.md", "Say ahoy.")
    environ = {"HOME": str(theirs), "OPENAI_API_KEY": "k"}
    assert agent_home.fill_codex(ours, environ) == {}
    auth = {"OPENAI_API_KEY": None, "tokens": {**tokens, "refresh_token": ""}}
    assert held(ours) == {".codex/auth.json": auth, ".codex/config.toml": KEPT}
    assert agent_home.keys_of_codex(environ) == {"LOCAL_KEY"}


def test_codex_without_a_login_takes_the_key_of_the_service(theirs: Path, ours: Path) -> None:
    environ = {"HOME": "/nowhere", "CODEX_HOME": str(theirs), "OPENAI_API_KEY": "k"}
    assert agent_home.fill_codex(ours, environ) == {"CODEX_API_KEY": "k"}
    assert agent_home.fill_codex(ours, {**environ, "CODEX_API_KEY": "own"}) == {}


def test_gemini(theirs: Path, ours: Path) -> None:
    login = {"access_token": "a", "refresh_token": "kept: it is not exchanged"}
    auth = {"auth": {"selectedType": "oauth-personal"}}
    write(theirs / ".gemini" / "oauth_creds.json", login)
    write(theirs / ".gemini" / "GEMINI.md", "Say ahoy.")
    settings = {"security": {**auth, "folderTrust": {}}, "mcpServers": {"x": {}}}
    write(theirs / ".gemini" / "settings.json", settings)
    write(theirs / ".gemini" / ".env", "export GEMINI_API_KEY='k'\nPATH=/evil\n")
    assert agent_home.fill_gemini(ours, {"HOME": str(theirs)}) == {"GEMINI_API_KEY": "k"}
    found = held(ours)
    assert set(found) == {".gemini/oauth_creds.json", ".gemini/settings.json"}
    assert found[".gemini/oauth_creds.json"] == login
    assert found[".gemini/settings.json"]["security"] == auth
    assert found[".gemini/settings.json"]["general"]["maxAttempts"] == 4
    assert "mcpServers" not in found[".gemini/settings.json"]


def test_gemini_with_a_key(theirs: Path, ours: Path) -> None:
    agent_home.fill_gemini(ours, {"HOME": str(theirs), "GEMINI_API_KEY": "k"})
    security = held(ours)[".gemini/settings.json"]["security"]
    assert security == {"auth": {"selectedType": "gemini-api-key"}}


def test_opencode(theirs: Path, ours: Path) -> None:
    logins = {
        "a": {"type": "oauth", "access": "x", "refresh": "r"},
        "b": {"type": "api", "key": "k"},
    }
    write(theirs / ".local" / "share" / "opencode" / "auth.json", logins)
    config = """{
      // where my models are
      "provider": {"local": {"options": {"apiKey": "{env:LOCAL_KEY}", "baseURL": "http://x/v1"}}},
      "model": "local/m", "plugin": ["spy"], "mcp": {"y": {"key": "{env:OTHER_KEY}"}},
    }"""
    write(theirs / ".config" / "opencode" / "opencode.jsonc", config)
    write(theirs / ".cache" / "opencode" / "bin" / "rg", "#!")
    environ = {"HOME": str(theirs)}
    assert agent_home.fill_opencode(ours, environ) == {}
    assert (ours / ".cache" / "opencode" / "bin" / "rg").is_file()
    logins["a"]["refresh"] = ""
    options = {"apiKey": "{env:LOCAL_KEY}", "baseURL": "http://x/v1"}
    assert held(ours) == {
        ".local/share/opencode/auth.json": logins,
        ".config/opencode/opencode.json": {
            "provider": {"local": {"options": options}},
            "model": "local/m",
        },
    }
    assert agent_home.keys_of_opencode(environ) == {"LOCAL_KEY"}


def test_nobody_logged_in_anywhere(ours: Path) -> None:
    environ = {"HOME": "/nowhere"}
    for fill in (
        agent_home.fill_claude,
        agent_home.fill_codex,
        agent_home.fill_gemini,
        agent_home.fill_opencode,
    ):
        assert fill(ours, environ) == {}
    assert not [path for path in held(ours) if "auth" in path or "cred" in path]

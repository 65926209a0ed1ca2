"""The throw-away home directory of an agent: a copy of its login, and nothing else of its user's.

The user's own state is never written, and of it only the login is read: no history, memory, skill,
plugin, tool server or instruction comes along. Refresh tokens that a service exchanges at each use
stay behind: used in a copy, they would end the user's own login. So a login that has run out is
renewed by its user, by starting the agent once; a key or a long-lived token needs no renewal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lae_controller.files import make_folder, read_json

Fill = Callable[[Path, Mapping[str, str]], dict[str, str]]
"""(fresh home directory, environment) -> variables that go with what was put there."""

_REFRESH = frozenset({"refresh", "refreshToken", "refresh_token"})
_CODEX_KEPT = re.compile(
    r"model\w*|openai_base_url|chatgpt_base_url|forced_login_method|preferred_auth_method|profile"
    r"|service_tier|cli_auth_credentials_store"
)
_BEDROCK = frozenset(
    "AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_BEARER_TOKEN_BEDROCK "
    "AWS_REGION".split()
)
_COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)
_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")


def fill_claude(home: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Bring the login of Claude Code, and the endpoint that its user settings name."""
    moved = environ.get("CLAUDE_CONFIG_DIR")
    theirs = Path(moved) if moved else _home(environ) / ".claude"
    _copy_login(theirs / ".credentials.json", home / ".claude" / ".credentials.json")
    account = read_json((theirs if moved else _home(environ)) / ".claude.json")
    wanted = ("oauthAccount", "primaryApiKey", "hasCompletedOnboarding")
    _write(home / ".claude.json", _part(account, wanted))
    settings = read_json(theirs / "settings.json")
    named = settings.get("env") if isinstance(settings, dict) else None
    return {
        name: value
        for name, value in (named if isinstance(named, dict) else {}).items()
        if isinstance(value, str) and re.fullmatch(r"ANTHROPIC_\w+", name) and name not in environ
    }


def keys_of_claude(environ: Mapping[str, str]) -> frozenset[str]:
    """Return the variables of the cloud through which Claude Code is told to reach its model."""
    return _BEDROCK if environ.get("CLAUDE_CODE_USE_BEDROCK") else frozenset()


def fill_codex(home: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Bring the login of Codex and the settings that say which model of which provider."""
    theirs, ours = _codex(environ), home / ".codex"
    make_folder(ours)
    logged_in = _copy_login(theirs / "auth.json", ours / "auth.json")
    (ours / "config.toml").write_text(codex_providers(_read(theirs / "config.toml")), "utf-8")
    if not logged_in and "CODEX_API_KEY" not in environ and "OPENAI_API_KEY" in environ:
        return {"CODEX_API_KEY": environ["OPENAI_API_KEY"]}
    return {}


def codex_providers(text: str) -> str:
    """Return the lines of a ``config.toml`` that say which model of which provider is asked.

    Tool servers, hooks, notifications and permissions stay out.
    """
    kept, section = [], ""
    for line in text.splitlines():
        if match := re.match(r"\s*\[+\s*([\w.\"'-]+)", line):
            section = match[1]
        top = not section and (key := re.match(r"\s*(\w+)\s*=", line)) is not None
        if (top and key and _CODEX_KEPT.fullmatch(key[1])) or re.match(
            r"model_providers|profiles", section
        ):
            kept.append(f"{line}\n")
    return "".join(kept)


def keys_of_codex(environ: Mapping[str, str]) -> frozenset[str]:
    """Return the variables that hold keys of the providers in the user's settings of Codex."""
    text = codex_providers(_read(_codex(environ) / "config.toml"))
    return frozenset(re.findall(r"\benv_key\s*=\s*[\"'](\w+)", text))


def fill_gemini(home: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Bring the login of Gemini CLI, which is renewed without an exchange of its refresh token."""
    theirs = Path(environ.get("GEMINI_CLI_HOME") or _home(environ)) / ".gemini"
    ours = home / ".gemini"
    for name in ("oauth_creds.json", "google_accounts.json", "gemini-credentials.json"):
        if (theirs / name).is_file():
            _write_text(ours / name, _read(theirs / name))
    settings = read_json(theirs / "settings.json")
    security = _part(settings, ("security",)).get("security", {})
    auth = _part(security, ("auth",))
    if "GEMINI_API_KEY" in environ and not auth:
        auth = {"auth": {"selectedType": "gemini-api-key"}}
    _write(ours / "settings.json", {**_GEMINI, "security": auth})
    lines = re.findall(r"^(?:export\s+)?(GEMINI_API_KEY|GOOGLE_\w+)=(.*)$", _dotenv(theirs), re.M)
    return {name: value.strip("\"' ") for name, value in lines if name not in environ}


_GEMINI = {
    "general": {"enableAutoUpdate": False, "disableUpdateNag": True, "maxAttempts": 4},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "skills": {"enabled": False},
}


def fill_opencode(home: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Bring the logins of OpenCode and the settings that say which model of which provider."""
    data = Path(environ.get("XDG_DATA_HOME") or _home(environ) / ".local" / "share")
    _copy_login(
        data / "opencode" / "auth.json", home / ".local" / "share" / "opencode" / "auth.json"
    )
    wanted = "provider model small_model disabled_providers enabled_providers".split()
    _write(home / ".config" / "opencode" / "opencode.json", _part(_opencode(environ), wanted))
    caches = Path(environ.get("XDG_CACHE_HOME") or _home(environ) / ".cache")
    tools = caches / "opencode" / "bin"
    if tools.is_dir():  # else it would download its search tool for every child
        make_folder(home / ".cache" / "opencode")
        (home / ".cache" / "opencode" / "bin").symlink_to(tools.resolve())
    return {}


def keys_of_opencode(environ: Mapping[str, str]) -> frozenset[str]:
    """Return the variables that the user's settings of OpenCode refer to."""
    providers = _part(_opencode(environ), ("provider",))
    return frozenset(re.findall(r"\{env:(\w+)\}", json.dumps(providers)))


def _opencode(environ: Mapping[str, str]) -> dict[str, Any]:
    folder = Path(environ.get("XDG_CONFIG_HOME") or _home(environ) / ".config") / "opencode"
    found: dict[str, Any] = {}
    for name in ("config.json", "opencode.json", "opencode.jsonc"):
        text = _TRAILING_COMMA.sub("", _COMMENT.sub("", _read(folder / name)))
        try:
            value = json.loads(text)
        except ValueError:
            continue
        found |= value if isinstance(value, dict) else {}
    return found


def _home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HOME") or Path.home())


def _codex(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("CODEX_HOME") or _home(environ) / ".codex")


def _dotenv(folder: Path) -> str:
    return _read(folder / ".env")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _part(value: object, names: tuple[str, ...] | list[str]) -> dict[str, Any]:
    """Return the named entries of an object; none if it is no object."""
    if not isinstance(value, dict):
        return {}
    return {name: value[name] for name in names if name in value}


def _copy_login(theirs: Path, ours: Path) -> bool:
    """Copy a login without its refresh tokens; False if there is none."""
    value = read_json(theirs)
    if not isinstance(value, dict):
        return False
    _write(ours, _without_refresh(value))
    return True


def _without_refresh(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: "" if name in _REFRESH and isinstance(each, str) else _without_refresh(each)
            for name, each in value.items()
        }
    return [_without_refresh(each) for each in value] if isinstance(value, list) else value


def _write(path: Path, value: dict[str, Any]) -> None:
    _write_text(path, json.dumps(value))


def _write_text(path: Path, text: str) -> None:
    make_folder(path.parent)
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")

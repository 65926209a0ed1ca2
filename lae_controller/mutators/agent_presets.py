"""The coding agents that are known by name: how each is called, kept quiet, and understood.

Each runs without a terminal, with the prompt on its standard input; may read and edit files in its
working directory and nothing else (Codex reads by a shell, for want of another way); sends no
telemetry, does not update itself, and gives up after a few retries. Instructions and settings of
the user and of the project have no part in it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lae_controller.config import MutatorSettings
from lae_controller.mutators import agent_home, agent_output
from lae_controller.mutators.agent_output import Reading
from lae_controller.sandbox.command import scrubbed_environment

MODEL_KEYS = (
    "ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN OPENAI_API_KEY GEMINI_API_KEY GOOGLE_API_KEY "
    "GOOGLE_GENERATIVE_AI_API_KEY OPENROUTER_API_KEY DEEPSEEK_API_KEY MISTRAL_API_KEY GROQ_API_KEY "
    "XAI_API_KEY TOGETHER_API_KEY FIREWORKS_API_KEY CEREBRAS_API_KEY MOONSHOT_API_KEY "
    "DASHSCOPE_API_KEY ZAI_API_KEY ZHIPU_API_KEY COHERE_API_KEY AZURE_OPENAI_API_KEY AZURE_API_KEY "
    "CURSOR_API_KEY"
).split()
"""Keys of model services, which an agent of unknown make gets to see."""

_HOST = re.compile(
    r"CLAUDE|CODEX_|GEMINI_CLI|OPENCODE|CURSOR_|AI_AGENT|AGENT$|VSCODE_|TERM_PROGRAM|TMUX|STY$"
    r"|SSH_|GPG_|DBUS_|DISPLAY$|WAYLAND_|DOCKER_HOST|ZED_|MCP_"
)
"""Variables of the agent, editor or desktop from which the run was started."""

_WAY = (
    "(?i:https?_proxy|all_proxy|no_proxy)|SSL_CERT_(FILE|DIR)|NODE_EXTRA_CA_CERTS"
    "|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE"
)
"""Variables that say how the network is reached."""


@dataclass(frozen=True, slots=True)
class Preset:
    """One coding agent.

    Attributes:
        name: also that of its program.
        install: the command that installs it.
        login: how its user lets it reach its model.
        arguments: (settings, whether a sandbox of ours is around it) -> what follows the program.
        read: its standard output, as lines, read.
        reports_cost: whether it says what it spends.
        switches: variables that are set for it.
        keeps: a pattern of variables that it needs to reach its model, though they look like
            keys or come from a host agent.
        fill: puts what it needs for its login into a fresh home directory, and returns the
            variables that go with it.
        named: names of variables that hold keys, as the user's own settings of it say.
    """

    name: str
    install: str
    login: str
    arguments: Callable[[MutatorSettings, bool], list[str]]
    read: Callable[[Iterable[str]], Reading]
    reports_cost: bool = False
    switches: Mapping[str, str] = field(default_factory=dict)
    keeps: str = "(?!)"
    fill: agent_home.Fill | None = None
    named: Callable[[Mapping[str, str]], frozenset[str]] = lambda _: frozenset()


def _claude(settings: MutatorSettings, confined: bool) -> list[str]:  # noqa: ARG001
    words = ["-p", "--output-format", "json"]
    words += ["--tools", "Read,Edit,Write,Glob,Grep", "--permission-mode", "acceptEdits"]
    words += ["--setting-sources", "", "--strict-mcp-config", "--disable-slash-commands"]
    words += ["--no-session-persistence"]
    if settings.model:
        words += ["--model", settings.model]
    if settings.max_cost_usd is not None:
        words += ["--max-budget-usd", f"{settings.max_cost_usd:g}"]
    return words


def _codex(settings: MutatorSettings, confined: bool) -> list[str]:
    words = ["exec", "--json", "--skip-git-repo-check", "--ephemeral", "--ignore-rules"]
    # Its own sandbox cannot be set up within ours; alone, it takes /tmp for its own.
    words += ["--sandbox", "danger-full-access" if confined else "workspace-write"]
    for value in (
        "sandbox_workspace_write.exclude_slash_tmp=true",
        "sandbox_workspace_write.exclude_tmpdir_env_var=true",
        "project_doc_max_bytes=0",
        "skills.include_instructions=false",
        "check_for_update_on_startup=false",
        "analytics.enabled=false",
        'web_search="disabled"',
    ):
        words += ["-c", value]
    for feature in ("apps", "hooks", "multi_agent", "plugins", "unbounded_connection_retries"):
        words += ["-c", f"features.{feature}=false"]
    if settings.model:
        words += ["--model", settings.model]
    return [*words, "-"]


def _gemini(settings: MutatorSettings, confined: bool) -> list[str]:  # noqa: ARG001
    words = ["--approval-mode", "auto_edit", "--output-format", "stream-json", "--skip-trust"]
    words += ["--extensions", "none", "--allowed-mcp-server-names", "none"]
    return [*words, "--model", settings.model] if settings.model else words


def _opencode(settings: MutatorSettings, confined: bool) -> list[str]:  # noqa: ARG001
    words = ["run", "--format", "json", "--pure"]
    return [*words, "--model", settings.model] if settings.model else words


_OPENCODE_CONFIG = {
    "permission": {
        "*": "deny",
        **dict.fromkeys(("read", "list", "glob", "grep", "edit", "todowrite"), "allow"),
        "external_directory": "deny",
    },
    "share": "disabled",
    "autoupdate": False,
    "snapshot": False,
    "lsp": False,
    "formatter": False,
    "plugin": [],
    "instructions": [],
}

PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "claude",
            install="npm install -g @anthropic-ai/claude-code",
            login="set ANTHROPIC_API_KEY, or run `claude setup-token` and set "
            "CLAUDE_CODE_OAUTH_TOKEN, or start `claude` once and log in",
            arguments=_claude,
            read=agent_output.read_claude,
            reports_cost=True,
            switches={
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1",
                "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
                "CLAUDE_CODE_MAX_RETRIES": "6",
                "DISABLE_AUTOUPDATER": "1",
                "DISABLE_TELEMETRY": "1",
                "DISABLE_ERROR_REPORTING": "1",
            },
            keeps=r"ANTHROPIC_\w+|CLAUDE_CODE_OAUTH_TOKEN|CLAUDE_CONFIG_DIR|CLOUD_ML_REGION"
            r"|CLAUDE_CODE_(USE|SKIP)_(BEDROCK|VERTEX|FOUNDRY)(_AUTH)?|VERTEX_\w+"
            r"|CLAUDE_CODE_MAX_OUTPUT_TOKENS",
            fill=agent_home.fill_claude,
            named=agent_home.keys_of_claude,
        ),
        Preset(
            "codex",
            install="npm install -g @openai/codex",
            login="set OPENAI_API_KEY, or run `codex login`",
            arguments=_codex,
            read=agent_output.read_codex,
            keeps=r"OPENAI_\w+|AZURE_OPENAI_\w+|CODEX_(HOME|API_KEY|ACCESS_TOKEN|CA_CERTIFICATE)",
            fill=agent_home.fill_codex,
            named=agent_home.keys_of_codex,
        ),
        Preset(
            "gemini",
            install="npm install -g @google/gemini-cli",
            login="set GEMINI_API_KEY, or start `gemini` once and log in",
            arguments=_gemini,
            read=agent_output.read_gemini,
            switches={"GEMINI_CLI_TRUST_WORKSPACE": "true", "NO_COLOR": "1"},
            keeps=r"GEMINI_(API_KEY|MODEL|CLI_HOME)|GOOGLE_(API_KEY|GEMINI_BASE_URL|GENAI_\w+)"
            r"|GOOGLE_CLOUD_(PROJECT|LOCATION)",
            fill=agent_home.fill_gemini,
        ),
        Preset(
            "opencode",
            install="npm install -g opencode-ai",
            login="run `opencode auth login`, or set the key of its provider",
            arguments=_opencode,
            read=agent_output.read_opencode,
            reports_cost=True,
            switches={
                "OPENCODE_CONFIG_CONTENT": json.dumps(_OPENCODE_CONFIG),
                "OPENCODE_DISABLE_AUTOUPDATE": "1",
                "OPENCODE_DISABLE_CLAUDE_CODE": "1",
                "OPENCODE_DISABLE_EXTERNAL_SKILLS": "1",
                "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
                "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
                "OPENCODE_DISABLE_SHARE": "1",
            },
            keeps="|".join([*MODEL_KEYS, "OPENCODE_API_KEY", r"ANTHROPIC_\w+|OPENAI_\w+"]),
            fill=agent_home.fill_opencode,
            named=agent_home.keys_of_opencode,
        ),
    )
}

_OTHER = Preset(
    "agent",
    install="",
    login="set the key of its model service",
    arguments=lambda *_: [],
    read=agent_output.read_plain,
    keeps="|".join([*MODEL_KEYS, r"\w+_BASE_URL|\w+_API_BASE"]),
)


def preset_of(settings: MutatorSettings) -> Preset:
    """Return the preset that ``command`` names or calls; one of no known make for anything else.

    A command line that begins with the program of a preset is understood as that preset is, but
    called as it stands.
    """
    command = settings.command or ""
    try:
        word = next(iter(shlex.split(command)), "")
    except ValueError:
        word = ""
    return PRESETS.get(os.path.basename(word), _OTHER)  # noqa: PTH119 (a word, no path here)


def is_named(settings: MutatorSettings) -> bool:
    """Say whether ``command`` is the bare name of a preset."""
    return (settings.command or "").strip() in PRESETS


def agent_environment(settings: MutatorSettings, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a Mutator process of this backend.

    It holds no keys, tokens and sockets but those with which the agent reaches its model, and
    nothing of the agent in which the run itself may have been started.
    """
    preset = preset_of(settings)
    named = preset.named(environ)
    kept = {
        name: value
        for name, value in environ.items()
        if name in named or re.fullmatch(f"{preset.keeps}|{_WAY}", name)
    }
    env = scrubbed_environment(environ, Path(sys.executable))
    return {name: value for name, value in env.items() if not _HOST.match(name)} | kept

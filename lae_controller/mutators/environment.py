"""What a Mutator process may see of the environment, and what nobody may read in its words."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lae_controller.config import MutatorSettings
from lae_controller.errors import PrerequisiteError
from lae_controller.mutators.agent_presets import agent_environment
from lae_controller.sandbox.command import is_secret, scrubbed_environment

KEY, TOKEN, BASE_URL = "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"
_PROXIES = tuple(
    name
    for word in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
    for name in (word, word.lower())
)
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")

VISIBLE: Mapping[str, tuple[str, ...]] = {
    "offline": (),
    "anthropic": (KEY, TOKEN, BASE_URL, "ANTHROPIC_CUSTOM_HEADERS", *_PROXIES, *_CERTIFICATES),
}
"""Backend name -> variables it sees besides the scrubbed environment; keys are seen by it alone."""

_VENDOR = re.compile(r"https?://([\w.-]+\.)?anthropic\.com(:\d+)?(/|$)", re.IGNORECASE)
_SHORTEST = 8  # what is shorter is a placeholder such as "dummy" and may well stand in code
_IN_URL = re.compile(r"://([^/\s@]+)@")
_KEY_LIKE = re.compile(r"\bsk-ant-[\w-]{8,}")
_HIDDEN = "[hidden]"


def mutator_environment(settings: MutatorSettings, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a Mutator process.

    It holds no key, token or password but those its own backend needs.
    """
    if settings.backend == "agent":
        return agent_environment(settings, environ)
    env = scrubbed_environment(environ, Path(sys.executable))
    names = VISIBLE.get(settings.backend, ())
    env.update({name: environ[name] for name in names if name in environ})
    return env


def is_vendor(environ: Mapping[str, str]) -> bool:
    """Say whether the vendor's own API is asked, rather than a server set by ``BASE_URL``."""
    url = environ.get(BASE_URL, "")
    return not url or bool(_VENDOR.match(url))


def check_key(settings: MutatorSettings, environ: Mapping[str, str]) -> None:
    """Check that there is a key for a service that wants one; its worth shows only in use.

    Raises:
        PrerequisiteError: if there is none.
    """
    needed = settings.backend == "anthropic" and is_vendor(environ)
    if needed and not any(environ.get(name, "").strip() for name in (KEY, TOKEN)):
        raise PrerequisiteError(
            f"mutator.backend is anthropic, but {KEY} is not set; expected a key. "
            f"`export {KEY}=…` sets it; {BASE_URL} names another server, which may need none"
        )


class Redactor:
    """Replaces the secrets of one environment wherever they appear in a text."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        found = {value for pair in environ.items() for value in _secrets(*pair)}
        self._secrets = sorted((s for s in found if len(s) >= _SHORTEST), key=len, reverse=True)

    def text(self, text: str) -> str:
        """Return ``text`` without any of them, nor anything of the form of a key."""
        for secret in self._secrets:
            text = text.replace(secret, _HIDDEN)
        return _KEY_LIKE.sub(_HIDDEN, text)

    def data(self, value: Any) -> Any:
        """Return plain JSON data with every text in it redacted."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {key: self.data(item) for key, item in value.items()}
        return [self.data(item) for item in value] if isinstance(value, list) else value


def _secrets(name: str, value: str) -> Iterator[str]:
    if is_secret(name):
        yield value.strip()
    if name.endswith("_HEADERS"):
        yield from (line.partition(":")[2].strip() for line in value.splitlines())
    for match in _IN_URL.finditer(value):
        yield match[1]
        yield match[1].partition(":")[2]

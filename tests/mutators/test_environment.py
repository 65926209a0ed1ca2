from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lae_controller.config import MutatorSettings
from lae_controller.errors import PrerequisiteError
from lae_controller.mutators.environment import Redactor, check_key, mutator_environment
from lae_controller.sandbox.command import scrubbed_environment

KEY = "sk-ant-api03-abcdefgh"
ENVIRON = {
    "PATH": "/usr/bin",
    "HOME": "/home/me",
    "ANTHROPIC_API_KEY": KEY,
    "ANTHROPIC_AUTH_TOKEN": "a-bearer-token",
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:8080",
    "ANTHROPIC_CUSTOM_HEADERS": "x-team: a-team-secret\nx-b: 1",
    "OPENAI_API_KEY": "another-key",
    "GITHUB_TOKEN": "ghp_0123456789",
    "WANDB_API_KEY": "wandb-secret",
    "HTTPS_PROXY": "http://me:hunter22@proxy:3128",
    "https_proxy": "http://proxy:3128",
    "SSL_CERT_FILE": "/etc/ssl/own.pem",
}
OWN = {"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS", "HTTPS_PROXY"}
FOREIGN = {"OPENAI_API_KEY", "GITHUB_TOKEN", "WANDB_API_KEY"}


def test_only_the_backend_that_needs_a_key_sees_it() -> None:
    asked = mutator_environment(MutatorSettings("anthropic"), ENVIRON)
    assert {name: asked[name] for name in OWN} == {name: ENVIRON[name] for name in OWN}
    assert asked["ANTHROPIC_BASE_URL"] == ENVIRON["ANTHROPIC_BASE_URL"]
    assert not FOREIGN & asked.keys()
    offline = mutator_environment(MutatorSettings("offline"), ENVIRON)
    assert not (OWN | FOREIGN) & offline.keys()
    for env in (asked, offline):
        assert env["HOME"] == "/home/me"
        assert env["SSL_CERT_FILE"] == "/etc/ssl/own.pem"
        assert env["PATH"].endswith(":/usr/bin")


def test_training_sees_none_of_it() -> None:
    env = scrubbed_environment(ENVIRON, Path(sys.executable))
    text = str(env)
    for secret in (KEY, "a-bearer-token", "a-team-secret", "hunter22", "another-key"):
        assert secret not in text
    assert env["https_proxy"] == "http://proxy:3128"


@pytest.mark.parametrize(
    "text",
    [
        f"no such key: {KEY}",
        f"Illegal header value b'{KEY}\\n'",
        "Bearer a-bearer-token",
        "x-team was a-team-secret",
        "cannot reach http://me:hunter22@proxy:3128",
        "the password is hunter22",
        "an unknown sk-ant-api03-zzzzzzzzzzzz of somebody else",
    ],
)
def test_a_secret_is_hidden_in_words(text: str) -> None:
    hidden = Redactor({**ENVIRON, "ANTHROPIC_API_KEY": f"{KEY}\n"}).text(text)
    assert "[hidden]" in hidden
    for secret in (KEY, "a-bearer", "a-team-s", "hunter22", "zzzz"):
        assert secret not in hidden


def test_data_is_hidden_through_and_through() -> None:
    data = {"a": [f"<{KEY}>", 1, None], "b": {"c": KEY}, "d": 0.5}
    hidden = Redactor(ENVIRON).data(data)
    assert hidden == {"a": ["<[hidden]>", 1, None], "b": {"c": "[hidden]"}, "d": 0.5}


def test_a_placeholder_is_no_secret() -> None:
    text = "dummy = none"
    assert Redactor({"ANTHROPIC_API_KEY": "dummy", "X_TOKEN": "none"}).text(text) == text


@pytest.mark.parametrize(
    "environ",
    [
        {"ANTHROPIC_API_KEY": "x"},
        {"ANTHROPIC_AUTH_TOKEN": "x"},
        {"ANTHROPIC_BASE_URL": "http://127.0.0.1:8080"},
        {"ANTHROPIC_BASE_URL": "https://api.anthropic.com.example.org"},
    ],
)
def test_a_key_or_another_server_is_enough(environ: dict[str, str]) -> None:
    check_key(MutatorSettings("anthropic"), environ)


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"ANTHROPIC_API_KEY": " "},
        {"ANTHROPIC_BASE_URL": "https://api.anthropic.com"},
        {"ANTHROPIC_BASE_URL": "https://api.anthropic.com:443/v1"},
    ],
)
def test_the_vendor_without_a_key_is_refused_before_anything_is_sent(
    environ: dict[str, str],
) -> None:
    with pytest.raises(PrerequisiteError, match=r"ANTHROPIC_API_KEY is not set.*`export ANTHR"):
        check_key(MutatorSettings("anthropic"), environ)
    check_key(MutatorSettings("offline"), environ)

"""From settings to one concrete command: budget, seed and interpreter put in last.

Whatever duration a child wrote into its own files, the value set here wins: it goes in after
the change was applied, on the command line, into the environment, or into the copy that is run.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lae_controller.config import Settings
from lae_controller.errors import ConfigError
from lae_controller.quantities import number_text
from lae_controller.yaml_text import get_scalar, set_scalar

_SECRET_WORDS = frozenset(
    "KEY KEYS APIKEY TOKEN TOKENS SECRET SECRETS PASSWORD PASSWD PASSPHRASE CREDENTIAL CREDENTIALS "
    "AUTH COOKIE HEADERS".split()
)
_PASSWORD_IN_URL = re.compile(r"://[^/\s@]*:[^/\s@]+@")
_FILE_KEY = re.compile(r"(?P<path>[^:=]+\.(?:ya?ml|json)):(?P<key>[\w.\-]+)")


@dataclass(frozen=True, slots=True)
class Injection:
    """Where one value, budget or seed, goes for one run.

    Attributes:
        arguments: appended to the command.
        env: added to the environment.
        edits: (file, dotted key, value) each, made in the copy that is run.
    """

    arguments: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    edits: tuple[tuple[str, str, str], ...] = ()


def injection(key: str, value: str) -> Injection:
    """Say where ``value`` goes by a ``budget_key`` or ``seed_key``.

    Raises:
        ConfigError: if the key has none of the four forms.
    """
    if key.startswith("env:"):
        return Injection(env=((key.removeprefix("env:"), value),))
    if key.startswith("-"):
        return Injection(arguments=(f"{key.rstrip('=')}={value}",))
    if match := _FILE_KEY.fullmatch(key):
        return Injection(edits=((match["path"], match["key"], value),))
    if key.endswith("="):
        return Injection(arguments=(f"{key}{value}",))
    raise ConfigError(
        f"loop.run.yaml: {key!r} does not say where the value goes; expected one of "
        "--train.epochs, train.epochs=, env:NAME or config.yaml:train.epochs"
    )


@dataclass(frozen=True, slots=True)
class TrainingCommand:
    """One run, ready to be started: a training, or a driver that scores.

    Attributes:
        argv: a shell that becomes the command, or the driver itself.
        edits: (file, dotted key, value) to make in the run copy first.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    edits: tuple[tuple[str, str, str], ...]


def training_command(
    settings: Settings, budget: float, seed: int, extra: Mapping[str, str]
) -> TrainingCommand:
    """Return the command of one run with its budget and seed in place.

    Args:
        budget: in the unit of ``gate``.
        seed: handed over if the project can take one.
        extra: further environment, such as a private TMPDIR.
    """
    python = interpreter(settings.root)
    line, own = _leading_variables(settings.run_cmd)
    wanted = []
    for name, key, value in (
        ("{budget}", settings.budget_key, number_text(budget)),
        ("{seed}", settings.seed_key, str(seed)),
    ):
        if name in line:
            line = line.replace(name, value)
        elif key is not None:
            wanted.append(injection(key, value))
    line = line.replace("{python}", shlex.quote(str(python)))
    for one in wanted:
        line = " ".join([line, *map(shlex.quote, one.arguments)])
    env = scrubbed_environment(os.environ, python)
    env.update(settings.env)
    env.update(own)
    env.update(extra)
    env.update(pair for one in wanted for pair in one.env)
    edits = tuple(edit for one in wanted for edit in one.edits)
    return TrainingCommand(("/bin/sh", "-c", _exec(line)), env, edits)


def _leading_variables(line: str) -> tuple[str, dict[str, str]]:
    """Split ``A=1 B=2 command`` into the command and its variables, as far as they are plain.

    In the environment they can be added to (PYTHONPATH is); before a command they would win.
    """
    variables: dict[str, str] = {}
    while match := re.match(r"\s*([A-Za-z_]\w*)=([\w./:,@%+\-]*)\s+(?=\S)", line):
        variables[match[1]] = match[2]
        line = line[match.end() :]
    return line, variables


def _exec(line: str) -> str:
    """Let the shell be replaced by a plain command, so that signals and status are its own."""
    plain = not re.search(r"[;&|<>()`\n]|\$\(", line) and not re.match(r"\s*\w+=", line)
    return f"exec {line}" if plain else line


def interpreter(root: Path) -> Path:
    """Return the Python that trains: the project's own environment, else the one running now."""
    for name in (".venv", "venv"):
        candidate = root / name / "bin" / "python"
        if candidate.exists():
            return candidate
    return Path(sys.executable)


def scrubbed_environment(environ: Mapping[str, str], python: Path) -> dict[str, str]:
    """Return the environment of training runs: no keys or tokens, plain numbers, no buffering.

    ``python`` alone on a command line means the same interpreter as ``{python}``.
    """
    env = {
        key: value
        for key, value in environ.items()
        if not is_secret(key) and not _PASSWORD_IN_URL.search(value)
    }
    for key in ("PYTHONHOME", "PYTHONSTARTUP", "PYTHONBREAKPOINT", "LANGUAGE"):
        env.pop(key, None)
    env["PATH"] = f"{python.parent}{os.pathsep}{env.get('PATH', os.defpath)}"
    env["PYTHONUNBUFFERED"] = "1"
    env["LC_ALL"] = "C.UTF-8"
    return env


def is_secret(name: str) -> bool:
    """Say whether a variable of this name is likely to hold a key, a token or a password."""
    return not _SECRET_WORDS.isdisjoint(name.upper().split("_"))


def apply_edits(directory: Path, edits: tuple[tuple[str, str, str], ...]) -> None:
    """Make the edits of a command in the copy that is run.

    Raises:
        ConfigError: if a file or key is not there.
    """
    for name, key, value in edits:
        path = directory / name
        if not path.is_file():
            raise ConfigError(f"{name}: no such file in the program; expected it to hold {key}")
        text = path.read_bytes().decode("utf-8")
        path.write_bytes(set_scalar(text, key, value, name).encode("utf-8"))


def check_keys(settings: Settings, directory: Path) -> list[str]:
    """Return what is wrong with ``budget_key`` and ``seed_key`` in a program; empty if nothing."""
    problems = []
    for name, key in (("budget_key", settings.budget_key), ("seed_key", settings.seed_key)):
        try:
            for path, dotted, _ in injection(key, "0").edits if key else ():
                if not (directory / path).is_file():
                    raise ConfigError(
                        f"{path}: no such file in the project; expected one that holds {dotted}"
                    )
                get_scalar((directory / path).read_text("utf-8"), dotted, path)
        except ConfigError as error:
            problems.append(f"{name} is {key!r}: {error}")
    return problems


def entrypoint(settings: Settings) -> str | None:
    """Return the script that is run, relative to the project; None if it cannot be told."""
    if settings.entrypoint is not None:
        return settings.entrypoint
    try:
        words = shlex.split(settings.run_cmd)
    except ValueError:
        return None
    for before, word in zip(["", *words], words, strict=False):
        if before == "-m":
            return word.replace(".", "/") + ".py"
        if word.endswith((".py", ".sh")) and not word.startswith("-"):
            return word
    return None

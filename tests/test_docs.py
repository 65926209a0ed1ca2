"""Every ``lae …`` that a person or an agent is told to type can be typed."""

from __future__ import annotations

import itertools
import re
import shlex
from pathlib import Path

import click
import pytest

from lae_controller.bindings import known_keys
from lae_controller.cli import cli
from lae_controller.skill_files import load_schema

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "SKILL.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *sorted(
        path
        for folder in ("references", "agents", "docs", "docs/guides")
        for path in (ROOT / folder).glob("*.md")
    ),
    *sorted((ROOT / "examples").glob("*/README.md")),
]
SKILL_PAGES = [page for page in PAGES if page.parent.name in (ROOT.name, "references", "agents")]

_FENCED = re.compile(r"^(`{3,})[^\n]*\n(.*?)^\1\s*$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"^ {4}(lae .*)$", re.MULTILINE)
_SPAN = re.compile(r"`([^`]+)`")
_SEPARATOR = re.compile(r"&&|\|\||[;|&]|(?:\s|^)#.*$|\d?>\S*")


def fenced(text: str) -> list[list[str]]:
    """Return the words after ``lae`` of each command in a block, as they would be typed."""
    blocks = "".join(match.group(2) for match in _FENCED.finditer(text))
    lines = [*blocks.replace("\\\n", " ").splitlines(), *_INDENTED.findall(text)]
    found = []
    for line in lines:
        for part in _SEPARATOR.split(line):
            words = part.replace("nohup ", "").split()
            if words and (words[0] == "lae" or words[0].endswith("/bin/lae")):
                found.append(shlex.split(part.replace("nohup ", ""))[1:])
    return found


def spans(text: str) -> list[list[str]]:
    """Return the same for commands named inside sentences and tables, without brackets."""
    found = []
    for span in _SPAN.findall(_FENCED.sub("", text)):
        words = shlex.split(re.sub(r"[\[\]…]", " ", span.split("&&")[0]).replace("'", ""))
        if words[:1] == ["lae"]:
            found.append(words[1:])
    return found


def resolve(command: click.Command, words: list[str]) -> tuple[click.Command, list[str]]:
    """Follow the subcommands; every option on the way and at the end must exist."""
    _, rest, _ = command.make_parser(click.Context(command)).parse_args(list(words))
    if isinstance(command, click.Group):
        if not rest:
            return command, []
        if rest[0] not in command.commands:
            raise click.UsageError(f"no such command: {' '.join(words)}")
        return resolve(command.commands[rest[0]], rest[1:])
    if rest:
        raise click.UsageError(f"too many words: {' '.join(words)}")
    return command, words


def typed(words: list[str]) -> None:
    """Parse a whole command line, its values and the arguments it needs included."""
    command, rest = resolve(cli, words)
    if not isinstance(command, click.Group):
        command.make_context(command.name, rest)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_of_a_page_parses(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for words in fenced(text):
        typed(words)
    for words in spans(text):
        resolve(cli, words)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_key_that_a_page_sets_or_names_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    known = known_keys(load_schema("run"))
    sections = {key.partition(".")[0] for key in known if "." in key} - {"env"}
    named = re.findall(rf"`((?:{'|'.join(sections)})\.[a-z_.]+)(?:[:= ][^`]*)?`", text)
    for words in [*fenced(text), *spans(text)]:
        pairs = itertools.pairwise(words)
        named += [value.partition("=")[0] for word, value in pairs if word == "--set"]
    for key in named:
        assert key in known or key == "KEY", key


def test_the_pages_do_hold_commands() -> None:
    skill = (ROOT / "SKILL.md").read_text(encoding="utf-8")
    names = {words[0] for words in fenced(skill)}
    assert {"probe", "init", "check", "run", "status", "ask", "tell", "best", "export"} <= names
    assert ["init", "DIR"] in fenced(skill)
    assert ["evaluate", "ID", "--run", "DIR", "--wait", "540"] in spans(skill)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert ["run", "examples/digits", "--yes"] in fenced(readme)
    assert ["check", "examples/digits"] in fenced((ROOT / "examples/digits/README.md").read_text())


@pytest.mark.parametrize(
    "line", ["rnu .", "run . --detatch", "status --top 3", "check . again", "skill instal", "-n"]
)
def test_a_command_that_does_not_exist_is_found(line: str) -> None:
    with pytest.raises(click.UsageError):
        resolve(cli, line.split())


@pytest.mark.parametrize("line", ["best --top many", "show", "diff ID --against nobody"])
def test_a_value_that_does_not_fit_is_found(line: str) -> None:
    with pytest.raises(click.UsageError):
        typed(line.split())


@pytest.mark.parametrize("page", SKILL_PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_files_that_are_named_are_there(page: Path) -> None:
    folders = "roles|schemas|references|examples|docs|benchmarks"
    named = re.findall(rf"`((?:{folders})/[\w./-]+)`", page.read_text(encoding="utf-8"))
    for name in named:
        assert (ROOT / name).exists(), name
    assert named or page.parent != ROOT or page.name not in ("SKILL.md", "README.md")


@pytest.mark.parametrize("page", SKILL_PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_page_has_a_key_printed_or_passed(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for words in ("printenv", "env |", "env|", "echo $", "export -p", "sk-ant", "--api-key"):
        assert words not in text
    blocks = "".join(match.group(2) for match in _FENCED.finditer(text))
    assert not re.search(r"(KEY|TOKEN|SECRET)\s*=", blocks)

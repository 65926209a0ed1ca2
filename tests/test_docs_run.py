"""Every ``lae …`` of a page that works offline in seconds is given, on a small run."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import click
import pytest
from test_docs import PAGES, ROOT, fenced, resolve
from tiny_project import make_project

from lae_controller import api, build, config, session
from lae_controller.cli import cli
from lae_controller.errors import LaeError
from lae_controller.views import inspect

NEEDS_A_SERVER = {"serve", "experiment", "program", "results"}
"""What these do is tried in tests/service."""

STOPS = {"stop": 2, "accept": 2}
"""Commands that have nothing to do on a finished run, and the code with which they say so."""

IN_ORDER = ("probe", "init", "check", "run", "ask", "evaluate", "tell")


@dataclass(frozen=True)
class Ground:
    """A finished run, and one with a task that was asked for and evaluated."""

    finished: Path
    hosted: Path
    best: str
    task: str


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    folder = tmp_path_factory.mktemp("typed")
    finished = make_project(folder / "finished", "trackers: {tensorboard: true}\n")
    session.run_search(config.load(finished), lambda _: None)
    found = inspect.best(build.view(config.load(finished), print), 1)
    hosted = make_project(folder / "hosted", "mutator: {timeout: 60}\n")
    assert given(["check", str(hosted)]) == 0
    (task,) = api.load(hosted).ask(1).tasks
    model = task.directory / "model.py"
    model.write_text(model.read_text().replace("WIDTH = 8", "WIDTH = 16"))
    return Ground(finished, hosted, found[0]["child_id"], task.child_id)


def commands() -> Iterator[tuple[str, ...]]:
    """Yield every command of a block once, wherever it stands, the long way round first."""
    seen: set[tuple[str, ...]] = set()
    for page in PAGES:
        for words in fenced(page.read_text(encoding="utf-8")):
            key = tuple(words)
            if key not in seen and words and words[0] not in NEEDS_A_SERVER:
                seen.add(key)
                yield key


COMMANDS = list(commands())


def given(words: list[str]) -> int:
    """Give a command in this process; returns its exit code."""
    try:
        cli.main(words, standalone_mode=False)
    except click.exceptions.Exit as error:
        return error.exit_code
    except LaeError as error:
        return error.exit_code
    except SystemExit as error:
        return int(error.code or 0)
    return 0


@cache
def resumed(words: tuple[str, ...]) -> int:
    """Give a ``lae run`` of the finished run; once, as pages differ in what is left out here."""
    return given(list(words))


def placed(words: tuple[str, ...], ground: Ground, folder: Path) -> list[str]:
    """Return the command with the places of a page put on this machine."""
    command, _ = resolve(cli, list(words))
    hosted = words[0] in ("ask", "evaluate", "tell")
    root = str(ground.hosted if hosted else ground.finished)
    child = ground.task if hosted else ground.best
    names = {param.name: param for param in command.params}
    parser = command.make_parser(click.Context(command))
    options, _, _ = parser.parse_args(list(words[1:]) if words[0] != "skill" else list(words[2:]))
    if words[0] == "init":
        fresh = shutil.ignore_patterns("sandbox")
        root = str(shutil.copytree(ROOT / "examples/digits", folder / "new", ignore=fresh))
        if "--yes" not in words or "editable_files" in " ".join(words):  # else: one line more
            (folder / "new/loop.run.yaml").unlink()
    for value in ("path", "directory"):
        if value in names:
            options[value] = root
    if "child_id" in names:
        options["child_id"] = child
    if "output" in names and options.get("output"):
        options["output"] = str(folder / Path(str(options["output"])).name)
    if "folders" in names and options.get("folders"):
        options["folders"] = [str(folder / "skills")]
    options.pop("detach", None)  # it would outlive the test; tests/test_begin has it
    options.pop("total_budget", None)  # hours are no matter of seconds
    options.pop("token", None)
    return [*(words[:2] if words[0] == "skill" else words[:1]), *written(names, options)]


def written(names: dict[str | None, click.Parameter], options: dict[str, object]) -> list[str]:
    """Return parsed options as words again, arguments first."""
    words: list[str] = []
    for name, value in options.items():
        param = names[name]
        if isinstance(param, click.Argument):
            words.insert(0, str(value))
        elif value is True or (isinstance(param, click.Option) and param.is_flag):
            words += [param.opts[-1]] if value else []
        else:
            for item in value if isinstance(value, list) else [value]:
                words += [param.opts[-1], str(item)]
    return words


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words)[:70])
def test_a_command_of_a_page_works(
    words: tuple[str, ...], ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if words in ((), ("--version",)):
        assert given(["--version"]) == 0
        return
    monkeypatch.chdir(tmp_path)
    if words[0] == "tell":  # what it tells must have been evaluated, on whichever page that stands
        assert given(["evaluate", ground.task, "--run", str(ground.hosted)]) == 0
    line = placed(words, ground, tmp_path)
    code = resumed(tuple(line)) if words[0] == "run" else given(line)
    assert code == STOPS.get(words[0], 0)


def test_the_pages_show_most_verbs() -> None:
    shown = {words[0] for words in COMMANDS if words}
    assert {*IN_ORDER, "status", "best", "report", "diff", "export", "skill", "track"} <= shown

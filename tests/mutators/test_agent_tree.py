from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from lae_controller.mutators.agent_tree import AgentTree

FILES = {"model.py": "A = 1\n", "src/net.py": "B = 2\n", "AGENTS.md": "hi", ".claude/s.md": "ho"}


@pytest.fixture
def tree(tmp_path: Path) -> AgentTree:
    directory = tmp_path / "child"
    for path, text in FILES.items():
        write(directory / path, text)
    (directory / "data").symlink_to("/usr")
    return AgentTree(directory, tmp_path / "kept", ["model.py", "src/net.py"])


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def there(folder: Path) -> dict[str, str]:
    """Return path -> text of the files, and path -> target of the links."""
    found = {}
    for place, folders, names in os.walk(folder):
        for name in [*names, *(f for f in folders if (Path(place) / f).is_symlink())]:
            path = Path(place) / name
            text = str(path.readlink()) if path.is_symlink() else path.read_text()
            found[path.relative_to(folder).as_posix()] = text
    return found


def seen(tree: AgentTree) -> set[str]:
    """Return what the agent finds, its repository left out."""
    return {path for path in there(tree.directory) if not path.startswith(".git/")}


WHOLE = {**FILES, "data": "/usr"}
LINKED = (".x", "model.py")


def test_an_agent_finds_the_program_without_instructions(tree: AgentTree) -> None:
    tree.prepare()
    assert seen(tree) == {"model.py", "src/net.py", "data"}
    assert tree.settle() == ()
    assert there(tree.directory) == WHOLE


def test_instructions_that_are_evolved_stay(tmp_path: Path) -> None:
    write(tmp_path / "child" / ".claude" / "skills" / "x.md", "how")
    write(tmp_path / "child" / "AGENTS.md", "hi")
    tree = AgentTree(tmp_path / "child", tmp_path / "kept", [".claude/skills/x.md"])
    tree.prepare()
    assert seen(tree) == {".claude/skills/x.md"}
    write(tree.directory / ".claude" / "skills" / "x.md", "how better")
    assert tree.settle() == (".claude/skills/x.md",)


@pytest.mark.parametrize(
    ("act", "changed"),
    [
        (lambda d: write(d / "model.py", "A = 2\n"), ("model.py",)),
        (lambda d: write(d / "lib/new.py", ""), ("lib/new.py",)),
        (lambda d: (d / "model.py").unlink(), ("model.py",)),
        (lambda d: (d / "model.py").rename(d / "m.py"), ("m.py", "model.py")),
        (
            lambda d: (d / "model.py").replace(d / ".x") and (d / "model.py").symlink_to(".x"),
            LINKED,
        ),
        (lambda d: (d / "src").rename(d / "lib"), ("lib/net.py", "src/net.py")),
        (lambda d: (d / "data").unlink(), ("data",)),
        (lambda d: (d / "other").symlink_to("/usr"), ("other",)),
        (lambda d: (d / "empty").mkdir(), ()),
        (lambda d: (d / "model.py").touch(), ()),
        (lambda d: (d / "model.py").chmod(0), ()),
        (lambda d: (d / "src").chmod(0), ()),
    ],
    ids=(
        "edit add delete move link-own move-folder unlink-data link empty-folder touch lock "
        "lock-folder"
    ).split(),
)
def test_what_changed(
    act: Callable[[Path], object], changed: tuple[str, ...], tree: AgentTree
) -> None:
    tree.prepare()
    act(tree.directory)
    assert tree.settle() == changed
    tree.close(restore=True)
    assert there(tree.directory) == WHOLE


def test_leftovers_are_removed_wherever_they_lie(tree: AgentTree) -> None:
    tree.prepare()
    for path in (
        ".claude/state",
        ".codex/log",
        "src/.gemini/x",
        "CLAUDE.md",
        "AGENTS.md",
        ".git/HEAD",
        "src/__pycache__/net.pyc",
        ".aider.chat.md",
        "model.py.orig",
        "model.py~",
        ".mcp.json",
    ):
        write(tree.directory / path, "left")
    os.mkfifo(tree.directory / "pipe")
    assert tree.settle() == ()
    assert there(tree.directory) == WHOLE


def test_a_link_in_place_of_a_folder_leads_nowhere(tmp_path: Path) -> None:
    outside, child = tmp_path / "outside", tmp_path / "child"
    write(outside / "AGENTS.md", "theirs")
    write(child / "docs" / "AGENTS.md", "ours")
    tree = AgentTree(child, tmp_path / "kept", [])
    tree.prepare()
    (child / "docs").rmdir()
    (child / "docs").symlink_to(outside)
    assert tree.settle() == ("docs", "docs/AGENTS.md")
    assert there(outside) == {"AGENTS.md": "theirs"}
    tree.close(restore=True)
    assert there(child) == {"docs/AGENTS.md": "ours"}


def test_a_folder_that_became_a_file_is_a_change(tmp_path: Path) -> None:
    write(tmp_path / "child" / "docs" / "AGENTS.md", "ours")
    tree = AgentTree(tmp_path / "child", tmp_path / "kept", [])
    tree.prepare()
    (tree.directory / "docs").rmdir()
    write(tree.directory / "docs", "a file")
    assert tree.settle() == ("docs", "docs/AGENTS.md")


def test_a_turn_that_was_killed_leaves_no_edits_to_the_next(
    tree: AgentTree, tmp_path: Path
) -> None:
    tree.prepare()
    write(tree.directory / "model.py", "half an ed")
    again = AgentTree(tree.directory, tmp_path / "kept", ["model.py"])
    again.prepare()
    assert again.settle() == ()
    again.close(restore=False)
    assert there(tree.directory) == WHOLE
    assert not (tmp_path / "kept").exists()


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_users_repository_is_not_the_agents(tree: AgentTree, tmp_path: Path) -> None:
    tree.prepare()
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    for words in (["init", "-q", str(tmp_path)], ["-C", str(tree.directory), "add", "model.py"]):
        subprocess.run(["git", *words], check=True, env=environ)
    assert not (tmp_path / ".git" / "index").exists()
    assert (tree.directory / ".git" / "index").exists()
    assert tree.settle() == ()
    assert there(tree.directory) == WHOLE

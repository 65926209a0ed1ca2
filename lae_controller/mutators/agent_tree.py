"""A child's directory while an agent works in it: only its edits of the program remain.

Agents read instructions that lie about (``CLAUDE.md``, ``.codex``) and leave state of their own.
Neither is part of the program: the first is put aside while the agent works, the second removed. A
repository of its own keeps the user's out of play.
"""

from __future__ import annotations

import filecmp
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path

from lae_controller.files import make_folder, remove_tree
from lae_controller.sandbox.programs import clone

INSTRUCTIONS = frozenset(
    (
        ".claude .codex .gemini .opencode .agents .cursor .qwen .goose .roo .junie .windsurf "
        "CLAUDE.md CLAUDE.local.md AGENTS.md AGENTS.override.md AGENT.md GEMINI.md QWEN.md "
        ".mcp.json opencode.json opencode.jsonc .cursorrules .windsurfrules .clinerules .goosehints"
    ).split()
)
"""What agents read as instructions or settings, wherever it lies in a project."""

_LEFTOVERS = (
    ".git .hg .svn .aider* __pycache__ *.pyc *.pyo .ipynb_checkpoints .mypy_cache .ruff_cache "
    ".pytest_cache .venv .DS_Store *.swp *~ *.orig *.rej *.bak"
).split()


class AgentTree:
    """The directory of one child around the turn of an agent.

    Args:
        directory: the child's program.
        aside: a folder on the same disk for what is kept meanwhile.
        own: paths of the program itself; instructions among them are what is evolved and stay.
    """

    def __init__(self, directory: Path, aside: Path, own: Iterable[str]) -> None:
        self.directory = directory
        self._aside = aside
        self._before = aside / "before"
        self._instructions = aside / "instructions"
        self._own = tuple(own)

    def prepare(self) -> None:
        """Keep a copy, and put aside what would instruct the agent.

        If an earlier turn was killed, its edits are undone first.
        """
        self.close(restore=self._before.is_dir())
        clone(self.directory, self._aside / "part")
        (self._aside / "part").rename(self._before)
        for path in list(self._find(self._instructs)):
            target = self._instructions / path
            make_folder(target.parent)
            (self.directory / path).rename(target)
        self._make_repository()

    def settle(self) -> tuple[str, ...]:
        """Remove what the agent left beside its edits; return the paths it changed.

        Nothing of the agent may run any more.
        """
        self._make_readable()
        for path in list(self._find(self._is_leftover)):
            _remove(self.directory / path)
        for folder, subfolders, names in os.walk(self._instructions):
            here = Path(folder).relative_to(self._instructions)
            for name in [*subfolders, *names]:
                if name in INSTRUCTIONS:
                    self._put_back(here / name)
            subfolders[:] = [name for name in subfolders if name not in INSTRUCTIONS]
        return tuple(sorted(self._changed()))

    def close(self, *, restore: bool) -> None:
        """Make the directory what it was before the agent, if so wished; keep nothing else."""
        if restore:
            remove_tree(self.directory)
            self._before.rename(self.directory)
        remove_tree(self._aside)

    def _make_repository(self) -> None:
        """Make the directory an empty repository while the agent works.

        Agents take the repository around them for their project: they look for instructions up to
        its root, may edit all of it, and what they do with git would be done to the user's own.
        """
        for name in ("objects", "refs/heads"):
            make_folder(self.directory / ".git" / name)
        (self.directory / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        config = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
        (self.directory / ".git" / "config").write_text(config)

    def _find(self, wanted: Callable[[str], bool]) -> Iterator[str]:
        """Yield paths below the directory that are ``wanted``; not what lies within those."""
        for folder, subfolders, names in os.walk(self.directory):
            here = Path(folder).relative_to(self.directory)
            found = [name for name in [*subfolders, *names] if wanted((here / name).as_posix())]
            subfolders[:] = [name for name in subfolders if name not in found]
            yield from ((here / name).as_posix() for name in found)

    def _instructs(self, path: str) -> bool:
        return path.rpartition("/")[2] in INSTRUCTIONS and not self._holds_own(path)

    def _holds_own(self, path: str) -> bool:
        return any(own == path or own.startswith(f"{path}/") for own in self._own)

    def _is_leftover(self, path: str) -> bool:
        """Say whether a path came with the agent and is no part of any program."""
        if os.path.lexists(self._before / path) and not self._instructs(path):
            return False
        mode = (self.directory / path).lstat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)):
            return True  # to open a pipe would wait for ever
        name = path.rpartition("/")[2]
        return self._instructs(path) or any(fnmatch(name, pattern) for pattern in _LEFTOVERS)

    def _put_back(self, path: Path) -> None:
        place = self.directory / path
        if not place.parent.resolve().is_relative_to(self.directory.resolve()):
            return  # its folder became a link, for which the freeze refuses the child
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            return  # its folder became a file: the same
        _remove(place)
        (self._instructions / path).rename(place)

    def _make_readable(self) -> None:
        for folder, subfolders, names in os.walk(self.directory):
            for name in subfolders:
                _allow(Path(folder) / name, stat.S_IRWXU)
            for name in names:
                _allow(Path(folder) / name, stat.S_IRUSR | stat.S_IWUSR)

    def _changed(self) -> set[str]:
        before, after = _entries(self._before), _entries(self.directory)
        return {
            path
            for path in before | after
            if path not in before
            or path not in after
            or not _same(self._before / path, self.directory / path)
        }


def _allow(path: Path, bits: int) -> None:
    mode = path.lstat().st_mode
    if not stat.S_ISLNK(mode) and mode & bits != bits:
        path.chmod(stat.S_IMODE(mode) | bits)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        remove_tree(path)
    else:
        path.unlink(missing_ok=True)


def _entries(directory: Path) -> set[str]:
    """Return the files and links below a directory; links are not followed."""
    found: set[str] = set()
    for folder, subfolders, names in os.walk(directory):
        here = Path(folder)
        links = [name for name in subfolders if (here / name).is_symlink()]
        found.update((here / name).relative_to(directory).as_posix() for name in [*names, *links])
    return found


def _same(one: Path, other: Path) -> bool:
    if one.is_symlink() or other.is_symlink():
        both = one.is_symlink() and other.is_symlink()
        return both and one.readlink() == other.readlink()
    if not (one.is_file() and other.is_file()):
        return False
    return filecmp.cmp(one, other, shallow=False)

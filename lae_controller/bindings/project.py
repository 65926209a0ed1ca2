"""A training project as it lies on disk: its files, their texts and syntax trees.

Nothing here imports or runs a line of the project.
"""

from __future__ import annotations

import ast
import os
import stat
import warnings
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

MAX_TEXT = 1_000_000
"""Bytes; larger files are data to us, whatever their name says."""
BIG_FILE = 8 * 1024 * 1024
"""Bytes; above this, what is not code is linked instead of copied (see `data_paths`)."""

_MAX_FILES = 20_000
_MAX_PER_FOLDER = 1_000
_MAX_DEPTH = 12
_MAX_PARSED = 300_000
_SKIPPED = frozenset(
    """.git .hg .svn .tox .nox .venv venv node_modules __pycache__ .mypy_cache .ruff_cache
    .pytest_cache .ipynb_checkpoints .eggs .idea .vscode .cache .dvc site-packages build dist
    wandb mlruns lightning_logs .claude .agents .codex .gemini .opencode .cursor""".split()
)
_FOREIGN = frozenset({"pyvenv.cfg", "archive.tsv"})
"""A folder with one of these is a virtual environment or a sandbox of ours."""
_SIDE = frozenset("test tests doc docs example examples notebooks benchmark benchmarks".split())
_SIDE_FILES = frozenset({"setup.py", "conftest.py", "hubconf.py", "noxfile.py"})
_CONFIG_ENDINGS = (".yaml", ".yml", ".json", ".toml")

_KEPT = (
    ast.Call,
    ast.JoinedStr,
    ast.BinOp,
    ast.Assign,
    ast.AnnAssign,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Dict,
    ast.For,
    ast.Subscript,
    ast.Import,
    ast.ImportFrom,
)
_LEAVES = (ast.Name, ast.Constant, ast.expr_context, ast.operator, ast.cmpop)


class Site(NamedTuple):
    """A syntax node and the names of the functions and classes around it, outermost first."""

    node: ast.AST
    around: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """One regular file.

    Attributes:
        path: POSIX path relative to the project root.
        size: bytes.
    """

    path: str
    size: int

    @property
    def ending(self) -> str:
        """The last suffix in lower case, with its dot; empty if there is none."""
        return PurePosixPath(self.path).suffix.lower()


class Project:
    """What can be read of a project. Texts and trees are read once and kept.

    Attributes:
        root: its directory.
        files: regular files in path order; VCS, caches, environments and run logs left out.
        linked_folders: links to directories; they are not entered.
        environment: ``.venv`` or ``venv`` if it holds an interpreter, else None.
    """

    def __init__(
        self,
        root: Path,
        files: tuple[ProjectFile, ...],
        linked_folders: tuple[str, ...],
        environment: str | None,
    ) -> None:
        self.root = root
        self.files = files
        self.linked_folders = linked_folders
        self.environment = environment
        self._sizes = {file.path: file.size for file in files}
        self._texts: dict[str, str] = {}
        self._trees: dict[str, ast.Module | None] = {}
        self._sites: dict[str, tuple[Site, ...]] = {}

    def __contains__(self, path: object) -> bool:
        return path in self._sizes

    @property
    def scripts(self) -> tuple[str, ...]:
        """Python files that could be the project's own program: no tests, docs, packaging."""
        return tuple(
            file.path for file in self.files if file.ending == ".py" and not _is_side(file.path)
        )

    @property
    def configs(self) -> tuple[str, ...]:
        """Setting files: YAML, JSON and TOML, outside tests, docs and hidden folders."""
        return tuple(
            file.path
            for file in self.files
            if file.ending in _CONFIG_ENDINGS
            and file.size <= MAX_TEXT
            and not _is_side(file.path)
            and not any(part.startswith(".") for part in PurePosixPath(file.path).parts)
        )

    @property
    def readme(self) -> str:
        """The text of the README at the root; empty if there is none."""
        names = [
            file.path
            for file in self.files
            if "/" not in file.path and file.path.lower().startswith("readme")
        ]
        return self.text(min(names, key=lambda name: (not name.endswith(".md"), name), default=""))

    def text(self, path: str) -> str:
        """Return a file's text; empty if it is missing, larger than MAX_TEXT or unreadable.

        Bytes that are not UTF-8 become U+FFFD: a comment in another encoding should not hide
        the code around it.
        """
        if path not in self._texts:
            self._texts[path] = self._read(path)
        return self._texts[path]

    def _read(self, path: str) -> str:
        if self._sizes.get(path, MAX_TEXT + 1) > MAX_TEXT:
            return ""
        try:
            return (self.root / path).read_bytes().decode("utf-8-sig", errors="replace")
        except OSError:
            return ""

    def tree(self, path: str) -> ast.Module | None:
        """Return the syntax tree of a Python file; None if it does not parse."""
        if path not in self._trees:
            self._trees[path] = _parse(self.text(path))
        return self._trees[path]

    def sites(self, path: str) -> tuple[Site, ...]:
        """Return the nodes of the kinds that matter here, in source order."""
        if path not in self._sites:
            tree = self.tree(path)
            self._sites[path] = () if tree is None else tuple(_walk(tree))
        return self._sites[path]

    def reachable(self, entrypoint: str | None, more: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return the entrypoint and the project files it imports, nearest first.

        Args:
            more: files that it loads by other means, by names in its setting files.

        Imports are followed breadth first until 300 kB of source have been seen, so that a
        project with a large model zoo stays quick to read.
        """
        if entrypoint is None or entrypoint not in self:
            return ()
        seen = dict.fromkeys((entrypoint, *more))
        queue, read = deque(seen), 0
        while queue and read < _MAX_PARSED:
            path = queue.popleft()
            read += self._sizes[path]
            for found in self._imports(path, entrypoint):
                if found not in seen:
                    seen[found] = None
                    queue.append(found)
        return tuple(path for path in seen if path in self._sites)

    def _imports(self, path: str, entrypoint: str) -> Iterator[str]:
        folder = PurePosixPath(path).parent
        bases = [PurePosixPath(entrypoint).parent, PurePosixPath(), PurePosixPath("src"), folder]
        for node, _ in self.sites(path):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield from self._modules(alias.name, bases)
            elif isinstance(node, ast.ImportFrom):
                origin = bases
                if node.level:
                    parents = [folder, *folder.parents]
                    origin = [parents[min(node.level, len(parents)) - 1]]
                module = node.module or ""
                names = [f"{module}.{alias.name}".lstrip(".") for alias in node.names]
                for name in (module, *names):
                    yield from self._modules(name, origin)

    def _modules(self, dotted: str, bases: list[PurePosixPath]) -> Iterator[str]:
        """Yield the files of a module and of the packages around it, from the first base."""
        parts = [part for part in dotted.split(".") if part and part != "*"]
        for base in bases:
            whole = base.joinpath(*parts)
            hits = [p for p in (f"{whole}.py", f"{whole}/__init__.py") if p in self]
            if hits and parts:
                yield from hits
                return

    def module_file(self, dotted: str, entrypoint: str) -> str | None:
        """Return the file that holds ``package.module.Name``; None if the project has none."""
        bases = [PurePosixPath(entrypoint).parent, PurePosixPath(), PurePosixPath("src")]
        module = dotted.rpartition(".")[0]
        return next(iter([*self._modules(dotted, bases), *self._modules(module, bases)]), None)

    def resolve(self, written: str) -> str | None:
        """Return the file that a path written in a README or in code means.

        It is looked up at the root, else, when only one file has that name, by its name.
        """
        path = PurePosixPath(written).as_posix().removeprefix("./")
        if path in self:
            return path
        alike = [file.path for file in self.files if file.path.endswith(f"/{path}")]
        return alike[0] if len(alike) == 1 and not path.startswith("..") else None


def scan(root: Path) -> Project:
    """List the files of a project; unreadable folders, broken links and devices are left out.

    Links to directories are noted and not entered, so that loops of links do no harm. Past
    20 000 files, or 1 000 in one folder, the rest is not listed: it is data.
    """
    files: list[ProjectFile] = []
    links: list[str] = []
    queue = deque([("", 0)])
    while queue and len(files) < _MAX_FILES:
        folder, depth = queue.popleft()
        entries = _entries(root / folder)
        if folder and any(entry.name in _FOREIGN for entry in entries):
            continue
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            kind, size = _kind(entry)
            if kind == "file":
                files.append(ProjectFile(path, size))
            elif kind == "link":
                links.append(path)
            elif kind == "folder" and entry.name not in _SKIPPED and depth < _MAX_DEPTH:
                queue.append((path, depth + 1))
    files.sort(key=lambda file: file.path)
    return Project(root, tuple(files), tuple(sorted(links)), _environment(root))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    found: list[os.DirEntry[str]] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                found.append(entry)
                if len(found) >= _MAX_PER_FOLDER:
                    break
    except OSError:
        return found
    return sorted(found, key=lambda entry: entry.name)


def _kind(entry: os.DirEntry[str]) -> tuple[str, int]:
    """Say whether an entry is a file, a folder, a link to a folder or none of these."""
    try:
        status = entry.stat()
        if stat.S_ISREG(status.st_mode):
            return "file", status.st_size
        if stat.S_ISDIR(status.st_mode):
            return ("link" if entry.is_symlink() else "folder"), 0
    except OSError:
        pass
    return "", 0


def _environment(root: Path) -> str | None:
    for name in (".venv", "venv"):
        if (root / name / "bin" / "python").exists():
            return name
    return None


def _is_side(path: str) -> bool:
    parts = PurePosixPath(path).parts
    name = parts[-1]
    return (
        any(part in _SIDE for part in parts[:-1])
        or name in _SIDE_FILES
        or (name.startswith("test_") and name.endswith(".py"))
    )


def _parse(text: str) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the project's own invalid escapes are not our news
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _walk(tree: ast.Module) -> Iterator[Site]:
    stack: list[tuple[ast.AST, tuple[str, ...]]] = [(tree, ())]
    while stack:
        node, around = stack.pop()
        if isinstance(node, _KEPT):
            yield Site(node, around)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            around = (*around, node.name)
        inner = [c for c in ast.iter_child_nodes(node) if not isinstance(c, _LEAVES)]
        stack.extend((child, around) for child in reversed(inner))


def strings(project: Project, path: str) -> tuple[str, ...]:
    """Return the string constants that are arguments or values in a Python file."""
    found: list[str] = []
    for node, _ in project.sites(path):
        found.extend(text for part in _values(node) if isinstance(text := literal(part), str))
    return tuple(found)


def _values(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Call):
        return [*node.args, *(keyword.value for keyword in node.keywords)]
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        value = node.value
        return [*value.elts] if isinstance(value, ast.List | ast.Tuple) else [value]
    return []


def line_of(node: ast.AST) -> int:
    """Return the line of a node; 0 for the kinds that have none."""
    return node.lineno if isinstance(node, ast.expr | ast.stmt) else 0


def literal(node: ast.AST | None) -> object:
    """Return the value of a literal number, string, bool or None; Ellipsis for anything else."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = literal(node.operand)
        if isinstance(value, int | float):
            return -value
    return ...


def dotted_name(node: ast.AST | None) -> str:
    """Return ``a.b.c`` for such an expression; of any other the attribute, or nothing."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts))

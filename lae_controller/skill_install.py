"""``lae skill install``: a copy of the skill where coding agents look for one.

A copy keeps a list of what was installed with its hashes, so that a later install brings files up
to date that nobody touched, and never overwrites one that somebody edited without being told to.
Nothing is written through a symbolic link.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from lae_controller import __version__
from lae_controller.errors import ConfigError
from lae_controller.files import make_folder, read_json, sha256_of, write_atomic, write_json

NAME = "alpha-evolve"
PARTS = ("SKILL.md", "roles", "schemas", "references", "examples")
MANIFEST = ".lae-skill.json"
# Claude Code reads the first; Codex, Gemini CLI and OpenCode the second.
PROJECT_FOLDERS = (Path(".claude", "skills", NAME), Path(".agents", "skills", NAME))

_NEVER_COPIED = frozenset({"__pycache__", "sandbox"})


@dataclass(frozen=True, slots=True)
class Installed:
    """What became of one destination; paths are relative to its folder.

    Attributes:
        written: files that were new or out of date.
        unchanged: files that were as they should be.
        overwritten: those of ``written`` that somebody had edited (only when forced).
        removed: files of an earlier version that this one does not have.
        kept: such files that somebody had edited, and which were therefore left.
        note: why nothing was done here; empty if something was.
    """

    folder: Path
    written: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    overwritten: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    note: str = ""


def install(
    source: Path, to: Sequence[Path], project: Path, *, force: bool = False
) -> list[Installed]:
    """Copy the skill to each destination, all of them or none.

    Args:
        source: the folder that holds ``SKILL.md`` (see ``skill_files``).
        to: folders to install into; empty for the two folders of ``project``. A folder that is
            not called ``alpha-evolve`` gets one inside it: a skill's folder bears its name.
        force: whether files that were edited are overwritten.

    Raises:
        ConfigError: if a destination is a link to somewhere else or holds edited files; nothing
            was written then.
        PrerequisiteError: if a place cannot be written.
    """
    content = {name: (source / name).read_bytes() for name in names(source)}
    folders = [_given(path, project) for path in to] or _of_project(project, source)
    plans = _plans(folders, source, content)
    if not force:
        _refuse_edited(plans)
    for plan in plans:
        if not plan.note:
            _carry_out(plan, content)
    return plans


def names(source: Path) -> list[str]:
    """Return the files of the skill below ``source``, sorted, with ``/`` between folders."""
    found: list[str] = []
    for part in PARTS:
        path = source / part
        files = [path] if path.is_file() else path.rglob("*")
        found += [p.relative_to(source).as_posix() for p in files if p.is_file()]
    return sorted(name for name in found if not _is_left_out(PurePosixPath(name)))


def _is_left_out(path: PurePosixPath) -> bool:
    return any(word in _NEVER_COPIED or word.startswith(".") for word in path.parts)


# -- where ---------------------------------------------------------------------------------------


def _given(path: Path, project: Path) -> Path:
    folder = project / path.expanduser()
    return folder if folder.name == NAME else folder / NAME


def _of_project(project: Path, source: Path) -> list[Path]:
    """Return the project's own folders, unless a link leads out of the project."""
    inside = project.resolve()
    folders = [inside / folder for folder in PROJECT_FOLDERS]
    for folder in folders:
        there = folder.parent.resolve()
        if not there.is_relative_to(inside) and folder.resolve() != source.resolve():
            raise ConfigError(
                f"{folder.parent}: leads to {there}, outside of this project; nothing was written. "
                f"`lae skill install --to {there}` installs there"
            )
    return folders


def _plans(folders: Sequence[Path], source: Path, content: Mapping[str, bytes]) -> list[Installed]:
    plans: list[Installed] = []
    real = {folder.resolve() for folder in folders if not folder.is_symlink()}
    seen: set[Path] = set()
    for folder in folders:
        place = folder.resolve()
        if place == source.resolve():
            plans.append(Installed(folder, note="is the skill itself; nothing to copy"))
        elif place in seen or (folder.is_symlink() and place in real):
            plans.append(Installed(folder, note=f"leads to {place}, which is installed too"))
        elif folder.is_symlink():
            raise ConfigError(
                f"{folder}: is a link to {place}; expected a folder of its own. Nothing was "
                f"written. Remove the link, or `lae skill install --to {place.parent}`"
            )
        else:
            plans.append(_plan(folder, content))
            seen.add(place)
    return plans


# -- what ----------------------------------------------------------------------------------------


def _plan(folder: Path, content: Mapping[str, bytes]) -> Installed:
    _refuse_folders(folder, content)
    before = _installed_before(folder)
    written, unchanged, edited = [], [], []
    for name, data in content.items():
        hashed = hashlib.sha256(data).hexdigest()
        there = _hash_of(folder, name)
        if there == hashed:
            unchanged.append(name)
            continue
        written.append(name)
        if there is not None and there != before.get(name):
            edited.append(name)
    gone = [name for name in before if name not in content]
    present = [name for name in gone if _hash_of(folder, name) is not None]
    return Installed(
        folder,
        written=tuple(written),
        unchanged=tuple(unchanged),
        overwritten=tuple(edited),
        removed=tuple(name for name in present if _hash_of(folder, name) == before[name]),
        kept=tuple(name for name in present if _hash_of(folder, name) != before[name]),
    )


def _installed_before(folder: Path) -> dict[str, str]:
    """Return file -> hash as an earlier install left it; what is not of the skill is ignored."""
    found = read_json(folder / MANIFEST)
    files = found.get("files") if isinstance(found, dict) else None
    if not isinstance(files, dict):
        return {}
    return {
        name: hashed
        for name, hashed in files.items()
        if isinstance(hashed, str)
        and PurePosixPath(name).parts[:1] in {(part,) for part in PARTS}
        and ".." not in PurePosixPath(name).parts
    }


def _hash_of(folder: Path, name: str) -> str | None:
    """Return the hash of a file; None if it is missing, a word that is no hash if it is no file.

    Whatever is a link, or lies behind one, or where a folder should be, counts as edited.
    """
    for path in _on_the_way(folder, name):
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            return "in the way"
    path = folder / name
    if path.is_symlink() or path.is_dir():
        return "in the way"
    return sha256_of(path) if path.exists() else None


def _on_the_way(folder: Path, name: str) -> Iterator[Path]:
    """Yield the folders between ``folder`` and the file, outermost first."""
    for parent in reversed(PurePosixPath(name).parents):
        if parent.parts:
            yield folder / parent


def _refuse_folders(folder: Path, content: Mapping[str, bytes]) -> None:
    for name in content:
        if (folder / name).is_dir() and not (folder / name).is_symlink():
            raise ConfigError(
                f"{folder / name}: is a folder; expected a file or nothing. Nothing was written; "
                "move it away"
            )


def _refuse_edited(plans: Sequence[Installed]) -> None:
    for plan in plans:
        if plan.overwritten:
            more = len(plan.overwritten) - 1
            others = f" and {more} more" if more else ""
            raise ConfigError(
                f"{plan.folder / plan.overwritten[0]}{others}: edited here, or not put there by "
                "`lae skill install`; nothing was written. --force overwrites, --to DIR installs "
                "elsewhere"
            )


# -- doing it ------------------------------------------------------------------------------------


def _carry_out(plan: Installed, content: Mapping[str, bytes]) -> None:
    for name in plan.written:
        for path in _on_the_way(plan.folder, name):
            if path.is_symlink() or path.is_file():
                path.unlink()
        make_folder((plan.folder / name).parent)
        write_atomic(plan.folder / name, content[name])
    for name in plan.removed:
        (plan.folder / name).unlink()
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in content.items()}
    manifest = {"skill": NAME, "version": __version__, "files": hashes}
    if read_json(plan.folder / MANIFEST) != manifest:
        write_json(plan.folder / MANIFEST, manifest)


def render(plan: Installed) -> str:
    """Say in one line what became of a destination."""
    if plan.note:
        return f"{plan.folder}: {plan.note}"
    parts = [f"{len(plan.written)} written, {len(plan.unchanged)} unchanged"]
    if plan.removed:
        parts.append(f"{len(plan.removed)} of an earlier version removed")
    if plan.overwritten:
        parts.append(f"edited and overwritten: {' '.join(plan.overwritten)}")
    if plan.kept:
        parts.append(f"edited and kept, though no longer part of it: {' '.join(plan.kept)}")
    return f"{plan.folder}: {'; '.join(parts)}"

"""What a node holds of a run: a mirror of its sandbox, packs that runs share, and signs of life.

packs/<digest>/        an unpacked pack: written once a node, never changed
runs/<key>-<node>/     the mirror of one run
  recipe.pickle        there once everything else is
  refused              why nothing can run here
  alive                touched whenever the controller was heard; its time of change is
                       this machine's monotonic clock, which nobody can set
  ended/<token>        an evaluation that nobody wants any more
  started/<token>      one that is under way
  lae/                 base, scoring, programs, runs
  project/             where the project has no place of its own on this machine
"""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from lae_controller.config import Settings
from lae_controller.errors import PrerequisiteError
from lae_controller.evaluators.baseline import BASELINE_ID
from lae_controller.executors.packed import Pack, unpack_once
from lae_controller.executors.ray_recipe import Recipe
from lae_controller.files import make_folder, remove_tree, write_atomic
from lae_controller.sandbox.programs import build
from lae_controller.sandbox.snapshot import Snapshot

_WATCH_S = 0.2
_STALE_S = 86400.0
_UNUSED_S = 14 * 86400.0


class Silent(Exception):  # noqa: N818 - a condition, not an error
    """The controller is not heard here (any more): nothing may run."""


def home_of(node_dir: str | None) -> Path:
    """Return the folder of this machine that holds packs and mirrors.

    Args:
        node_dir: ``executor.node_dir``; None for the system's temporary folder.
    """
    parent = Path(node_dir) if node_dir else Path(tempfile.gettempdir())
    return parent / f"lae-node-{os.getuid()}"


class Packs:
    """Unpacked packs of one node, by digest."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "packs"

    def path(self, digest: str) -> Path:
        """Return where a pack is unpacked."""
        return self._folder / digest

    def holds(self, digest: str) -> bool:
        """Say whether a pack is there; if so it counts as used today."""
        place = self.path(digest)
        if place.is_dir():
            os.utime(place)
            return True
        return False

    def add(self, digest: str, packed: Pack) -> None:
        """Unpack a pack, unless it is there."""
        if not self.holds(digest):
            make_folder(self._folder)
            unpack_once(packed, self.path(digest))

    def prune(self) -> None:
        """Remove what no run has used for two weeks."""
        if self._folder.is_dir():
            for place in self._folder.iterdir():
                if time.time() - place.stat().st_mtime > _UNUSED_S:
                    remove_tree(place)


class Mirror:
    """One run on one node. Keeper and workers are processes of their own; files are between them.

    Args:
        key: of the recipe.
        node: its id; several nodes of a test share a machine.
    """

    def __init__(self, home: Path, key: str, node: str) -> None:
        self.home = home
        self.folder = home / "runs" / f"{key}-{node[:12]}"
        self.packs = Packs(home)
        self._alive = self.folder / "alive"
        self._recipe = self.folder / "recipe.pickle"

    # -- laid out by the keeper --------------------------------------------------------------

    def lay_out(self, recipe: Recipe, targets: Mapping[str, Path]) -> None:
        """Make everything that the children of a run need, once.

        Args:
            targets: path in the program -> where its data lies on this machine.
        """
        lae = self.folder / "lae"
        for name in ("started", "ended", "lae/programs", "lae/runs"):
            make_folder(self.folder / name)
        self.home.chmod(0o700)  # settings may hold what others should not read
        if not (lae / "base").exists():
            (lae / "base").symlink_to(self.packs.path(recipe.base))
        if recipe.scoring and not (lae / "scoring").exists():
            shutil.copytree(self.packs.path(recipe.scoring), lae / "scoring")
        here = here_of(recipe, self.folder, targets)
        if here.settings.root != recipe.settings.root:
            make_folder(here.settings.root)
            if recipe.withheld:
                source = self.packs.path(recipe.withheld)
                shutil.copytree(source, here.settings.root, dirs_exist_ok=True)
        if not (lae / "programs" / BASELINE_ID).is_dir():
            build(here.snapshot, lae / "base", lae / "programs" / BASELINE_ID)
        write_atomic(self._recipe, pickle.dumps(here))

    def refuse(self, text: str) -> None:
        """Say to all who want to work here why they cannot."""
        make_folder(self.folder)
        write_atomic(self.folder / "refused", text)

    def beat(self) -> list[str]:
        """Take in that the controller was heard; returns what is under way here."""
        make_folder(self.folder)
        self._alive.touch()
        now = time.monotonic_ns()
        os.utime(self._alive, ns=(now, now))
        started = self.folder / "started"
        return [each.name for each in started.iterdir()] if started.is_dir() else []

    def end(self, token: str) -> None:
        """Say that an evaluation is not wanted any more."""
        make_folder(self.folder / "ended")
        (self.folder / "ended" / token).touch()

    def forget(self, token: str) -> None:
        """Remove what an evaluation left."""
        remove_tree(self.run_folder(token))

    def remove(self) -> None:
        """Remove the mirror; packs stay for other runs."""
        remove_tree(self.folder)

    def sweep(self) -> None:
        """Remove mirrors of runs that are long over, and packs that nobody uses."""
        runs = self.home / "runs"
        for folder in runs.iterdir() if runs.is_dir() else ():
            if folder != self.folder and _silence(folder / "alive") > _STALE_S:
                remove_tree(folder)
        self.packs.prune()

    # -- used by workers ---------------------------------------------------------------------

    def run_folder(self, token: str) -> Path:
        """Return where the runs of an evaluation go."""
        return self.folder / "lae" / "runs" / token

    def program_folder(self, token: str) -> Path:
        """Return where the program of an evaluation is built."""
        return self.folder / "lae" / "programs" / token

    def recipe(self, patience: float) -> Recipe:
        """Return the recipe as it is to be used here; waits until everything is laid out.

        Raises:
            PrerequisiteError: if nothing can run on this node.
            Silent: if it was not laid out in time.
        """
        until = time.monotonic() + patience
        while not self._recipe.exists() or _silence(self._alive) > _WATCH_S * 10:
            refused = self.folder / "refused"
            if refused.exists():
                raise PrerequisiteError(refused.read_text("utf-8"))
            if time.monotonic() > until:
                raise Silent(f"the controller was not heard for {patience:g} s")
            time.sleep(0.02)
        return _read(self._recipe)

    @contextlib.contextmanager
    def watched(self, token: str, silence: float, end: Callable[[], None]) -> Iterator[None]:
        """Call ``end`` if, meanwhile, the controller falls silent or does not want this any more.

        What is under way is seen by ``beat``.
        """
        over = threading.Event()
        note = self.folder / "started" / token

        def watch() -> None:
            while not over.wait(_WATCH_S):
                ended = (self.folder / "ended" / token).exists()
                if ended or _silence(self._alive) > silence:
                    end()
                    return

        thread = threading.Thread(target=watch, name="lae-watch", daemon=True)
        note.touch()
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            note.unlink(missing_ok=True)


def _silence(alive: Path) -> float:
    """Return the seconds since the controller was heard."""
    try:
        return max(0.0, time.monotonic() - alive.stat().st_mtime)
    except OSError:
        return float("inf")


@lru_cache(maxsize=2)
def _read(path: Path) -> Recipe:
    recipe: Recipe = pickle.loads(path.read_bytes())
    return recipe


def here_of(recipe: Recipe, mirror: Path, targets: Mapping[str, Path]) -> Recipe:
    """Return a recipe with the paths of this machine.

    The project keeps its own place where there is one (a shared folder); else it gets one in the
    mirror, and what the command line says of the old place is said of the new one.
    """
    settings = recipe.settings
    root = settings.root if settings.root.is_dir() else mirror / "project"
    settings = _moved(settings, root) if root != settings.root else settings
    settings = replace(settings, path=root / settings.path.name, sandbox_root=str(mirror))
    entries = []
    for entry in recipe.snapshot.entries:
        if entry.kind != "link":
            entries.append(entry)
        elif entry.path in targets:
            entries.append(replace(entry, target=str(targets[entry.path])))
        elif entry.is_environment:
            entries.append(entry)
    snapshot = Snapshot(tuple(entries), recipe.snapshot.notes)
    return replace(recipe, settings=settings, snapshot=snapshot)


def _moved(settings: Settings, root: Path) -> Settings:
    old, new = str(settings.root), str(root)
    scoring = settings.scoring
    if scoring.test_cmd is not None:
        scoring = replace(scoring, test_cmd=scoring.test_cmd.replace(old, new))
    return replace(
        settings,
        root=root,
        run_cmd=settings.run_cmd.replace(old, new),
        env={name: value.replace(old, new) for name, value in settings.env.items()},
        scoring=scoring,
    )

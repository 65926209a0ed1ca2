"""What runs leave behind (checkpoints, logs of their own): whose stays, and where."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from lae_controller.executors import Executor
from lae_controller.files import make_folder
from lae_controller.search import Search
from lae_controller.trash import Trash


class Products:
    """Keeps the outputs of some children below ``outputs/<id>/`` and removes all others.

    Args:
        trash: takes what does not stay.
        keep: ``none``, ``elites`` or ``all``. The current global best's always stay.
        executor: ran the children, and may hold what they left; None where another process did.
    """

    def __init__(
        self, lae_dir: Path, keep: str, trash: Trash, executor: Executor | None = None
    ) -> None:
        self._lae = lae_dir
        self._trash = trash
        self._keep = keep
        self._executor = executor

    def settle(self, child_id: str, search: Search, num_islands: int) -> None:
        """Decide on a child that has just been told, and on those it displaced."""
        wanted = self._wanted(search, num_islands)
        runs = self._lae / "runs" / child_id
        if self._keep == "all" or child_id in wanted:
            if self._executor is not None:
                self._executor.bring(child_id)
            self._save(child_id, runs)
        if self._executor is not None:
            self._executor.forget(child_id)
        self._trash.throw(runs)
        if self._keep == "all":
            return
        for folder in self._saved():
            if folder.name not in wanted:
                self._trash.throw(folder)

    def _wanted(self, search: Search, num_islands: int) -> set[str]:
        best = search.global_best()
        wanted = {best.child_id} if best is not None else set()
        if self._keep == "elites":
            for island in range(num_islands):
                wanted |= {elite.child_id for _, elite in search.elites(island)}
        return wanted

    def _saved(self) -> Iterable[Path]:
        folder = self._lae / "outputs"
        return sorted(folder.iterdir()) if folder.is_dir() else []

    def _save(self, child_id: str, runs: Path) -> None:
        """Move what the last full run created out of its copy."""
        stages = [stage for stage in ("full", "smoke") if (runs / stage / "work").is_dir()]
        if not stages:
            return
        work = runs / stages[0] / "work"
        program = self._lae / "programs" / child_id
        target = self._lae / "outputs" / child_id
        for folder, subfolders, names in os.walk(work):
            subfolders[:] = [name for name in subfolders if name != "__pycache__"]
            for name in names:
                path = Path(folder, name)
                relative = path.relative_to(work)
                if path.is_symlink() or (program / relative).exists():
                    continue
                make_folder((target / relative).parent)
                path.rename(target / relative)

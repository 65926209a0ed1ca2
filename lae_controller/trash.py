"""Trees that nobody needs any more: out of the way at once, removed in the background."""

from __future__ import annotations

import contextlib
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lae_controller.files import make_folder, remove_tree


class Trash:
    """Where a run's leftovers go. Removing a tree can take as long as a short training run.

    Args:
        folder: on the disk of what is thrown away; what an earlier session left there goes too.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._remover = ThreadPoolExecutor(max_workers=1, thread_name_prefix="lae-trash")
        if folder.is_dir():
            for left in list(folder.iterdir()):
                self._remover.submit(remove_tree, left)

    def throw(self, path: Path) -> None:
        """Take a tree away; a missing one is fine."""
        make_folder(self._folder)
        target = self._folder / f"{path.name}.{time.time_ns()}"
        try:
            path.rename(target)
        except FileNotFoundError:
            return
        except OSError:  # a mount point, or another disk behind a link
            remove_tree(path)
            return
        self._remover.submit(remove_tree, target)

    def close(self) -> None:
        """Wait until all is removed."""
        self._remover.shutdown(wait=True)
        with contextlib.suppress(OSError):
            self._folder.rmdir()

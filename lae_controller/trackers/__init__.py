"""Trackers that people already use: a run is mirrored to them, one entry per child.

A tracker reads what the journal says and steers nothing. It works in a process of its own
(``far_end``), so that one that fails, hangs or takes memory costs the run a line at most
(``near_end``). What was mirrored is asked of the tracker's own store, so that no entry is made
twice, however often a run is interrupted.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lae_controller.errors import PrerequisiteError
from lae_controller.trackers.entry import Entry, Run

TRACKERS: Mapping[str, str] = {
    "mlflow": "lae_controller.trackers.mlflow_store:MlflowStore",
    "tensorboard": "lae_controller.trackers.tensorboard_files:TensorboardFiles",
    "wandb": "lae_controller.trackers.wandb_offline:WandbOffline",
}
"""Name in ``loop.run.yaml`` -> ``module:class``."""

_MODULES = {"mlflow": "mlflow", "tensorboard": "tensorboardX", "wandb": "wandb"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where one tracker is to write.

    Attributes:
        root: relative paths of the settings start there.
        folder: of the run, for what the settings give no place of its own.
        name: of the project, for what the settings do not name.
    """

    root: Path
    folder: Path
    name: str

    def at(self, wanted: str | None) -> Path:
        """Return the folder that is wanted, or the run's own."""
        return self.folder if wanted is None else (self.root / wanted).expanduser().resolve()


class Tracker(Protocol):
    """One store of entries. Whatever it raises ends its process, never the run."""

    def begin(self, run: Run) -> dict[str, int]:
        """Open the store; return what it holds of this run: child id -> ``Entry.revision``.

        Entries that were not finished when an earlier process died are removed, not returned.
        """
        ...

    def put(self, entry: Entry) -> None:
        """Make the entry of a child, or bring the one that is there up to its revision."""
        ...

    def point(self, order: int, metric: float | None, best: float | None) -> None:
        """Take the course of the search: once for each child in order, known ones included.

        Args:
            metric: of the child; None if it has none.
            best: of all children so far.
        """
        ...

    def close(self) -> None:
        """Make everything durable."""
        ...


def check_trackers(names: tuple[str, ...]) -> None:
    """Check that what the trackers write with is installed, without loading it.

    Raises:
        PrerequisiteError: with the line that installs what is missing.
    """
    for name in names:
        if importlib.util.find_spec(_MODULES[name]) is None:
            raise PrerequisiteError(
                f"trackers.{name}: {_MODULES[name]} is not installed; expected the extra "
                f"`{name}`. `pip install 'lae-controller[{name}]'` installs it"
            )

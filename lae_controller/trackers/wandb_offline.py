"""W&B in its offline mode: folders that ``wandb sync`` sends once a person says so."""

from __future__ import annotations

import shutil
from pathlib import Path

import wandb

from lae_controller.files import make_folder, read_json, write_json
from lae_controller.trackers import Place
from lae_controller.trackers.entry import Entry, Run
from lae_controller.tracking import WandbSettings

MARK = "lae.json"
"""Written last: a folder that holds it is complete."""


class WandbOffline:
    """One offline run per child, all in one group; nothing about this machine is noted."""

    def __init__(self, settings: WandbSettings, place: Place) -> None:
        self._folder = place.at(settings.folder)
        self._project = settings.project or place.name
        self._run: Run | None = None

    def begin(self, run: Run) -> dict[str, int]:
        """Return the children whose folders are complete; others are taken away."""
        self._run = run
        make_folder(self._folder)
        held: dict[str, int] = {}
        for folder in self._folders("*"):
            value = read_json(folder / MARK)
            if isinstance(value, dict):
                held[str(value["child"])] = int(value["revision"])
            else:
                shutil.rmtree(folder)
        return held

    def _folders(self, child: str) -> list[Path]:
        """Return the folders of one child, or of all, whenever they were made."""
        assert self._run is not None
        return sorted(self._folder.glob(f"wandb/offline-run-*-{self._run.key}-{child}"))

    def put(self, entry: Entry) -> None:
        """Write the offline run of a child, in place of what is there."""
        assert self._run is not None
        for old in self._folders(entry.child_id):
            shutil.rmtree(old)
        run = wandb.init(
            project=self._project,
            id=f"{self._run.key}-{entry.child_id}",
            name=entry.child_id,
            group=f"{self._run.name}-{self._run.key}",
            notes=entry.summary,
            config={**self._run.params, **entry.params, **entry.tags},
            dir=str(self._folder),
            settings=_settings(),
        )
        for step, value in entry.steps:
            run.log({f"curve/{entry.curve_name}": value, "curve/step": step})
        run.summary.update(dict(entry.metrics))
        if entry.diff:
            change = Path(run.dir) / "change.diff"
            change.write_text(entry.diff, encoding="utf-8")
            run.save(change, base_path=run.dir, policy="end")
        folder = Path(run.dir).parent
        run.finish()
        write_json(folder / MARK, {"child": entry.child_id, "revision": entry.revision})

    def point(self, order: int, metric: float | None, best: float | None) -> None:
        """Do nothing: the course is seen over ``lae_order`` of the group's runs."""

    def close(self) -> None:
        """Stop the service that wandb started."""
        wandb.teardown()


def _settings() -> wandb.Settings:
    return wandb.Settings(
        mode="offline",
        console="off",
        silent=True,
        save_code=False,
        disable_code=True,
        disable_git=True,
        disable_job_creation=True,
        x_disable_meta=True,
        x_disable_stats=True,
        x_disable_machine_info=True,
        x_save_requirements=False,
    )

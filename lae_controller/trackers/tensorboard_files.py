"""Event files for TensorBoard: one folder per child, and one with the course of the search."""

from __future__ import annotations

import shutil
from pathlib import Path

import tensorboardX

from lae_controller.files import make_folder, read_json, write_json
from lae_controller.trackers import Place
from lae_controller.trackers.entry import Entry, Run
from lae_controller.tracking import TensorboardSettings

MARK = "lae.json"
"""Written last: a folder that holds it is complete."""


class TensorboardFiles:
    """``<folder>/<project>-<key>/children/<id>`` and ``…/search``."""

    def __init__(self, settings: TensorboardSettings, place: Place) -> None:
        self._top = place.at(settings.folder)
        self._folder = self._top
        self._search: tensorboardX.SummaryWriter | None = None
        self._metric = ""

    def begin(self, run: Run) -> dict[str, int]:
        """Return the children whose folders are complete; the course is written anew."""
        self._folder = self._top / f"{run.name}-{run.key}"
        self._metric = run.metric
        search = self._folder / "search"
        shutil.rmtree(search, ignore_errors=True)
        make_folder(search)
        self._search = self._writer(search)
        lines = [f"| {key} | {value} |" for key, value in run.params.items()]
        self._search.add_text("settings", "\n".join(["| setting | value |", "|---|---|", *lines]))
        held = {}
        for mark in self._folder.glob(f"children/*/{MARK}"):
            value = read_json(mark)
            if isinstance(value, dict):
                held[mark.parent.name] = int(value["revision"])
        return held

    def _writer(self, folder: Path) -> tensorboardX.SummaryWriter:
        return tensorboardX.SummaryWriter(str(folder), flush_secs=5)

    def put(self, entry: Entry) -> None:
        """Write the folder of a child, in place of what is there."""
        folder = self._folder / "children" / entry.child_id
        shutil.rmtree(folder, ignore_errors=True)
        make_folder(folder)
        writer = self._writer(folder)
        for name, value in entry.metrics.items():
            writer.add_scalar(name, value, entry.order)
        for step, value in entry.steps:
            writer.add_scalar(f"curve/{entry.curve_name}", value, step)
        facts = {**entry.tags, **entry.params}
        lines = [f"| {key} | {value} |" for key, value in facts.items()]
        writer.add_text("child", "\n".join([entry.summary, "", "| | |", "|---|---|", *lines]))
        if entry.diff:
            writer.add_text("diff", "".join(f"    {line}\n" for line in entry.diff.splitlines()))
        writer.close()
        write_json(folder / MARK, {"revision": entry.revision})

    def point(self, order: int, metric: float | None, best: float | None) -> None:
        """Add a child to the course of the search."""
        if self._search is None:
            return
        if metric is not None:
            self._search.add_scalar(self._metric, metric, order)
        if best is not None:
            self._search.add_scalar("lae_best", best, order)

    def close(self) -> None:
        """Write out what is held back."""
        if self._search is not None:
            self._search.close()

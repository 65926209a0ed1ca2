"""The live terminal: a picture below the remarks, redrawn in place until the run ends."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace
from pathlib import Path

from rich.console import Console, RenderableType
from rich.live import Live

from lae_controller.budget import Budget
from lae_controller.parts import Core, UnderWay
from lae_controller.views.live import Screen
from lae_controller.views.live.draw import draw
from lae_controller.views.live.frame import Frame, Picture, picture_of, slot_lines, spend_of

_REFRESH_HZ = 2.0
_LOOK_S = 0.5
"""The state is looked at no more often than this, however often the controller ticks."""

_LATEST = 12


class LiveTerminal(Screen):
    """Draws a ``Screen`` with rich.

    The state of the run belongs to the controller's thread: it is read in ``tick`` alone, and what
    the drawing thread gets is a frame, which never changes.
    """

    def __init__(self, console: Console, title: str) -> None:
        self._console = console
        self._began = time.monotonic()
        self._frame = Frame(title, 0.0)
        self._made = self._began
        self._lock = threading.Lock()
        self._core: Core | None = None
        self._key: tuple[object, ...] = ()
        self._picture: Picture | None = None
        self._since: dict[str, tuple[str, float]] = {}
        self._looked = 0.0
        self._live = Live(
            console=console,
            get_renderable=self._drawn,
            refresh_per_second=_REFRESH_HZ,
            transient=True,
            redirect_stdout=False,
            vertical_overflow="crop",
        )

    def __enter__(self) -> LiveTerminal:
        """Begin to draw."""
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Clear the picture; the remarks stay, and the cursor is back."""
        self._live.stop()

    def say(self, text: str) -> None:
        """Print the remark above the picture."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def status(self, text: str) -> None:
        """Say nothing: the picture shows the same."""

    def watch(self, core: Core) -> None:
        """Look at this run from now on."""
        self._core = core

    def tick(self, now: UnderWay) -> None:
        """Make a new frame, if the last one is old enough."""
        clock = time.monotonic()
        if self._core is None or clock - self._looked < _LOOK_S:
            return
        self._looked = clock
        frame = self._look(self._core, now, clock)
        with self._lock:
            self._frame, self._made = frame, clock

    def _look(self, core: Core, now: UnderWay, clock: float) -> Frame:
        settings, baseline, state = core.settings, core.prepared.baseline, core.state
        budget = Budget(settings, baseline, baseline.plan(settings).smoke_charge)
        key = (len(state.rows), state.spent, state.gen)
        if key != self._key and state.search.global_best() is not None:
            self._key = key
            self._picture = picture_of(settings, baseline, state, _LATEST)
        stages = self._stages(settings.lae_dir / "runs", now.running, clock)
        since = {attempt: begun for attempt, (_, begun) in self._since.items()}
        return Frame(
            title=self._frame.title,
            elapsed=now.elapsed,
            slots=slot_lines(now.running, stages, since, clock, baseline),
            capacity=state.concurrency or 1,
            proposing=now.proposing,
            ready=now.ready,
            picture=self._picture,
            spend=spend_of(settings, budget, state, now.elapsed),
        )

    def _stages(self, runs: Path, running: tuple[str, ...], clock: float) -> dict[str, str]:
        """Return the stage of each attempt, and note when each was first seen at it."""
        stages = {attempt: newest(runs / attempt.rpartition(".")[0]) for attempt in running}
        self._since = {
            attempt: known
            if (known := self._since.get(attempt)) and known[0] == stage
            else (stage, clock)
            for attempt, stage in stages.items()
        }
        return stages

    def _drawn(self) -> RenderableType:
        with self._lock:
            frame, age = self._frame, time.monotonic() - self._made
        slots = tuple(replace(slot, seconds=slot.seconds + age) for slot in frame.slots)
        frame = replace(frame, elapsed=frame.elapsed + age, slots=slots)
        return draw(frame, self._console.width, self._console.height)


def newest(folder: Path) -> str:
    """Return the stage that a child is at: the folder made last in its own; empty if none is."""
    try:
        with os.scandir(folder) as entries:
            stages = [(entry.stat().st_mtime_ns, entry.name) for entry in entries if entry.is_dir()]
    except OSError:  # gone between two looks
        return ""
    return max(stages, default=(0, ""))[1]

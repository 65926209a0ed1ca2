"""The controller's side of its trackers: starts their processes and never waits on them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from lae_controller.config import Settings
from lae_controller.errors import LaeError
from lae_controller.files import make_folder
from lae_controller.mutators.environment import Redactor
from lae_controller.remarks import Say
from lae_controller.trackers.retell import MADE, folder_of, redactor

PATIENCE_S = 20.0
"""How long trackers may take to catch up at the end of a run, all together."""

_HURRIED_S = 5.0
"""The same after an interruption."""

_TICK_S = 0.05

_QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "WANDB_ERROR_REPORTING": "false",
}
"""Trackers report to whom the settings name, and not to their makers."""


@dataclass(slots=True)
class Mirror:
    """One tracker's process.

    Attributes:
        log: what it said, the count of entries that it made among it.
        hide: takes secrets out of what is passed on.
    """

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    hide: Redactor

    def tell_end(self) -> None:
        """Tell the process that no more is to come: it catches up and ends."""
        if self.process.stdin is not None:
            self.process.stdin.close()

    def said(self) -> str:
        """Return its last words."""
        lines = self._text().strip().splitlines()
        if not lines:
            return f"exit status {self.process.returncode}"
        last = re.sub(r"^lae_controller\.errors\.\w+: ", "", lines[-1])  # ours are sentences
        return self.hide.text(last)[:300]

    def _text(self) -> str:
        """Return its log; empty if somebody took that away."""
        try:
            return self.log.read_text("utf-8", "replace")
        except OSError:
            return ""

    def made(self) -> int:
        """Return how many entries it says that it made or renewed; 0 if it does not say."""
        found = re.findall(MADE.format(r"(\d+)"), self._text())
        return int(found[-1]) if found else 0


def start(settings: Settings, name: str) -> Mirror:
    """Start the process of one tracker; it catches up with the journal and goes on.

    Raises:
        OSError, LaeError: if it cannot be started.
    """
    folder = folder_of(settings)
    make_folder(folder)
    log = folder / f"{name}.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "lae_controller", "mirror", name, str(settings.path)],
            stdin=subprocess.PIPE,
            stdout=stream,
            stderr=stream,
            env={**os.environ, **_QUIET},
            start_new_session=True,  # Ctrl-C is for the controller, which then tells it to end
        )
    return Mirror(name, process, log, redactor(settings))


def finish(mirrors: list[Mirror], patience: float) -> list[Mirror]:
    """Tell processes to catch up and end; return those that did not in time, which were killed."""
    for mirror in mirrors:
        mirror.tell_end()
    until = time.monotonic() + patience
    while any(mirror.process.poll() is None for mirror in mirrors) and time.monotonic() < until:
        time.sleep(_TICK_S)
    late = [mirror for mirror in mirrors if mirror.process.poll() is None]
    for mirror in late:
        mirror.process.kill()
        mirror.process.wait()
    return late


class Mirrors(AbstractContextManager["Mirrors"]):
    """The trackers of one session of a controller. What befalls them is said once, in a line."""

    def __init__(self, settings: Settings, say: Say) -> None:
        self._settings = settings
        self._say = say
        self._running: list[Mirror] = []

    def start(self) -> None:
        """Start those that the settings name."""
        for name in self._settings.trackers.chosen:
            try:
                self._running.append(start(self._settings, name))
            except (OSError, LaeError) as error:
                self._warn(name, f"could not be started: {error}")

    def tick(self) -> None:
        """Notice those that ended before their time; quick, and called often."""
        for mirror in [it for it in self._running if it.process.poll() is not None]:
            self._running.remove(mirror)
            mirror.tell_end()
            self._warn(mirror.name, f"failed: {mirror.said()}")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Let them catch up, for a while."""
        self.tick()
        late = finish(self._running, PATIENCE_S if kind is None else _HURRIED_S)
        for mirror in self._running:
            if mirror in late:
                self._warn(mirror.name, "did not catch up in time and was ended")
            elif mirror.process.returncode:
                self._warn(mirror.name, f"failed: {mirror.said()}")
        self._running.clear()

    def _warn(self, name: str, what: str) -> None:
        self._say(
            f"tracker {name} {what}. The run is not touched by it; `lae track` catches up later"
        )

"""The process of one tracker: follows the journal and mirrors what is new.

``python -m lae_controller mirror NAME LOOP.RUN.YAML`` (internal). It ends once its standard input
has ended and all that the journal held by then is mirrored. What goes wrong ends it with a
traceback, whose last line the near end passes on.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
from pathlib import Path

from filelock import FileLock

from lae_controller import build, config
from lae_controller.parts import Core
from lae_controller.trackers import TRACKERS, Place, Tracker
from lae_controller.trackers.retell import MADE, entry_of, folder_of, redactor, run_of
from lae_controller.trackers.story import Story, Tail

POLL_S = 0.5
LOCK_S = 30.0
"""How long an earlier process of the same tracker may take to end."""

_LAST_S = 120.0
"""A process that is told to end and does not get on ends itself after so long."""


class Pulse:
    """When the process last got on: an entry was put, or the store was opened."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def beat(self) -> None:
        """Note that it got on."""
        self._last = time.monotonic()

    @property
    def silent(self) -> float:
        """The seconds since."""
        return time.monotonic() - self._last


def main(name: str, path: Path) -> int:
    """Mirror the run of ``path`` to one tracker until standard input ends.

    Returns:
        0; whatever fails is raised.
    """
    settings = config.load(path)
    core = build.unread(settings, lambda line: print(line, file=sys.stderr))  # noqa: T201
    ended, pulse = threading.Event(), Pulse()
    threading.Thread(target=_watch, args=(ended, pulse), daemon=True).start()
    with FileLock(str(folder_of(settings) / f"{name}.lock"), timeout=LOCK_S):
        tracker = tracker_for(name, core)
        count = mirror(core, tracker, ended, pulse)
    print(MADE.format(count))  # noqa: T201 - read by the near end
    return 0


def tracker_for(name: str, core: Core) -> Tracker:
    """Load one tracker as the settings want it."""
    settings = core.settings
    place = Place(settings.root, folder_of(settings) / name, settings.root.name)
    module, _, attribute = TRACKERS[name].partition(":")
    kind = getattr(importlib.import_module(module), attribute)
    tracker: Tracker = kind(settings.trackers.of(name), place)
    return tracker


def mirror(core: Core, tracker: Tracker, ended: threading.Event, pulse: Pulse) -> int:
    """Mirror all children, those to come included, until ``ended``; returns how many were put."""
    held = tracker.begin(run_of(core.settings))
    pulse.beat()
    tail = Tail(core.ledger.journal)
    story = Story(core.settings.direction)
    hide = redactor(core.settings)
    shown = count = 0
    while True:
        last = ended.is_set()
        for child in story.take(tail.new()):
            chapter = story.chapters[child]
            if held.get(child, -1) < chapter.revision:
                tracker.put(entry_of(core, chapter, hide))
                held[child] = chapter.revision
                count += 1
            if chapter.order == shown:
                tracker.point(chapter.order, chapter.record.metric, chapter.best)
                shown += 1
            pulse.beat()
        if last:
            break
        ended.wait(POLL_S)
    tracker.close()
    return count


def _watch(ended: threading.Event, pulse: Pulse) -> None:
    """Say when standard input has ended; end the process if it then does not get on."""
    while os.read(0, 1 << 10):
        pass
    ended.set()
    pulse.beat()  # before that there may have been nothing to do
    while pulse.silent < _LAST_S:
        time.sleep(max(0.05, _LAST_S - pulse.silent))
    sys.stderr.write(f"it did not get on for {_LAST_S:g} s: its store does not answer\n")
    sys.stderr.flush()
    os._exit(70)

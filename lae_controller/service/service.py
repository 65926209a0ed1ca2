"""The server's whole state: the registry, the Mutators' pool, the clock; without any HTTP."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lae_controller.lock import ControllerLock
from lae_controller.machine.cgroups import affinity_cores, usable_cores
from lae_controller.mutators import MENDING
from lae_controller.remarks import Say
from lae_controller.service.board import Board
from lae_controller.service.engine import Engine
from lae_controller.service.experiment import Experiment
from lae_controller.service.registry import Registry
from lae_controller.service.serve_config import ServeSettings
from lae_controller.service.watched import Watched, WatchedExperiment, WatchedRun

_MODEL_CALLS = 32
"""Mutators at a time that mostly wait for a model."""

_TICK_S = 0.25


class Service:
    """Everything behind the routes. One process at a time may have one for a folder.

    Args:
        now: the time, in seconds since the epoch.
        engine: the class that searches.

    Raises:
        ConfigError: if a run that is to be watched has no settings.
        LockedError: if another server holds the folder.
        LedgerError: if a journal is damaged.
    """

    def __init__(
        self,
        settings: ServeSettings,
        say: Say,
        now: Callable[[], float] = time.time,
        engine: type[Engine] = Engine,
    ) -> None:
        self.settings = settings
        self._say = say
        self._now = now
        self._search = engine
        self._watched = watched_runs(settings)
        self._lock = ControllerLock(settings.root / "experiments")
        self._lock.__enter__()
        self._mutators = ThreadPoolExecutor(_processes(settings), thread_name_prefix="lae-mutator")
        try:
            self.registry = Registry(settings.root, settings.lease, self._engine, now, say)
        except BaseException:
            self._lock.__exit__(None, None, None)
            raise
        self.board = Board(self._sources)
        self._ended = threading.Event()
        self._clock = threading.Thread(target=self._tick, name="lae-clock", daemon=True)
        self._clock.start()

    def _engine(self, experiment: Experiment, folder: Path) -> Engine:
        catalogue = self.settings.catalogue
        return self._search(experiment, folder, catalogue, self._mutators, self._now, self._say)

    def _sources(self) -> dict[str, Watched]:
        catalogue, now = self.settings.catalogue, self._now
        experiments = self.registry.everything()
        found: list[Watched] = [*self._watched]
        found += [WatchedExperiment(served, catalogue, now) for served in experiments]
        return {watched.key: watched for watched in found}

    def _tick(self) -> None:
        while not self._ended.wait(_TICK_S):
            self.registry.tick()

    def close(self) -> None:
        """End everything; whatever was answered is on the disk."""
        self._ended.set()
        self._clock.join()
        self.board.close()
        self.registry.close()
        self._mutators.shutdown(wait=True, cancel_futures=True)
        self._lock.__exit__(None, None, None)


def watched_runs(settings: ServeSettings) -> list[WatchedRun]:
    """Return the runs that the dashboard is to show.

    Raises:
        ConfigError: if one has no settings.
    """
    paths = [settings.folder / path for path in settings.watch]
    return [WatchedRun(f"run-{place}", path) for place, path in enumerate(paths, start=1)]


def _processes(settings: ServeSettings) -> int:
    """Return how many Mutators may run at a time: as many as set, or as fit."""
    if settings.mutator_processes is not None:
        return settings.mutator_processes
    if settings.mutator.backend in MENDING:
        return _MODEL_CALLS
    cores = affinity_cores()
    return max(1, usable_cores(Path("/"), cores, cores).value)

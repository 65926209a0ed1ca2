"""The threads in which searches run: one for each experiment that is alive."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lae_controller.remarks import Say
from lae_controller.service.engine import Engine
from lae_controller.service.experiment import Experiment
from lae_controller.service.states import Action, ExperimentState


@dataclass
class _Alive:
    """One search that runs.

    Attributes:
        engine: what it does at present, another after each resumption; None before the first.
        ending: whether it was told to end.
    """

    thread: threading.Thread
    engine: Engine | None = None
    ending: bool = False


class Runners:
    """Begins and ends the searches of experiments.

    Args:
        engine: makes the search of an experiment in a folder.
    """

    def __init__(self, engine: Callable[[Experiment, Path], Engine], say: Say) -> None:
        self._engine = engine
        self._say = say
        self._lock = threading.Lock()
        self._alive: dict[int, _Alive] = {}
        self._closed = False

    def begin(self, experiment: Experiment, folder: Path) -> None:
        """Start a search, unless it is alive; of one that has ended, only what is left is told."""
        with self._lock:
            if self._closed or id(experiment) in self._alive:
                return  # one that is just ending looks at the state once more before it goes
            thread = threading.Thread(
                target=self._run, args=(experiment, folder), name=folder.name, daemon=True
            )
            self._alive[id(experiment)] = _Alive(thread)
            thread.start()

    def _run(self, experiment: Experiment, folder: Path) -> None:
        finished = False
        try:
            while (engine := self._next(experiment, folder)) is not None:
                engine.run()
            finished = True
        finally:
            if not finished:  # a bug: its traceback goes to the log as the thread dies
                self._died(experiment)

    def _next(self, experiment: Experiment, folder: Path) -> Engine | None:
        """Return the next search of an experiment; None, and out of the books, if none is due."""
        with self._lock:
            mine = self._alive[id(experiment)]
            due = mine.engine is None or experiment.state is ExperimentState.RUNNING
            if not due or experiment.broken or mine.ending or self._closed:
                del self._alive[id(experiment)]
                return None
            mine.engine = self._engine(experiment, folder)
            return mine.engine

    def _died(self, experiment: Experiment) -> None:
        reason = "the search died of an error in the server; see its log"
        self._say(f"{experiment.book.name}: {reason}")
        with self._lock:
            self._alive.pop(id(experiment), None)
        with experiment.lock:
            if experiment.state is ExperimentState.RUNNING and not experiment.broken:
                experiment.begun(error=reason)
                experiment.move(Action.FAIL, reason)

    def end(self, experiment: Experiment) -> None:
        """End the search of an experiment; returns when it is gone."""
        with self._lock:
            mine = self._alive.get(id(experiment))
            if mine is None:
                return
            mine.ending = True
        self._close(mine)

    def close(self) -> None:
        """End all searches; returns when they are gone."""
        with self._lock:
            self._closed = True
            alive = list(self._alive.values())
        for mine in alive:
            if mine.engine is not None:
                mine.engine.close()
        for mine in alive:
            self._close(mine)

    def _close(self, mine: _Alive) -> None:
        if mine.engine is not None:
            mine.engine.close()
        mine.thread.join()

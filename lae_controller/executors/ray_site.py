"""The site ``ray``: a run's evaluations on the nodes of a cluster (see ``Site``)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from lae_controller.codec import decode, encode
from lae_controller.config import Settings
from lae_controller.errors import PrerequisiteError
from lae_controller.evaluators import Evaluator, Interrupted, Measurement, Stage
from lae_controller.executors import Executor, Offer
from lae_controller.executors.ray_cluster import Share, capacity, connect, nodes, share_of
from lae_controller.executors.ray_dispatch import Dispatcher
from lae_controller.executors.ray_executor import ClusterExecutor
from lae_controller.executors.ray_packing import Packing
from lae_controller.executors.ray_recipe import Evaluators
from lae_controller.files import read_json, write_json
from lae_controller.machine.hardware import Hardware
from lae_controller.machine.slots import Slot
from lae_controller.sandbox.launch import Lifelines
from lae_controller.sandbox.snapshot import Snapshot

_TICK_S = 0.5


class RaySite:
    """The cluster at ``executor.address``."""

    def __init__(self, settings: Settings, evaluators: Evaluators) -> None:
        self._settings = settings
        self._evaluators = evaluators

    @cached_property
    def _engine(self) -> Any:
        return connect(self._settings)

    @cached_property
    def _share(self) -> Share:
        return share_of(self._settings, nodes(self._engine))

    def offer(self, hardware: Hardware) -> Offer:
        """Return what the cluster gives; this machine's hardware has no part in it.

        Raises:
            PrerequisiteError: if there is no cluster, or no node that could hold a child.
        """
        del hardware
        there = nodes(self._engine)
        holds = capacity(self._share, there)
        if not holds and self._settings.concurrency is None:
            raise PrerequisiteError(
                f"{self._settings.path.name}: no node of the cluster has room for a child "
                f"({self._share}); expected one. Lower executor.num_cpus, executor.num_gpus or "
                "memory_limit, or set concurrency to the number that a growing cluster will hold"
            )
        workers = sum(self._share.times_in(node) > 0 for node in there)
        plural = "node" if workers == 1 else "nodes"
        reason = f"{workers} {plural} of the cluster, {self._share} a child"
        if holds < (self._settings.concurrency or 0):
            reason += f", room for {holds} now; the others wait for it to grow"
        return Offer(max(1, holds), reason, (Slot("cluster"),))

    def _capacity(self) -> int:
        """Return how many children may be under way at a time."""
        if self._settings.concurrency is not None:
            return self._settings.concurrency
        return max(1, capacity(self._share, nodes(self._engine)))

    def _dispatcher(
        self, snapshot: Snapshot, editable: tuple[str, ...], *, everything: bool
    ) -> Dispatcher:
        engine, share = self._engine, self._share
        own = (self._settings, snapshot, editable, self._evaluators)
        pack = partial(Packing, engine, *own, share.cpus)
        return Dispatcher(engine, pack, share, everything=everything)

    def evaluator(
        self, lifelines: Lifelines, snapshot: Snapshot, editable: tuple[str, ...]
    ) -> Evaluator:
        """Return what measures programs on the cluster, one at a time."""
        dispatcher = self._dispatcher(snapshot, editable, everything=True)
        lifelines.also(dispatcher.close)
        return ClusterEvaluator(dispatcher)

    def executor(
        self, lifelines: Lifelines, snapshot: Snapshot, editable: tuple[str, ...]
    ) -> Executor:
        """Return what runs jobs on the cluster."""
        everything = self._settings.keep == "all"
        dispatcher = self._dispatcher(snapshot, editable, everything=everything)
        lifelines.also(dispatcher.close)
        return ClusterExecutor(dispatcher, self._capacity, lifelines)

    @contextmanager
    def alone(
        self, lifelines: Lifelines, snapshot: Snapshot, editable: tuple[str, ...]
    ) -> Iterator[Executor]:
        """Yield what runs one job; the cluster keeps apart what comes from several processes."""
        executor = self.executor(lifelines, snapshot, editable)
        try:
            yield executor
        finally:
            executor.close()


class ClusterEvaluator:
    """Measures a program on whatever node is free (see ``Evaluator``)."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher

    def measure(
        self, program: Path, digest: str, folder: Path, stage: Stage, slot: Slot
    ) -> Measurement:
        """Send the program to a node and wait; one that was measured before is read."""
        del slot  # the node's own
        note, key = folder / stage.name / "measured.json", _key(digest, stage)
        known = read_json(note)
        if isinstance(known, dict) and known["key"] == key:
            return decode(Measurement, known["measurement"])
        name = f"{folder.name}.{stage.name}"
        work: Callable[..., Any] = partial(_measure, digest, stage)
        self._dispatcher.send(name, work, program, folder, settling=True)
        try:
            while not (outs := self._dispatcher.back(_TICK_S)):
                pass
        except BaseException:
            self._dispatcher.call_off()
            raise
        (out,) = outs
        if out.error is not None:
            raise out.error
        if not isinstance(out.value, Measurement):
            raise Interrupted(f"{name} was cut off")
        write_json(note, {"key": key, "measurement": encode(out.value)})
        return out.value


def _key(digest: str, stage: Stage) -> str:
    return json.dumps([digest, encode(stage)], sort_keys=True)


def _measure(
    digest: str, stage: Stage, evaluator: Evaluator, program: Path, folder: Path, slot: Slot
) -> Measurement:
    """Measure a program where it was unpacked."""
    with slot.held():
        return evaluator.measure(program, digest, folder, stage, slot)

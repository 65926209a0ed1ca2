"""Evaluations on this machine: one thread a slot, each waiting for its own process tree."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property, partial

from lae_controller.config import Settings
from lae_controller.evaluators import Evaluator
from lae_controller.evaluators.cascade import Job, evaluate
from lae_controller.executors import Executor, Offer
from lae_controller.machine.hardware import Hardware, derive_concurrency, probe
from lae_controller.machine.slots import Slot, slots_for, take, thread_variables
from lae_controller.program import Evaluation
from lae_controller.sandbox.launch import Lifelines
from lae_controller.sandbox.snapshot import Snapshot


class LocalExecutor:
    """One job a slot at a time, in threads of this process (see ``Executor``)."""

    def __init__(
        self,
        evaluate: Callable[[Job, Slot], Evaluation],
        slots: Sequence[Slot],
        lifelines: Lifelines,
    ) -> None:
        self._evaluate = evaluate
        self._capacity = len(slots)
        self._free: queue.SimpleQueue[Slot] = queue.SimpleQueue()
        for slot in slots:
            self._free.put(slot)
        self._lifelines = lifelines
        self._pool = ThreadPoolExecutor(max_workers=len(slots), thread_name_prefix="lae-slot")
        self._futures: dict[str, Future[Evaluation]] = {}
        self._ended: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._running: dict[str, None] = {}

    def capacity(self) -> int:
        """Return the number of slots."""
        return self._capacity

    def submit(self, job: Job) -> str:
        """Queue a job."""
        attempt = f"{job.child_id}.{job.attempt}"
        if attempt in self._futures:  # further runs of one program, side by side
            attempt = f"{attempt}-{job.plan.full.name}"
        future = self._pool.submit(self._work, attempt, job)
        self._futures[attempt] = future
        future.add_done_callback(lambda _: self._ended.put(attempt))
        return attempt

    def _work(self, attempt: str, job: Job) -> Evaluation:
        slot = self._free.get()
        with self._lock:
            self._running[attempt] = None
        try:
            return self._evaluate(job, slot)
        finally:
            with self._lock:
                self._running.pop(attempt, None)
            self._free.put(slot)

    def poll(self, timeout: float) -> tuple[str, ...]:
        """Return the attempts that ended since the last call."""
        ended: list[str] = []
        try:
            ended.append(self._ended.get(timeout=timeout))
            while True:
                ended.append(self._ended.get_nowait())
        except queue.Empty:
            return tuple(ended)

    def running(self) -> tuple[str, ...]:
        """Return the attempts that hold a slot now."""
        with self._lock:
            return tuple(self._running)

    def collect(self, attempt: str) -> Evaluation:
        """Return the evaluation of an attempt that ended, or raise what ended it."""
        return self._futures.pop(attempt).result()

    def bring(self, child_id: str) -> None:
        """Leave everything as it is: runs leave their files in the job's folder."""

    def forget(self, child_id: str) -> None:
        """Leave everything as it is: there is no other place."""

    def close(self) -> None:
        """Cut all lifelines and wait for the threads."""
        self._lifelines.end_all()
        self._pool.shutdown(wait=True, cancel_futures=True)


class LocalSite:
    """This machine (see ``Site``)."""

    def __init__(self, settings: Settings, evaluators: Callable[..., Evaluator]) -> None:
        self._settings = settings
        self._evaluators = evaluators

    def offer(self, hardware: Hardware) -> Offer:
        """Return one slot for each accelerator, or shares of the cores."""
        derived = derive_concurrency(hardware)
        wanted = self._settings.concurrency
        concurrency = derived.value if wanted is None else wanted
        slots = slots_for(hardware, concurrency)
        return Offer(concurrency, derived.reason if wanted is None else "", slots)

    @cached_property
    def _hardware(self) -> Hardware:
        return probe()

    @cached_property
    def _offer(self) -> Offer:
        return self.offer(self._hardware)

    def evaluator(
        self, lifelines: Lifelines, snapshot: Snapshot, editable: tuple[str, ...]
    ) -> Evaluator:
        """Return what measures programs in this process's own children."""
        threads = thread_variables(self._hardware.cores // self._offer.concurrency)
        return self._evaluators(self._settings, lifelines, threads, snapshot, editable)

    def executor(
        self, lifelines: Lifelines, snapshot: Snapshot, editable: tuple[str, ...]
    ) -> Executor:
        """Return what runs one job a slot."""
        work = partial(evaluate, evaluator=self.evaluator(lifelines, snapshot, editable))
        return LocalExecutor(work, self._offer.slots, lifelines)

    @contextmanager
    def alone(
        self, lifelines: Lifelines, snapshot: Snapshot, editable: tuple[str, ...]
    ) -> Iterator[Executor]:
        """Yield what runs one job, in whichever slot is free; waits for one."""
        work = partial(evaluate, evaluator=self.evaluator(lifelines, snapshot, editable))
        with take(self._offer.slots, self._settings.lae_dir / "slots") as slot:
            executor = LocalExecutor(work, (slot,), lifelines)
            try:
                yield executor
            finally:
                executor.close()

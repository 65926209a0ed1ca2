"""The composition root: settings to a controller. The only place that loads implementations."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from lae_controller.children import Children
from lae_controller.config import Settings
from lae_controller.errors import ConfigError
from lae_controller.evaluators.baseline import Prepared, load_prepared, prepare
from lae_controller.evaluators.cascade import evaluate
from lae_controller.evaluators.command import CommandEvaluator
from lae_controller.executors import EXECUTORS
from lae_controller.files import make_folder, write_atomic
from lae_controller.ledger import Ledger
from lae_controller.loop import Controller, Parts
from lae_controller.machine.hardware import derive_concurrency, probe
from lae_controller.resume import load_state
from lae_controller.sandbox.launch import Lifelines
from lae_controller.search import SEARCHES, Search, SearchSettings
from lae_controller.search.selection import SelectionSettings
from lae_controller.state import RunState

Say = Callable[[str], None]

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


@dataclass(frozen=True, slots=True)
class Machine:
    """What this machine gives one run.

    Attributes:
        concurrency: evaluations at a time.
        reason: why that many.
        threads: environment that shares the cores among them.
    """

    concurrency: int
    reason: str
    threads: Mapping[str, str]


def machine(settings: Settings) -> Machine:
    """Probe the machine and settle the concurrency."""
    hardware = probe()
    derived = derive_concurrency(hardware)
    concurrency, reason = derived.value, derived.reason
    if settings.concurrency is not None:
        concurrency, reason = settings.concurrency, f"set in {settings.path.name}"
    share = str(max(1, hardware.cores // concurrency))
    return Machine(concurrency, reason, dict.fromkeys(_THREAD_VARIABLES, share))


def search_for(settings: Settings) -> Search:
    """Return a fresh Search of the configured algorithm."""
    evolution = settings.evolution
    chosen = SearchSettings(
        num_islands=evolution.num_islands,
        num_top=evolution.num_top,
        num_diverse=evolution.num_diverse,
        num_bins=evolution.num_bins,
        migration_interval=evolution.migration_interval,
        pop_per_island=evolution.pop_per_island,
        seed=evolution.seed,
        selection=SelectionSettings(**asdict(evolution.selection)),
    )
    search: Search = _load(SEARCHES[evolution.algorithm])(chosen, settings.direction)
    return search


def _load(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def prepared_run(settings: Settings, lifelines: Lifelines, say: Say) -> Prepared:
    """Take the snapshot and run the baseline, unless that was done before."""
    for name in ("programs", "results", "runs", "tasks"):
        make_folder(settings.lae_dir / name)
    write_atomic(settings.lae_dir / ".gitignore", "*\n")
    write_atomic(settings.lae_dir / "project", f"{settings.path}\n")
    return prepare(settings, evaluator_for(settings, lifelines), say)


def evaluator_for(settings: Settings, lifelines: Lifelines) -> CommandEvaluator:
    """Return the Evaluator that measures programs of this run."""
    return CommandEvaluator(settings, lifelines, machine(settings).threads)


def controller(
    settings: Settings,
    prepared: Prepared,
    lifelines: Lifelines,
    observe: Callable[[RunState], None],
    say: Say,
) -> Controller:
    """Put a controller together; reads and mends the ledgers, so the lock must be held."""
    ledger = Ledger(settings.lae_dir, say)
    state = load_state(settings, ledger, search_for(settings), prepared.baseline, mend=True)
    place = machine(settings)
    work = partial(evaluate, evaluator=evaluator_for(settings, lifelines))
    executor = _load(EXECUTORS[settings.executor.kind])(work, place.concurrency, lifelines)
    children = Children(settings, prepared, lifelines)
    parts = Parts(settings, prepared, state, ledger, children, executor, observe)
    return Controller(parts)


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as it lies on disk, for commands that only read."""

    settings: Settings
    prepared: Prepared
    state: RunState
    ledger: Ledger
    children: Children


def view(settings: Settings, say: Say) -> RunView:
    """Read a run without changing anything; safe while a controller works on it.

    Raises:
        ConfigError: if nothing was begun there yet.
    """
    prepared = load_prepared(settings)
    if prepared is None:
        raise ConfigError(
            f"{settings.lae_dir}: no run there yet; expected one. `lae run` begins it"
        )
    ledger = Ledger(settings.lae_dir, say)
    state = load_state(settings, ledger, search_for(settings), prepared.baseline, mend=False)
    return RunView(settings, prepared, state, ledger, Children(settings, prepared, Lifelines()))

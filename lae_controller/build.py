"""The composition root: settings to a controller. The only place that loads implementations."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from lae_controller.children import Children
from lae_controller.config import Settings
from lae_controller.errors import ConfigError, PrerequisiteError
from lae_controller.evaluators import EVALUATORS, Evaluator
from lae_controller.evaluators.baseline import Prepared, load_prepared
from lae_controller.evaluators.preparation import prepare
from lae_controller.evaluators.runs import Bench, Limits
from lae_controller.executors import EXECUTORS, Site
from lae_controller.files import make_folder, read_json, write_atomic, write_json
from lae_controller.ledger import Ledger
from lae_controller.loop import DISK_FLOOR
from lae_controller.machine.hardware import Hardware, note, probe
from lae_controller.machine.slots import Slot
from lae_controller.parts import Core, Parts, UnderWay, unseen
from lae_controller.purse import check_baseline_cost
from lae_controller.quantities import parse_size, parse_total
from lae_controller.remarks import Say
from lae_controller.resume import load_state
from lae_controller.sandbox.command import entrypoint, interpreter
from lae_controller.sandbox.isolation import Isolation, runs_python
from lae_controller.sandbox.launch import Lifelines
from lae_controller.sandbox.snapshot import Snapshot
from lae_controller.sandbox.tiers import choose
from lae_controller.sandbox.view import Tier
from lae_controller.search import SEARCHES, Search, SearchSettings
from lae_controller.search.puct import too_few_expansions
from lae_controller.state import RunState

_DISK_PER_CHILD = 20 << 30
"""What one run may write, as long as so much stays free."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What the site of one run gives it.

    Attributes:
        concurrency: evaluations at a time.
        reason: why that many.
        slots: one for each evaluation at a time.
        hardware: what the probe found on this machine.
    """

    concurrency: int
    reason: str
    slots: tuple[Slot, ...]
    hardware: Hardware


def site_for(settings: Settings) -> Site:
    """Return where the evaluations of this run happen."""
    site: Site = _load(EXECUTORS[settings.executor.kind])(settings, evaluator_for)
    return site


def machine(settings: Settings) -> Machine:
    """Probe the machine and settle the concurrency."""
    hardware = probe()
    offer = site_for(settings).offer(hardware)
    concurrency, reason = offer.concurrency, offer.reason
    if settings.concurrency is not None:
        concurrency, reason = settings.concurrency, f"set in {settings.path.name}"
        reason = f"{reason}; {offer.reason}" if offer.reason else reason
    if settings.total_budget.runs is not None:
        _refuse_flat_tree(settings, settings.total_budget.runs, concurrency)
    return Machine(concurrency, reason, offer.slots, hardware)


def _refuse_flat_tree(settings: Settings, expansions: int, workers: int) -> None:
    """Refuse a tree that would stay flat.

    Raises:
        ConfigError: if ``expansions`` children are too few for so many workers.
    """
    if settings.evolution.algorithm == "puct":
        sentence = too_few_expansions(expansions, workers)
        if sentence is not None:
            raise ConfigError(f"{settings.path.name}: {sentence}")


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
        selection=evolution.selection,
        metrics={further.name: further.direction for further in settings.metrics},
        pareto_probability=evolution.pareto_probability,
        c_puct=evolution.c_puct,
        prior_exponent=evolution.prior_exponent,
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
    evaluators = partial(site_for(settings).evaluator, lifelines)
    check_cost = partial(check_baseline_cost, settings)
    return prepare(settings, evaluators, machine(settings).slots[0], say, check_cost)


def evaluator_for(
    settings: Settings,
    lifelines: Lifelines,
    threads: Mapping[str, str],
    snapshot: Snapshot,
    editable: tuple[str, ...],
    hidden: tuple[Path, ...] = (),
) -> Evaluator:
    """Return the Evaluator that measures programs of this run on the machine that calls this.

    Args:
        hidden: further places of which a run sees nothing.

    Raises:
        PrerequisiteError: if the isolation that is asked for does not work here.
    """
    memory = parse_size(settings.memory_limit) if settings.memory_limit else None
    free = shutil.disk_usage(settings.lae_dir).free
    limits = Limits(memory, max(DISK_FLOOR, min(_DISK_PER_CHILD, free - DISK_FLOOR)))
    isolation = isolation_for(settings, snapshot, editable)
    isolation = replace(isolation, withheld=(*isolation.withheld, *hidden))
    bench = Bench(settings, lifelines, isolation, limits, threads)
    evaluator: Evaluator = _load(EVALUATORS[settings.scoring.mode])(bench)
    return evaluator


def isolation_for(settings: Settings, snapshot: Snapshot, editable: tuple[str, ...]) -> Isolation:
    """Return how the runs of this project are kept apart.

    Raises:
        PrerequisiteError: if the isolation that is asked for does not work here, or a command
            that leaves no record would run where only a record could show what ran.
    """
    tier = choose(settings.isolation)
    script = entrypoint(settings)
    # Where no command of the user trains, what imports the candidate is a Python of our own.
    is_python = not settings.run_cmd or runs_python(settings.run_cmd, script)
    if not is_python and tier in (Tier.LANDLOCK, Tier.SEATBELT):
        raise PrerequisiteError(
            f"run_cmd {settings.run_cmd!r} runs no Python, so nothing but the bubblewrap tier can "
            f"make sure that the child's own files are used; this machine gives {tier.value}. "
            "`lae probe` says how to get bubblewrap; isolation: none goes without"
        )
    return Isolation(
        tier=tier,
        root=settings.root.resolve(),
        hidden=settings.lae_dir,
        entries=snapshot.entries,
        editable=editable,
        entrypoint=script,
        python=interpreter(settings.root),
        is_python=is_python,
        network=settings.network,
        withheld=tuple(settings.root / path for path in settings.scoring.withheld),
    )


def parts(
    settings: Settings,
    prepared: Prepared,
    lifelines: Lifelines,
    observe: Callable[[RunState], None],
    say: Say,
    on_tick: Callable[[UnderWay], None] = unseen,
) -> Parts:
    """Put the parts together; reads and mends the ledgers, so the lock must be held."""
    ledger = Ledger(settings.lae_dir, say)
    state = load_state(settings, ledger, search_for(settings), prepared.baseline, mend=True)
    place = machine(settings)
    write_json(settings.lae_dir / "machine.json", note(place.hardware))
    if settings.total_budget.seconds is not None:
        child = prepared.baseline.full_seconds + prepared.baseline.smoke_seconds
        in_turn = settings.total_budget.seconds / max(1e-9, child)
        _refuse_flat_tree(settings, int(in_turn * place.concurrency), place.concurrency)
    executor = site_for(settings).executor(lifelines, prepared.snapshot, prepared.baseline.editable)
    children = Children(settings, prepared, lifelines)
    return Parts(settings, prepared, state, ledger, children, executor, observe, say, on_tick)


def view(settings: Settings, say: Say) -> Core:
    """Read a run without changing anything; safe while a controller works on it.

    Raises:
        ConfigError: if nothing was begun there yet.
    """
    core = unread(settings, say)
    search, baseline = core.state.search, core.prepared.baseline
    state = load_state(core.settings, core.ledger, search, baseline, mend=False)
    return replace(core, state=state)


def unread(settings: Settings, say: Say) -> Core:
    """Return a run as it was begun, its state still empty: for who reads the events himself.

    Raises:
        ConfigError: if nothing was begun there yet.
    """
    prepared = load_prepared(settings, strict=False)
    if prepared is None:
        raise ConfigError(
            f"{settings.lae_dir}: no run there yet; expected one. `lae run` begins it"
        )
    session = read_json(settings.lae_dir / "session.json") or {}
    if "total_budget" in session:
        settings = replace(settings, total_budget=parse_total(session["total_budget"]))
    begun = (read_json(settings.lae_dir / "base.json") or {})["fixed"]
    own = {key: begun[key] for key in ("algorithm", "num_islands")}  # a flag may have set them
    settings = replace(settings, evolution=replace(settings.evolution, **own))
    ledger = Ledger(settings.lae_dir, say)
    state = RunState(search_for(settings))
    return Core(settings, prepared, state, ledger, Children(settings, prepared, Lifelines()))

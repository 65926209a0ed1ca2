"""What a run has come to, as values: the one source of leaderboard, synthesis and status."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from lae_controller.budget import Budget
from lae_controller.config import Settings
from lae_controller.evaluators.baseline import BASELINE_ID, Baseline, overruled
from lae_controller.noise import Claim, Noise, mean_of
from lae_controller.program import Cell, Elite, sort_key
from lae_controller.state import RunState
from lae_controller.told import known_runs

RUNNERS_UP = 3


@dataclass(frozen=True, slots=True)
class Placed:
    """One elite where it lives.

    Attributes:
        cell: None with ``puct``.
        gain: how far its metric lies above the baseline's, over the seeds that both were run on:
            means over different seeds would compare luck with luck.
    """

    island: int
    cell: Cell | None
    elite: Elite
    summary: str
    warnings: tuple[str, ...]
    gain: float


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run has come to.

    Attributes:
        best: the best program ever placed; None before generation 0.
        placed: the elites of all islands, each program once: the best of the run, then by metric.
        front: (elite, summary) of the Pareto front; empty while there is one metric.
        runners_up: diverse programs other than the best, see ``runners_up``.
        coverage: (cells held, cells in all) of each island.
        reasons: how many children failed for each reason.
        suspects: (id, metric, why) of children that are held back until accepted.
        tiers: how many children ran in each tier of isolation.
        forced: names of the checks whose refusal was overruled.
        spent, total, reserve: full runs; total is None if the budget is a time.
        noise: how much runs of one program differ.
        seeded: whether runs of one program get different training seeds.
        by_clients: whether scores come from clients, each program's once.
        claim: what fresh seeds say of the best program; None if it was not run on any.
        runs: metric on each seed of the programs that were run more than once.
        tested: ((baseline, best), trouble) of the held-out test; None if there was none.
    """

    best: Placed | None
    placed: tuple[Placed, ...]
    island_best: tuple[Placed, ...]
    runners_up: tuple[Placed, ...]
    front: tuple[tuple[Elite, str], ...]
    coverage: tuple[tuple[int, int], ...]
    statuses: tuple[tuple[str, int], ...]
    reasons: tuple[tuple[str, int], ...]
    suspects: tuple[tuple[str, float, str], ...]
    tiers: tuple[tuple[str, int], ...]
    forced: tuple[str, ...]
    children: int
    kept: int
    cut: int
    gen: int
    num_generations: int | None
    spent: float
    total: int | None
    reserve: float
    elapsed: float
    mode: str
    noise: Noise
    seeded: bool
    by_clients: bool
    claim: Claim | None
    runs: Mapping[str, tuple[float, ...]]
    tested: tuple[tuple[float | None, float | None], str] | None


def summarise(settings: Settings, baseline: Baseline, state: RunState) -> Summary:
    """Return what the run has come to."""
    everywhere = placed_all(settings, state)
    placed = _each_once(everywhere)
    found = state.search.global_best()
    best = next((p for p in placed if found and p.elite.child_id == found.child_id), None)
    if best is not None:  # one run that gave as much as a mean over more seeds is no better
        placed = [best, *(p for p in placed if p is not best)]
    cells = _places(settings)
    islands = range(settings.evolution.num_islands)
    plan = baseline.plan(settings)
    budget = Budget(settings, baseline, plan.smoke_charge)
    concurrency = state.concurrency or 1
    return Summary(
        best=best,
        placed=tuple(placed),
        island_best=tuple(_best_of(island, everywhere) for island in islands),
        runners_up=tuple(runners_up(placed, best)),
        front=tuple((it, state.told[it.child_id].summary) for it in state.search.front()),
        coverage=tuple((len(state.search.elites(i)), cells) for i in islands),
        statuses=_counted(state.statuses),
        reasons=_counted(state.reasons),
        suspects=tuple(
            (child, record.metric or 0.0, record.detail)
            for child, record in sorted(state.suspects.items(), key=lambda i: sort_key(i[0]))
        ),
        tiers=_counted(state.tiers),
        forced=overruled(settings),
        children=state.children,
        kept=state.kept,
        cut=state.cut,
        gen=state.gen,
        num_generations=settings.num_generations(concurrency),
        spent=state.spent,
        total=settings.total_budget.runs,
        reserve=budget.reserve,
        elapsed=state.elapsed,
        mode=state.search.mode(),
        noise=state.noise,
        seeded=settings.takes_seed,
        by_clients=settings.scored_by_clients,
        claim=_claim(settings, state),
        runs=state.repeats,
        tested=_tested(state),
    )


def _tested(state: RunState) -> tuple[tuple[float | None, float | None], str] | None:
    best = state.search.global_best()
    if best is None or best.child_id not in state.tests or BASELINE_ID not in state.tests:
        return None
    (before, one), (after, other) = state.tests[BASELINE_ID], state.tests[best.child_id]
    return (before, after), one or other


def _claim(settings: Settings, state: RunState) -> Claim | None:
    """Return what fresh seeds say of the best program; None if it was not run on any."""
    best = state.search.global_best()
    return state.claimed(best.child_id, settings.direction.fitness(1.0)) if best else None


def _places(settings: Settings) -> int:
    """Return how many elites one island can hold: its cells, or the archive of a tree."""
    evolution = settings.evolution
    return evolution.pop_per_island if evolution.algorithm == "puct" else evolution.num_bins**2


def placed_all(settings: Settings, state: RunState) -> list[Placed]:
    """Return every elite of every island; a program that migrated stands there more than once."""
    return [
        _placed(island, cell, elite, state)
        for island in range(settings.evolution.num_islands)
        for cell, elite in state.search.elites(island)
    ]


def _placed(island: int, cell: Cell | None, elite: Elite, state: RunState) -> Placed:
    told = state.told[elite.child_id]
    return Placed(island, cell, elite, told.summary, told.warnings, _gain(elite, state))


def _gain(elite: Elite, state: RunState) -> float:
    mine, base = (
        known_runs(child, state.told, state.repeats) or (math.nan,)
        for child in (elite.child_id, BASELINE_ID)
    )
    if mean_of(mine) != elite.metric:  # it was run again, which only a journal now lost could say
        return elite.metric - mean_of(base)
    return mean_of([one - other for one, other in zip(mine, base, strict=False)])


def _each_once(everywhere: list[Placed]) -> list[Placed]:
    """Return each program once, where it is first found, best first."""
    ranked = sorted(
        everywhere,
        key=lambda p: (-p.elite.fitness, sort_key(p.elite.child_id), p.island),
    )
    seen: set[str] = set()
    unique: list[Placed] = []
    for placed in ranked:
        key = "baseline" if placed.elite.parent_id is None else placed.elite.child_id
        if key not in seen:
            seen.add(key)
            unique.append(placed)
    return unique


def _best_of(island: int, everything: list[Placed]) -> Placed:
    mine = [placed for placed in everything if placed.island == island]
    return min(mine, key=lambda p: (-p.elite.fitness, sort_key(p.elite.child_id)))


def runners_up(placed: list[Placed], best: Placed | None) -> list[Placed]:
    """Return a few programs that are good and lie in other places of the map than the best.

    The best of each further cell, leaving out the best's own, farthest from those chosen first.
    """
    if best is None:
        return []
    better_half = [p for p in placed if p is not best and p.elite.parent_id is not None]
    better_half = better_half[: max(RUNNERS_UP, len(better_half) // 2)]
    chosen = [best]
    while better_half and len(chosen) <= RUNNERS_UP:
        pick = max(better_half, key=lambda p: min(_apart(p, c) for c in chosen))
        better_half.remove(pick)
        chosen.append(pick)
    return chosen[1:]


def _apart(one: Placed, other: Placed) -> float:
    """Return how far apart two programs lie: in cells or, without any, by the measures."""
    if one.cell is None or other.cell is None:
        mine, others = one.elite.measures, other.elite.measures
        return abs(mine.log_complexity - others.log_complexity) + abs(
            mine.diversity - others.diversity
        )
    return abs(one.cell[0] - other.cell[0]) + abs(one.cell[1] - other.cell[1])


def _counted(counts: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

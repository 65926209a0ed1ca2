"""The ``evolution`` section of ``loop.run.yaml``: the defaults live here, once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lae_controller.errors import ConfigError


@dataclass(frozen=True, slots=True)
class SelectionSettings:
    """Shares and patience of the parent rule.

    The first four are relative weights of the mixture, each at least 0 and not all 0.

    Attributes:
        global_best: the run's best elite, whatever island it lives on.
        island_best: the best elite of the child's island.
        by_rank: an elite of the island, the k-th best with a weight of 1/k.
        uniform: any elite of the island alike.
        near_empty: while coverage stalls, the share of children, in [0, 1], whose parent is
            an elite beside empty cells instead of one by the mixture.
        quality_patience: quality stalls after so many children that ran and brought no gain.
        coverage_patience: coverage stalls after so many that filled no empty cell.
    """

    global_best: float = 0.9
    island_best: float = 0.1
    by_rank: float = 0.0
    uniform: float = 0.0
    near_empty: float = 0.5
    quality_patience: int = 20
    coverage_patience: int = 20


@dataclass(frozen=True, slots=True)
class EarlyStopSettings:
    """When a run is cut by its own curve; see ``evaluators.early_stop.EarlyStop``.

    Attributes:
        enabled: whether it is at all; ``evolution.early_stop`` is a map or true.
        grace: no run is cut before this share of the elites' steps, in [0, 1].
        margin: how many times the elites' largest remaining gain a run is granted, at least 1.
        min_curves: no run is cut until so many elites have shown a curve.
    """

    enabled: bool = False
    grace: float = 0.25
    margin: float = 2.0
    min_curves: int = 5


@dataclass(frozen=True, slots=True)
class EvolutionSettings:
    """The search; see the schema for what each key means."""

    algorithm: str = "islands"
    schedule: str = "async"
    num_islands: int = 4
    num_top: int = 3
    num_diverse: int = 2
    num_bins: int = 10
    migration_interval: int = 5
    diversity_reference_size: int = 10
    pop_per_island: int = 40
    seed: int = 42
    initial_variants: int = 0
    pareto_probability: float = 0.0
    c_puct: float = 1.0
    prior_exponent: float = 0.0
    early_stop: EarlyStopSettings = EarlyStopSettings()
    selection: SelectionSettings = SelectionSettings()

    @property
    def in_order(self) -> bool:
        """Whether children are told in slot order, a generation at a time."""
        return self.schedule == "generational"


def evolution_settings(**values: Any) -> EvolutionSettings:
    """Return the section as typed settings, given its keys as the schema allows them."""
    selection = SelectionSettings(**values.pop("selection", {}))
    if values.get("algorithm") == "puct":
        values["num_islands"] = 1  # there is one tree, whatever the file says of islands
    wanted = values.pop("early_stop", False)
    keys = wanted if isinstance(wanted, dict) else {}
    early_stop = EarlyStopSettings(enabled=wanted is not False, **keys)
    return EvolutionSettings(**values, selection=selection, early_stop=early_stop)


def check_evolution(evolution: EvolutionSettings, where: str, *, metrics: int, gate: str) -> None:
    """Check what one schema line cannot say.

    Args:
        evolution: the section.
        where: the file's name.
        metrics: how many metrics there are, the main one included.
        gate: unit of the budget.

    Raises:
        ConfigError: if settings contradict each other.
    """
    if evolution.pareto_probability > 0 and metrics == 1:
        raise ConfigError(
            f"{where}: evolution.pareto_probability is {evolution.pareto_probability:g}, but there "
            "is one metric; expected 0, or further metrics under `metrics`"
        )
    if evolution.early_stop.enabled and gate == "time":
        raise ConfigError(
            f"{where}: evolution.early_stop is on under gate: time; expected gate: epochs, for in "
            "equal time a faster child takes more steps, and at equal steps it would be cut wrongly"
        )
    shares = evolution.selection
    if not shares.global_best + shares.island_best + shares.by_rank + shares.uniform > 0:
        raise ConfigError(
            f"{where}: evolution.selection has no share above 0; expected at least one of "
            "global_best, island_best, by_rank, uniform"
        )

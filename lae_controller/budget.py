"""How much may still be spent, and when the search ends."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lae_controller.config import Settings
from lae_controller.evaluators.baseline import Baseline
from lae_controller.state import RunState

CHILDREN_PER_RUN = 5
"""The search ends after this many children per full run of the total budget."""

NEVER_RAN_LIMIT = 50
"""... or after this many children in a row that never got to run."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a run ended.

    Attributes:
        reason: ``budget``, ``children``, ``never_ran``, ``money`` or ``asked``.
        sentence: the same for people.
    """

    reason: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Budget:
    """The total budget of a run against what it has cost so far.

    Attributes:
        smoke_charge: what a smoke run costs, in full runs; 0 if there is none.
    """

    settings: Settings
    baseline: Baseline
    smoke_charge: float

    @property
    def child_seconds(self) -> float:
        """What one child takes that goes through both stages, by the baseline's own time."""
        return self.baseline.full_seconds + self.baseline.smoke_seconds

    @property
    def reserve(self) -> float:
        """What is kept back for the end: full runs, or seconds if the total budget is a time.

        Nothing, once repeated baseline runs have shown no difference: then one run is the truth.
        """
        settings = self.settings
        if self.baseline.is_exact and settings.reserve is None:
            return 0.0
        total = settings.total_budget
        if total.runs is None:
            wanted = 0.1 * (total.seconds or 0.0)
            least = 2 if settings.reserve is None else settings.reserve
            return max(wanted, least * self.baseline.full_seconds)
        if settings.reserve is not None:
            return float(settings.reserve)
        return float(max(2, math.ceil(0.1 * total.runs)))

    @property
    def variants(self) -> int:
        """Mutated copies of the baseline per island in generation 0, as far as the budget goes."""
        wanted, runs = self.settings.evolution.initial_variants, self.settings.total_budget.runs
        if runs is None or not wanted:
            return wanted
        children = (runs - self.reserve - self.baseline.charge) / (self.smoke_charge + 1.0)
        most = max(0, math.floor(children + 1e-9)) // self.settings.evolution.num_islands
        return min(wanted, most)

    def affords(
        self, runs: int, state: RunState, elapsed: float, under_way: int, finished: float
    ) -> bool:
        """Say whether further full runs fit before the reserve, beside what is under way.

        Args:
            under_way: children that were asked for and are not finished.
            finished: what finished children cost that are not told yet, in full runs.
        """
        total = self.settings.total_budget
        if total.runs is None:
            left = (total.seconds or 0.0) - self.reserve - elapsed
            return left >= runs * self.baseline.full_seconds
        committed = finished + under_way * (self.smoke_charge + 1.0)
        return total.runs - self.reserve - state.spent - committed >= runs - 1e-9

    def pairs(self, state: RunState, elapsed: float) -> int:
        """Return how many pairs of full runs the whole rest gives, the reserve included."""
        total = self.settings.total_budget
        if total.runs is None:
            left = (total.seconds or 0.0) - elapsed
            most = self.reserve / max(self.baseline.full_seconds, 1e-6)
            return max(0, math.floor(min(left / max(self.baseline.full_seconds, 1e-6), most) / 2))
        return max(0, math.floor((total.runs - state.spent) / 2 + 1e-9))

    def room(self, state: RunState, elapsed: float) -> int:
        """Return how many more children fit before the reserve, were each to run in full.

        For a budget of time: whether one more fits is all that can be said, so 0 or a large number.
        """
        total = self.settings.total_budget
        if total.runs is None:
            left = (total.seconds or 0.0) - self.reserve - elapsed
            return 1 << 30 if left >= self.child_seconds else 0
        left = total.runs - self.reserve - state.spent
        return max(0, math.floor(left / (self.smoke_charge + 1.0) + 1e-9))

    def stop(self, state: RunState, elapsed: float) -> Stop | None:
        """Return why no further child should be asked for; None if one should."""
        if state.never_ran >= NEVER_RAN_LIMIT:
            return Stop(
                "never_ran",
                f"{NEVER_RAN_LIMIT} children in a row never ran; the latest reason: "
                f"{state.latest_reason}",
            )
        if self.room(state, elapsed) < 1:
            return Stop("budget", f"the total budget ({self.settings.total_budget}) is spent")
        runs = self.settings.total_budget.runs
        if runs is not None and state.children >= CHILDREN_PER_RUN * runs:
            return Stop("children", f"{state.children} children were tried")
        return None

"""The nouns that everything else speaks in: ids, evaluations, records, elites.

All values are frozen. Metrics are the user's own numbers; *fitness* is the same number
turned so that larger is better.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache

Files = Mapping[str, str]
"""Source texts by POSIX path relative to the project root."""

_CHILD_ID = re.compile(r"g(\d+)-i(\d+)-a(\d+)")


class Status(str, Enum):
    """How far a child came."""

    EVALUATED = "evaluated"
    SMOKE_DROPPED = "smoke_dropped"
    CRASH = "crash"


class Reason(str, Enum):
    """Why a child is not (or not yet) placed; the vocabulary of ``result.schema.json``."""

    BAD_DIFF = "bad_diff"
    NO_CHANGE = "no_change"
    DUPLICATE = "duplicate"
    SYNTAX = "syntax"
    PROTECTED = "protected"
    OUT_OF_BOUNDS = "out_of_bounds"
    HARNESS_CHANGED = "harness_changed"
    SHADOWED = "shadowed"
    SUSPECT = "suspect"
    TIMEOUT = "timeout"
    BUDGET = "budget"
    OOM = "oom"
    EXIT = "exit"
    NO_METRIC = "no_metric"
    NON_FINITE = "non_finite"
    OUTPUT_LIMIT = "output_limit"
    MUTATOR_ERROR = "mutator_error"
    REFUSED = "refused"
    ENVIRONMENT = "environment"
    KILLED = "killed"


BROKEN = frozenset(
    {
        Reason.BAD_DIFF,
        Reason.NO_CHANGE,
        Reason.SYNTAX,
        Reason.OUT_OF_BOUNDS,
        Reason.PROTECTED,
        Reason.EXIT,
        Reason.NO_METRIC,
        Reason.NON_FINITE,
    }
)
"""Reasons that speak of how a change was made, not of the machine or of what training costs."""

MENDABLE = BROKEN | {Reason.DUPLICATE}
"""Failures that a better change would not have had."""

CUT_SHORT = "cut at step "
"""How the detail of a child begins whose full run was ended by its curve (``early_stop``)."""


class Direction(str, Enum):
    """Whether more or less of the metric is better."""

    MAXIMIZE = "maximize"
    MINIMIZE = "minimize"

    def fitness(self, metric: float) -> float:
        """Return the metric turned so that larger is better."""
        return metric if self is Direction.MAXIMIZE else -metric


class Intervention(str, Enum):
    """What part of training a change touches."""

    ARCHITECTURE = "architecture"
    OPTIMISER = "optimiser"
    SCHEDULE = "schedule"
    DATA = "data"
    REGULARISATION = "regularisation"
    INIT = "init"
    OTHER = "other"


def child_id(gen: int, island: int, slot: int) -> str:
    """Name the child in ``slot`` (from 0) of generation ``gen`` on ``island``."""
    return f"g{gen}-i{island}-a{slot}"


def parse_child_id(text: str) -> tuple[int, int, int]:
    """Return (generation, island, slot) of an id.

    Raises:
        ValueError: if ``text`` is not of the form ``g4-i0-a1``.
    """
    match = _CHILD_ID.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a child id; expected the form g4-i0-a1")
    gen, island, slot = map(int, match.groups())
    return gen, island, slot


def is_baseline(identifier: str) -> bool:
    """Say whether an id is the baseline's on some island: slot 0 of generation 0."""
    if not identifier.startswith("g0"):  # nearly all, and every child ever told is asked about
        return False
    gen, slot, _ = sort_key(identifier)
    return gen == 0 and slot == 0


@lru_cache(maxsize=2**14)  # the ids of elites are compared over and over
def sort_key(identifier: str) -> tuple[int, int, int]:
    """Order ids by generation, slot, then island: the tie-break everywhere."""
    gen, island, slot = parse_child_id(identifier)
    return gen, slot, island


def rng_for(seed: int, identifier: str, purpose: str) -> random.Random:
    """Return the random stream that belongs to one child and one purpose.

    Streams do not depend on the order in which children are handled, which is what makes
    a resumed run equal to an uninterrupted one.
    """
    return random.Random(f"{seed}:{identifier}:{purpose}")


def one_line(text: str, limit: int = 200) -> str:
    """Fold ``text`` to one line without tab, newline or comma, for the ledgers."""
    folded = " ".join(text.replace(",", ";").split())
    return folded if len(folded) <= limit else folded[: limit - 1].rstrip() + "…"


@dataclass(frozen=True, slots=True)
class Artifacts:
    """What one child's last run left for people and for the next Mutator to read.

    Attributes:
        curve: (step, value) pairs of the loss or metric, in order of appearance.
        curve_name: which of them it is, as ``val_loss``; empty if there is no curve.
        per_class: scores by class name, where the output holds them.
        log_tail: the last lines of stdout and stderr.
        warnings: remarks such as ``non-finite number in the output``.
    """

    curve: tuple[tuple[float, float], ...] = ()
    per_class: Mapping[str, float] = field(default_factory=dict)
    log_tail: str = ""
    warnings: tuple[str, ...] = ()
    curve_name: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """What the model calls for one child took.

    Attributes:
        model: the last one that answered; empty if the backend does not say.
        calls: requests that were answered.
        input_tokens: prompt tokens that were neither read from nor written to a cache.
        cache_read_tokens, cache_write_tokens: the other prompt tokens.
        output_tokens: thinking included.
        cost_usd: None where the price is not known.
        seconds: wall-clock of the calls, waiting for retries included.
        mends: failed proposals of the child that went back to its model.
    """

    model: str = ""
    calls: int = 0
    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    seconds: float = 0.0
    mends: int = 0

    def __add__(self, other: Usage) -> Usage:
        """Return both together; the cost is known only if both are."""
        known = self.cost_usd is not None and other.cost_usd is not None
        cost = (self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None
        return Usage(
            other.model or self.model,
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.output_tokens + other.output_tokens,
            cost,
            self.seconds + other.seconds,
            self.mends + other.mends,
        )


def added(one: Usage | None, other: Usage | None) -> Usage | None:
    """Return both together; None if no model was asked."""
    if one is None or other is None:
        return one or other
    return one + other


@dataclass(frozen=True, slots=True)
class Selection:
    """Whom the Search chose for one child.

    Attributes:
        rule: the selection rule that picked the parent, for the record.
        top: ids of the inspirations chosen by metric.
        diverse: ids of those chosen for their diversity.
    """

    parent_id: str
    rule: str
    top: tuple[str, ...]
    diverse: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Measures:
    """Where a program lies on the two axes of the archive.

    Attributes:
        complexity: trainable parameters, or lines of code, by ``unit``; at least 1.
        unit: ``params`` or ``loc``; the same for every program of a run.
        diversity: mean normalised edit distance in [0, 1].
    """

    complexity: float
    unit: str
    diversity: float

    @property
    def log_complexity(self) -> float:
        """Return log10 of the complexity, the value that is binned."""
        return math.log10(max(self.complexity, 1.0))


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What the cascade found out about one program.

    Attributes:
        smoke_metric: metric of the smoke run; None if there was none.
        metric: metric of the full run; None unless status is EVALUATED.
        reason, detail: why the child failed, and the sentence that says what was found.
        params: trainable parameters, if the program reports them.
        charge: what it cost, in full runs.
        seconds: wall-clock of its training runs.
        repeats: every full metric measured so far, first one first.
        metrics: the further metrics of the full run by name, as far as they were read.
        tier: the isolation its last run had.
        fingerprint: of the code objects that were really executed.
        proven: whether the record of that run shows that the child's own code was what ran.
        unseen: its own files that no process of that run was seen to use.
        efficiency: processor seconds per second of wall-clock of its last run.
        grading: what a model took to grade it; None where no model grades.
        varies: of the baseline, whether its runs on different seeds differ in anything.
    """

    status: Status
    smoke_metric: float | None = None
    metric: float | None = None
    reason: Reason | None = None
    detail: str = ""
    params: int | None = None
    charge: float = 0.0
    seconds: float = 0.0
    repeats: tuple[float, ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    tier: str = ""
    fingerprint: str = ""
    proven: bool = False
    unseen: tuple[str, ...] = ()
    efficiency: float = 0.0
    artifacts: Artifacts = field(default_factory=Artifacts)
    grading: Usage | None = None
    varies: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """One child as it is told to the Search and written to the journal.

    Attributes:
        digest: normal-form digest of its code; None if the change never applied.
        measures: None unless the child was evaluated.
        elapsed: active seconds of the run so far, over all sessions.
        usage: what its model calls took; None where no model was asked.
        metrics: the further metrics by name, as far as they were read.
        promise: how promising its Mutator found it, from 1 to 10; None if it did not say.
        grading: what a model took to grade it; None where no model grades.
        varies: of the baseline, whether its runs on different seeds differ in anything.
        inert: the lines that it changed in vain, as ``path: line``: its run showed in everything
            what its parent's did; empty for any other.
    """

    child_id: str
    parent_id: str | None
    gen: int
    island: int
    status: Status
    smoke_metric: float | None
    metric: float | None
    reason: Reason | None
    detail: str
    summary: str
    intervention: Intervention
    operator: str
    rule: str
    digest: str | None
    measures: Measures | None
    params: int | None
    charge: float
    seconds: float
    elapsed: float
    warnings: tuple[str, ...] = ()
    repeats: tuple[float, ...] = ()
    tier: str = ""
    fingerprint: str = ""
    usage: Usage | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    promise: float | None = None
    grading: Usage | None = None
    varies: bool = False
    inert: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Elite:
    """A program that holds a cell of an island.

    Attributes:
        fitness: larger is better.
        metric: the same in the user's own direction.
        metrics: the further metrics by name, in the user's own directions.
        runs: fitness on each training seed, first seed first; empty if only the mean is known.
    """

    child_id: str
    parent_id: str | None
    fitness: float
    metric: float
    measures: Measures
    metrics: Mapping[str, float] = field(default_factory=dict)
    runs: tuple[float, ...] = ()

    def beats(self, other: Elite) -> bool:
        """Say whether this one is better on the seeds that both were run on.

        Means over different seeds would compare luck with luck.
        """
        paired = min(len(self.runs), len(other.runs))
        if not paired:
            return self.fitness > other.fitness
        return sum(self.runs[:paired]) > sum(other.runs[:paired])


Cell = tuple[int, int]
"""(complexity bin, diversity bin)."""


@dataclass(frozen=True, slots=True)
class Placement:
    """What became of a told child.

    Attributes:
        kept: whether it entered the map of its island (with ``puct``: the archive).
        cell: the cell it fell into; None unless it was evaluated, and with ``puct``.
        rebinned: whether its measures moved the borders of the cells past some elite, so that all
            maps were drawn anew before it was placed; None where that was not written down.
    """

    kept: bool
    cell: Cell | None
    rebinned: bool | None = False

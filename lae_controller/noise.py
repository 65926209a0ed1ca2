"""What chance does to the metric: its size, and whether a difference is more than that."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import NormalDist, fmean

DECIDES = 2.0
"""A paired difference decides when it is so many of its own standard errors from zero."""

CONFIDENCE = 0.975
"""Of a claim, one-sided: one run in forty without any gain claims one, half of what is allowed."""


class Verdict(str, Enum):
    """What a comparison on the same seeds says of a challenger."""

    WINS = "wins"
    LOSES = "loses"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Noise:
    """How much equal runs on different seeds differ.

    Attributes:
        sigma: standard deviation of one run; None if nothing was run twice.
        freedom: degrees of freedom behind it.
    """

    sigma: float | None
    freedom: int

    @property
    def is_real(self) -> bool:
        """Whether runs of one program were seen to differ."""
        return self.sigma is not None and self.sigma > 0.0

    def error_of_difference(self, pairs: int) -> float:
        """Return the standard error of the mean difference over so many pairs of runs."""
        return (self.sigma or 0.0) * math.sqrt(2.0 / pairs)

    def judge(self, challenger: Sequence[float], incumbent: Sequence[float]) -> Verdict:
        """Compare fitness on the seeds that both were run on, first seed first.

        Without noise the sign decides. With it a gain has to be two standard errors to count at
        once; what lies between is open until more seeds were run.
        """
        pairs = min(len(challenger), len(incumbent))
        gain = fmean(c - i for c, i in zip(challenger[:pairs], incumbent[:pairs], strict=True))
        if gain <= 0:
            return Verdict.LOSES
        if not self.is_real or gain > DECIDES * self.error_of_difference(pairs):
            return Verdict.WINS
        return Verdict.OPEN

    def threshold(self, pairs: int) -> float:
        """Return the mean gain over fresh pairs above which a gain is claimed."""
        return t_quantile(CONFIDENCE, self.freedom) * self.error_of_difference(pairs)


def pooled(groups: Iterable[Sequence[float]]) -> Noise:
    """Return the noise behind repeated runs of several programs.

    Source: the pooled variance, sum of squared deviations from each program's own mean over the
    sum of (runs - 1). Programs that were run once say nothing.
    """
    squares, freedom = 0.0, 0
    for values in groups:
        if len(values) > 1 and max(values) != min(values):
            mean = fmean(values)
            squares += sum((value - mean) ** 2 for value in values)
        freedom += max(0, len(values) - 1)
    return Noise(math.sqrt(squares / freedom) if freedom else None, freedom)


def mean_of(values: Sequence[float]) -> float:
    """Return the mean; exactly the value if all are the same."""
    return values[0] if max(values) == min(values) else fmean(values)


def t_quantile(level: float, freedom: int) -> float:
    """Return the quantile of Student's t distribution; infinite without a degree of freedom.

    Exact for one and two degrees of freedom, else by the expansion about the normal quantile.
    Source: Abramowitz and Stegun, 26.7.5; off by less than 0.5 % at three and more.
    """
    if freedom < 1:
        return math.inf
    if freedom == 1:
        return math.tan(math.pi * (level - 0.5))
    if freedom == 2:
        a = 4 * level * (1 - level)
        return 2 * (level - 0.5) * math.sqrt(2 / a)
    z = NormalDist().inv_cdf(level)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return z + math.fsum(term / freedom**power for power, term in enumerate(terms, start=1))


@dataclass(frozen=True, slots=True)
class Claim:
    """The gain of one program over the baseline on seeds that were not searched on.

    Attributes:
        gain: mean difference of the metric, in the user's own direction.
        error: its standard error.
        pairs: on how many fresh seeds both were run.
        holds: whether it is more than chance, at 97.5 %.
    """

    child_id: str
    gain: float
    error: float
    pairs: int
    holds: bool


def claim(
    child_id: str, pairs: Sequence[tuple[float, float]], noise: Noise, sign: float
) -> Claim | None:
    """Return what fresh runs of a program and the baseline say; None if there were none.

    Args:
        pairs: metric of (program, baseline), a pair for each seed.
        sign: 1 if more of the metric is better, else -1.
    """
    if not pairs:
        return None
    gain = fmean(mine - base for mine, base in pairs)
    holds = sign * gain > noise.threshold(len(pairs))
    return Claim(child_id, gain, noise.error_of_difference(len(pairs)), len(pairs), holds)

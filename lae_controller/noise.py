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


OWN_CONFIDENCE = 0.95
"""The same, by the noise of the two programs alone; both conditions have to be met."""

LEAST_PAIRS = 2
"""On so many seeds a gain has to show where noise is known of, but its size is not."""

MOST_LOSSES = 4
"""Of a claim: at most one fresh seed in so many may be without a gain."""


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
        varies: whether equal runs were seen to differ in anything but the metric. A coarse metric
            may tie by luck, so a tie of such runs is no proof of there being no noise.
    """

    sigma: float | None
    freedom: int
    varies: bool = False

    @property
    def is_real(self) -> bool:
        """Whether runs of one program were seen to differ."""
        return self.sigma is not None and (self.sigma > 0.0 or self.varies)

    def error_of_difference(self, pairs: int) -> float:
        """Return the standard error of the mean difference over so many pairs of runs."""
        return (self.sigma or 0.0) * math.sqrt(2.0 / pairs)

    def judge(self, challenger: Sequence[float], incumbent: Sequence[float]) -> Verdict:
        """Compare fitness on the seeds that both were run on, first seed first.

        Without noise the sign decides. With it a gain has to be two standard errors to count at
        once; what lies between is open until more seeds were run. Of noise that no metric has
        shown yet, one seed more is asked: it shows it, or ties once more.
        """
        pairs = min(len(challenger), len(incumbent))
        gain = fmean(c - i for c, i in zip(challenger[:pairs], incumbent[:pairs], strict=True))
        if gain <= 0:
            return Verdict.LOSES
        if self.sigma == 0.0 and self.varies and pairs < LEAST_PAIRS:
            return Verdict.OPEN
        if not self.is_real or gain > DECIDES * self.error_of_difference(pairs):
            return Verdict.WINS
        return Verdict.OPEN


def pooled(groups: Iterable[Sequence[float]], *, varies: bool = False) -> Noise:
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
    return Noise(math.sqrt(squares / freedom) if freedom else None, freedom, varies)


def mean_of(values: Sequence[float]) -> float:
    """Return the mean; exactly the value if all are the same."""
    return values[0] if max(values) == min(values) else fmean(values)


def t_quantile(level: float, freedom: float) -> float:
    """Return the quantile of Student's t distribution; infinite without a degree of freedom.

    Exact for one and two degrees of freedom, else by the expansion about the normal quantile.
    Source: Abramowitz and Stegun, 26.7.5; off by less than 0.5 % at three and more. Between one
    and three, where the expansion is poor, the next lower whole number is taken.
    """
    if freedom < 1:
        return math.inf
    if freedom < 2:
        return math.tan(math.pi * (level - 0.5))
    if freedom < 3:
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
        error: its standard error, the larger of two: by the noise of all programs, and by that of
            these two alone.
        pairs: on how many fresh seeds both were run.
        holds: whether it is more than chance, at 97.5 % and at 95 % (see ``claim``).
    """

    child_id: str
    gain: float
    error: float
    pairs: int
    holds: bool


def claim(
    child_id: str,
    pairs: Sequence[tuple[float, float]],
    noise: Noise,
    sign: float,
    earlier: tuple[Sequence[float], Sequence[float]] = ((), ()),
) -> Claim | None:
    """Return what fresh runs of a program and the baseline say; None if there were none.

    The gain has to be more than chance by two measures of it: the noise pooled over all programs,
    which is known well but may not be that of these two, and their own. On most seeds it has to
    have the same sign, so that no single run makes it.

    Args:
        pairs: metric of (program, baseline), a pair for each seed.
        sign: 1 if more of the metric is better, else -1.
        earlier: what (program, baseline) gave on the seeds of the search; tells of their spread,
            not of the gain.
    """
    if not pairs:
        return None
    gains = [sign * (mine - base) for mine, base in pairs]
    gain, count = fmean(gains), len(pairs)
    fresh = tuple(zip(*pairs, strict=True))
    error, freedom = _own_error([pooled(runs) for runs in zip(earlier, fresh, strict=True)], count)
    known = noise.error_of_difference(count)
    least = t_quantile(CONFIDENCE, noise.freedom) * known if known else 0.0
    if error:
        least = max(least, t_quantile(OWN_CONFIDENCE, freedom) * error)
    losses = sum(each <= 0 for each in gains)
    holds = gain > least and losses * MOST_LOSSES <= count
    return Claim(child_id, sign * gain, max(known, error), count, holds)


def _own_error(noises: Sequence[Noise], pairs: int) -> tuple[float, float]:
    """Return the standard error of a mean difference by the two programs' own noise.

    Source: Welch-Satterthwaite, for its degrees of freedom. Programs that were run once say
    nothing: 0 then.
    """
    parts = [((it.sigma or 0.0) ** 2 / pairs, it.freedom) for it in noises]
    whole = math.fsum(part for part, _ in parts)
    if whole == 0.0:
        return 0.0, 0.0
    return math.sqrt(whole), whole**2 / math.fsum(v**2 / f for v, f in parts if f)

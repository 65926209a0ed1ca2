"""How good a metric can get at best, as far as its name says."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from lae_controller.program import Direction
from lae_controller.scoring import JUDGE, SCRIPT, TESTS, ScoringSettings

_SHARES = re.compile(
    r"(?:^|[\W_])(?:acc|accuracy|auc|auroc|auprc|f1|precision|recall|iou|miou|dice|jaccard|mrr"
    r"|ndcg|top[15]|exact_?match|pass_?rate|success_?rate|win_?rate)(?:$|[\W_])",
    re.IGNORECASE,
)
"""Metrics that lie between 0 and 1, or 0 and 100 if they are given in per cent."""

_AT_MOST_ONE = re.compile(r"(?:^|[\W_])r(?:2|_?squared)(?:$|[\W_])", re.IGNORECASE)

_NOT_NEGATIVE = re.compile(
    r"(?:^|[\W_])(?:loss|error|err|mse|rmse|mae|mape|wer|cer|fid|bpb|bpc|bpd|ppl|perplexity|seconds)"
    r"(?:$|[\W_])",
    re.IGNORECASE,
)


class Ground(str, Enum):
    """Why a metric cannot be better than its ceiling."""

    STATED = "stated"  # the scoring mode says so
    SHARE = "share"  # it is a share of what there is, such as an accuracy
    FLOOR = "floor"  # it is no less than nought


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The best value that a metric can have."""

    value: float
    ground: Ground


def ceiling(
    name: str, direction: Direction, values: Iterable[float], scoring: ScoringSettings
) -> Ceiling | None:
    """Return the best value that a metric can have; None if nothing says.

    Args:
        values: what it was seen to be: above 1, an accuracy is in per cent.
    """
    known = list(values)
    if scoring.mode == SCRIPT:
        return Ceiling(1.0, Ground.STATED)
    if scoring.mode == JUDGE:
        return Ceiling(scoring.scale[1], Ground.STATED)
    if direction is Direction.MINIMIZE:
        fits = _NOT_NEGATIVE.search(name) and min(known) >= 0.0
        return Ceiling(0.0, Ground.FLOOR) if fits else None
    if scoring.mode == TESTS or _AT_MOST_ONE.search(name):
        return Ceiling(1.0, Ground.SHARE)
    if _SHARES.search(name) and min(known) >= 0.0 and max(known) <= 100.0:
        return Ceiling(1.0 if max(known) <= 1.0 else 100.0, Ground.SHARE)
    return None

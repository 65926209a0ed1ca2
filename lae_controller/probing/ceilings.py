"""How good a metric can get at best, as far as its name says."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lae_controller.program import Direction

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


def is_share(name: str) -> bool:
    """Say whether a metric is a share of what could be reached, such as an accuracy."""
    return bool(_SHARES.search(name) or _AT_MOST_ONE.search(name))


def ceiling(name: str, direction: Direction, values: Iterable[float]) -> float | None:
    """Return the best value that a metric of this name can have; None if nothing says.

    Args:
        values: what it was seen to be: above 1, an accuracy is in per cent.
    """
    known = list(values)
    if direction is Direction.MAXIMIZE:
        if _AT_MOST_ONE.search(name):
            return 1.0
        if _SHARES.search(name) and min(known) >= 0.0 and max(known) <= 100.0:
            return 1.0 if max(known) <= 1.0 else 100.0
        return None
    return 0.0 if _NOT_NEGATIVE.search(name) and min(known) >= 0.0 else None

"""Which part of training a change touches, read from the names in it."""

from __future__ import annotations

from collections.abc import Iterator

from lae_controller.change.identifiers import words
from lae_controller.program import Intervention

_BY_OPERATOR = {
    "swap-activation": Intervention.ARCHITECTURE,
    "swap-norm": Intervention.ARCHITECTURE,
    "swap-optimiser": Intervention.OPTIMISER,
    "swap-schedule": Intervention.SCHEDULE,
    "swap-init": Intervention.INIT,
    "linked-size": Intervention.ARCHITECTURE,
}

# Read from the top: `weight_decay` is no schedule, `lr_decay` no plain optimiser setting,
# and a `batch_norm` is not about batches.
_BY_WORDS: tuple[tuple[Intervention, list[str]], ...] = (
    (
        Intervention.REGULARISATION,
        (
            "dropout drop weight+decay wd l l2 reg regularization regulariser lambda lam"
            " smoothing penalty droppath ridge lasso early subsample colsample"
        ).split(),
    ),
    (
        Intervention.SCHEDULE,
        (
            "schedule scheduler sched warmup decay gamma cosine anneal annealing milestones"
            " step+size cycle restarts onecycle eta+min t+max plateau patience"
        ).split(),
    ),
    (
        Intervention.DATA,
        (
            "augment augmentation shuffle mixup cutmix crop flip jitter noise rotation"
            " standardise standardize normalise normalize scaler whiten input+scale"
        ).split(),
    ),
    (Intervention.ARCHITECTURE, "norm layernorm batchnorm rmsnorm".split()),
    (Intervention.DATA, "batch bs batchsize".split()),
    (
        Intervention.OPTIMISER,
        (
            "lr learning eta rate momentum velocity beta betas eps epsilon optim optimizer"
            " optimiser opt adam adamw sgd rmsprop nesterov clip grad grads gradient ema"
            " amsgrad tau solver"
        ).split(),
    ),
    (
        Intervention.INIT,
        "init initial std stddev gain xavier glorot kaiming he orthogonal fan zeros".split(),
    ),
    (
        Intervention.ARCHITECTURE,
        (
            "hidden width layers layer nlayer depth dim channels filters head heads nhead act"
            " activation relu gelu silu tanh sigmoid units unit neurons kernel block blocks"
            " model forward embd embed embedding features residual skip bias ff ffn mlp linear"
            " conv attention attn net slope rank scale"
        ).split(),
    ),
)


def classify(name: str, operator: str) -> Intervention:
    """Return the kind of intervention of a change.

    Args:
        name: the identifier that was touched, or any text with identifiers in it.
        operator: the operator that made the change; some are of one kind only.
    """
    if operator in _BY_OPERATOR:
        return _BY_OPERATOR[operator]
    return next(_kinds(name), Intervention.OTHER)


def kinds_in(text: str) -> frozenset[Intervention]:
    """Return every kind of intervention that a word of ``text`` belongs to."""
    return frozenset(_kinds(text))


def _kinds(text: str) -> Iterator[Intervention]:
    found = set(words(text.replace("__init__", "")))
    for kind, patterns in _BY_WORDS:
        if any(found.issuperset(pattern.split("+")) for pattern in patterns):
            yield kind

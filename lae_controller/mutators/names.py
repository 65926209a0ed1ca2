"""What a name says about the number bound to it."""

from __future__ import annotations

from enum import Enum

from lae_controller.change.identifiers import words


class Role(Enum):
    """How a number may be moved."""

    RATE = "rate"  # positive and known by its order of magnitude
    FRACTION = "fraction"  # in [0, 1): momenta, dropout
    SIZE = "size"  # widths and batches: doubled and halved
    COUNT = "count"  # depths: one more, one less
    PLAIN = "plain"  # nothing is known
    FRAGILE = "fragile"  # an axis, a class count: a change mostly crashes
    FROZEN = "frozen"  # budget, seed, split: not for a child to change


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FROZEN = _set(
    "seed seeds epoch epochs iters iterations iter iteration niter steps step budget device"
    " devices gpu gpus port worker workers thread threads version split splits subset test"
    " tests val valid validation eval evaluate evaluation holdout fold folds timeout seconds"
    " minutes hours duration deadline time limit world verbose debug log logs logging logger print"
    " save checkpoint checkpoints ckpt interval every resume cache prefetch download"
    " deterministic"
)
_SAYS_SCHEDULE = _set("warmup decay anneal annealing restart restarts cycle milestones")
_SPLIT = _set("n num size frac ratio fraction samples start end count")
_MEASURE = _set(
    "loss losses accuracy acc metric metrics correct total hits running history f1 auc score"
    " scores report result results pred preds prediction predictions"
)
_FACTOR = _set("weight coef coeff lambda scale smoothing")
_FRAGILE = _set(
    "axis axes dims ndim classes class nclass vocab labels label output outputs input inputs"
    " in out index idx offset pad padding stride dilation groups keepdims image img shape"
    " range reshape base ord"
)
_COUNT = _set(
    "layers layer nlayer nlayers depth blocks block stages repeats repeat degree order kernel"
)
_SIZE = _set(
    "hidden width dim units unit channels filters neurons embd embed embedding model ff ffn mlp"
    " head heads nhead batch bs size features rank context ctx estimators trees leaf leaves"
    " components bins capacity wide"
)
_HEADS = _set("head heads nhead")  # must divide a width: doubled and halved even when small
_FRACTION = _set(
    "dropout drop momentum beta betas rho p prob probability smoothing ema polyak ratio"
    " fraction keep subsample colsample"
)
_RATE = _set(
    "lr eta rate wd decay reg lambda lam eps epsilon std stddev scale gain alpha sigma"
    " temperature temp coef coeff factor weight penalty noise clip tau gamma init slope strength"
    " max norm bound c"
)


def is_frozen(name: str) -> bool:
    """Say whether ``name`` belongs to budget, seed, split, machine or logging."""
    found = set(words(name))
    if found & _SAYS_SCHEDULE and not found & {"seed", "val", "test", "eval"}:
        return False
    if {"step", "size"} <= found:
        return False
    if "train" in found:
        return found == {"train"} or bool(found & (_SPLIT | _FROZEN))
    return bool(found & _FROZEN)


def is_measure(text: str) -> bool:
    """Say whether an identifier in ``text`` belongs to what is reported, such as loss."""
    return not _MEASURE.isdisjoint(words(text))


def is_measure_name(name: str) -> bool:
    """Say whether a value bound to ``name`` is itself reported: no ``aux_loss_weight``."""
    return is_measure(name) and _FACTOR.isdisjoint(words(name))


def role_of(name: str, value: float) -> Role:
    """Return how the number ``value`` (int or float by its type) bound to ``name`` moves."""
    if is_frozen(name):
        return Role.FROZEN
    found = set(words(name))
    return _float_role(found, value) if isinstance(value, float) else _int_role(found, value)


def _float_role(found: set[str], value: float) -> Role:
    if {"weight", "decay"} <= found:
        return Role.RATE
    if found & {"decay", "gamma"} and 0.3 <= value < 1:
        return Role.FRACTION
    if found & _FRACTION and 0 <= value < 1:
        return Role.FRACTION
    if found & _RATE or (found & {"l"} and len(found) == 1):
        return Role.RATE
    return Role.PLAIN


def _int_role(found: set[str], value: int) -> Role:
    if value < 0 or found & _FRAGILE or found == {"size"} or ("dim" in found and value < 4):
        return Role.FRAGILE
    if found & _COUNT:
        return Role.COUNT
    if found & _HEADS or (found & _SIZE and value >= 4):
        return Role.SIZE
    return Role.COUNT if found & _SIZE else Role.PLAIN

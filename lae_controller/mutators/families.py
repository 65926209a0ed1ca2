"""Names that stand in for one another, by the module they exist in.

Kept by hand: the process that proposes changes imports no framework. Each member lists the
keyword arguments it takes, so that a swap never makes a call that fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Family:
    """Interchangeable names of one or more modules.

    Attributes:
        operator: name of the operator that swaps them.
        members: name -> keyword arguments it takes; ``*`` takes any.
        positional: least and largest number of positional arguments that all take alike.
        spare: keyword arguments that may be left out where the new name takes none such.
        alias: name -> the keyword that means the same in each member.
        lr: usual learning rate of each optimiser; empty for other families.
        weight: how likely a swap makes sense, relative to the operator's other families.
    """

    operator: str
    modules: tuple[str, ...]
    members: Mapping[str, tuple[str, ...]]
    positional: tuple[int, int]
    spare: frozenset[str] = frozenset()
    alias: Mapping[str, str] = field(default_factory=dict)
    lr: Mapping[str, float] = field(default_factory=dict)
    weight: float = 1.0


def _members(text: str) -> dict[str, tuple[str, ...]]:
    """Read ``ReLU(inplace) Tanh`` as names with their keyword arguments."""
    parts = (part.rstrip(")").partition("(") for part in text.split())
    return {name: tuple(arguments.split(",")) if arguments else () for name, _, arguments in parts}


_ADAM = "lr,betas,eps,weight_decay"
_BATCH = "eps,momentum,affine,track_running_stats"
_ACTIVATION_SPARE = frozenset({"inplace", "alpha", "negative_slope", "approximate", "beta"})

FAMILIES: tuple[Family, ...] = (
    Family(
        "swap-activation",
        ("torch.nn",),
        _members(
            "ReLU(inplace) GELU(approximate) SiLU(inplace) Tanh ELU(alpha,inplace)"
            " LeakyReLU(negative_slope,inplace) Mish(inplace) SELU(inplace) Hardswish(inplace)"
            " Softplus(beta) ReLU6(inplace) Sigmoid"
        ),
        (0, 0),
        _ACTIVATION_SPARE,
    ),
    Family(
        "swap-activation",
        ("torch.nn.functional",),
        _members(
            "relu(inplace) gelu(approximate) silu(inplace) elu(alpha,inplace) tanh sigmoid"
            " leaky_relu(negative_slope,inplace) mish(inplace) selu(inplace) hardswish(inplace)"
            " softplus(beta) relu6(inplace)"
        ),
        (1, 1),
        _ACTIVATION_SPARE,
    ),
    Family("swap-activation", ("torch",), _members("relu tanh selu sigmoid"), (1, 1)),
    Family("swap-activation", ("numpy",), _members("tanh arctan sin"), (1, 1), weight=0.25),
    Family(
        "swap-activation",
        ("jax.nn", "flax.linen"),
        _members("relu gelu silu swish tanh elu leaky_relu softplus selu sigmoid"),
        (1, 1),
    ),
    Family(
        "swap-norm",
        ("torch.nn",),
        _members("LayerNorm(eps,bias) RMSNorm(eps) Identity(*)"),
        (1, 1),
        frozenset({"bias"}),
    ),
    Family(
        "swap-norm",
        ("torch.nn",),
        _members(f"BatchNorm1d({_BATCH}) LayerNorm(eps) Identity(*)"),
        (1, 1),
        frozenset({"momentum", "affine", "track_running_stats"}),
    ),
    Family(
        "swap-norm",
        ("torch.nn",),
        _members(f"BatchNorm2d({_BATCH}) InstanceNorm2d({_BATCH}) Identity(*)"),
        (1, 1),
    ),
    Family("swap-norm", ("flax.linen",), _members("LayerNorm(epsilon) RMSNorm(epsilon)"), (0, 0)),
    Family(
        "swap-optimiser",
        ("torch.optim",),
        _members(
            f"SGD(lr,momentum,weight_decay,nesterov,dampening) Adam({_ADAM},amsgrad)"
            f" AdamW({_ADAM},amsgrad) NAdam({_ADAM}) RAdam({_ADAM}) Adamax({_ADAM})"
            " RMSprop(lr,eps,weight_decay,alpha,momentum,centered) Adagrad(lr,eps,weight_decay)"
        ),
        (1, 2),
        frozenset(
            "momentum nesterov dampening betas eps amsgrad alpha centered weight_decay".split()
        ),
        lr={
            "SGD": 5e-2,
            "Adam": 1e-3,
            "AdamW": 1e-3,
            "NAdam": 1e-3,
            "RAdam": 1e-3,
            "Adamax": 2e-3,
            "RMSprop": 1e-3,
            "Adagrad": 1e-2,
        },
    ),
    Family(
        "swap-optimiser",
        ("keras.optimizers", "tensorflow.keras.optimizers"),
        _members(
            "SGD(learning_rate,momentum,nesterov) Adam(learning_rate,beta_1,beta_2,epsilon)"
            " AdamW(learning_rate,beta_1,beta_2,epsilon,weight_decay)"
            " Nadam(learning_rate,beta_1,beta_2,epsilon) RMSprop(learning_rate,rho,momentum)"
        ),
        (0, 1),
        frozenset("momentum nesterov beta_1 beta_2 epsilon weight_decay rho".split()),
        lr={"SGD": 5e-2, "Adam": 1e-3, "AdamW": 1e-3, "Nadam": 1e-3, "RMSprop": 1e-3},
    ),
    Family(
        "swap-optimiser",
        ("optax",),
        _members(
            "sgd(learning_rate,momentum,nesterov) adam(learning_rate,b1,b2,eps)"
            " adamw(learning_rate,b1,b2,eps,weight_decay) nadam(learning_rate,b1,b2,eps)"
            " rmsprop(learning_rate,decay,eps,momentum) lion(learning_rate,b1,b2,weight_decay)"
        ),
        (0, 1),
        frozenset("momentum nesterov b1 b2 eps weight_decay decay".split()),
        lr={"sgd": 5e-2, "adam": 1e-3, "adamw": 1e-3, "nadam": 1e-3, "rmsprop": 1e-3, "lion": 2e-4},
    ),
    Family(
        "swap-schedule",
        ("torch.optim.lr_scheduler",),
        _members(
            "CosineAnnealingLR(T_max,eta_min) CosineAnnealingWarmRestarts(T_0,eta_min,T_mult)"
            " PolynomialLR(total_iters,power)"
        ),
        (1, 2),
        frozenset({"eta_min", "T_mult", "power"}),
        alias={
            "CosineAnnealingLR": "T_max",
            "CosineAnnealingWarmRestarts": "T_0",
            "PolynomialLR": "total_iters",
        },
    ),
    Family(
        "swap-init",
        ("torch.nn.init",),
        _members(
            "xavier_uniform_(gain) xavier_normal_(gain) orthogonal_(gain)"
            " kaiming_uniform_(a,mode,nonlinearity) kaiming_normal_(a,mode,nonlinearity)"
        ),
        (1, 1),
        frozenset({"gain", "a", "mode", "nonlinearity"}),
    ),
    Family(
        "swap-init",
        ("torch.nn.init",),
        _members("normal_(mean,std) trunc_normal_(mean,std)"),
        (1, 3),
    ),
    Family(
        "swap-data",
        ("sklearn.preprocessing",),
        _members("StandardScaler MinMaxScaler RobustScaler MaxAbsScaler"),
        (0, 0),
    ),
)

WORDS: tuple[tuple[str, frozenset[str]], ...] = (
    (
        "swap-activation",
        frozenset(
            "relu gelu silu swish tanh sigmoid elu selu leaky_relu leakyrelu softplus mish"
            " hardswish relu2 squared_relu identity linear sine".split()
        ),
    ),
    ("swap-optimiser", frozenset("sgd adam adamw rmsprop adagrad nesterov lion momentum".split())),
    (
        "swap-norm",
        frozenset("layernorm layer_norm batchnorm batch_norm rmsnorm rms_norm no_norm".split()),
    ),
    (
        "swap-schedule",
        frozenset("cosine linear constant step exponential polynomial warmup_cosine".split()),
    ),
    (
        "swap-init",
        frozenset("xavier glorot he kaiming orthogonal lecun uniform normal".split()),
    ),
)
"""Names a program gives to its own functions, by the operator that swaps them."""

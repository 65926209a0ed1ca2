"""Moves of one number, and how the result is spelled."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from lae_controller.change.identifiers import words
from lae_controller.mutators.names import Role

NEAR = math.log(2.0)
FAR = math.log(10.0)
_USUAL = math.log(3.0)
_LEAST = math.log(1.2)  # a smaller step drowns in the noise of training

_TYPICAL: tuple[tuple[str, tuple[float, ...]], ...] = (
    ("dropout", (0.05, 0.1, 0.2)),
    ("drop", (0.05, 0.1, 0.2)),
    ("momentum", (0.8, 0.9, 0.95)),
    ("beta", (0.9, 0.99)),
    ("decay", (1e-4, 1e-3, 1e-2)),
    ("wd", (1e-4, 1e-3, 1e-2)),
    ("l", (1e-5, 1e-4, 1e-3)),
    ("reg", (1e-4, 1e-3, 1e-2)),
    ("lambda", (1e-4, 1e-3, 1e-2)),
    ("lam", (1e-4, 1e-3, 1e-2)),
    ("alpha", (1e-4, 1e-2, 0.1)),
    ("smoothing", (0.05, 0.1)),
    ("clip", (0.5, 1.0, 5.0)),
    ("norm", (0.5, 1.0, 5.0)),
    ("noise", (0.01, 0.05, 0.1)),
    ("ema", (0.9, 0.99, 0.999)),
    ("warmup", (0.05, 0.1)),
    ("mixup", (0.1, 0.2)),
    ("std", (0.01, 0.02, 0.1)),
    ("prob", (0.1, 0.25)),
    ("p", (0.1, 0.25)),
)
_SWITCH_OFF = ("dropout", "drop", "decay", "wd", "reg", "smoothing", "noise")


def typical(name: str, rng: random.Random) -> float | None:
    """Return a usual value for a setting that is 0.0 (off); None if the name says nothing."""
    found = words(name)
    return next((rng.choice(values) for word, values in _TYPICAL if word in found), None)


def step(rng: random.Random, reach: float | None = None) -> float:
    """Return a log factor, never close to 0: mostly within a factor 3, at times up to 10.

    Args:
        reach: largest absolute value of the result; None for the mixture.
    """
    limit = reach if reach is not None else (_USUAL if rng.random() < 0.6 else FAR)
    return rng.choice((-1.0, 1.0)) * rng.uniform(_LEAST, limit)


def rounded(value: float) -> float:
    """Keep two significant digits."""
    return float(f"{value:.1e}")


def move(
    name: str, role: Role, value: float, rng: random.Random, reach: float | None = None
) -> float | None:
    """Return another value for a number; an int stays an int, a float a float.

    Args:
        value: an int or a float, told apart by type.
        reach: log factor that bounds moves of floats; None for the usual mixture.

    Returns:
        None if there is no move for it.
    """
    if isinstance(value, float):
        moved = _move_float(name, role, value, rng, reach)
    else:
        moved = _move_int(name, role, value, rng)
    return None if moved is None or moved == value else moved


def toward(role: Role, old: float, new: float, share: float) -> float:
    """Return the point ``share`` of the way from ``old`` to ``new`` on the number's own scale.

    A share above 1 goes on beyond ``new``. Floats of one sign move by their logarithm,
    fractions by their odds (0 stands for a quarter of the other), the rest in a straight line.
    """
    if isinstance(old, float) and role is Role.FRACTION and max(old, new) < 1:
        start, end = _logit(old or new / 4), _logit(new or old / 4)
        return _fraction(start + share * (end - start))
    if old * new > 0:
        size = abs(old) * (new / old) ** share
        moved = math.copysign(size, old)
    else:
        moved = old + share * (new - old)
    return rounded(moved) if isinstance(old, float) else round(moved)


def spell(value: float, like: str) -> str:
    """Write a number as source text that Python, YAML 1.1, YAML 1.2 and JSON all read alike.

    Args:
        like: the text it replaces; an exponent there is kept for small values.
    """
    if isinstance(value, int):
        return str(value)
    small = 1e-2 if "e" in like.lower() else 1e-4
    if value == 0 or small <= abs(value) < 1e6:
        return repr(value)
    mantissa, _, exponent = f"{value:.3e}".partition("e")
    mantissa = mantissa.rstrip("0")
    return f"{mantissa}{'0' if mantissa.endswith('.') else ''}e{int(exponent):+d}"


def _move_float(
    name: str, role: Role, value: float, rng: random.Random, reach: float | None
) -> float | None:
    if not math.isfinite(value):
        return None
    if value == 0:
        return typical(name, rng)
    found = words(name)
    if reach is None and rng.random() < 0.08 and any(word in found for word in _SWITCH_OFF):
        return 0.0
    delta = step(rng, reach)
    if role is Role.FRACTION and 0 < value < 1:
        moved = _fraction(_logit(value) + delta)
        return min(moved, 0.9) if {"dropout", "drop"} & set(found) else moved
    return rounded(value * math.exp(delta))


def _logit(value: float) -> float:
    return math.log(value / (1 - value))


def _fraction(logit: float) -> float:
    """Return the fraction with these odds, with two digits of its distance to the nearer end."""
    if logit > 0:
        rest = rounded(1 / (1 + math.exp(min(logit, 11.0))))
        return round(1 - rest, 12)
    return rounded(1 / (1 + math.exp(-max(logit, -11.0))))


def _move_int(name: str, role: Role, value: int, rng: random.Random) -> int | None:
    if value <= 0:
        return 1 if value == 0 and role in (Role.COUNT, Role.SIZE) else None
    if "kernel" in words(name):
        return rng.choice([size for size in (value - 2, value + 2) if size > 0])
    moves: dict[Role, Callable[[int, random.Random], int]] = {
        Role.SIZE: _move_size,
        Role.COUNT: _move_count,
    }
    return moves.get(role, _move_plain)(value, rng)


def _move_size(value: int, rng: random.Random) -> int:
    power = 2 ** round(math.log2(value))
    if power == value:
        options, weights = [value * 2, value // 2, value * 4, value // 4], [7, 6, 4, 3]
    else:
        above = power if power > value else power * 2
        options = [above, above // 2, value * 2, value // 2, value * 3 // 2]
        weights = [3, 3, 2, 2, 2]
    return max(rng.choices(options, weights)[0], 1)


def _move_count(value: int, rng: random.Random) -> int:
    return max(rng.choices([value + 1, value - 1, value * 2], [5, 3, 2])[0], 1)


def _move_plain(value: int, rng: random.Random) -> int:
    return max(rng.choice([value + 1, value - 1, value * 2, value // 2]), 1)

"""A setting of a training program: what it is called, how it is set, what it is by default."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Way(IntEnum):
    """How a setting is set, the most dependable way first."""

    OPTION = 0
    OVERRIDE = 1
    ENVIRONMENT = 2
    CONFIG = 3
    CONSTANT = 4


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing a training run can be told.

    Attributes:
        name: see `plain_name`.
        key: the form in which the controller can set it (see `budget_key`); None where
            nothing outside the code sets it.
        default: its literal default; None if there is none or it is computed.
        where: ``file:line``, or ``file:key`` in a setting file.
        flags: every spelling on the command line, such as ``("--epochs", "-e")``.
    """

    name: str
    way: Way
    key: str | None
    default: object
    where: str
    flags: tuple[str, ...] = ()

    @property
    def number(self) -> int | float | None:
        """The default as a number above zero; None if it is something else (-1: no limit)."""
        value = self.default
        if isinstance(value, str) and re.fullmatch(r"\d+(\.\d+)?", value):
            value = float(value) if "." in value else int(value)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            return None
        return int(value) if value == int(min(value, 1e15)) else value


def plain_name(written: str) -> str:
    """Return ``max_epochs`` for ``--trainer.max-epochs``, ``maxEpochs`` and ``MAX_EPOCHS``."""
    last = written.lstrip("-").rsplit(".", 1)[-1].replace("-", "_")
    return _CAMEL.sub("_", last).lower()

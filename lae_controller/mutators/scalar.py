"""A literal value of a program: what it is, what it is called, where it stands."""

from __future__ import annotations

from dataclasses import dataclass

from lae_controller.mutators.names import Role, role_of

Value = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Scalar:
    """One literal.

    Attributes:
        start, end: its characters in the file, sign or quotes included.
        text: those characters.
        name: the identifier that it is bound to, such as ``lr``; empty if there is none.
        key: its place, the same in another version of the file: scope, name, running number.
        weight: how likely a change here makes sense; 1 for a named setting.
    """

    path: str
    start: int
    end: int
    text: str
    value: Value
    name: str
    key: tuple[str, ...]
    weight: float

    @property
    def number(self) -> float | None:
        """The value if it is an int or a float, and no flag."""
        if isinstance(self.value, (bool, str)):
            return None
        return self.value

    @property
    def role(self) -> Role | None:
        """How it may be moved; None if it is no number."""
        return None if self.number is None else role_of(self.name, self.number)

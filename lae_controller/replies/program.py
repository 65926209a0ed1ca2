"""What a reply is read against, and what a way of reading it comes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lae_controller.change.diff import is_editable
from lae_controller.change.evolve_blocks import outside_changed
from lae_controller.errors import ConfigError, DiffError
from lae_controller.program import Files, Reason


@dataclass(frozen=True, slots=True)
class Program:
    """The parent.

    Attributes:
        files: its files, all of them.
        editable: paths and globs of those that may be changed.
    """

    files: Files
    editable: tuple[str, ...]

    @property
    def mine(self) -> tuple[str, ...]:
        """Paths of the files that may be changed."""
        return tuple(path for path in sorted(self.files) if is_editable(path, self.editable))


@dataclass(frozen=True, slots=True)
class Reading:
    """The program that a reply comes to.

    Attributes:
        files: all files.
        repaired: what was forgiven, in words.
    """

    files: Mapping[str, str]
    repaired: tuple[str, ...] = ()


def check_bounds(before: Files, after: Files) -> None:
    """Check that nothing outside the evolve blocks differs.

    Raises:
        DiffError: ``out_of_bounds``, naming the line.
    """
    for path, text in after.items():
        try:
            sentence = outside_changed(path, before.get(path, text), text)
        except ConfigError as error:  # a new file with half a marker in it
            sentence = str(error)
        if sentence is not None:
            raise DiffError(sentence, Reason.OUT_OF_BOUNDS)

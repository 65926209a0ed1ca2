"""What a person at a terminal sees while a run goes on: live, in plain lines, or nothing."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Protocol

from lae_controller.parts import Core, UnderWay
from lae_controller.remarks import Say, silent


class Screen(AbstractContextManager["Screen"], Protocol):
    """Takes what a run has to show; used as a context that ends with the run."""

    def say(self, text: str) -> None:
        """Take a remark, which stays readable."""
        ...

    def status(self, text: str) -> None:
        """Take the status line of a generation."""
        ...

    def watch(self, core: Core) -> None:
        """Look at this run from now on; its state is read only inside ``tick``."""
        ...

    def tick(self, now: UnderWay) -> None:
        """Take what is under way; called several times a second by the controller's thread."""
        ...


class PlainLines(Screen):
    """Remarks and status lines, one after the other; for logs, pipes and dumb terminals."""

    def __init__(self, say: Say) -> None:
        self._say = say

    def __exit__(self, *_: object) -> None:
        """Leave things as they are."""

    def say(self, text: str) -> None:
        """Say the remark."""
        self._say(text)

    def status(self, text: str) -> None:
        """Say the status line."""
        self._say(text)

    def watch(self, core: Core) -> None:
        """Look at nothing: a status line comes with each generation."""

    def tick(self, now: UnderWay) -> None:
        """Show nothing."""


def screen_for(title: str, say: Say, quiet: bool) -> Screen:
    """Return what fits where stderr goes: a live picture in a terminal, else plain lines.

    Args:
        title: of the picture.
        say: takes plain lines.
        quiet: whether nothing is to be shown at all.
    """
    if quiet:
        return PlainLines(silent)
    if not sys.stderr.isatty():
        return PlainLines(say)
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_dumb_terminal or not console.is_terminal:
        return PlainLines(say)
    from lae_controller.views.live.terminal import LiveTerminal

    return LiveTerminal(console, title)

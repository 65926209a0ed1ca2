"""What the dashboard sends, as HTML: everything in it is escaped by the templates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lae_controller.config import Settings
from lae_controller.views.dashboard.program import Opened
from lae_controller.views.live.frame import Frame
from lae_controller.views.report.make import page_text, plotly_text, render

_STYLED = re.compile(r'getElementById\("([0-9a-f]{64})"\)')
"""Where plotly brings in styles of geographic maps, which are not used here and which the policy
of the page would refuse, with a word in the console; not if an element of that name is there."""

PAGE = Path(__file__).parent / "page"


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of the list of runs.

    Attributes:
        key: names it in addresses.
        kind: ``run`` or ``experiment``.
        where: it lies, or its id.
        word: where it stands (see ``facts.Standing``).
    """

    key: str
    kind: str
    name: str
    where: str
    word: str
    sentence: str


def now_html(frame: Frame, *, by_clients: bool) -> str:
    """Return what runs and what ended lately.

    Args:
        frame: this moment.
        by_clients: whether programs are with clients, not in slots of this machine.
    """
    return render("now.html.j2", frame=frame, by_clients=by_clients)


def waiting_html(title: str, sentence: str) -> str:
    """Return the sections of something of which there is nothing to show yet."""
    return render("waiting.html.j2", title=title, sentence=sentence)


def program_html(found: Opened, settings: Settings) -> str:
    """Return one program, opened."""
    return render("program.html.j2", found=found, settings=settings)


def runs_html(listed: Sequence[Listed]) -> str:
    """Return the list of everything that can be looked at."""
    return render("runs.html.j2", listed=listed)


@cache
def assets() -> dict[str, tuple[str, bytes]]:
    """Return the files that the page loads: name -> (media type, content).

    Raises:
        PrerequisiteError: if what the page is made with is not installed.
    """
    script, style = "text/javascript", "text/css"
    own = {name: (PAGE / name).read_text(encoding="utf-8") for name in ("live.js", "live.css")}
    found = {
        "plotly.js": (script, plotly_text()),
        "script.js": (script, page_text("script.js")),
        "live.js": (script, own["live.js"]),
        "style.css": (style, page_text("style.css") + own["live.css"]),
    }
    return {name: (kind, text.encode()) for name, (kind, text) in found.items()}


@cache
def shell() -> bytes:
    """Return the page around everything; it holds no data.

    Raises:
        PrerequisiteError: if what the page is made with is not installed.
    """
    there = "".join(f'<template id="{name}"></template>' for name in _STYLED.findall(plotly_text()))
    page = (PAGE / "shell.html").read_text(encoding="utf-8")
    return page.replace("</body>", f"{there}\n</body>").encode()

"""A new value without the line that it replaces, where the file leaves no doubt which that is."""

from __future__ import annotations

import re

from lae_controller.change.source import split_lines
from lae_controller.replies.markers import Mark, mark_of
from lae_controller.replies.program import Program

_ASSIGNED = re.compile(r"[ \t]*(?P<name>[\w.]+(?:[ \t]*:[ \t]*\w+)?)[ \t]*=(?!=)[ \t]*\S.*")


def reassigned(text: str, program: Program) -> str | None:
    """Return a reply that holds nothing but a new value as the block that it stands for.

    Such a reply has the closing marker of one block, no opening one, and above the marker the one
    line ``name = value``. None unless it is so, and one line of one file that may be changed
    gives that name a value.
    """
    marks = [(mark_of(line), line) for line in text.splitlines() if line.strip()]
    kinds = [mark for mark, _ in marks if mark not in (Mark.FENCE, Mark.MIDDLE)]
    if kinds[:2] != [Mark.TEXT, Mark.CLOSE_NEW] or set(kinds[2:]) - {Mark.TEXT}:
        return None
    new = next(line.strip() for mark, line in marks if mark is Mark.TEXT)
    wanted = _name(new)
    there = [
        (path, line)
        for path in program.mine
        for line in map(str.rstrip, split_lines(program.files[path]))
        if wanted is not None and _name(line) == wanted
    ]
    if len(there) != 1:
        return None
    path, old = there[0]
    space = old[: len(old) - len(old.lstrip())]
    return f"`{path}`\n<<<<<<< SEARCH\n{old}\n=======\n{space}{new}\n>>>>>>> REPLACE\n"


def _name(line: str) -> str | None:
    found = _ASSIGNED.fullmatch(line)
    return None if found is None else found["name"]

"""What a change is, read from the change itself: its kind, and one line about it."""

from __future__ import annotations

import difflib

from lae_controller.change.intervention import classify, kinds_in
from lae_controller.program import Files, Intervention, one_line

_SHOWN = 3  # changed lines that a summary quotes


def changed_lines(before: Files, after: Files) -> tuple[list[str], list[str]]:
    """Return the lines that went and those that came, stripped, blank ones left out."""
    gone: list[str] = []
    came: list[str] = []
    for path in sorted(after):
        old, new = before.get(path, "").splitlines(), after[path].splitlines()
        for line in difflib.ndiff(old, new):
            if line[:2] == "- " and line[2:].strip():
                gone.append(line[2:].strip())
            elif line[:2] == "+ " and line[2:].strip():
                came.append(line[2:].strip())
    return gone, came


def kind_of(before: Files, after: Files, stated: Intervention | None) -> Intervention:
    """Return the kind of intervention: as stated, unless the changed lines speak clearly of others.

    They do if they hold words of other kinds and none of the one that was stated.
    """
    gone, came = changed_lines(before, after)
    text = "\n".join([*gone, *came])
    there = kinds_in(text)
    if stated is not None and (stated in there or not there):
        return stated
    return classify(text, "")


def describe(before: Files, after: Files) -> str:
    """Return one line on a change that its maker did not sum up: the lines themselves."""
    gone, came = changed_lines(before, after)
    if not came:
        return one_line(f"without {' / '.join(gone[:_SHOWN])}")
    old, new = " / ".join(gone[:_SHOWN]), " / ".join(came[:_SHOWN])
    more = " …" if max(len(gone), len(came)) > _SHOWN else ""
    return one_line(f"{old} -> {new}{more}" if gone else f"with {new}{more}")

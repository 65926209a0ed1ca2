"""What a change is, read from the change itself: its kind, and one line about it."""

from __future__ import annotations

from lae_controller.change.changed_lines import changed_lines
from lae_controller.change.identifiers import setting
from lae_controller.change.intervention import classify, kinds_in
from lae_controller.program import Files, Intervention, one_line

_SHOWN = 3  # changed lines that a summary quotes
_LONGEST = 140  # characters of one
_BLANK = "nothing but blank lines"


def _gone_and_come(before: Files, after: Files) -> tuple[list[str], list[str]]:
    lines = [
        line for path in sorted(after) for line in changed_lines(before.get(path, ""), after[path])
    ]
    gone = [line[1:].strip() for line in lines if line[0] == "-"]
    return gone, [line[1:].strip() for line in lines if line[0] == "+"]


def kind_of(before: Files, after: Files, stated: Intervention | None) -> Intervention:
    """Return the kind of intervention: as stated, unless the change is clearly of another.

    It is if all that changes is the values of settings, and their names speak of other kinds.
    """
    gone, came = _gone_and_come(before, after)
    lines = [*gone, *came]
    if stated is None:
        return classify("\n".join(lines), "")
    settings = [found[0] for line in lines if (found := setting(line))]
    kinds = kinds_in("\n".join(settings)) if len(settings) == len(lines) else frozenset()
    return stated if stated in kinds or not kinds else classify("\n".join(settings), "")


def describe(before: Files, after: Files) -> str:
    """Return one line on a change that its maker did not sum up: its first lines."""
    gone, came = _gone_and_come(before, after)
    old, new = " / ".join(gone[:_SHOWN]), " / ".join(came[:_SHOWN])
    if gone and came:
        return one_line(f"{old} -> {new}", _LONGEST)
    return one_line(f"with {new}" if came else f"without {old}" if gone else _BLANK, _LONGEST)

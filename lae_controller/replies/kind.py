"""What a change is, read from the change itself: its kind, and one line about it."""

from __future__ import annotations

from lae_controller.change.changed_lines import changed_lines
from lae_controller.change.intervention import classify, kinds_in
from lae_controller.program import Files, Intervention, one_line

_LONGEST = 120  # characters of changed lines that a summary quotes


def _gone_and_come(before: Files, after: Files) -> tuple[list[str], list[str]]:
    lines = [
        line for path in sorted(after) for line in changed_lines(before.get(path, ""), after[path])
    ]
    gone = [line[1:].strip() for line in lines if line[0] == "-"]
    return gone, [line[1:].strip() for line in lines if line[0] == "+"]


def kind_of(before: Files, after: Files, stated: Intervention | None) -> Intervention:
    """Return the kind of intervention: as stated, unless the changed lines speak clearly of others.

    They do if they hold words of other kinds and none of the one that was stated.
    """
    gone, came = _gone_and_come(before, after)
    text = "\n".join([*gone, *came])
    there = kinds_in(text)
    if stated is not None and (stated in there or not there):
        return stated
    return classify(text, "")


def describe(before: Files, after: Files) -> str:
    """Return one line on a change that its maker did not sum up: its first lines."""
    gone, came = _gone_and_come(before, after)
    shown = f"{gone[0]} -> {came[0]}" if gone and came else f"with {came[0]}" if came else ""
    shown = shown or f"without {gone[0]}"
    more = max(len(gone), len(came)) - 1
    return one_line(f"{one_line(shown, _LONGEST)} and {more} more lines" if more else shown)

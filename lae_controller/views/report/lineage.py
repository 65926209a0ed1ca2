"""How the best program came about: its ancestors, its change at each step, and who stood beside."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lae_controller.parts import Core
from lae_controller.program import Direction, is_baseline
from lae_controller.results import path_of
from lae_controller.views.report.history import Child

MOST_LINES = 300
"""Lines of a diff that are shown; of a longer one it is said how many there are."""

MOST_STEPS = 60
"""Steps whose diff is shown; of a longer line the first ones are named without it."""


@dataclass(frozen=True, slots=True)
class Diff:
    """A change for people.

    Attributes:
        lines: (kind, text); the kind is ``add``, ``del``, ``hunk``, ``file`` or empty.
        left_out: how many lines are not shown.
        note: why there is nothing to show; empty if there is.
    """

    lines: tuple[tuple[str, str], ...] = ()
    left_out: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One program on the way from the baseline to the best.

    Attributes:
        gain: in fitness, over its parent as both were told; None for the baseline.
        siblings: the other children of its parent, and how many of them were kept.
        diff: against the parent; None for the baseline.
    """

    child: Child
    gain: float | None
    siblings: int
    kept_siblings: int
    diff: Diff | None


def line_of(child_id: str, children: Mapping[str, Child]) -> list[Child]:
    """Return the ancestors of a program, the baseline first and the program itself last."""
    line: list[Child] = []
    at = children.get(child_id)
    while at is not None and at not in line:
        line.append(at)
        at = children.get(at.record.parent_id or "")
    return line[::-1]


def steps_of(core: Core, line: Sequence[Child], children: Mapping[str, Child]) -> list[Step]:
    """Return the steps of a line with what each changed."""
    families = family(children)
    steps = []
    for place, child in enumerate(line):
        parent = line[place - 1] if place else None
        others = [it for it in families[child.record.parent_id or ""] if it is not child]
        shown = place > 0 and place > len(line) - MOST_STEPS
        steps.append(
            Step(
                child,
                None if parent is None else gain_over(child, parent, core.settings.direction),
                len(others) if parent else 0,
                sum(it.kept for it in others) if parent else 0,
                diff_of(core, child.record.child_id, child.record.parent_id or "")
                if shown
                else None,
            )
        )
    return steps


def family(children: Mapping[str, Child]) -> Mapping[str, list[Child]]:
    """Return the children of each program."""
    families: dict[str, list[Child]] = defaultdict(list)
    for child in children.values():
        if child.record.parent_id is not None:
            families[child.record.parent_id].append(child)
    return families


def gain_over(child: Child, parent: Child, direction: Direction) -> float | None:
    """Return by how much fitness rose; None if one of them has no metric."""
    mine, theirs = child.record.metric, parent.record.metric
    if mine is None or theirs is None:
        return None
    return direction.fitness(mine) - direction.fitness(theirs)


def diff_of(core: Core, child_id: str, against: str) -> Diff:
    """Return what a program has that an earlier one has not, from their directories.

    Where one of them is gone the change as it was proposed is shown.
    """
    mine, other = _directory(core, child_id), _directory(core, against)
    if mine is None or other is None:
        return _proposed(path_of(core.settings.lae_dir, child_id).with_suffix(".diff"))
    text = core.diff(other, mine).decode("utf-8", "replace")
    return diff_lines(text) if text else Diff(note="The texts are the same.")


def _directory(core: Core, child_id: str) -> Path | None:
    lae = core.settings.lae_dir
    folder = lae / "base" if is_baseline(child_id) else core.children.directory(child_id)
    return folder if folder.is_dir() else None


def _proposed(path: Path) -> Diff:
    if not path.is_file():
        return Diff(note="The program's directory is gone, and its change was not kept.")
    text = path.read_text(encoding="utf-8", errors="replace")
    found = diff_lines(text)
    return Diff(found.lines, found.left_out, "As it was proposed; its directory is gone.")


def diff_lines(text: str) -> Diff:
    """Return a unified diff line by line, cut off where it becomes too long to read."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    shown = tuple((_kind(line), line) for line in lines[:MOST_LINES])
    return Diff(shown, max(0, len(lines) - MOST_LINES))


def _kind(line: str) -> str:
    if line.startswith(("diff --git ", "--- ", "+++ ", "new file", "deleted file")):
        return "file"
    if line.startswith("@@"):
        return "hunk"
    return {"+": "add", "-": "del"}.get(line[:1], "")

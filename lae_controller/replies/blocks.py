"""SEARCH/REPLACE blocks of a reply, with more forgiveness than ``apply_change`` has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from lae_controller.change.diff import apply_change
from lae_controller.change.diff_match import Lines, find, splice
from lae_controller.change.diff_parse import Block, parse
from lae_controller.change.syntax import check_syntax
from lae_controller.errors import ChildError, DiffError
from lae_controller.program import Reason
from lae_controller.replies.markers import mend_markers
from lae_controller.replies.places import (
    place_by_numbers,
    place_loosely,
    replace_part,
    without_some_numbers,
)
from lae_controller.replies.program import Program, Reading, check_bounds
from lae_controller.replies.reassigned import reassigned
from lae_controller.replies.whole import left_out, resembles, restored


def read_blocks(text: str, program: Program) -> Reading:
    """Apply the blocks as they stand, or as they must have been meant.

    Raises:
        DiffError: what is wrong with them as they stand.
    """
    try:
        applied = apply_change(program.files, text, editable=program.editable)
    except DiffError as error:
        if error.reason is not Reason.BAD_DIFF:
            raise
        return _mended(text, program, error)
    reading = Reading(applied.files, ("indentation",) if applied.repaired else ())
    return _parted_once(text, program, reading)


def _parted_once(text: str, program: Program, reading: Reading) -> Reading:
    """Read blocks with several separators anew, if the file would be broken by one of them."""
    blocks = parse(text, program.files)
    if all(len(block.separators) == 1 for block in blocks) or _is_sound(reading, program):
        return reading
    try:
        return _mended(text, program, _several(blocks))
    except DiffError:
        return reading


def _several(blocks: Sequence[Block]) -> DiffError:
    number = next(block.number for block in blocks if len(block.separators) > 1)
    return DiffError(f"block {number} has several ======= lines; write one, after SEARCH")


def _mended(text: str, program: Program, error: DiffError) -> Reading:
    """Read blocks that do not apply; ``error`` says why, and stands if nothing is sure."""
    mended = mend_markers(text)
    candidates = ((text, ()), (mended, ("markers",)), (reassigned(text, program), ("SEARCH",)))
    for candidate, slips in candidates:
        if candidate is None or (slips and candidate.split() == text.split()):
            continue
        try:
            reading = _one_by_one(candidate, program, slips)
        except DiffError as other:
            if other.reason is not Reason.BAD_DIFF:
                raise
            if slips and "markers" in error.detail:
                error = other  # of what it meant to say, not of how it said it
        else:
            if _is_sound(reading, program):
                return reading
    raise error


def _is_sound(reading: Reading, program: Program) -> bool:
    """Say whether what parsed still does, and only blocks differ: else the guess was wrong."""
    try:
        check_bounds(program.files, reading.files)
        check_syntax(program.files, reading.files)
    except ChildError:
        return False
    return True


def _one_by_one(text: str, program: Program, slips: tuple[str, ...]) -> Reading:
    current = dict(program.files)
    repaired = list(slips)
    for written in parse(text, program.files):
        block, forgiven = _once(written)
        repaired += forgiven
        added = current.keys() - program.files.keys()
        try:
            applied = apply_change(
                current, _written(block), editable=(*program.editable, *sorted(added))
            )
        except DiffError as error:
            if error.reason is Reason.NO_CHANGE:
                continue
            loose = _loosened(block, current, program)
            if error.reason is not Reason.BAD_DIFF or loose is None:
                raise
            path, after, slip = loose
            current[path] = after
            repaired.append(slip)
            continue
        current = applied.files
        repaired += ["indentation"] if applied.repaired else []
    if current == program.files:
        detail = "the change leaves every file as it was; make REPLACE differ from SEARCH"
        raise DiffError(detail, Reason.NO_CHANGE)
    return Reading(current, tuple(dict.fromkeys(repaired)))


def _once(block: Block) -> tuple[Block, tuple[str, ...]]:
    """Return a block with one separator, where the others part nothing but copies.

    What stands between separators is SEARCH again, or one and the same replacement. SEARCH again
    and nothing else is no replacement: neither that the lines stay nor that they go is sure.
    """
    bounds = (-1, *block.separators, len(block.body))
    search, *others = (block.body[start + 1 : stop] for start, stop in pairwise(bounds))
    meant = dict.fromkeys(other for other in others if other != search)
    if len(others) < 2 or len(meant) != 1 or (search in others and () in meant):
        return block, ()
    return replace(block, body=(*search, "=======", *next(iter(meant)))), ("separators",)


def _written(block: Block) -> str:
    title = [] if block.path is None else [f"`{block.path}`"]
    lines = [*title, "<<<<<<< SEARCH", *block.body, ">>>>>>> REPLACE"]
    return "".join(f"{line}\n" for line in lines)


def _loosened(
    block: Block, current: Mapping[str, str], program: Program
) -> tuple[str, str, str] | None:
    """Return path, new text and the slip that was forgiven; None if nothing is sure."""
    path = block.path or (program.mine[0] if len(program.mine) == 1 else None)
    if len(block.separators) != 1 or (path is not None and path not in program.mine):
        return None
    at = block.separators[0]
    old, new = list(block.body[:at]), list(block.body[at + 1 :])
    if path is not None and path in current:
        found = _loosely(path, old, new, current[path])
        if found is not None:
            return path, *found
    return _elsewhere(path, old, new, current, program)


def _elsewhere(
    path: str | None,
    old: Sequence[str],
    new: Sequence[str],
    current: Mapping[str, str],
    program: Program,
) -> tuple[str, str, str] | None:
    """Place a block in the one other file that holds its SEARCH, line by line as it is written."""
    others = [
        (other, lines, at)
        for other in program.mine
        if other != path
        for lines in (Lines.of(current[other]),)
        for at in find(old, new, lines)
    ]
    if len(others) != 1:
        return None
    other, lines, edit = others[0]
    return other, splice(lines, edit), "the path of a file"


def _loosely(
    path: str, old: Sequence[str], new: Sequence[str], before: str
) -> tuple[str, str] | None:
    bare = without_some_numbers(old, new)
    after = place_loosely(*(bare or (old, new)), before)
    if after is not None:
        return after, "line numbers" if bare else "lines that were not copied exactly"
    part = replace_part(old, new, before)
    if part is not None:
        return part, "a part of a line"
    after = place_by_numbers(old, new, before)
    if after is not None:
        return after, "numbers"
    halves = ["".join(f"{line}\n" for line in half) for half in (old, new)]
    if left_out(before, halves[1]) or not all(resembles(path, half, before) for half in halves):
        return None
    whole = restored(path, before, halves[1])
    return None if whole is None else (whole, "the whole file in one block")

"""From the text of a reply to a change that applies exactly.

A reply is read as SEARCH/REPLACE blocks, as a unified diff, or as whole files in code fences,
whichever it holds. Slips are forgiven where only one thing can have been meant (see ``markers``,
``places``, ``whole``); what was forgiven is said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lae_controller.change.diff import apply_change, make_change
from lae_controller.change.diff_parse import parse
from lae_controller.errors import ChildError, DiffError
from lae_controller.program import Files, Intervention, Reason
from lae_controller.replies.blocks import read_blocks
from lae_controller.replies.kind import describe, kind_of
from lae_controller.replies.markers import holds_markers
from lae_controller.replies.program import Program, Reading, check_bounds
from lae_controller.replies.stated import read_stated, without_stated
from lae_controller.replies.unified import as_blocks
from lae_controller.replies.whole import read_whole

_THOUGHT = re.compile(r"<(think|thinking|thought)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_SERVICE_ERROR = re.compile(
    r"(?:API Error\b|Error code: [45]\d\d|\{\s*\"(?:type\"\s*:\s*\"error|error)\"|Rate limit"
    r"|Too many requests|Service unavailable|Internal server error|Overloaded\b|Upstream error)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a reply proposes.

    Attributes:
        change: SEARCH/REPLACE text which ``apply_change`` takes exactly, derived from what the
            reply comes to; never empty.
        summary: one line without tab, newline or comma; never empty.
        intervention: as the reply states it, unless the change clearly says otherwise.
        promise: from 1 to 10; None if the reply does not say.
        repaired: what had to be forgiven to read it, in words; empty if nothing.
    """

    change: str
    summary: str
    intervention: Intervention
    promise: float | None
    repaired: tuple[str, ...]


def read_reply(text: str, task_files: Files, editable: Sequence[str], mode: str) -> Reply:
    """Read the reply of a model.

    Args:
        text: the whole reply. One that was cut at a token limit must not come here: the half of
            a function may well look whole.
        task_files: the parent's files.
        editable: which of them may be changed (paths and globs).
        mode: what was asked for, ``diff`` or ``files``.

    Raises:
        DiffError: if there is no change in it that surely was meant; the detail is written for
            the model. ``out_of_bounds`` and ``no_change`` where that is what is wrong.
        ChildError: ``mutator_error`` for an empty reply, ``environment`` for the error text of
            a service.
    """
    answer = _THOUGHT.sub("", text)
    _refuse_no_answer(answer)
    stated = read_stated(answer)
    program = Program(task_files, tuple(editable))
    reading = _read(without_stated(answer), program, mode)
    change = _derived(program, reading.files)
    after = apply_change(task_files, change, editable=editable).files
    return Reply(
        change,
        stated.summary or describe(task_files, after),
        kind_of(task_files, after, stated.kind),
        stated.promise,
        reading.repaired,
    )


def _refuse_no_answer(answer: str) -> None:
    if not answer.strip():
        raise ChildError(Reason.MUTATOR_ERROR, "the model's reply is empty; expected a change")
    first = answer.strip().splitlines()[0]
    if _SERVICE_ERROR.match(first) and not holds_markers(answer) and "```" not in answer:
        raise ChildError(Reason.ENVIRONMENT, f"the service answered with an error: {first[:300]}")


def _read(text: str, program: Program, mode: str) -> Reading:
    if holds_markers(text):
        reading = read_blocks(text, program)
    elif (blocks := as_blocks(text)) is not None:
        found = read_blocks(blocks, program)
        reading = Reading(found.files, ("unified diff", *found.repaired))
    elif mode == "files":
        reading = Reading(read_whole(text, program).files)
    else:
        reading = _last_resort(text, program)
    check_bounds(program.files, reading.files)
    return reading


def _last_resort(text: str, program: Program) -> Reading:
    """Take a whole file for the block that was asked for, if it is plain that it is one."""
    try:
        reading = read_whole(text, program)
    except DiffError:
        parse(text, program.files)  # which says what was expected
        raise
    if all(reading.files[path] == text for path, text in program.files.items()):
        parse(text, program.files)  # new files alone are examples, not a change
    return reading


def _derived(program: Program, after: Files) -> str:
    """Return the change that leads to ``after``.

    Raises:
        DiffError: if there is none, or SEARCH/REPLACE cannot express it.
    """
    try:
        change = make_change(program.files, after)
    except ValueError as error:
        raise DiffError(f"{error}; write the change without such lines") from error
    if not change:
        detail = "the change leaves every file as it was; make one that differs"
        raise DiffError(detail, Reason.NO_CHANGE)
    return change

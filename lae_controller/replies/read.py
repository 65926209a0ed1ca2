"""From the text of a reply to a change that applies exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lae_controller.change.diff import apply_change, make_change
from lae_controller.change.evolve_blocks import outside_changed
from lae_controller.change.intervention import classify
from lae_controller.errors import ChildError, DiffError
from lae_controller.program import Files, Intervention, Reason, one_line
from lae_controller.replies.stated import read_stated


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
            the model.
        ChildError: ``mutator_error`` for an empty reply, ``environment`` for the error text of
            a service.
    """
    if not text.strip():
        raise ChildError(Reason.MUTATOR_ERROR, "the model's reply is empty")
    applied = apply_change(task_files, text, editable=editable)
    for path, after in applied.files.items():
        sentence = outside_changed(path, task_files.get(path, after), after)
        if sentence is not None:
            raise DiffError(sentence, Reason.OUT_OF_BOUNDS)
    change = make_change(task_files, applied.files)
    stated = read_stated(text)
    return Reply(
        change,
        stated.summary or one_line(change),
        stated.kind or classify(change, ""),
        stated.promise,
        ("indentation",) if applied.repaired else (),
    )

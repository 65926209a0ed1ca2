"""Earlier proposals for the same child that came to nothing, as further turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lae_controller.program import Reason
from lae_controller.prompts.role import without_secrets
from lae_controller.prompts.turns import Turn
from lae_controller.task import Failure

_NOT_RUN = frozenset(
    {
        Reason.BAD_DIFF,
        Reason.NO_CHANGE,
        Reason.OUT_OF_BOUNDS,
        Reason.SYNTAX,
        Reason.PROTECTED,
        Reason.MUTATOR_ERROR,
    }
)
_LONGEST_REPLY = 6000  # characters of an answer that are shown again
_AGAIN = "Send the whole corrected change, against the program as it was shown above."
_OTHER = "Send a different change to the program as it was shown above."


def repair_turns(failures: Sequence[Failure], question: str) -> tuple[Turn, ...]:
    """Return the child's question and, for each failure, the answer and what was wrong with it."""
    turns = [Turn("user", question, cacheable=bool(failures))]
    for failure in failures:
        told = what_was_wrong(failure)
        if failure.reply.strip():
            turns += [Turn("assistant", _shown(failure.reply)), Turn("user", told)]
        else:  # no service takes an empty turn
            turns[-1] = Turn("user", f"{turns[-1].text}\n\n{told}")
    return tuple(_marked(turns))


def _marked(turns: Sequence[Turn]) -> Iterator[Turn]:
    """Yield the turns with the last one cacheable too, where a further repair may follow."""
    for at, turn in enumerate(turns):
        last = at == len(turns) - 1
        yield Turn(turn.role, turn.text, cacheable=turn.cacheable or last)


def what_was_wrong(failure: Failure) -> str:
    """Return what the user turn after a failed answer says."""
    detail = without_secrets(failure.detail).strip()
    if not failure.reply.strip():
        return f"An earlier attempt at this gave no answer ({detail})."
    if failure.reason is Reason.DUPLICATE:
        return f"That gives a program which was tried before: {detail}. {_OTHER}"
    if failure.reason in _NOT_RUN:
        return f"That could not be used: {detail}\n\n{_AGAIN}"
    return f"That was run and failed ({failure.reason.value}): {detail}\n\n{_AGAIN}"


def _shown(reply: str) -> str:
    text = reply.strip()
    return text if len(text) <= _LONGEST_REPLY else text[:_LONGEST_REPLY] + "\n…"

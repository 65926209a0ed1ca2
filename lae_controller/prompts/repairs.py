"""Earlier proposals for the same child that came to nothing, as further turns."""

from __future__ import annotations

from collections.abc import Sequence

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
    turns = [Turn("user", question)]
    for failure in failures:
        told = _wrong(failure)
        if failure.reply.strip():
            turns += [Turn("assistant", _shown(failure.reply)), Turn("user", told)]
        else:  # no service takes an empty turn
            turns[-1] = Turn("user", f"{turns[-1].text}\n\n{told}")
    return tuple(turns)


def remarks(failures: Sequence[Failure]) -> list[str]:
    """Return a paragraph on earlier attempts, for an agent that starts anew; none without any."""
    if not failures:
        return []
    details = [f"- {failure.reason.value}: {failure.detail.strip()}" for failure in failures]
    head = "Earlier attempts at this failed; the files are the parent's again:"
    return [without_secrets("\n".join([head, *details]))]


def _wrong(failure: Failure) -> str:
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

"""Two example turns about another tiny program, in the form that is asked for.

Measured with a model of 1.5 billion parameters: without them almost no reply is usable, with an
example inside the instructions that example comes back, with two turns most replies are usable.
One changes a constant and one a method's inner lines, or every reply would do the same as the one.
"""

from __future__ import annotations

from lae_controller.prompts.anchors import Anchor
from lae_controller.prompts.code import fenced
from lae_controller.prompts.ideas import with_anchor
from lae_controller.prompts.role import Form
from lae_controller.prompts.turns import Turn

_PATH = "heater.py"
_PROGRAM = """\
GAIN = 0.5
LIMIT = 10.0


class Heater:
    def __init__(self, start):
        self.power = start

    def update(self, wanted, measured, step):
        error = wanted - measured
        self.power += GAIN * error
        return min(self.power, LIMIT)
"""
_SCORE = "comfort: 0.62"
_CASES = (
    (
        ("a smaller gain", Anchor(_PATH, "GAIN = 0.5")),
        ("the gain is 0.2 instead of 0.5", "optimiser", "3"),
        (("GAIN = 0.5\n", "GAIN = 0.2\n"),),
    ),
    (
        ("a gain that falls with the steps", None),
        ("the gain falls with the steps", "schedule", "6"),
        (
            (
                "        self.power += GAIN * error\n",
                "        gain = GAIN / (1 + 0.1 * step)\n        self.power += gain * error\n",
            ),
        ),
    ),
)


def example_turns(form: Form, *, titled: bool, promise: bool) -> tuple[Turn, ...]:
    """Return the example turns; the last one ends what is the same for every child of a run."""
    turns: list[Turn] = []
    for (wording, anchor), (summary, kind, promised), edits in _CASES:
        idea = with_anchor(wording, anchor, titled=titled) if anchor else wording
        turns.append(Turn("user", question(_shown(titled), _SCORE, idea)))
        lines = [_answer(edits, form, titled), f"SUMMARY: {summary}", f"KIND: {kind}"]
        if promise:
            lines.append(f"PROMISE: {promised}")
        turns.append(Turn("assistant", "\n".join(lines)))
    turns[-1] = Turn("assistant", turns[-1].text, cacheable=True)
    return tuple(turns)


def question(code: str, about: str, idea: str) -> str:
    """Return what a user turn ends in, for examples and children alike."""
    parts = (code, about, f"Make one small change for this idea: {idea}.")
    return "\n\n".join(part for part in parts if part)


def _shown(titled: bool) -> str:
    return (f"{_PATH}\n" if titled else "") + fenced(_PROGRAM, _PATH)


def _answer(edits: tuple[tuple[str, str], ...], form: Form, titled: bool) -> str:
    if form is Form.FILES:
        text = _PROGRAM
        for old, new in edits:
            text = text.replace(old, new)
        return f"{_PATH}\n{fenced(text, _PATH)}"
    title = f"{_PATH}\n" if titled else ""
    return "\n".join(
        f"{title}<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE" for old, new in edits
    )

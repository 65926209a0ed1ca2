"""Two example turns about another tiny program, in the form that is asked for.

Measured with a model of 1.5 billion parameters: without them almost no reply is usable, with an
example inside the instructions that example comes back, with two turns most replies are usable.
One changes a constant and one a method's inner lines, or every reply would do the same as the one.
Where the program has several files the example has two, and each turn changes another of them, or
every reply would name the first file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lae_controller.prompts.anchors import Anchor
from lae_controller.prompts.code import fenced
from lae_controller.prompts.ideas import with_anchor
from lae_controller.prompts.role import Form
from lae_controller.prompts.turns import Turn

_ONE = {
    "heater.py": """\
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
}
_TWO = {
    "heater.py": """\
class Heater:
    def __init__(self, settings):
        self.gain = settings["gain"]
        self.power = 0.0

    def update(self, wanted, measured, step):
        error = wanted - measured
        self.power += self.gain * error
        return min(self.power, 10.0)
""",
    "heater.yaml": "gain: 0.5\nstart: 20\n",
}
_SCORE = "comfort: 0.62"


@dataclass(frozen=True, slots=True)
class _Case:
    """One change: ``old`` becomes ``new`` in the file at ``path``."""

    idea: str
    path: str
    old: str
    new: str
    stated: tuple[str, str, int]  # summary, kind, promise


def _cases(titled: bool) -> tuple[_Case, _Case]:
    path, old = ("heater.yaml", "gain: 0.5") if titled else ("heater.py", "GAIN = 0.5")
    gain = "self.gain" if titled else "GAIN"
    return (
        _Case(
            with_anchor("a smaller gain", Anchor(path, old), titled=titled),
            path,
            f"{old}\n",
            f"{old.replace('0.5', '0.2')}\n",
            ("the gain is 0.2 instead of 0.5", "optimiser", 3),
        ),
        _Case(
            "a gain that falls with the steps",
            "heater.py",
            f"        self.power += {gain} * error\n",
            f"        gain = {gain} / (1 + 0.1 * step)\n        self.power += gain * error\n",
            ("the gain falls with the steps", "schedule", 6),
        ),
    )


def example_turns(form: Form, *, titled: bool, promise: bool) -> tuple[Turn, ...]:
    """Return the example turns; the last one ends what is the same for every child of a run."""
    files = _TWO if titled else _ONE
    code = "\n\n".join(_titled(path, files[path], titled) for path in files)
    turns: list[Turn] = []
    for case in _cases(titled):
        summary, kind, promised = case.stated
        lines = [_answer(case, files, form, titled), f"SUMMARY: {summary}", f"KIND: {kind}"]
        if promise:
            lines.append(f"PROMISE: {promised}")
        turns.append(Turn("user", question(code, _SCORE, case.idea)))
        turns.append(Turn("assistant", "\n".join(lines)))
    turns[-1] = Turn("assistant", turns[-1].text, cacheable=True)
    return tuple(turns)


def question(code: str, about: str, idea: str) -> str:
    """Return what a user turn ends in, for examples and children alike."""
    parts = (code, about, f"Make one small change for this idea: {idea}.")
    return "\n\n".join(part for part in parts if part)


def _titled(path: str, text: str, titled: bool) -> str:
    return (f"{path}\n" if titled else "") + fenced(text, path)


def _answer(case: _Case, files: Mapping[str, str], form: Form, titled: bool) -> str:
    if form is Form.FILES:
        return _titled(case.path, files[case.path].replace(case.old, case.new), titled)
    title = f"{case.path}\n" if titled else ""
    return f"{title}<<<<<<< SEARCH\n{case.old}=======\n{case.new}>>>>>>> REPLACE"

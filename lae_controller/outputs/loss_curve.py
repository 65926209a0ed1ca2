"""The course of a training run: (step, value) pairs of its metric or loss."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from lae_controller.outputs.named_values import evenly, find_column, find_occurrences, preferred

Curve = tuple[tuple[float, float], ...]
"""(step, value) pairs in order of appearance; the steps rise."""

Counters = Mapping[str, float]
"""What a line counts: ``step``, ``epoch`` and ``bar``, as far as they are known."""

MAX_POINTS = 200

_VALIDATION = ("val", "valid", "validation", "eval", "dev", "test")
_VALIDATION_LOSSES = tuple(f"{split}{joint}loss" for split in _VALIDATION for joint in "_ /")
_LOSSES = (
    *_VALIDATION_LOSSES,
    *("loss", "train_loss", "train loss", "train/loss", "training loss", "nll", "cost"),
)
"""What is looked for, in this order, where the metric itself makes no curve."""

_COUNTER = re.compile(
    r"""(?: (?P<step>global_step|step|iteration|iter|it|update|round) | (?P<epoch>epoch|ep) )
    (?:\(\w{1,10}\))? ["']? [ \t]{0,8} [:=\#]? [ \t]{0,8} ["'\[(]{0,2} [ \t]{0,8}
    (?P<count>[0-9]{1,15}(?:\.[0-9]{1,9})?) (?![0-9.]*[a-z%])""",
    re.VERBOSE,
)
_NAME_GOES_ON = re.compile(r"[\w/.-]")  # before a counter: a part of a longer name
_BAR = re.compile(
    r"^\s{0,8}\[[ ]{0,8}([0-9]{1,15})[ ]?\]|(?<![\w/.])([0-9]{1,15})/[0-9]{1,15}(?![\w/])"
)
_COLUMNS = ("step", "iter", "iteration", "round", "epoch")
_HINTS = ("epoch", "step", "iter", "round")
_MAX_LINES = 4000  # a curve is drawn from at most so many: a few for each point that is kept
_REACH = 2000  # characters of a line in which its counters are looked for


def is_validation(name: str) -> bool:
    """Say whether a curve of this name is a validation loss, which no change redefines."""
    return name in _VALIDATION_LOSSES


def read_curve(lines: Sequence[str], metric_name: str) -> tuple[str, Curve]:
    """Return the name and the curve of the metric, else of the validation loss, else of the loss.

    The first that stands at two steps or more is taken. Steps are those of the line's own
    step, iteration or epoch, or of one above it; a count that starts again goes on counting.
    The last value at each step counts. At most MAX_POINTS points are kept, first and last
    among them; non-finite values are left out. Both are empty if there is no such curve.
    """
    text = "\n".join(lines).lower()
    for name in (metric_name, *_LOSSES):
        points = _points(lines, name) if name in text or name == metric_name else {}
        if len(points) > 1:
            return name, tuple(evenly(tuple(points.items()), MAX_POINTS))
    return "", ()


def _points(lines: Sequence[str], name: str) -> dict[float, float]:
    """Return the values of ``name`` by step."""
    inline = preferred(find_occurrences(lines, name, most_lines=_MAX_LINES))
    found = inline or preferred(find_column(lines, name))
    values = {
        it.line: it.number.value
        for it in found
        if it.number.value is not None and math.isfinite(it.number.value)
    }
    counters = list(_counters(lines, list(values)) if inline else _row_counters(lines, values))
    steps = _steps(counters)
    return {
        step: value for step, value in zip(steps, values.values(), strict=True) if step is not None
    }


def _counters(lines: Sequence[str], wanted: Sequence[int]) -> Iterator[Counters]:
    """Yield the counters that hold at each wanted line: its own, else the nearest above."""
    held: Counters = {}
    previous = -1
    for index in wanted:
        held = _own_counters(lines[index]) or _counters_above(lines, previous, index) or held
        previous = index
        yield {**held, **_bar(lines[index])}


def _counters_above(lines: Sequence[str], start: int, end: int) -> Counters:
    """Return the counters of the last line between ``start`` and ``end`` that has some."""
    for index in range(end - 1, start, -1):
        lowered = lines[index].lower()
        counters = _own_counters(lowered) if any(it in lowered for it in _HINTS) else {}
        if counters:
            return counters
    return {}


def _own_counters(line: str) -> dict[str, float]:
    """Return the first step and the first epoch that a line names."""
    lowered = line[:_REACH].lower()
    counters: dict[str, float] = {}
    for found in _COUNTER.finditer(lowered):
        if not _NAME_GOES_ON.match(lowered, found.start() - 1) or found.start() == 0:
            counters.setdefault("step" if found["step"] else "epoch", float(found["count"]))
    return counters


def _bar(line: str) -> Counters:
    found = _BAR.search(line[:_REACH])
    return {"bar": float(found[1] or found[2])} if found is not None else {}


def _row_counters(lines: Sequence[str], wanted: Iterable[int]) -> Iterator[Counters]:
    """Yield the counters in the rows of a table whose header names one."""
    columns = (find_column(lines, name) for name in _COLUMNS)
    column = next((cells for cells in columns if cells), [])
    counts = {it.line: it.number.value for it in column}
    for index in wanted:
        count = counts.get(index)
        yield {} if count is None else {"step": count}


def _steps(counters: Sequence[Counters]) -> list[float | None]:
    """Choose one kind of counter for all points: one that only rises, if there is one."""
    kinds = [[held.get(kind) for held in counters] for kind in ("step", "epoch", "bar")]
    usable = [steps for steps in kinds if _moves(steps)]
    for steps in map(_without_look_back, usable):
        if _rises(steps):
            return steps
    return _unrolled(usable[0]) if usable else [None] * len(counters)


def _moves(steps: Sequence[float | None]) -> bool:
    known = [step for step in steps if step is not None]
    return len(set(known)) > 1 and 2 * len(known) >= len(steps)


def _rises(steps: Sequence[float | None]) -> bool:
    known = [step for step in steps if step is not None]
    return all(one <= other for one, other in pairwise(known))


def _without_look_back(steps: list[float | None]) -> list[float | None]:
    """Leave out a last point below the one before it: a closing remark on the best epoch."""
    last, before = steps[-1], steps[-2]
    if last is not None and before is not None and last < before:
        return [*steps[:-1], None]
    return steps


def _unrolled(steps: Sequence[float | None]) -> list[float | None]:
    """Let a count that starts again go on from where it was."""
    unrolled: list[float | None] = []
    done = last = 0.0
    for step in steps:
        if step is not None:
            done += last if step < last else 0.0
            last = step
        unrolled.append(None if step is None else done + step)
    return unrolled

"""What a run leaves for people and for the next Mutator to read: a digest of its output."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lae_controller.outputs.class_scores import read_class_scores
from lae_controller.outputs.lines import clean_lines
from lae_controller.outputs.loss_curve import Curve, read_curve
from lae_controller.program import Artifacts

NON_FINITE_WARNING = "non-finite number in the output"

_MAX_LINE = 300  # characters of one line that are kept
_PROGRESS = re.compile(r"[0-9]%\||\[[=>.# -]{5,}\]|━")

_NON_FINITE = re.compile(r"(?:nan(?<![\w.]nan)|inf(?<![\w.]inf)(?:inity)?)(?![\w-])")
_VALUE_MARK = re.compile(r"""[:=|,(\[]["'`*]{0,3}$""")
_AFTER_VALUE = re.compile(r"[ \t]*(?:$|[,;|)\]}\t])|[ \t]+[\w/]+[ \t:=][ \t]*[+-]?[0-9]")
_PROSE = frozenset(
    ("no", "not", "is", "any", "for", "or", "and", "if", "with", "without", "to", "of")
)

_TRACEBACK = "Traceback (most recent call last):"
_MARKERS = re.compile(r"[ \t]*[~^]+[~^ ]*")  # the line under a frame's code
_MESSAGE_LINES = 6


def read_artifacts(
    raw: bytes, metric_name: str, *, tail_lines: int = 40, tail_chars: int = 4000
) -> Artifacts:
    """Digest the stdout and stderr of one run.

    Args:
        raw: the bytes that were printed.
        metric_name: the metric, whose curve is preferred to that of the loss.
        tail_lines: how many of the last lines are kept; blank lines and all states of a
            progress bar but its last are left out first.
        tail_chars: how many characters they may have together.
    """
    lines = clean_lines(raw)
    name, curve = read_curve(lines, metric_name)
    return Artifacts(
        curve=curve,
        curve_name=name,
        per_class=read_class_scores(lines),
        log_tail=_log_tail(lines, tail_lines, tail_chars),
        warnings=(NON_FINITE_WARNING,) if any(map(_shows_non_finite, lines)) else (),
    )


def max_step(curve: Curve) -> float | None:
    """Return the largest step of a curve; None if it is empty."""
    return max((step for step, _ in curve), default=None)


def trim_traceback(raw: bytes, limit: int = 1500) -> str:
    """Return the last Python traceback of an output, in at most ``limit`` characters.

    Kept are, in this order, the exception's type and message, the innermost frames, and the
    outer ones as far as there is room. Without a traceback: the last lines that are not blank.
    """
    lines = clean_lines(raw)
    starts = (index for index in range(len(lines) - 1, -1, -1) if _TRACEBACK in lines[index])
    start = next(starts, None)
    if start is None:
        return _log_tail(lines, 20, limit)
    frames, message = _traceback_parts(lines, start)
    return _fitted(frames, message, limit)


def _log_tail(lines: Sequence[str], most_lines: int, most_chars: int) -> str:
    """Return the last lines that say something, long ones cut in their middle."""
    kept: list[str] = []
    room = most_chars
    below_is_bar = False
    for line in reversed(lines):
        if len(kept) == most_lines or room <= 0:
            break
        shown = _cut(line.rstrip())
        is_bar = _PROGRESS.search(shown) is not None
        if shown and not (is_bar and below_is_bar):
            if len(shown) > room and kept:
                break
            kept.append(shown[-room:])
            room -= len(shown) + 1
        below_is_bar = is_bar or (below_is_bar and not shown)
    return "\n".join(reversed(kept))


def _cut(line: str) -> str:
    if len(line) <= _MAX_LINE:
        return line
    return line[: _MAX_LINE - 101] + "…" + line[-100:]


def _shows_non_finite(line: str) -> bool:
    """Return whether nan or inf is printed as the value of something."""
    lowered = line.lower()
    return any(_is_value(lowered, found) for found in _NON_FINITE.finditer(lowered))


def _is_value(line: str, found: re.Match[str]) -> bool:
    before = line[max(0, found.start() - 60) : found.start()].rstrip("+-")
    if _VALUE_MARK.search(before.rstrip()):
        return True
    words = before.split()
    labelled = before[-1:].isspace() and bool(words) and words[-1] not in _PROSE
    return labelled and _AFTER_VALUE.match(line, found.end()) is not None


def _traceback_parts(lines: Sequence[str], start: int) -> tuple[list[str], list[str]]:
    """Return the frames, their heading first, and the message of the traceback at ``start``."""
    prefix = lines[start].partition(_TRACEBACK)[0]
    if start + 1 < len(lines) and not lines[start + 1].startswith(prefix):
        prefix = ""  # a logger's prefix stands on the first line only
    following = (line for line in lines[start + 1 :] if line.startswith(prefix))
    frames, message = [_TRACEBACK], list[str]()
    for line in (line[len(prefix) :].rstrip() for line in following):
        indented = line[:1].isspace()
        if message and (not indented or len(message) == _MESSAGE_LINES):
            break
        if message or (line and not indented):
            message.append(line)
        elif line and not _MARKERS.fullmatch(line):
            frames.append(line)
    return frames, message


def _fitted(frames: Sequence[str], message: Sequence[str], limit: int) -> str:
    """Join both within ``limit``: half of it for the message, the rest for inner frames."""
    ending = "\n".join(message)
    whole = "\n".join((*frames, *message))
    if len(whole) <= limit:
        return whole
    if len(ending) > limit // 2:
        ending = ending[: max(0, limit // 2 - 1)] + "…"
    room = limit - len(ending) - 2  # two for the mark of what is left out
    inner: list[str] = []
    for frame in map(_cut, reversed(frames)):
        if len(frame) + 1 > room:
            break
        inner.insert(0, frame)
        room -= len(frame) + 1
    return "\n".join(("…", *inner, ending))[:limit]

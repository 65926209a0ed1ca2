"""Scores of single classes in what a training run printed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lae_controller.outputs.numbers_grammar import DECIMAL, read_number

MAX_CLASSES = 200

_SCORE = r"(?:accuracy|acc|f1(?:[-_]score)?|precision|recall|iou|dice|auc|ap|score)"
_NAME = r"""(?:'(?P<quoted>[^']{1,40})'|"(?P<double>[^"]{1,40})"|(?P<name>[\w.+/-]{1,40}))"""

# ``class 3: 0.91``, ``digit 7 acc 0.93``
_LINE = re.compile(
    rf"\W{{0,8}}(?:class|label|digit|category)[_ \t:=#]{{1,4}}{_NAME}"
    rf"[ \t,:|(_-]{{0,8}}(?P<score>{_SCORE})?[ \t]{{0,8}}[:=|]?[ \t]{{0,8}}",
    re.IGNORECASE,
)
# ``accuracy[cat]=0.8``; ``Accuracy of cat : 80 %``; ``accuracy for class: cat is 80 %``
_INDEXED = re.compile(
    rf"\b(?P<score>{_SCORE})\[{_NAME}\][ \t]{{0,8}}[:=][ \t]{{0,8}}", re.IGNORECASE
)
_SPELT = re.compile(
    rf"\b(?P<score>{_SCORE})[ ](?:of|for)[ ](?:class:?[ ])?{_NAME}[ \t]{{0,8}}"
    r"(?:is|[:=])[ \t]{0,8}",
    re.IGNORECASE,
)
_SIGNS = frozenset(":=|")
_NO_CLASS = frozenset(
    "weight weights balance imbalance count counts loss model network test train val".split()
)

_REPORT_HEADER = ["precision", "recall", "f1-score", "support"]
_REPORT_ROW = re.compile(
    rf"\s{{0,200}}(\S.{{0,80}}?)\s+({DECIMAL})\s+({DECIMAL})\s+({DECIMAL})\s+\d+\s*"
)
_REPORT_END = frozenset(("accuracy", "micro avg", "macro avg", "weighted avg", "samples avg"))
# A line without any of these holds no score of a class.
_HINTS = ("class", "label", "digit", "category", "]:", "]=", "] =", " of ", " for ")
_LONGEST = 300  # characters of a line that can hold such a score


def read_class_scores(lines: Sequence[str]) -> dict[str, float]:
    """Return the last printed score of each class by its name; at most MAX_CLASSES of them.

    Read are lines such as ``class 3: 0.91``, ``digit 7 acc 0.93``, ``accuracy[cat]=0.8``,
    ``Accuracy of cat: 80 %``, and the f1-scores of scikit-learn's ``classification_report``.
    """
    scores: dict[str, float] = {}
    for name, value in (*_of_reports(lines), *_of_lines(lines)):
        if name in scores or len(scores) < MAX_CLASSES:
            scores[name] = value
    return scores


def _of_reports(lines: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Yield the f1-scores of classification reports."""
    inside = False
    for line in lines:
        if "f1-score" in line and line.split() == _REPORT_HEADER:
            inside = True
        elif inside and line.strip():
            row = _REPORT_ROW.fullmatch(line) if len(line) <= _LONGEST else None
            inside = row is not None and row[1] not in _REPORT_END
            if row is not None and inside:
                yield " ".join(row[1].split()), float(row[4])


def _of_lines(lines: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Yield the scores that stand in one line with the name of their class."""
    text = "\n".join(lines).lower()
    hints = [hint for hint in _HINTS if hint in text]
    for line in lines if hints else ():
        lowered = line.lower()
        if len(line) <= _LONGEST and any(hint in lowered for hint in hints):
            yield from _scores_of_line(line)


def _scores_of_line(line: str) -> Iterator[tuple[str, float]]:
    start = _LINE.match(line)
    found = [start] if start is not None else []
    found += _INDEXED.finditer(line) if "[" in line else ()
    found += _SPELT.finditer(line) if " of " in line or " for " in line else ()
    for match in found:
        name = match["quoted"] or match["double"] or match["name"]
        value = _score(line, match)
        if value is not None and name.lower() not in _NO_CLASS:
            yield name, value


def _score(line: str, label: re.Match[str]) -> float | None:
    """Return the number behind a label; None if it is no score.

    Without a word such as ``acc`` a whole number is a count of samples, not a score.
    """
    if not label["score"] and _SIGNS.isdisjoint(label[0]):
        return None
    number = read_number(line, label.end(), labelled=True)
    if number is None or not number.finite:
        return None
    fraction = any(mark in number.text for mark in ".%e")
    return number.value if label["score"] or fraction else None

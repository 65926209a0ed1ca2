"""The metric in a JSON or JSONL file that a training run wrote."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from lae_controller.outputs.metric import Reading
from lae_controller.program import Reason

TAIL_BYTES = 16 * 2**20
"""How much of a file is read at most; of a longer JSONL file, the end."""

_MISSING = object()


def read_metric_file(path: Path, name: str) -> Reading:
    """Read the metric ``name`` from ``path``.

    The file holds one JSON object, a list of them, or one object a line (JSONL). The last
    object that has the key counts; a line that is not JSON, such as one torn by a kill, is
    skipped. ``name`` is the key itself or a dotted path through nested objects (``eval.acc``).

    Returns:
        A Reading whose ``count`` is the number of objects that hold the key. Its reason is
        NON_FINITE for ``NaN`` and infinities, NO_METRIC if the file or the key is missing or
        the value is not a number (text and booleans are none).
    """
    try:
        if not path.is_file():
            return _none(f"{path.name} was not written")
        text, whole = _tail(path)
    except OSError as error:
        return _none(f"{path.name} cannot be read: {error.strerror}")
    if not text.strip("\0 \t\r\n"):
        return _none(f"{path.name} is empty" if whole else _too_large(path))
    count, value, last = 0, _MISSING, None
    for last in _records(text, whole=whole):
        here = _lookup(last, name)
        if here is not _MISSING:
            count, value = count + 1, here
    if last is None:
        return _none(f"{path.name} holds no JSON object" if whole else _too_large(path))
    return _reading(path, name, value, count, last)


def _tail(path: Path) -> tuple[str, bool]:
    """Return the text of the file, or of its last TAIL_BYTES from a line's begin, and which."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - TAIL_BYTES))
        raw = file.read(TAIL_BYTES)
    whole = size <= TAIL_BYTES
    if not whole:
        raw = raw.partition(b"\n")[2]
    return raw.decode("utf-8-sig", errors="replace"), whole


def _records(text: str, *, whole: bool) -> Iterator[Mapping[str, object]]:
    """Yield the JSON objects of a document, a list, or lines."""
    document = _parsed(text) if whole else None
    if document is not None:
        for item in document if isinstance(document, list) else [document]:
            if isinstance(item, dict):
                yield item
        return
    for line in text.split("\n"):
        item = _parsed(line)
        if isinstance(item, dict):
            yield item


def _parsed(text: str) -> object:
    """Return the value of a JSON text; None if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _lookup(record: Mapping[str, object], name: str) -> object:
    """Return the value of a key or of a dotted path; ``_MISSING`` if there is none."""
    if name in record:
        return record[name]
    for dot in (index for index, character in enumerate(name) if character == "."):
        inner = record.get(name[:dot])
        found = _lookup(inner, name[dot + 1 :]) if isinstance(inner, dict) else _MISSING
        if found is not _MISSING:
            return found
    return _MISSING


def _reading(
    path: Path, name: str, value: object, count: int, last: Mapping[str, object]
) -> Reading:
    where = f"{path.name}: {name[:60]!r}"
    if value is _MISSING:
        return _none(f"{where} is not there; its keys are {_keys(last)}")
    if isinstance(value, dict):
        return _none(f"{where} is an object; its keys are {_keys(value, name + '.')}", count)
    shown = json.dumps(value)[:60]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return _none(f"{where} is {shown}, not a number", count, shown)
    number = _as_float(value)
    if not math.isfinite(number):
        return Reading(None, Reason.NON_FINITE, f"{where} is {shown}, not finite", count, shown)
    return Reading(number, None, f"{where} is {shown}", count, shown)


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer beyond the range of floats
        return math.inf if value > 0 else -math.inf


def _keys(record: Mapping[str, object], prefix: str = "") -> str:
    """Return the dotted keys of a record, at most about 150 characters of them."""
    shown = ", ".join(_paths(record, prefix)) or "none"
    return shown if len(shown) <= 150 else shown[:149] + "…"


def _paths(record: Mapping[str, object], prefix: str) -> Iterator[str]:
    for key, value in record.items():
        if isinstance(value, dict) and value:
            yield from _paths(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


def _too_large(path: Path) -> str:
    return (
        f"{path.name} is larger than {TAIL_BYTES // 2**20} MiB and its end holds no whole JSON "
        "line; expected one small JSON object, or JSONL"
    )


def _none(detail: str, count: int = 0, line: str = "") -> Reading:
    return Reading(None, Reason.NO_METRIC, detail, count, line)

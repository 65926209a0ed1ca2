"""Durations and times as they travel: ``86400s`` or ISO 8601 in, ``86400s`` and RFC 3339 out."""

from __future__ import annotations

import re
from datetime import datetime, timezone

_SECONDS = re.compile(r"[-+]?\d{1,12}(?:\.\d{1,9})?s")
_ISO = re.compile(
    r"(?P<sign>[-+]?)P(?:(?P<d>\d{1,9})D)?"
    r"(?:T(?=\d)(?:(?P<h>\d{1,9})H)?(?:(?P<m>\d{1,9})M)?(?:(?P<s>\d{1,9}(?:\.\d{1,9})?)S)?)?"
)


def parse_duration(text: str) -> float | None:
    """Return the seconds of a duration; None if the text is none.

    Both forms that the API's documents use are read: ``1800s``, and ISO 8601 dayTimeDuration
    such as ``PT30M`` or ``P1DT12H``.
    """
    if _SECONDS.fullmatch(text):
        return float(text[:-1])
    found = _ISO.fullmatch(text)
    if found is None or not any(found[unit] for unit in "dhms"):
        return None
    parts = [float(found[unit] or 0) for unit in "dhms"]
    seconds = parts[0] * 86_400 + parts[1] * 3_600 + parts[2] * 60 + parts[3]
    return -seconds if found["sign"] == "-" else seconds


def duration_text(seconds: float) -> str:
    """Return a duration as the API writes it: ``86400s``, ``0.5s``."""
    return f"{seconds:.9f}".rstrip("0").rstrip(".") + "s"


def time_text(at: float) -> str:
    """Return a moment (seconds since the epoch) in RFC 3339, UTC, to the microsecond."""
    moment = datetime.fromtimestamp(at, tz=timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

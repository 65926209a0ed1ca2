"""Remarks on a failed run that may leave this machine: what went wrong, without what it held.

A raw traceback shows paths, values and at times keys. What helps the next proposal is the last
line of it and the place in the program's own files.
"""

from __future__ import annotations

import re

_LONGEST = 600  # characters of a remark
_FRAME = re.compile(r'\s*File "([^"]+)", line (\d+)(?:, in (.+))?')
_KEYED = re.compile(
    r"(?i)\b([\w-]*(?:key|token|secret|passw\w*|credential\w*|authorization))(\s*[=:]\s*)\S+"
)
_OPAQUE = re.compile(r"\b(?=\w*\d)(?=\w*[A-Za-z])[\w+/-]{32,}={0,2}")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[\w.+/~-]+=*")
_PATH = re.compile(r"(?<![\w.:/])(?:/[\w.+@~-]+){2,}/?")
_USER = re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+")


def clean_remark(text: str) -> str:
    """Return a remark without secrets, addresses and paths of this machine, on few lines."""
    lines = _without_frames(text.splitlines())
    return _blanked(" ".join(" ".join(lines).split()))[:_LONGEST]


def _without_frames(lines: list[str]) -> list[str]:
    """Replace each traceback by its innermost place; what an exception says stays."""
    kept: list[str] = []
    place, inside = "", False
    for line in lines:
        found = _FRAME.match(line)
        if found is not None:
            name = found[1].replace("\\", "/").rpartition("/")[2]
            place, inside = f"{name}:{found[2]}", True
        elif inside and (line.startswith("    ") or not line.strip()):
            continue
        elif line.startswith("Traceback (most recent call last)"):
            inside = True
        else:
            kept.append(f"{line} ({place})" if inside and place else line)
            place, inside = "", False
    return kept


def _blanked(text: str) -> str:
    text = _BEARER.sub(r"\1 ***", text)
    text = _KEYED.sub(r"\1\2***", text)
    text = _USER.sub("***", text)
    text = _PATH.sub(lambda found: ".../" + found[0].rstrip("/").rpartition("/")[2], text)
    return _OPAQUE.sub("***", text)

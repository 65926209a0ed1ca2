"""Code fences in a reply, each with the path that it is for."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass

_OPEN = re.compile(r"([ \t]*)(`{3,}|~{3,})[ \t]*(\S*)[ \t]*(.*)")
_TITLE = re.compile(
    r"(?:(?:#{1,6}|[-*+]|\d+[.)])[ \t]+)?\**(?:(?:file|path|filename)[ \t]*:[ \t]*)?"
    r"[*`\"']*(?P<path>[\w./\\-]+)[*`\"']*:?\**",
    re.IGNORECASE,
)
_FIRST_LINE = re.compile(
    r"[ \t]*(?:#|//|--|;|<!--)[ \t]*(?:file|path)?:?[ \t]*(?P<path>[\w./-]+)\W*"
)


@dataclass(frozen=True, slots=True)
class Fence:
    """One fenced block.

    Attributes:
        language: the first word behind the opening fence.
        path: what the reply says it is for; None if it does not say.
        text: the lines within, each with its end.
        closed: whether the closing fence is there.
    """

    language: str
    path: str | None
    text: str
    closed: bool


def fences(text: str, known: Container[str]) -> tuple[Fence, ...]:
    """Return the fenced blocks of a reply; ``known`` are paths that count as such."""
    return tuple(_fences(text.splitlines(), known))


def _fences(lines: list[str], known: Container[str]) -> Iterator[Fence]:
    at = above = 0
    while at < len(lines):
        opening = _OPEN.fullmatch(lines[at])
        if opening is None:
            at += 1
            continue
        end = _end(lines, at + 1, opening[2])
        body = [line.removeprefix(opening[1]) for line in lines[at + 1 : end]]
        path = _path(lines[above:at], opening, body, known)
        yield Fence(
            opening[3], path, "".join(f"{line}\n" for line in body), closed=end < len(lines)
        )
        at = above = end + 1


def _end(lines: list[str], start: int, ticks: str) -> int:
    """Return the position of the closing fence, or the number of lines if there is none."""
    for at in range(start, len(lines)):
        bare = lines[at].strip()
        if bare.startswith(ticks) and not bare.strip(ticks[0]):
            return at
    return len(lines)


def _path(
    above: list[str], opening: re.Match[str], body: list[str], known: Container[str]
) -> str | None:
    """Return the path on the line above, behind the opening fence, or in the first line."""
    filled = [line.strip() for line in above if line.strip()]
    titles = [filled[-1] if filled else "", opening[4].strip(), re.split("[:=]", opening[3])[-1]]
    for title in titles:
        match = _TITLE.fullmatch(title)
        if match and _is_path(match["path"], known):
            return match["path"]
    first = _FIRST_LINE.fullmatch(body[0]) if body else None
    return first["path"] if first and first["path"] in known else None


def _is_path(text: str, known: Container[str]) -> bool:
    return text in known or "/" in text or re.search(r"\w\.[A-Za-z]\w*$", text) is not None

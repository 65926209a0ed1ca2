"""Settings inside editable files that a child may not change: seed, budget, split."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from lae_controller.errors import ChildError, ConfigError
from lae_controller.program import Files, Reason

_KEY = re.compile(r"[\w\-]+(\.[\w\-]+)*")


@cache
def pattern_of(entry: str) -> re.Pattern[str]:
    """Return what finds the lines an entry of ``protected`` speaks of.

    A name such as ``epochs`` or ``train.epochs`` means lines that give that (last) name a value
    with ``=`` or ``:``; anything else is a regular expression searched in each line.

    Raises:
        ConfigError: if it is neither.
    """
    if _KEY.fullmatch(entry):
        name = re.escape(entry.rsplit(".", 1)[-1])
        return re.compile(rf"(?<![\w\-])[\"']?{name}[\"']?\s*(?::(?!=)[^=]*=|=(?!=)|:)")
    try:
        return re.compile(entry)
    except re.error as error:
        raise ConfigError(
            f"loop.run.yaml: protected holds {entry!r}, which is neither a key nor a regular "
            f"expression ({error}); expected one of them"
        ) from None


def protected_lines(text: str, entries: Iterable[str]) -> list[tuple[int, str]]:
    """Return (line number, stripped line) of every protected line of a file."""
    patterns = [pattern_of(entry) for entry in entries]
    return [
        (index, line.strip())
        for index, line in enumerate(text.splitlines(), start=1)
        if any(pattern.search(line) for pattern in patterns)
    ]


def check_protected(before: Files, after: Files, entries: tuple[str, ...]) -> None:
    """Check that no protected line was changed, added or removed.

    Raises:
        ChildError: PROTECTED, naming file, line and what stood there.
    """
    for path in sorted(set(before) | set(after)) if entries else ():
        old = protected_lines(before.get(path, ""), entries)
        new = protected_lines(after.get(path, ""), entries)
        if [line for _, line in old] == [line for _, line in new]:
            continue
        kept = [line for _, line in old]
        number, found = next(((n, line) for n, line in new if line not in kept), (0, ""))
        what = f"{path}:{number}: {found!r}" if number else f"{path}: a protected line is gone"
        expected = ", ".join(repr(line) for line in kept) or "no such line"
        raise ChildError(
            Reason.PROTECTED,
            f"{what}; expected {expected}. Seed, budget and split belong to the controller",
        )

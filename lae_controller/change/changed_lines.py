"""The lines in which two texts differ."""

from __future__ import annotations

from lae_controller.change.diff_match import opcodes


def changed_lines(before: str, after: str) -> list[str]:
    """Return the lines that go, with ``-``, and that come, with ``+``; blank ones left out."""
    old, new = before.splitlines(), after.splitlines()
    found: list[str] = []
    for tag, i1, i2, j1, j2 in opcodes(old, new):
        if tag != "equal":
            found += [f"-{line}" for line in old[i1:i2] if line.strip()]
            found += [f"+{line}" for line in new[j1:j2] if line.strip()]
    return found

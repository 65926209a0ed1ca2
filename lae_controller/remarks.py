"""Remarks on what happens, a line each; whoever calls says where they go."""

from __future__ import annotations

from collections.abc import Callable

Say = Callable[[str], None]


def silent(_line: str) -> None:
    """Let a remark go nowhere."""

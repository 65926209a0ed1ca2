"""Evolve training code: ask, mutate, evaluate, tell. ``load`` is where a script begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lae_controller.api import Loop, load

__version__ = "0.1.0"
__all__ = ["Loop", "__version__", "load"]


def __getattr__(name: str) -> Any:
    """Import the API when it is first asked for: the command line must start quickly."""
    if name in ("Loop", "load"):
        from lae_controller import api

        return vars(api)[name]
    raise AttributeError(f"module 'lae_controller' has no attribute {name!r}")

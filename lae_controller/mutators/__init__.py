"""The Mutator seam: a task in, one proposed change out."""

from __future__ import annotations

import random
from collections.abc import Mapping
from importlib import import_module
from typing import Protocol

from lae_controller.config import MutatorSettings
from lae_controller.errors import ConfigError
from lae_controller.task import Mutation, MutatorFailure, Task

MUTATORS: Mapping[str, str] = {
    "agent": "lae_controller.mutators.agent_cli:make",
    "anthropic": "lae_controller.mutators.anthropic_api:make",
    "offline": "lae_controller.mutators.offline:make",
}
"""Backend name -> ``module:function``, called with the ``MutatorSettings``."""

MENDING = frozenset({"anthropic", "agent"})
"""Backends that can do better when they are told what was wrong with a proposal."""

WEIGHED = frozenset({"anthropic"})
"""Those of them that are told only while that pays; an agent mends within its own turns, too."""


class Mutator(Protocol):
    """Proposes one child of the parent in a task.

    The contract of every backend:

    - ``change`` is one SEARCH/REPLACE text that applies to ``task.files`` as it is, or is
      empty when nothing could be proposed, or when what was edited in ``task.directory`` is the
      proposal; it never changes nothing.
    - It touches only files that match ``task.editable``, only between evolve markers where
      a file has them, and no line that ``task.protected`` names.
    - Every draw comes from ``rng``; a backend that needs no service returns the same
      mutation for the same task and state of ``rng``.
    - ``summary`` is one line without tab, newline or comma.
    - What comes to nothing is a ``MutatorFailure`` with its reason, ENVIRONMENT if only the
      service failed; a ConfigError or PrerequisiteError means that no proposal can succeed.
    - It is called in a process of its own, once for each child, several at a time: it keeps
      no state between calls and writes no file, but for the edits of that directory.
    """

    def mutate(self, task: Task, rng: random.Random) -> Mutation | MutatorFailure:
        """Return one proposed change to ``task.files``, or why there is none."""
        ...


def load_mutator(settings: MutatorSettings) -> Mutator:
    """Return a Mutator of the backend that the settings name.

    Raises:
        ConfigError: if there is no such backend.
    """
    if settings.backend not in MUTATORS:
        known = ", ".join(sorted(MUTATORS))
        raise ConfigError(f"mutator.backend is {settings.backend!r}; expected one of: {known}")
    module, _, name = MUTATORS[settings.backend].partition(":")
    mutator: Mutator = vars(import_module(module))[name](settings)
    return mutator

"""The far end of one Mutator process: ``python -m lae_controller mutate TASK`` (internal).

TASK is a ``task.json``; the proposal goes to ``mutation.json`` beside it, whole or not at all.
"""

from __future__ import annotations

import json
from pathlib import Path

from lae_controller.codec import decode, encode
from lae_controller.config import MutatorSettings
from lae_controller.files import write_json
from lae_controller.mutators import load_mutator
from lae_controller.program import rng_for
from lae_controller.task import Mutation, Task


def main(path: Path) -> int:
    """Read the task, let the Mutator of its backend propose, write the proposal."""
    value = json.loads(path.read_text(encoding="utf-8"))
    task = decode(Task, value["task"])
    mutator = load_mutator(decode(MutatorSettings, value["mutator"]))
    mutation = mutator.mutate(task, rng_for(task.seed, task.child_id, "mutate"))
    write_json(path.with_name("mutation.json"), encode(mutation))
    return 0


def read_mutation(folder: Path) -> Mutation | None:
    """Return what a Mutator process proposed; None if it left nothing whole."""
    try:
        value = json.loads((folder / "mutation.json").read_text(encoding="utf-8"))
        return decode(Mutation, value)
    except (OSError, ValueError, TypeError, KeyError):
        return None

"""The held-out test: measured once, at the end, on what no child was ever scored by."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from lae_controller.config import Settings
from lae_controller.errors import ConfigError
from lae_controller.evaluators import Stage
from lae_controller.program import Direction

TEST_STAGE = "test"

_PARTED = 0.5
"""A gain of which less than this share is left on the held-out test is called parted."""


def has_test(settings: Settings) -> bool:
    """Say whether anything is held out: every mode but the training command keeps shards back."""
    return not settings.scoring.trains or settings.scoring.test_cmd is not None


def held_out_stage(full: Stage) -> Stage:
    """Return the stage of the held-out test, given the one by which children are ranked.

    Args:
        full: budget, seed and time limit are taken from it.
    """
    return replace(
        full, name=TEST_STAGE, max_step=None, max_lines=None, calls=False, time_share=None
    )


def lay_out(settings: Settings, work: Path) -> None:
    """Copy the held-out files of a training project into the copy of its test run.

    Raises:
        ConfigError: if one is gone.
    """
    for name in settings.scoring.test_paths:
        source, target = settings.root / name, work / name
        if not source.exists():
            raise ConfigError(
                f"{settings.path.name}: scoring.test_paths holds {name!r}, but the project has "
                "nothing of that name; expected a file or directory relative to the project root"
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copyfile(source, target)


def parted(search: tuple[float, float], test: tuple[float, float], direction: Direction) -> str:
    """Say whether a gain on the search metric is missing on the held-out test.

    Args:
        search: (baseline, best) of what ranked the children.
        test: (baseline, best) of what was held out.

    Returns:
        One sentence, or an empty text if both went the same way.
    """
    gained = direction.fitness(search[1]) - direction.fitness(search[0])
    left = direction.fitness(test[1]) - direction.fitness(test[0])
    if gained <= 0.0 or left >= _PARTED * gained:
        return ""
    if left <= 0.0:
        return (
            f"the gain of {gained:.4g} is not there on the held-out test ({left:+.4g}): it belongs "
            "to what was searched on, not to the program. More or harder gate shards would tell"
        )
    return (
        f"only {left:.4g} of the gain of {gained:.4g} is left on the held-out test: part of it "
        "belongs to what was searched on"
    )

"""``tell``: place what was evaluated."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from lae_controller import results
from lae_controller.config import Settings
from lae_controller.errors import ConfigError
from lae_controller.hosted import further
from lae_controller.hosted.ask import controlling
from lae_controller.hosted.evaluate import asked_for
from lae_controller.inflight import Pending
from lae_controller.loop import Controller
from lae_controller.program import Cell
from lae_controller.remarks import Say


@dataclass(frozen=True, slots=True)
class Telling:
    """What became of a child.

    Attributes:
        pending: whether it waits for others of its generation to be told with them.
        kept: whether it entered the map; None while it is pending.
        cell: None unless it was evaluated.
        best: id and metric of the best program so far.
        runs: the further runs that still go on: the gain of this child, or of a later one of its
            generation, lies within the noise, and both that are compared are run on the next seed.
    """

    child_id: str
    pending: bool
    kept: bool | None
    cell: Cell | None
    best: tuple[str, float] | None
    runs: tuple[str, ...] = ()


def tell(
    settings: Settings, child_id: str, token: str | None, wait: float | None, say: Say
) -> Telling:
    """Place an evaluated child; telling it again only says what became of it.

    Further runs that it or a later child of its generation waits for are made first, in processes
    that outlive this one.

    Args:
        wait: seconds to wait for further runs; None: until they have ended.

    Raises:
        ConfigError: if it was never asked for, is held for another, or was not evaluated yet.
        LockedError: if a controller runs there.
        LaeError: whatever made a further run give up.
    """
    until = None if wait is None else time.monotonic() + wait
    while True:
        with controlling(settings, say) as (controller, _):
            missing: Sequence[Pending] = ()
            if asked_for(controller.state, child_id, token) is not None:
                missing = _take_in(controller, child_id)
            telling = _became(controller, child_id)
        if not missing:
            return telling
        if not further.carry_out(settings, missing, until):
            return replace(telling, runs=tuple(map(further.name_of, missing)))


def _take_in(controller: Controller, child_id: str) -> Sequence[Pending]:
    """Tell a child as far as that can be done now; returns the further runs that are missing."""
    settings = controller.settings
    if results.read(settings.lae_dir, child_id) is None:
        raise ConfigError(
            f"{child_id}: there is no result yet; `lae evaluate {child_id}` makes one"
        )
    return controller.take_in(child_id, partial(further.ended, settings))


def _became(controller: Controller, child_id: str) -> Telling:
    best = controller.state.search.global_best()
    shown = (best.child_id, best.metric) if best is not None else None
    row = next((row for row in controller.state.rows if row.child_id == child_id), None)
    if row is None:
        return Telling(child_id, True, None, None, shown)
    return Telling(child_id, False, row.kept, row.cell, shown)

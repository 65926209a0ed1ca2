"""``tell``: place what was evaluated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lae_controller import results
from lae_controller.config import Settings
from lae_controller.errors import ConfigError
from lae_controller.hosted.ask import controlling
from lae_controller.hosted.evaluate import asked_for
from lae_controller.loop import Controller
from lae_controller.program import Cell

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Telling:
    """What became of a child.

    Attributes:
        pending: whether it waits for others of its generation to be told with them.
        kept: whether it entered the map; None while it is pending.
        cell: None unless it was evaluated.
        best: id and metric of the best program so far.
    """

    child_id: str
    pending: bool
    kept: bool | None
    cell: Cell | None
    best: tuple[str, float] | None


def tell(settings: Settings, child_id: str, token: str | None, say: Say) -> Telling:
    """Place an evaluated child; telling it again only says what became of it.

    Raises:
        ConfigError: if it was never asked for, is held for another, or was not evaluated yet.
        LockedError: if a controller runs there.
    """
    with controlling(settings, say) as (controller, _):
        asked = asked_for(controller.state, child_id, token)
        if asked is not None:
            if results.read(settings.lae_dir, child_id) is None:
                raise ConfigError(
                    f"{child_id}: there is no result yet; `lae evaluate {child_id}` makes one"
                )
            controller.take_in(child_id)
        return _became(controller, child_id)


def _became(controller: Controller, child_id: str) -> Telling:
    best = controller.state.search.global_best()
    shown = (best.child_id, best.metric) if best is not None else None
    row = next((row for row in controller.state.rows if row.child_id == child_id), None)
    if row is None:
        return Telling(child_id, True, None, None, shown)
    return Telling(child_id, False, row.kept, row.cell, shown)

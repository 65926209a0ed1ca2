"""How many children run at a time, where machines come and go."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from made import made_baseline
from tiny_project import make_project

from lae_controller import build, config
from lae_controller.concurrency import Concurrency
from lae_controller.ledger import Ledger
from lae_controller.parts import Parts
from lae_controller.state import RunState


def concurrency(tmp_path: Path, room: list[int], wanted: int | None) -> tuple[Concurrency, Any]:
    """Return it with a real state and ledger; ``room[0]`` is what fits."""
    settings = replace(config.load(make_project(tmp_path / "project")), concurrency=wanted)
    settings.lae_dir.mkdir(parents=True)
    said: list[str] = []
    parts = SimpleNamespace(
        settings=settings,
        state=RunState(build.search_for(settings)),
        ledger=Ledger(settings.lae_dir, said.append),
        executor=SimpleNamespace(capacity=lambda: room[0]),
        prepared=SimpleNamespace(baseline=made_baseline(1.0)),
        say=said.append,
        said=said,
    )
    made = Concurrency(cast(Parts, parts))
    made.note_configured()
    return made, parts


def events(parts: Any) -> list[tuple[int | None, int]]:
    found = parts.ledger.read_journal(mend=False)
    return [(event["from"], event["to"]) for event in found]


def test_it_follows_the_room_there_is(tmp_path: Path) -> None:
    room = [3]
    made, parts = concurrency(tmp_path, room, None)
    made.follow()
    assert made.slots == 3
    room[0] = 5
    made.follow()
    assert made.slots == 5
    room[0] = 1
    made.follow()
    assert made.slots == 1
    assert events(parts) == [(None, 3), (3, 5), (5, 1)]
    assert parts.said == ["concurrency 5: room for 5, not 3", "concurrency 1: room for 1, not 5"]


def test_what_was_lowered_stays_lower_by_as_much(tmp_path: Path) -> None:
    room = [4]
    made, parts = concurrency(tmp_path, room, None)
    made.lower("two ran out of memory beside each other")
    room[0] = 6
    made.follow()
    assert made.slots == 5
    assert parts.state.configured == 6
    room[0] = 1
    made.follow()
    assert made.slots == 1


def test_a_number_that_was_set_does_not_move(tmp_path: Path) -> None:
    room = [4]
    made, parts = concurrency(tmp_path, room, 4)
    room[0] = 6
    made.follow()
    assert made.slots == 4
    assert events(parts) == [(None, 4)]

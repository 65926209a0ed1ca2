from __future__ import annotations

from pathlib import Path

from test_state import TEXT, asked, baseline, record

from lae_controller.build import search_for
from lae_controller.config import parse
from lae_controller.state import RunState, ask_event
from lae_controller.views.leaderboard import leaderboard
from lae_controller.views.summary import summarise

FURTHER = "metrics: [{name: size, direction: minimize}]\n"


def board(path: Path, text: str) -> str:
    settings = parse(text, path / "loop.run.yaml")
    state = RunState(search_for(settings))
    for island in range(2):
        child = f"g0-i{island}-a0"
        state.apply(ask_event(asked(child, 2, None), "now"))
        state.tell(record(child, 5.0, None, metrics={"size": 100.0}))
    state.tell(record("g1-i0-a0", 4.0, metrics={"size": 200.0}))
    state.tell(record("g1-i1-a1", 4.5, metrics={"size": 300.0}))
    state.tell(record("g2-i0-a0", 9.0, metrics={"size": 10.0}))
    return leaderboard(summarise(settings, baseline(5.0), state), baseline(5.0), settings)


def test_the_leaderboard_shows_the_front(tmp_path: Path) -> None:
    section = board(tmp_path, TEXT + FURTHER).split("## Pareto front")[1].split("##")[0]
    assert "Beside loss: size (minimize)." in section
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in section.splitlines()
        if line.startswith("|")
    ]
    assert rows[0] == ["metric", "size", "child", "change"]
    assert rows[2:] == [
        ["4", "200", "g1-i0-a0", "about g1-i0-a0"],
        ["5", "100", "g0-i0-a0", "about g0-i0-a0"],
        ["9", "10", "g2-i0-a0", "about g2-i0-a0"],
    ]


def test_with_one_metric_it_speaks_of_no_front(tmp_path: Path) -> None:
    assert "Pareto" not in board(tmp_path, TEXT)

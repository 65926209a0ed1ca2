from __future__ import annotations

import io
import os
from dataclasses import replace
from pathlib import Path

import pytest
from made_runs import Made, baseline, load, make_run
from rich.console import Console

from lae_controller.budget import Budget
from lae_controller.evaluators.baseline import Baseline
from lae_controller.parts import Core, UnderWay
from lae_controller.quantities import TotalBudget
from lae_controller.remarks import silent
from lae_controller.views.live import PlainLines, screen_for
from lae_controller.views.live.draw import draw
from lae_controller.views.live.frame import (
    Frame,
    Latest,
    Picture,
    SlotLine,
    Spend,
    latest,
    picture_of,
    slot_lines,
    spend_of,
    time_left,
)
from lae_controller.views.live.terminal import LiveTerminal, newest

GOLDEN = Path(__file__).parent / "golden"

PICTURE = Picture(
    progress="gen 7/12, balanced",
    best="0.97 ± 0.0368, one run",
    gain="+0.3542",
    change="g5-i3-a0  input_scale 0.13 -> 0.21 in config.yaml",
    children="32: 14 evaluated, 15 smoke_dropped, 3 crash; 13 kept",
    cells={(0, 0): 0.6, (0, 9): 0.97, (9, 8): 0.87, (3, 4): 0.9},
    bins=10,
    coverage=(23, 400),
    islands=(6, 6, 6, 5),
    latest=(
        Latest("g5-i3-a0", 0.97, "kept", "data", "input_scale 0.13 -> 0.21 in config.yaml"),
        Latest(
            "g5-i2-a1",
            0.7225,
            "smoke dropped",
            "schedule",
            "a warm-up of ten epochs and a tail " * 3,
        ),
        Latest("g5-i1-a2", None, "bad diff", "other", "nothing that applies"),
        Latest("g4-i0-a0", 0.91, "not kept", "optimiser", "momentum 0.9"),
    ),
)
FRAME = Frame(
    title="val_acc, maximize",
    elapsed=754.0,
    slots=(
        SlotLine("g7-i0-a0", "full", 42.0, 70.0),
        SlotLine("g7-i1-a1", "smoke", 3.0, 4.0),
        SlotLine("g0-i0-a0", "claim-2", 0.2, None),
    ),
    capacity=4,
    proposing=2,
    ready=1,
    picture=PICTURE,
    spend=Spend(0.65, "26.5 of 40 runs, 4 kept back", 410.0, "12.4k tokens in, 3.1k out; 0.42 USD"),
)


def drawn(frame: Frame, width: int, height: int) -> str:
    console = Console(width=width, height=height, file=io.StringIO(), color_system=None)
    console.print(draw(frame, width, height))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return "".join(line.rstrip() + "\n" for line in text.splitlines())


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (46, 20)])
def test_the_picture_is_the_golden_one(width: int, height: int) -> None:
    golden = GOLDEN / f"live-{width}x{height}.txt"
    assert drawn(FRAME, width, height) == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [20, 40, 65, 66, 80, 200])
@pytest.mark.parametrize("height", [6, 15, 24, 60])
def test_it_fits_whatever_the_size(width: int, height: int) -> None:
    many = replace(FRAME, slots=FRAME.slots * 12, capacity=36)
    for frame in (FRAME, many):
        lines = drawn(frame, width, height).splitlines()
        assert max(len(line) for line in lines) <= width
    assert len(drawn(FRAME, width, 60).splitlines()) < 60


def test_what_does_not_fit_of_many_slots_is_counted() -> None:
    text = drawn(replace(FRAME, slots=FRAME.slots * 12, capacity=40), 80, 40)
    assert "36 of 40 in use" in text
    assert "… and 32 more" in text


def test_before_the_baseline_is_told_it_says_so() -> None:
    text = drawn(Frame("loss, minimize", 65.0), 80, 24)
    assert text.splitlines() == [
        "loss, minimize" + " " * 62 + "1:05",
        "baseline being measured, for 1:05",
    ]


# -- from a run to a frame -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Core:
    return load(make_run(tmp_path_factory.mktemp("run"), Made(children=40, stop=None)))


def test_a_picture_says_what_the_state_holds(core: Core) -> None:
    state = core.state
    picture = picture_of(core.settings, core.prepared.baseline, state, 5)
    best = state.search.global_best()
    assert best is not None
    assert picture.change.startswith(best.child_id)
    assert picture.children.startswith("40: ")
    assert picture.coverage == (sum(picture.islands), 400)
    assert max(picture.cells.values()) == max(
        elite.fitness for island in range(4) for _, elite in state.search.elites(island)
    )
    assert [it.child_id for it in picture.latest] == [row.child_id for row in state.rows[::-1][:5]]


def test_the_latest_children_come_with_how_they_ended(core: Core) -> None:
    found = {it.child_id: it for it in latest(core.state, 40)}
    assert len(found) == 40
    for row in core.state.rows:
        if row.parent_id is not None:
            outcome = found[row.child_id].outcome
            assert (outcome == "kept") == row.kept
            dropped = row.status == "smoke_dropped"
            assert (outcome == "smoke dropped") == dropped
            metric = row.smoke_metric if dropped else row.full_metric
            assert found[row.child_id].metric == metric
    assert {"exit", "duplicate", "bad diff"} & {it.outcome for it in found.values()}


def test_a_fine_map_is_drawn_coarser(tmp_path: Path) -> None:
    fine = load(make_run(tmp_path, Made(children=60, bins=25)))
    picture = picture_of(fine.settings, fine.prepared.baseline, fine.state, 3)
    assert picture.bins == 9
    assert picture.cells
    assert max(max(cell) for cell in picture.cells) < 9


def test_escape_sequences_of_a_summary_do_not_reach_the_terminal(core: Core) -> None:
    told = core.state.told
    child = core.state.rows[-1].child_id
    before = told[child]
    told[child] = replace(before, summary="red \x1b[31m and a bell \a")
    try:
        shown = next(latest(core.state, 1)).summary
    finally:
        told[child] = before
    assert shown == "red  [31m and a bell  "


# -- what is spent and what is left ----------------------------------------------------------------

BASELINE = baseline((0.6, 0.61, 0.6))


def budget_of(core: Core, total: TotalBudget, base: Baseline = BASELINE) -> Budget:
    return Budget(replace(core.settings, total_budget=total), base, 0.1)


def test_time_left_follows_the_pace_since_the_baseline(core: Core) -> None:
    budget = budget_of(core, TotalBudget(100, None))
    state = core.state
    pace = (500.0 - BASELINE.seconds) / (state.spent - BASELINE.charge)
    assert time_left(budget, state, 500.0) == pytest.approx((100 - state.spent) * pace)
    assert time_left(budget, state, BASELINE.seconds) is None
    assert time_left(budget_of(core, TotalBudget(1, None)), state, 500.0) == 0.0


def test_of_a_budget_of_time_what_is_left_is_plain(core: Core) -> None:
    budget = budget_of(core, TotalBudget(None, 1000.0))
    assert time_left(budget, core.state, 300.0) == 700.0
    spend = spend_of(budget.settings, budget, core.state, 300.0)
    assert spend.share == 0.3
    assert spend.text == "of 16:40, 1:40 kept back"
    assert spend.model.endswith("of at most 20 USD")


def test_slots_know_what_they_run_and_for_how_long() -> None:
    lines = slot_lines(
        ("g1-i0-a0.0", "g1-i1-a1.2", "g1-i2-a2.0"),
        {"g1-i0-a0.0": "smoke", "g1-i1-a1.2": "full"},
        {"g1-i0-a0.0": 90.0, "g1-i1-a1.2": 40.0},
        100.0,
        BASELINE,
    )
    assert lines == (
        SlotLine("g1-i0-a0", "smoke", 10.0, 3.0),
        SlotLine("g1-i1-a1", "full", 60.0, 30.0),
        SlotLine("g1-i2-a2", "", 0.0, None),
    )


def test_the_newest_folder_is_the_stage(tmp_path: Path) -> None:
    assert newest(tmp_path / "g1-i0-a0") == ""
    for order, stage in enumerate(("smoke", "full")):
        (tmp_path / stage).mkdir()
        os.utime(tmp_path / stage, (order, order))
    (tmp_path / "smoke.lock").touch()
    assert newest(tmp_path) == "full"


# -- screens ---------------------------------------------------------------------------------------


def terminal(width: int = 80) -> tuple[LiveTerminal, io.StringIO]:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=width, height=24, color_system=None)
    return LiveTerminal(console, "val_acc, maximize"), stream


def test_a_live_terminal_shows_the_run_and_keeps_the_remarks(core: Core) -> None:
    screen, stream = terminal()
    with screen:
        screen.say("baseline full: val_acc 0.6 in 30 s")
        screen.watch(core)
        screen.tick(UnderWay(("g11-i0-a0.0",), 1, 0, 400.0))
        screen._live.refresh()
    text = stream.getvalue()
    assert "baseline full: val_acc 0.6 in 30 s\n" in text.replace("\r", "")
    assert "being measured" in text
    assert "g11-i0-a0" in text
    assert "1 being proposed" in text
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")  # the cursor is back


def test_a_frame_is_made_no_more_often_than_it_is_looked_at(core: Core) -> None:
    screen, _ = terminal()
    screen.watch(core)
    screen.tick(UnderWay((), 0, 0, 1.0))
    frame = screen._frame
    for _ in range(20):
        screen.tick(UnderWay((), 9, 0, 2.0))
    assert screen._frame is frame


def test_where_there_is_no_terminal_lines_are_plain() -> None:
    lines: list[str] = []
    with screen_for("val_acc, maximize", lines.append, quiet=False) as screen:
        assert isinstance(screen, PlainLines)
        screen.say("a remark")
        screen.status("gen 1/10")
        screen.tick(UnderWay((), 0, 0, 1.0))
    assert lines == ["a remark", "gen 1/10"]


def test_quiet_is_quiet() -> None:
    lines: list[str] = []
    with screen_for("val_acc, maximize", lines.append, quiet=True) as screen:
        screen.say("a remark")
        screen.status("gen 1/10")
    assert lines == []
    silent("nothing")

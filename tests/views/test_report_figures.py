from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from made_runs import Made, load, make_run

from lae_controller import build, config
from lae_controller.parts import Core
from lae_controller.program import Direction, Measures, Status
from lae_controller.search.niche import Grid
from lae_controller.views.report.figures import Points, frame_of, hover, into, thinned
from lae_controller.views.report.history import History, is_finished, read_history
from lae_controller.views.report.lineage import line_of
from lae_controller.views.report.listing import listing
from lae_controller.views.report.maps import best_of_each, edges_of, ground_of, maps, measures_of
from lae_controller.views.report.progress import lineage, progress, time_unit
from lae_controller.views.report.spreads import changes, noise, repeated
from lae_controller.views.report.tallies import interventions
from lae_controller.views.summary import placed_all


class Run:
    def __init__(self, folder: Path, made: Made) -> None:
        self.project = make_run(folder, made)
        self.core: Core = build.unread(config.load(self.project), lambda _: None)
        self.history: History = read_history(self.core)
        self.baseline = self.core.prepared.baseline
        self.everywhere = placed_all(self.core.settings, self.history.state)

    @property
    def best(self) -> str:
        return self.history.bests[-1].child_id


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(tmp_path_factory.mktemp("run"), Made(children=80, seed=3))


def all_texts(traces: list[dict[str, Any]]) -> list[str]:
    flat: list[str] = []
    for trace in traces:
        for text in trace.get("text", []):
            flat += text if isinstance(text, list) else [text]
    return flat


# -- what all charts share -------------------------------------------------------------------------


def test_hover_text_holds_no_markup_of_its_own() -> None:
    text = hover("g1-i0-a0", '<a href="http://x">press</a> & <script>')
    assert "<a" not in text
    assert "<script" not in text
    assert text.startswith("g1-i0-a0<br>&lt;a href=")


def test_long_hover_text_is_broken_and_cut() -> None:
    lines = hover("word " * 200).split("<br>")
    assert len(lines) == 4
    assert max(len(line) for line in lines) <= 56


def test_points_on_the_same_spot_are_drawn_once() -> None:
    assert thinned([0.0, 0.0, 1000.0], [0.0, 1e-9, 1.0]) == [0, 2]
    assert thinned([], []) == []
    assert thinned([5.0], [1.0]) == [0]
    many = thinned([float(n % 10_000) for n in range(50_000)], [n % 97 for n in range(50_000)])
    assert len(many) <= 481 * 161


def test_an_outlier_does_not_flatten_the_rest() -> None:
    values = [0.6 + n / 1000 for n in range(100)]
    frame = frame_of([*values, -1e9], [0.7])
    assert frame is not None
    assert frame[0] > 0.5
    assert frame[0] < 0.7 < frame[1]
    assert into(-1e9, frame) == frame[0]
    assert frame_of([], []) is None
    assert frame_of([], [0.0]) == (-1.0, 1.0)


def test_points_know_every_axis() -> None:
    points = Points()
    points.add({"runs": 1.0, "time": 2.0}, 0.5, "one")
    trace = points.trace(mode="markers")
    assert trace["x"] == [1.0]
    assert trace["xs"] == {"runs": [1.0], "time": [2.0]}


# -- the best so far -------------------------------------------------------------------------------


def test_progress_shows_every_child_on_every_axis(run: Run) -> None:
    figure = progress(run.history, run.core.settings, run.baseline)
    assert [unit for unit, _ in figure.units] == ["evaluations", "runs", "time", "money"]
    by_name = {trace["name"]: trace for trace in figure.traces}
    kept, others = by_name["entered a map"], by_name["finished, not kept"]
    finished = [child for child in run.history.tried if is_finished(child.record)]
    assert len(kept["x"]) + len(others["x"]) == len(finished)
    assert len(by_name["failed or dropped"]["x"]) == 80 - len(finished)
    best = by_name["best so far"]
    assert best["y"][-1] == pytest.approx(run.history.bests[-1].metric, rel=1e-5)
    for trace in figure.traces:
        for unit, _ in figure.units:
            assert len(trace["xs"][unit]) == len(trace["y"])
    for unit in ("evaluations", "runs", "time", "money"):
        assert best["xs"][unit] == sorted(best["xs"][unit])


def test_without_money_there_is_no_axis_of_it(tmp_path: Path) -> None:
    found = Run(tmp_path, Made(children=4, paid=False))
    figure = progress(found.history, found.core.settings, found.baseline)
    assert [unit for unit, _ in figure.units] == ["evaluations", "runs", "time"]


def test_marks_of_failures_leave_no_trace_where_there_are_none(tmp_path: Path) -> None:
    found = Run(tmp_path, Made(children=4, failing=0.0, dropped=0.0))
    figure = progress(found.history, found.core.settings, found.baseline)
    assert "yaxis2" not in figure.layout
    assert all(trace["x"] for trace in figure.traces)


@pytest.mark.parametrize("children", [0, 3, 30])
def test_the_axis_of_children_has_whole_steps(tmp_path: Path, children: int) -> None:
    found = Run(tmp_path, Made(children=children, failing=0.0, dropped=0.0))
    axis = progress(found.history, found.core.settings, found.baseline).layout["xaxis"]
    assert axis.get("dtick") == (1 if children <= 10 else None)


@pytest.mark.parametrize("made", [Made(children=0), Made(children=3), Made(children=9, failing=1)])
def test_the_band_of_the_baseline_is_seen_whole_and_named_beside_its_line(
    tmp_path: Path, made: Made
) -> None:
    found = Run(tmp_path, made)
    layout = progress(found.history, found.core.settings, found.baseline).layout
    low, high = layout["yaxis"]["range"]
    band = next(shape for shape in layout["shapes"] if shape["type"] == "rect")
    assert low < band["y0"] < found.baseline.metric < band["y1"] < high
    assert layout["annotations"][0]["y"] == band["y1"]


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (Made(children=0), "0.6 of the baseline; no child was told yet."),
        (Made(children=1, failing=1), "0.6 of the baseline, still after 1 child."),
        (Made(children=9, failing=1), "0.6 of the baseline, still after 9 children."),
    ],
)
def test_what_is_seen_where_nothing_is_better_is_said(
    tmp_path: Path, made: Made, said: str
) -> None:
    found = Run(tmp_path, made)
    label = progress(found.history, found.core.settings, found.baseline).label
    assert label == f"Best val_acc so far: {said}"


def test_units_of_time_suit_the_run() -> None:
    assert time_unit(90.0) == (1.0, "seconds")
    assert time_unit(1000.0) == (60.0, "minutes")
    assert time_unit(90_000.0) == (3600.0, "hours")


# -- the maps --------------------------------------------------------------------------------------


def test_maps_hold_the_elites_and_say_who_they_are(run: Run) -> None:
    ground = ground_of(run.history, run.everywhere, run.core.settings, run.best)
    figures = maps(run.everywhere, ground, 4)
    assert [figure.key for figure in figures] == ["map-all", "map-0", "map-1", "map-2", "map-3"]
    for island, figure in enumerate(figures[1:]):
        heat = figure.traces[1]
        for (column, row), elite in run.history.state.search.elites(island):
            assert column is not None
            assert heat["z"][row][column] == pytest.approx(elite.metric, rel=1e-5)
            assert heat["text"][row][column].startswith(elite.child_id)
        held = sum(value is not None for values in heat["z"] for value in values)
        assert held == len(run.history.state.search.elites(island))
        assert f"{held} of 100 cells" in figure.label


def test_the_union_holds_the_best_of_each_cell(run: Run) -> None:
    union = best_of_each(run.everywhere, "")
    for placed in run.everywhere:
        assert placed.cell is not None
        assert union[placed.cell].elite.fitness >= placed.elite.fitness
    heat = maps(
        run.everywhere, ground_of(run.history, run.everywhere, run.core.settings, run.best), 4
    )[0].traces[1]
    assert sum(value is not None for values in heat["z"] for value in values) == len(union)


def test_the_best_of_the_run_is_shown_whatever_shines_brighter(run: Run) -> None:
    best = next(it for it in run.everywhere if it.elite.child_id == run.best)
    brighter = replace(best, elite=replace(best.elite, child_id="g9-i9-a9", fitness=2.0))
    assert best.cell is not None
    assert best_of_each([best, brighter], run.best)[best.cell] is best
    assert best_of_each([best, brighter], "")[best.cell] is brighter


def test_the_edges_are_those_of_the_search(run: Run) -> None:
    seen = measures_of(run.history)
    edges = edges_of(seen)
    grid = Grid(10)
    for measures in seen:
        grid.add(measures)
    assert grid._edges == edges
    assert edges_of([]) == edges_of([Measures(1.0, "params", 0.0)])


def test_less_is_brighter_where_the_metric_is_minimised(tmp_path: Path) -> None:
    found = Run(tmp_path, Made(children=30, direction="minimize", islands=1))
    ground = ground_of(found.history, found.everywhere, found.core.settings, found.best)
    (figure,) = maps(found.everywhere, ground, 1)
    heat = figure.traces[1]
    assert heat["reversescale"] is True
    assert heat["zmin"] == min(placed.elite.metric for placed in found.everywhere)
    assert ground.direction is Direction.MINIMIZE


def test_one_program_alone_is_as_good_as_it_gets(tmp_path: Path) -> None:
    found = Run(tmp_path, Made(children=0))
    ground = ground_of(found.history, found.everywhere, found.core.settings, "g0-i0-a0")
    heat = maps(found.everywhere, ground, 4)[0].traces[1]
    assert heat["zmin"] < heat["zmax"] == pytest.approx(0.6)
    assert heat["showscale"] is False


def test_a_tree_is_shown_as_a_cloud(tmp_path: Path) -> None:
    found = Run(tmp_path, Made(children=30, algorithm="puct", islands=1))
    ground = ground_of(found.history, found.everywhere, found.core.settings, found.best)
    (figure,) = maps(found.everywhere, ground, 1)
    assert len(figure.traces[0]["x"]) == len(found.everywhere)
    assert figure.traces[0]["marker"]["symbol"].count("star") == 1


# -- lineage, kinds, noise, listing ----------------------------------------------------------------


def test_the_tree_shows_the_line_and_what_stands_beside_it(run: Run) -> None:
    line = line_of(run.best, run.history.by_id)
    figure = lineage(line, run.history.by_id, run.core.settings)
    trunk = figure.traces[-1]
    assert trunk["x"] == [child.number for child in line]
    beside = figure.traces[1]
    ids = {text.split()[0] for text in beside["text"]}
    assert not ids & {child.record.child_id for child in line}
    assert f"{len(line) - 1} change" in figure.label


def test_kinds_are_shown_in_the_direction_of_the_metric(tmp_path: Path) -> None:
    for direction in ("maximize", "minimize"):
        found = Run(tmp_path / direction, Made(children=60, direction=direction))
        turned = found.core.settings.direction
        tallies = interventions(found.history.by_id, found.history.bests, turned)
        figure = changes(tallies, turned, "val_acc")
        assert figure is not None
        (box,) = figure.traces
        medians = dict(zip(box["y"], box["median"], strict=True))
        for tally in tallies:
            if tally.change is not None:
                expected = turned.fitness(tally.change.median)
                assert medians[tally.name] == pytest.approx(expected, rel=1e-5)
        for low, high in zip(box["lowerfence"], box["upperfence"], strict=True):
            assert low <= high
    assert changes([], Direction.MAXIMIZE, "val_acc") is None


def test_repeated_runs_are_shown_seed_by_seed(run: Run) -> None:
    programs = repeated(run.history.state, run.baseline.metrics, Direction.MAXIMIZE)
    assert programs[0].child_id == "g0-i0-a0"
    assert len(programs[0].fresh) == 2
    claimed = next(it for it in programs if it.child_id == run.best)
    assert claimed.fresh == tuple(mine for mine, _ in run.history.state.claims[run.best])
    figure = noise(programs, "val_acc")
    assert figure is not None
    shown = sum(len(trace["x"]) for trace in figure.traces[:2])
    assert shown == sum(len(it.runs) + len(it.fresh) for it in programs[:15])


def test_what_was_run_once_says_nothing_of_noise(run: Run) -> None:
    alone = repeated(type(run.history.state)(run.history.state.search), (0.6,), Direction.MAXIMIZE)
    assert noise(alone, "val_acc") is None


def test_the_listing_holds_every_child_once(run: Run) -> None:
    table = listing(run.history.children[3:], run.history.by_id, Direction.MAXIMIZE)
    assert len(table["id"]) == 81
    assert len({len(table[key]) for key in table if key not in ("outcomes", "kinds")}) == 1
    child = table["id"].index(run.best)
    assert table["outcomes"][table["outcome"][child]] == "kept"
    record = run.history.by_id[run.best].record
    assert table["metric"][child] == pytest.approx(record.metric, rel=1e-5)
    parent = table["id"][table["parent"][child]]
    assert parent == record.parent_id
    failed = next(it for it in run.history.tried if it.record.reason is not None)
    words = table["summary"][table["id"].index(failed.record.child_id)]
    assert words.startswith(failed.record.summary)
    assert failed.record.detail.split(",")[0][:20] in words
    dropped = next(it for it in run.history.tried if it.record.status is Status.SMOKE_DROPPED)
    place = table["id"].index(dropped.record.child_id)
    assert table["metric"][place] is None  # a smoke run's would stand among those of full runs
    assert table["summary"][place].endswith(" | 0.3 in its smoke run")


def test_hostile_summaries_are_escaped_in_every_chart(run: Run) -> None:
    ground = ground_of(run.history, run.everywhere, run.core.settings, run.best)
    figures = [
        progress(run.history, run.core.settings, run.baseline),
        *maps(run.everywhere, ground, 4),
        lineage(line_of(run.best, run.history.by_id), run.history.by_id, run.core.settings),
    ]
    texts = [text for figure in figures for text in all_texts(figure.traces)]
    assert any("&lt;b&gt;bold" in text for text in texts)
    assert not any("<b>" in text or "<script" in text for text in texts)
    json.dumps([figure.to_json() for figure in figures], allow_nan=False)


def test_the_run_that_is_read_is_left_as_it_is(run: Run) -> None:
    before = {path: path.stat().st_mtime_ns for path in run.project.rglob("*")}
    read_history(build.unread(config.load(run.project), lambda _: None))
    load(run.project)
    assert {path: path.stat().st_mtime_ns for path in run.project.rglob("*")} == before

"""What both algorithms must do, whatever else they do (see ``Search``)."""

from __future__ import annotations

import importlib
from dataclasses import replace

import pytest
from search.search_cases import SETTINGS, history, told

from lae_controller.errors import ConfigError
from lae_controller.program import Direction, Reason, Record, Selection, Status
from lae_controller.search import SEARCHES, Search, SearchSettings

TWO_METRICS = replace(
    SETTINGS,
    metrics={"size": Direction.MINIMIZE},
    pareto_probability=0.3,
    c_puct=2.0,
    prior_exponent=1.0,
)


@pytest.fixture(params=sorted(set(SEARCHES.values())))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def make(name: str, settings: SearchSettings = SETTINGS) -> Search:
    module, _, attribute = name.partition(":")
    search: Search = getattr(importlib.import_module(module), attribute)(
        settings, Direction.MAXIMIZE
    )
    return search


def asked(search: Search, count: int = 30) -> list[Selection]:
    flying: list[str] = []
    chosen = []
    for slot in range(count):
        chosen.append(search.ask(f"g999-i0-a{slot}", 0, flying))
        flying = [*flying, chosen[-1].parent_id][-8:]
    return chosen


def state(search: Search) -> object:
    return (
        list(search.elites(0)),
        search.global_best(),
        search.front(),
        search.mode(),
        asked(search),
    )


def fold(search: Search, records: list[Record]) -> Search:
    for number, record in enumerate(records):
        search.tell(record)
        if search.migrates_after(record.gen):
            search.migrate()
        if number % 20 == 19 and record.reason is Reason.SUSPECT:
            search.accept(record.child_id)
    return search


def disturb(search: Search, number: int, records: list[Record]) -> None:
    """Do what happens between two children: migrate, accept, run again, take out."""
    record = records[number]
    if number % 16 == 15:
        search.migrate()
    if number % 20 == 19:
        search.revise(record.child_id, 0.7, (0.7, 0.7))
    if number % 50 == 49:
        search.withdraw(records[number - 7].child_id)
    if record.reason is Reason.SUSPECT and number % 3 == 0:
        search.accept(record.child_id)


class TestSearchContract:
    @pytest.mark.parametrize("settings", [SETTINGS, TWO_METRICS])
    def test_replay_gives_the_same_state(self, name: str, settings: SearchSettings) -> None:
        records = history(5, 200)
        live = make(name, settings)
        for number, record in enumerate(records):
            if number:
                asked(live, 2)
            fold(live, [record])
        again = make(name, settings)
        for record in records:
            fold(again, [record])
        assert state(live) == state(again)

    @pytest.mark.parametrize("settings", [SETTINGS, TWO_METRICS])
    @pytest.mark.parametrize("written_down", [True, False], ids=["", "by-an-older-version"])
    def test_a_run_taken_up_goes_on_as_if_it_had_not_ended(
        self, name: str, settings: SearchSettings, written_down: bool
    ) -> None:
        settings = replace(settings, num_islands=3)
        records, live, again = history(12, 300, 3), make(name, settings), make(name, settings)
        rebinned = 0
        for number, record in enumerate(records):
            placement = live.tell(record)
            rebinned += placement.rebinned is True
            known = placement if written_down else replace(placement, rebinned=None)
            again.replay(record, known)
            for search in (live, again):
                disturb(search, number, records)
        assert rebinned > 5 or not live.migrates_after(4)
        assert state(live) == state(again)
        for later in history(13, 60, 3)[3:]:
            new = replace(later, child_id=later.child_id.replace("g", "g7"), gen=700)
            assert live.tell(new) == again.tell(new)
        assert state(live) == state(again)

    def test_asking_changes_nothing(self, name: str) -> None:
        search = fold(make(name, TWO_METRICS), history(6, 80))
        before = state(search)
        asked(search, 100)
        assert state(search) == before

    def test_asking_before_anything_is_told_is_a_mistake(self, name: str) -> None:
        with pytest.raises(ValueError, match="expected the baseline to be told first"):
            make(name).ask("g1-i0-a0", 0)

    def test_the_best_is_never_lost(self, name: str) -> None:
        search, best = make(name, replace(SETTINGS, pop_per_island=3)), float("-inf")
        for record in history(7, 150):
            search.tell(record)
            if record.metric is not None and record.reason is None:
                best = max(best, record.metric)
            found = search.global_best()
            assert found is not None
            assert found.metric == best
            assert best == max(elite.metric for _, elite in search.elites(0))

    @pytest.mark.parametrize(
        "record",
        [
            told("g1-i0-a0", None, status=Status.CRASH, reason=Reason.EXIT),
            told("g1-i0-a0", None, status=Status.SMOKE_DROPPED),
            told("g1-i0-a0", 9.0, status=Status.CRASH),
            told("g1-i0-a0", float("nan")),
            told("g1-i0-a0", float("inf")),
            told("g1-i0-a0", 9.0, reason=Reason.SUSPECT),
        ],
        ids=["exit", "dropped", "crash-with-number", "nan", "inf", "suspect"],
    )
    def test_a_failed_child_is_not_kept_and_never_a_parent(self, name: str, record: Record) -> None:
        search = fold(make(name, TWO_METRICS), [told("g0-i0-a0", 0.0)])
        assert not search.tell(record).kept
        shown = asked(search)
        assert {chosen.parent_id for chosen in shown} == {"g0-i0-a0"}
        assert all(not chosen.top and not chosen.diverse for chosen in shown)

    def test_a_suspect_counts_once_it_is_accepted(self, name: str) -> None:
        search = fold(make(name), [told("g0-i0-a0", 0.0)])
        search.tell(told("g1-i0-a0", 9.0, reason=Reason.SUSPECT))
        assert search.accept("g1-i0-a0").kept
        best = search.global_best()
        assert best is not None
        assert best.child_id == "g1-i0-a0"
        with pytest.raises(ConfigError, match="g1-i0-a0 is not held back as suspect"):
            search.accept("g1-i0-a0")

    def test_further_runs_change_the_rank(self, name: str) -> None:
        search = fold(make(name), [told("g0-i0-a0", 0.0, diversity=0.0)])
        search.tell(told("g1-i0-a0", 5.0, diversity=0.5))
        search.tell(told("g1-i0-a1", 4.0, diversity=1.0))
        search.revise("g1-i0-a0", 3.0, (5.0, 1.0))
        best = search.global_best()
        assert best is not None
        assert (best.child_id, best.metric) == ("g1-i0-a1", 4.0)
        revised = {it.child_id: it for _, it in search.elites(0)}["g1-i0-a0"]
        assert (revised.metric, revised.fitness, revised.runs) == (3.0, 3.0, (5.0, 1.0))

    def test_what_is_withdrawn_is_nowhere_and_no_parent(self, name: str) -> None:
        search = fold(make(name, TWO_METRICS), [told("g0-i0-a0", 0.0, metrics={"size": 5.0})])
        search.tell(told("g1-i0-a0", 9.0, diversity=1.0, metrics={"size": 1.0}, promise=9.0))
        search.withdraw("g1-i0-a0")
        assert [it.child_id for _, it in search.elites(0)] == ["g0-i0-a0"]
        assert "g1-i0-a0" not in {it.child_id for it in search.front()}
        best = search.global_best()
        assert best is not None
        assert best.child_id == "g0-i0-a0"
        assert {chosen.parent_id for chosen in asked(search)} == {"g0-i0-a0"}
        search.tell(told("g2-i0-a0", None, parent="g1-i0-a0", status=Status.CRASH))
        search.withdraw("g1-i0-a0")
        search.revise("g1-i0-a0", 1.0, (1.0,))
        assert [it.child_id for _, it in search.elites(0)] == ["g0-i0-a0"]

    def test_who_would_be_displaced(self, name: str) -> None:
        search = fold(make(name), [told("g0-i0-a0", 0.0), told("g1-i0-a0", 3.0)])
        best = search.global_best()
        assert best is not None
        assert best in search.rivals(0, best)

    def test_no_inspiration_is_the_parent_or_named_twice(self, name: str) -> None:
        for chosen in asked(fold(make(name, TWO_METRICS), history(8, 120)), 60):
            shown = [chosen.parent_id, *chosen.top, *chosen.diverse]
            assert len(shown) == len(set(shown))
            assert len(chosen.top) == 2

    def test_with_one_metric_there_is_no_front(self, name: str) -> None:
        search = fold(make(name, replace(SETTINGS, pareto_probability=1.0)), history(9, 40))
        assert search.front() == []
        assert "pareto" not in {chosen.rule for chosen in asked(search)}

    def test_parents_come_from_the_front_as_often_as_asked(self, name: str) -> None:
        search = fold(make(name, TWO_METRICS), history(11, 100))
        front = {elite.child_id for elite in search.front()}
        drawn = [chosen for chosen in asked(search, 1000) if chosen.rule == "pareto"]
        assert len(drawn) / 1000 == pytest.approx(0.3, abs=0.05)
        assert {chosen.parent_id for chosen in drawn} == front
        assert len(front) > 2

    def test_a_restored_search_goes_on(self, name: str) -> None:
        records = history(11, 60)
        source = fold(make(name), records)
        search = make(name)
        cells = list(source.elites(0))
        search.restore([cells], [elite.measures for _, elite in cells], None, records)
        assert list(search.elites(0)) == cells
        assert search.global_best() == source.global_best()
        search.tell(told("g99-i0-a0", 99.0))
        best = search.global_best()
        assert best is not None
        assert best.child_id == "g99-i0-a0"

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from made_runs import Made, load, make_run

from lae_controller import build, config
from lae_controller.errors import ConfigError, LedgerError
from lae_controller.program import Direction, Reason, Status
from lae_controller.views.report import costs, facts
from lae_controller.views.report.history import Cost, History, cost_of, read_history
from lae_controller.views.report.lineage import (
    MOST_LINES,
    diff_lines,
    diff_of,
    line_of,
    steps_of,
)
from lae_controller.views.report.tallies import (
    MEANINGS,
    failures,
    interventions,
    operators,
    spread_of,
)
from lae_controller.views.summary import summarise


def read(project: Path) -> History:
    return read_history(build.unread(config.load(project), lambda _: None))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("run"), Made(children=80, seed=3))


@pytest.fixture(scope="module")
def history(project: Path) -> History:
    return read(project)


# -- the journal read once more --------------------------------------------------------------------


def test_the_fold_is_that_of_the_controller(project: Path, history: History) -> None:
    state = load(project).state
    assert history.state.rows == state.rows
    assert history.state.spent == state.spent
    assert history.state.search.global_best() == state.search.global_best()


def test_what_was_spent_adds_up(history: History) -> None:
    assert history.spent.runs == pytest.approx(history.state.spent)
    assert history.spent.usd == pytest.approx(history.state.usage.cost_usd)
    assert history.spent.seconds == pytest.approx(
        93.0
        + sum(it.record.seconds for it in history.tried)
        + history.further.seconds
        + history.claims.seconds
    )
    parts = [line.cost for line in costs.lines(history)]
    assert sum(parts, Cost()).runs == pytest.approx(history.spent.runs)


def test_the_last_best_is_the_best_of_the_run(history: History) -> None:
    best = history.state.search.global_best()
    assert best is not None
    assert (history.bests[-1].child_id, history.bests[-1].metric) == (best.child_id, best.metric)
    numbers = [step.number for step in history.bests]
    assert numbers == sorted(numbers)
    assert history.bests[0].number == 0


def test_gains_that_were_accepted_rise_and_further_runs_may_lower(history: History) -> None:
    accepted = [step for step in history.bests if step.accepted]
    assert accepted
    assert any(not step.accepted and step.number for step in history.bests)
    told = {it.record.child_id: it for it in history.tried}
    for step in accepted:
        assert told[step.child_id].number == step.number
    start = history.bests[0].metric
    assert start + sum(step.gain for step in history.bests) == pytest.approx(
        history.bests[-1].metric
    )


def test_of_a_metric_that_is_minimised_a_gain_is_above_zero(tmp_path: Path) -> None:
    found = read(make_run(tmp_path, Made(children=60, direction="minimize", sigma=0.0)))
    gains = [step.gain for step in found.bests if step.accepted]
    assert gains
    assert min(gains) > 0
    assert found.bests[-1].metric < found.bests[0].metric


def test_numbers_count_children_and_the_baseline_is_none_of_them(history: History) -> None:
    assert [it.number for it in history.children[:4]] == [0, 0, 0, 0]
    assert [it.number for it in history.tried] == list(range(1, 81))


@pytest.mark.parametrize(
    ("stop", "word"),
    [("budget", "finished"), ("asked", "stopped"), (None, "interrupted"), ("money", "stopped")],
)
def test_it_says_where_the_run_stands(tmp_path: Path, stop: str | None, word: str) -> None:
    project = make_run(tmp_path, Made(children=2, stop=stop))
    found = read(project)
    assert found.ended == stop
    standing = facts.standing(config.load(project), found)
    assert standing.word == word
    assert ("`lae run`" in standing.sentence) == (word == "interrupted" or stop == "asked")


def test_a_torn_last_line_is_passed_over_and_left_alone(tmp_path: Path) -> None:
    project = make_run(tmp_path, Made(children=5))
    journal = config.load(project).lae_dir / "journal.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole + b'{"event": "told", "rec')
    assert len(read(project).tried) == 5
    assert journal.read_bytes().endswith(b'"rec')


def test_without_a_journal_it_says_what_makes_one(tmp_path: Path) -> None:
    project = make_run(tmp_path, Made(children=2))
    (config.load(project).lae_dir / "journal.jsonl").unlink()
    with pytest.raises(ConfigError, match=r"journal\.jsonl: not there, or empty; .*`lae run`"):
        read(project)


def test_an_event_of_another_version_is_named_with_its_line(tmp_path: Path) -> None:
    project = make_run(tmp_path, Made(children=2))
    journal = config.load(project).lae_dir / "journal.jsonl"
    lines = journal.read_text().count("\n")
    with journal.open("a") as stream:
        stream.write('{"event": "teleport"}\n')
    with pytest.raises(LedgerError, match=rf"journal\.jsonl:{lines + 1}: the event 'teleport'"):
        read(project)


def test_calls_of_unknown_price_are_counted_and_cost_nothing(history: History) -> None:
    record = history.tried[0].record
    assert record.usage is not None
    unknown = replace(record, usage=replace(record.usage, cost_usd=None))
    assert cost_of(unknown).unpriced == 1
    assert cost_of(unknown).usd == 0.0
    assert facts.money(cost_of(unknown)) == "not known"
    assert facts.money(cost_of(unknown) + Cost(usd=1.5)) == "1.50 and more"
    assert cost_of(replace(record, usage=None)) == Cost(record.charge, record.seconds)


# -- per child and per accepted gain ---------------------------------------------------------------


def test_gains_share_out_what_was_spent_between_them(history: History) -> None:
    gains = costs.gains(history.bests, history.baseline)
    assert [gain.best for gain in gains] == [step for step in history.bests if step.accepted]
    last = gains[-1].best
    assert sum(gain.children for gain in gains) == last.number
    assert sum(gain.cost.runs for gain in gains) == pytest.approx(last.spent.runs - 3.0)
    assert sum(gain.wall for gain in gains) == pytest.approx(last.elapsed)


def test_a_cost_is_shared_among_some_and_not_among_none() -> None:
    assert Cost(6.0, 30.0, usd=3.0).per(3) == Cost(2.0, 10.0, usd=1.0)
    assert Cost(6.0).per(0) is None
    assert Cost(6.0, 3.0) - Cost(1.0, 1.0) == Cost(5.0, 2.0)


# -- the line of the winner ------------------------------------------------------------------------


def test_the_line_leads_from_the_baseline_to_the_winner(project: Path, history: History) -> None:
    by_id = history.by_id
    best = history.bests[-1].child_id
    line = line_of(best, by_id)
    assert line[0].number == 0
    assert line[-1].record.child_id == best
    for parent, child in pairwise(line):
        assert child.record.parent_id == parent.record.child_id
    steps = steps_of(load(project), line, by_id)
    assert steps[0].diff is None
    for step in steps[1:]:
        assert step.diff is not None
        assert [kind for kind, _ in step.diff.lines].count("add") == 1
        assert 0 <= step.kept_siblings <= step.siblings


def test_a_step_whose_directory_is_gone_shows_the_change_as_proposed(tmp_path: Path) -> None:
    project = make_run(tmp_path, Made(children=3, programs=False))
    core = load(project)
    child = core.state.rows[-1].child_id
    gone = diff_of(core, child, "g0-i0-a0")
    assert gone.lines == ()
    assert "gone" in gone.note
    (core.settings.lae_dir / "results" / f"{child}.diff").write_text("model.py\n+ VALUE = 1\n")
    assert diff_of(core, child, "g0-i0-a0").lines == (("", "model.py"), ("add", "+ VALUE = 1"))


def test_a_long_change_is_cut_off_and_counted() -> None:
    diff = diff_lines("--- a/m\n+++ b/m\n@@ -1 +1,400 @@\n" + "+x\n" * 400)
    assert [kind for kind, _ in diff.lines[:4]] == ["file", "file", "hunk", "add"]
    assert len(diff.lines) == MOST_LINES
    assert diff.left_out == 403 - MOST_LINES


# -- counted ---------------------------------------------------------------------------------------


def test_kinds_and_operators_count_every_child_once(history: History) -> None:
    for tallies in (
        interventions(history.by_id, history.bests, Direction.MAXIMIZE),
        operators(history.by_id, history.bests, Direction.MAXIMIZE),
    ):
        assert sum(tally.tried for tally in tallies) == 80
        assert sum(tally.kept for tally in tallies) == history.state.kept
        assert sum(tally.led for tally in tallies) == sum(it.accepted for it in history.bests)
        brought = [tally.brought for tally in tallies]
        assert brought == sorted(brought, reverse=True)
        assert sum(brought) == pytest.approx(sum(it.gain for it in history.bests if it.accepted))


def test_failures_are_counted_by_reason_with_what_they_cost(history: History) -> None:
    found = failures(history.tried)
    counts = {failure.reason: failure.count for failure in found}
    assert counts.pop("smoke_dropped") == history.state.statuses["smoke_dropped"]
    assert counts == dict(history.state.reasons)
    for failure in found:
        assert 0 <= failure.ran <= failure.count
        assert (failure.cost.runs > 0) == (failure.ran > 0)


def test_every_reason_is_explained() -> None:
    assert set(MEANINGS) == {*(reason.value for reason in Reason), Status.SMOKE_DROPPED.value}


@pytest.mark.parametrize(
    ("children", "said"), [(5, "bwrap (5 children)"), (0, "bwrap (the baseline)")]
)
def test_isolation_counts_children_and_not_the_baseline_of_each_island(
    tmp_path: Path, children: int, said: str
) -> None:
    core = load(make_run(tmp_path, Made(children=children)))
    summary = summarise(core.settings, core.prepared.baseline, core.state)
    table = dict(facts.settings_table(core.settings, core.prepared.baseline, summary))
    assert table["isolation"] == said
    assert table["budget of a smoke run"] == "1 epoch or step"


def test_five_numbers_leave_out_the_outer_twentieths() -> None:
    spread = spread_of([float(value) for value in range(101)])
    assert spread is not None
    assert (spread.low, spread.first, spread.median, spread.third, spread.high) == (
        5.0,
        25.0,
        50.0,
        75.0,
        95.0,
    )
    assert spread_of([]) is None
    assert spread_of([2.0]) == replace(spread, low=2.0, first=2.0, median=2.0, third=2.0, high=2.0)

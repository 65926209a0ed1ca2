from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from made import made_baseline, made_record

from lae_controller.budget import NEVER_RAN_LIMIT, Budget
from lae_controller.build import search_for
from lae_controller.config import Settings, parse
from lae_controller.evaluators.baseline import Baseline
from lae_controller.program import Measures, Reason, Record, Status
from lae_controller.quantities import TotalBudget
from lae_controller.state import Asked, RunState, ask_event

TEXT = """\
metric: loss
metric_direction: minimize
run_cmd: t {budget}
editable_files: [m.py]
gate: epochs
budget: 4
total_budget: 40
evolution: {num_islands: 2}
"""


@pytest.fixture
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return parse(TEXT, tmp_path_factory.mktemp("p") / "loop.run.yaml")


def record(
    child: str, metric: float | None, parent: str | None = "g0-i0-a0", **changes: object
) -> Record:
    values = {
        "parent_id": parent,
        "status": Status.CRASH if metric is None else Status.EVALUATED,
        "smoke_metric": metric,
        "metric": metric,
        "reason": Reason.EXIT if metric is None else None,
        "summary": f"about {child}",
        "operator": "scale",
        "rule": "uniform",
        "digest": f"digest-{child}",
        "measures": None if metric is None else Measures(100.0 * metric, "params", metric / 10),
        "charge": 1.25,
        "elapsed": 1.0,
    }
    return made_record(child, **{**values, **changes})


def asked(child: str, size: int, parent: str | None = "g0-i0-a0") -> Asked:
    return Asked(child, 0, size, parent, "uniform", (), ())


def begun(settings: Settings) -> RunState:
    state = RunState(search_for(settings))
    for island in range(2):
        child = f"g0-i{island}-a0"
        state.apply(ask_event(asked(child, 2, None), "now"))
        charge = 3.25 if island == 0 else 0.0
        state.tell(record(child, 5.0, None, charge=charge, digest="base"))
    return state


def replayed(settings: Settings, events: Iterable[dict[str, object]]) -> RunState:
    state = begun(settings)
    for event in events:
        state.apply(event)
    return state


def test_replay_equals_what_was_lived(settings: Settings) -> None:
    state, events = begun(settings), []
    for gen, metric in [(1, 4.0), (2, None), (3, 6.0), (4, 3.0)]:
        child = f"g{gen}-i{gen % 2}-a0"
        ask = ask_event(asked(child, 1), "now")
        state.apply(ask)
        events += [ask, state.tell(record(child, metric))[0]]
    events.append(state.migrate())
    again = replayed(settings, events)
    assert again.rows == state.rows
    assert (again.spent, again.ordinal, again.gen) == (state.spent, state.ordinal, state.gen)
    assert [again.search.elites(i) for i in range(2)] == [state.search.elites(i) for i in range(2)]
    assert again.tried("g0-i0-a0") == state.tried("g0-i0-a0")
    assert again.credits() == state.credits()


def test_a_journal_from_before_placements_said_whether_they_rebinned(settings: Settings) -> None:
    state, events = begun(settings), []
    for gen in range(1, 40):
        child, metric = f"g{gen}-i{gen % 2}-a0", 4.0 - gen / 10 if gen % 3 else 4.0 + gen / 5
        ask = ask_event(asked(child, 1), "now")
        state.apply(ask)
        events += [ask, state.tell(record(child, metric))[0]]
    assert {event["rebinned"] for event in events[1::2]} == {True, False}
    older = [{key: event[key] for key in event if key != "rebinned"} for event in events]
    found = [
        [replayed(settings, kind).search.elites(i) for i in range(2)] for kind in (events, older)
    ]
    assert found[0] == found[1] == [state.search.elites(i) for i in range(2)]


def test_a_generation_is_done_when_all_of_it_is_told(settings: Settings) -> None:
    state = begun(settings)
    for slot in range(2):
        state.apply(ask_event(asked(f"g1-i{slot}-a{slot}", 2), "now"))
    state.tell(record("g1-i0-a0", 4.0))
    assert not state.generation_done
    state.tell(record("g1-i1-a1", None))
    assert state.generation_done
    assert state.ordinal == 2


def test_a_change_without_effect_pays_nothing_and_is_remembered(settings: Settings) -> None:
    state = begun(settings)
    lines = ("m.py: a = 1", "m.py: a = 2")
    events = []
    for slot, inert in enumerate(((), lines)):
        child = f"g1-i{slot}-a{slot}"
        ask = ask_event(asked(child, 2), "now")
        state.apply(ask)
        event, placement = state.tell(record(child, 4.0 - slot, inert=inert))
        events += [ask, event]
        assert placement.kept
    again = replayed(settings, events)
    for each in (state, again):
        assert each.credits()["scale"].paid == pytest.approx(0.98, abs=0.01)
        assert each.credits()["scale"].tried > 1.9
        assert [it.outcome for it in each.tried("g0-i0-a0")] == ["kept", "no effect"]
        assert each.inert.among({"m.py": "a = 2\n"}) == ("m.py: a = 2",)


def test_asking_again_counts_once(settings: Settings) -> None:
    state = begun(settings)
    first = asked("g1-i0-a0", 1)
    state.apply(ask_event(first, "now"))
    state.apply(ask_event(replace(first, attempt=1), "later"))
    assert state.ordinal == 1
    assert state.asked["g1-i0-a0"].attempt == 1


def test_a_migration_is_due_once(settings: Settings) -> None:
    state = begun(settings)
    state.apply(ask_event(asked("g5-i0-a0", 1), "now"))
    assert not state.migration_due
    state.tell(record("g5-i0-a0", 4.0))
    assert state.migration_due
    state.migrate()
    assert not state.migration_due


def test_what_was_tried_is_remembered_with_its_outcome(settings: Settings) -> None:
    state = begun(settings)
    state.tell(record("g1-i0-a0", 4.0))
    state.tell(record("g1-i1-a1", None, reason=Reason.SYNTAX))
    assert [(t.child_id, t.outcome) for t in state.tried("g0-i0-a0")] == [
        ("g1-i0-a0", "kept"),
        ("g1-i1-a1", "syntax"),
    ]
    assert state.known == {
        "base": "g0-i0-a0",
        "digest-g1-i0-a0": "g1-i0-a0",
        "digest-g1-i1-a1": "g1-i1-a1",
    }


def test_an_unknown_event_is_refused(settings: Settings) -> None:
    with pytest.raises(KeyError):
        begun(settings).apply({"event": "nonsense"})


# -- budget --------------------------------------------------------------------------------------


def baseline(*metrics: float) -> Baseline:
    return made_baseline(
        *metrics, editable=("m.py",), smoke_metric=6.0, full_seconds=10.0, smoke_seconds=2.0,
        smoke_steps=1.0, full_steps=4.0, fingerprint="f", charge=3.25, seconds=12.0,
    )  # fmt: skip


def test_the_baseline_s_metric_is_the_mean_of_its_runs_and_exact_if_they_agree() -> None:
    assert baseline(2.0, 2.5, 3.0).metric == 2.5
    assert baseline(0.1, 0.1, 0.1).metric == 0.1


@pytest.mark.parametrize(
    ("metric", "share"), [("seconds", 0.5), ("val_time", 0.5), ("timeliness", None), ("loss", None)]
)
def test_a_metric_that_is_a_time_is_held_against_the_wall_clock(
    settings: Settings, metric: str, share: float | None
) -> None:
    chosen = replace(settings, metric=metric)
    assert baseline(5.0, 5.1).plan(chosen).full.time_share == share


@pytest.mark.parametrize(
    ("metrics", "reserve", "kept"),
    [((5.0, 5.1), None, 4), ((5.0, 5.0), None, 0), ((5.0,), None, 4), ((5.0, 5.0), 3, 3)],
)
def test_the_reserve(
    settings: Settings, metrics: tuple[float, ...], reserve: int | None, kept: float
) -> None:
    chosen = replace(settings, reserve=reserve)
    assert Budget(chosen, baseline(*metrics), 0.25).reserve == kept


def test_the_search_ends_before_the_reserve(settings: Settings) -> None:
    state = begun(settings)
    budget = Budget(settings, baseline(5.0, 5.1), 0.25)
    assert budget.room(state, 0.0) == 26  # (40 - 4 - 3.25) / 1.25
    state.spent = 34.75
    assert budget.room(state, 0.0) == 1
    assert budget.stop(state, 0.0) is None
    state.spent = 34.76
    found = budget.stop(state, 0.0)
    assert found is not None
    assert found.reason == "budget"


def test_a_time_budget_ends_by_the_clock(settings: Settings) -> None:
    chosen = replace(settings, total_budget=TotalBudget(None, 600.0))
    budget = Budget(chosen, baseline(5.0, 5.1), 0.25)
    state = begun(settings)
    assert budget.reserve == 60.0
    assert budget.stop(state, 500.0) is None
    assert budget.stop(state, 529.0) is not None


def test_children_that_never_run_end_the_search_with_their_reason(settings: Settings) -> None:
    state = begun(settings)
    budget = Budget(settings, baseline(5.0, 5.1), 0.25)
    for n in range(NEVER_RAN_LIMIT):
        assert budget.stop(state, 0.0) is None
        state.tell(
            record(f"g{n + 1}-i0-a0", None, charge=0.0, reason=Reason.BAD_DIFF, detail="no block")
        )
    found = budget.stop(state, 0.0)
    assert found is not None
    assert found.reason == "never_ran"
    assert "bad_diff: no block" in found.sentence


def test_too_many_children_end_the_search(settings: Settings) -> None:
    state = begun(settings)
    state.children = 5 * 40
    found = Budget(settings, baseline(5.0, 5.1), 0.25).stop(state, 0.0)
    assert found is not None
    assert found.reason == "children"

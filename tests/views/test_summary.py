from __future__ import annotations

from pathlib import Path

import pytest
from test_state import TEXT, asked, baseline, record

from lae_controller.build import search_for
from lae_controller.codec import encode
from lae_controller.config import parse
from lae_controller.program import Elite, Measures
from lae_controller.state import RunState, ask_event
from lae_controller.views.leaderboard import leaderboard, status_line, synthesis
from lae_controller.views.summary import Summary, summarise


def summary(path: Path, *told: tuple[float, ...]) -> Summary:
    """Return that of a baseline with 5, 8 and 5 on three seeds, and of children with these runs."""
    settings = parse(TEXT, path / "loop.run.yaml")
    state = RunState(search_for(settings))
    for island in range(2):
        child = f"g0-i{island}-a0"
        state.apply(ask_event(asked(child, 2, None), "now"))
        state.tell(record(child, 6.0, None, repeats=(5.0, 8.0, 5.0)))
    for slot, runs in enumerate(told):
        child = f"g1-i{slot}-a{slot}"
        state.apply(ask_event(asked(child, len(told)), "now"))
        state.tell(record(child, sum(runs) / len(runs), repeats=runs))
    found = summarise(settings, baseline(5.0), state)
    for text in (leaderboard, synthesis):
        assert text(found, baseline(5.0, 8.0, 5.0), settings)
    return found


def gains(found: Summary) -> dict[str, float]:
    return {placed.elite.child_id: placed.gain for placed in found.placed}


def test_a_gain_is_that_on_the_seeds_that_both_were_run_on(tmp_path: Path) -> None:
    found = gains(summary(tmp_path, (4.0,), (3.0, 5.0)))
    assert found["g0-i0-a0"] == 0.0
    assert found["g1-i0-a0"] == pytest.approx(-1.0)
    assert found["g1-i1-a1"] == pytest.approx(-2.5)


def test_the_best_stands_first_though_the_only_run_of_another_looks_better(tmp_path: Path) -> None:
    found = summary(tmp_path, (3.0, 5.0), (3.0,))  # as good on the seed that both know
    assert found.best is not None
    first, second, *_ = found.placed
    assert first == found.best
    assert (first.elite.child_id, second.elite.child_id) == ("g1-i0-a0", "g1-i1-a1")


def test_the_baseline_s_own_first_run_is_no_gain(tmp_path: Path) -> None:
    found = summary(tmp_path, (5.0,))  # its mean is 6: less is better
    assert gains(found)["g1-i0-a0"] == 0.0
    assert found.best is not None
    assert found.best.elite.parent_id is None
    assert "(g0-i0-a0 +0)" in status_line(found)


def test_without_the_journal_a_gain_is_that_of_the_metrics_which_are_left(tmp_path: Path) -> None:
    settings = parse(TEXT, tmp_path / "loop.run.yaml")
    measures = Measures(610.0, "params", 0.0)
    told = [record("g0-i0-a0", 6.0, None), record("g1-i0-a0", 4.0)]
    elites = [("g0-i0-a0", None, 6.0), ("g1-i0-a0", "g0-i0-a0", 5.5)]  # it was run again
    state = RunState(search_for(settings))
    state.apply(
        {
            "event": "restored",
            "children": [{"record": encode(it), "kept": True, "cell": [0, 0]} for it in told],
            "archives": [
                [[[at, 0], encode(Elite(child, parent, -metric, metric, measures))]]
                for at, (child, parent, metric) in enumerate(elites)
            ],
            "seen": [encode(measures)],
            "gen": 1,
            "gen_size": 1,
            "ordinal": 1,
        }
    )
    assert gains(summarise(settings, baseline(6.0), state)) == {"g0-i0-a0": 0.0, "g1-i0-a0": -0.5}

"""The search behind the API: whole experiments, from the seed to the last evaluation."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from serve_helpers import SESSION, a_config, a_program, running_service

from lae_controller.config import Settings
from lae_controller.errors import LedgerError, LockedError
from lae_controller.evaluators.baseline import Prepared
from lae_controller.program import Intervention
from lae_controller.service import engine
from lae_controller.service.api_errors import ApiError, Code
from lae_controller.service.content import read_content
from lae_controller.service.engine import Engine
from lae_controller.service.evaluations import Insight, Scored
from lae_controller.service.names import Child
from lae_controller.service.served import ServedChildren
from lae_controller.service.states import Action, ExperimentState
from lae_controller.task import Mutation


def begun(service: Any, score: float | None = 0.5, **run: Any) -> Any:
    """Create, seed and start an experiment; return it with its folder."""
    book = service.registry.create(SESSION, a_config(**run))
    served = service.registry.get(Child(SESSION, book.created.id))
    content = read_content(a_program()["content"], "python")
    scored = Scored({"steep": score}, (Insight("note", "seen by hand"),)) if score else None
    served.experiment.seed(content, scored).result()
    service.registry.start(served)[1].result()
    return served


def value_of(source: str) -> float:
    """Score a program as a client would: run it."""
    names: dict[str, Any] = {}
    exec(source, names)
    return float(names["value"](2.0))


def work(served: Any, most: int = 100) -> list[str]:
    """Evaluate programs until the experiment ends or ``most`` are done; return their ids."""
    done: list[str] = []
    deadline = time.monotonic() + 180
    while served.experiment.state is ExperimentState.RUNNING and len(done) < most:
        assert time.monotonic() < deadline
        handed, _ = served.experiment.acquire(1)
        for one in handed:
            value = value_of(served.sources.files(one.program.id)[0].content)
            scored = Scored({"steep": value}, (Insight("note", f"seen {one.program.id}"),))
            served.experiment.submit(one.program.id, one.token, scored).result()
            done.append(one.program.id)
        if not handed:
            with served.experiment.changed:
                served.experiment.changed.wait(0.05)
    return done


def eventually(true: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 180
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_an_experiment_completes_with_the_ledgers_of_any_run(tmp_path: Path) -> None:
    with running_service(tmp_path) as service:
        served = begun(service, None, maxPrograms=5, concurrency=2)
        done = work(served)
        assert served.experiment.state is ExperimentState.COMPLETED
        assert len(done) == len(set(done)) == 5
        assert (served.experiment.book.generated, served.experiment.book.evaluated) == (5, 5)
        lae = served.folder / "lae"
        eventually(lambda: {row[3] for row in history(lae)} >= set(done))
        rows = history(lae)
        for child in done[1:]:
            program = served.experiment.program(child)
            source = served.sources.files(child)[0].content
            assert source.partition("# EVOLVE")[0] == "import math\n\n"
            assert program.evaluation.scores == {"steep": value_of(source)}
            row = next(row for row in rows if row[3] == child)
            assert float(row[5]) == value_of(source)
            assert program.parents


def history(lae: Path) -> list[list[str]]:
    lines = (lae / "history.tsv").read_text().splitlines()
    return [line.split("\t") for line in lines[1:]]


def test_insights_problem_and_context_reach_the_next_task(tmp_path: Path) -> None:
    with running_service(tmp_path) as service:
        served = begun(service, maxPrograms=9, concurrency=1)
        assert len(work(served, most=2)) == 2
        tasks = served.folder / "lae" / "tasks"
        eventually(lambda: any(_insights(path) for path in tasks.glob("*/task.json")))
        path = next(path for path in tasks.glob("*/task.json") if _insights(path))
        value = json.loads(path.read_text())
        assert value["task"]["context"] == "make it steep\n\nThe program is written in python."
        assert value["task"]["run_cmd"] == ""
        assert value["task"]["editable"] == ["initial_program.py"]
        assert value["mutator"]["backend"] == "offline"
        served.experiment.stop().result()


def _insights(path: Path) -> bool:
    try:
        task = json.loads(path.read_text())["task"]
    except (OSError, ValueError):
        return False
    return any("note: seen" in line for line in task["insights"])


def test_a_restart_goes_on_with_the_same_programs_and_tokens(tmp_path: Path) -> None:
    with running_service(tmp_path) as service:
        served = begun(service, maxPrograms=5, concurrency=2)
        assert len(work(served, most=1)) == 1
        eventually(lambda: served.experiment.acquire(0) and len(served.experiment.programs()) >= 3)
        held: list[Any] = []
        eventually(lambda: held.extend(served.experiment.acquire(1)[0]) or held)
        name = Child(SESSION, served.folder.name)
        source = served.sources.files(held[0].program.id)
    with running_service(tmp_path) as service:
        again = service.registry.get(name)
        assert again.experiment is not served.experiment
        assert again.sources.files(held[0].program.id) == source
        scored = Scored({"steep": 1.0})
        again.experiment.submit(held[0].program.id, held[0].token, scored).result()
        work(again)
        assert again.experiment.state is ExperimentState.COMPLETED
        scores = [it.evaluation.scores for it in again.experiment.programs()]
        assert len(scores) == 5
        told = again.folder / "lae" / "history.tsv"
        eventually(lambda: held[0].program.id in told.read_text())


def test_parents_come_from_the_pareto_front_when_asked_for(tmp_path: Path) -> None:
    from dataclasses import replace

    with running_service(tmp_path) as service:
        config = replace(a_config(maxPrograms=5, concurrency=1), pareto=1.0)
        book = service.registry.create(SESSION, config)
        served = service.registry.get(Child(SESSION, book.created.id))
        scored = Scored({"speed": 1.0, "size": -1.0})
        served.experiment.seed(read_content(a_program()["content"], "python"), scored).result()
        service.registry.start(served)[1].result()
        journal = served.folder / "lae" / "journal.jsonl"
        eventually(lambda: journal.exists() and '"rule": "pareto"' in journal.read_text())
        (held,) = _one(served)
        better = Scored({"speed": 0.5, "size": 3.0})
        served.experiment.submit(held.program.id, held.token, better).result()
        eventually(lambda: '"metrics": {"size": 3.0}' in journal.read_text())
        served.experiment.stop().result()


def _one(served: Any) -> list[Any]:
    held: list[Any] = []
    eventually(lambda: held.extend(served.experiment.acquire(1)[0]) or held)
    return held


class Stubborn(ServedChildren):
    """Children that propose one and the same change twice before they think of another."""

    def mutate(self, child_id: str) -> Mutation:
        rate = 0.75 if child_id in ("g1-i0-a0", "g1-i1-a1") else 0.875
        text = f"<<<<<<< SEARCH\nRATE = 0.5\n=======\nRATE = {rate}\n>>>>>>> REPLACE\n"
        return Mutation(text, f"rate {rate}", Intervention.OPTIMISER, "-")


class StubbornEngine(Engine):
    def _children(self, settings: Settings, prepared: Prepared) -> ServedChildren:
        return Stubborn(self._experiment, self._catalogue, settings, prepared, self._lifelines)


def test_a_program_that_is_proposed_again_while_it_is_out_keeps_its_score(tmp_path: Path) -> None:
    with running_service(tmp_path, engine=StubbornEngine) as service:
        served = begun(service, maxPrograms=3, concurrency=2)
        done = work(served)
        assert len(done) == 2
        lae = served.folder / "lae"
        eventually(lambda: {row[3] for row in history(lae)} >= set(done))
        told = {row[3]: row[5:7] for row in history(lae) if row[0] != "0"}
        assert sorted(told[child] for child in done) == [
            ["2.25", "evaluated"],
            ["2.5", "evaluated"],
        ]
        twins = [told[child] for child in set(told) - set(done)]
        assert twins  # more than one, if the next was proposed before the end
        assert all(twin == ["-", "crash"] for twin in twins)


def test_a_program_that_cannot_be_mutated_further_completes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "NEVER_RAN_LIMIT", 5)
    cpp = "// EVOLVE-BLOCK-START\nint f() { return 1; }\n// EVOLVE-BLOCK-END\n"
    with running_service(tmp_path) as service:
        book = service.registry.create(SESSION, a_config(maxPrograms=3, concurrency=2))
        served = service.registry.get(Child(SESSION, book.created.id))
        content = read_content({"files": [{"path": "a.cpp", "content": cpp}]}, "python")
        served.experiment.seed(content, Scored({"m": 1.0})).result()
        service.registry.start(served)[1].result()
        eventually(lambda: served.experiment.state is ExperimentState.COMPLETED)
        assert "5 proposals in a row came to nothing" in served.experiment.book.reason
        assert len(served.experiment.programs()) == 1


def test_thirty_experiments_run_and_the_next_waits(tmp_path: Path) -> None:
    with running_service(tmp_path) as service:
        running = [begun(service, None) for _ in range(30)]
        with pytest.raises(ApiError, match="has 30 running experiments in location global") as full:
            begun(service, None)
        assert full.value.code is Code.RESOURCE_EXHAUSTED
        running[0].experiment.stop().result()
        begun(service, None)
        with pytest.raises(ApiError, match="30 is the most"):
            service.registry.resume(running[0])


def test_two_servers_do_not_share_a_folder(tmp_path: Path) -> None:
    with (
        running_service(tmp_path),
        pytest.raises(LockedError, match="another controller works here"),
        running_service(tmp_path),
    ):
        pass


def test_a_damaged_journal_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    with running_service(tmp_path) as service:
        served = begun(service, None)
        served.experiment.stop().result()
    journal = served.folder / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text(lines[0] + '{"event": "moved", "action": "FLY"}\n' + "".join(lines[1:]))
    before = journal.read_bytes()
    with pytest.raises(LedgerError, match="journal.jsonl: cannot be followed"):
        running_service(tmp_path).__enter__()
    assert journal.read_bytes() == before


def test_what_was_half_created_or_half_deleted_is_swept(tmp_path: Path) -> None:
    folder = tmp_path / "sandbox" / "experiments" / ".gone-1"
    folder.mkdir(parents=True)
    (folder / "journal.jsonl").write_text("{")
    with running_service(tmp_path):
        assert not folder.exists()


def test_it_has_a_leaderboard_as_any_run(tmp_path: Path) -> None:
    with running_service(tmp_path) as service:
        served = begun(service, 0.5, maxPrograms=5, concurrency=2)
        path = served.folder / "lae" / "leaderboard.md"
        eventually(path.exists)
        assert "No child is better than the baseline so far." in path.read_text()
        done = work(served)
        best = max(done, key=lambda it: served.experiment.program(it).evaluation.scores["steep"])
        told = re.compile(r"\d+ children: 4 evaluated")  # beside proposals that came to nothing
        eventually(lambda: told.search(path.read_text()))
        text = path.read_text()
    assert text.startswith("# Leaderboard: steep (maximize)\n")
    assert f"by {best} (" in text
    assert "Each score is one evaluation by a client" in text
    assert "confirm.baseline_runs" not in text
    assert "5.0 of 5 full runs spent, " in text


def test_what_is_scored_after_the_end_is_learned_at_once(tmp_path: Path) -> None:
    with running_service(tmp_path) as service:
        served = begun(service, 0.5, maxPrograms=9, concurrency=2)
        assert len(work(served, most=1)) == 1
        held: list[Any] = []
        eventually(lambda: held.extend(served.experiment.acquire(1)[0]) or len(held) == 2)
        served.experiment.move(Action.COMPLETE, "the maximum duration has passed").result()
        eventually(lambda: not service.registry._runners._alive)
        for one in held:
            child = one.program.id
            assert child not in {row[3] for row in history(served.folder / "lae")}
            served.experiment.submit(child, one.token, Scored({"steep": 77.0})).result()
            eventually(lambda: child in {row[3] for row in history(served.folder / "lae")})  # noqa: B023
            assert served.experiment.state is ExperimentState.COMPLETED
        leaders = served.folder / "lae" / "leaderboard.md"
        eventually(lambda: "Global best: **77**" in leaders.read_text())

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from serve_helpers import SESSION, AtOnce, Hand, a_config, a_program

from lae_controller.errors import PrerequisiteError
from lae_controller.ledger import Event, Ledger
from lae_controller.program import Usage
from lae_controller.service.api_errors import ApiError, Code
from lae_controller.service.book import SEED_ID, Created, ServedProgram, created_event, open_book
from lae_controller.service.commits import CommitLog
from lae_controller.service.content import read_content
from lae_controller.service.evaluations import Scored, read_evaluation
from lae_controller.service.experiment import Experiment
from lae_controller.service.states import ExperimentState, ProgramState

LEASE = 600.0


class Rig:
    """An experiment on the disk, with a clock that is turned by hand."""

    def __init__(self, folder: Path, **run: object) -> None:
        self.clock = Hand()
        self.ledger = Ledger(folder, lambda _: None)
        created = Created("x-1", SESSION, a_config(**run), self.clock.time)
        self.ledger.append([created_event(created)])
        self.it = self.opened()

    def opened(self) -> Experiment:
        """Read the experiment from its journal, as after a restart."""
        book = open_book(self.ledger.read_journal(mend=True) or [])
        return Experiment(book, CommitLog(self.ledger.append, AtOnce()), LEASE, self.clock)

    def seed(self, score: float | None = 0.5) -> None:
        wire = a_program(score)
        content = read_content(wire["content"], "python")
        scored = read_evaluation(wire["evaluation"], "e") if score is not None else None
        self.it.seed(content, scored)

    def begin(self, ready: int = 0) -> None:
        """Seed, start, and make some programs ready."""
        self.seed()
        self.it.start()
        for number in range(ready):
            self.ready(f"g1-i0-a{number}")

    def ready(self, child: str) -> None:
        program = ServedProgram(child, ProgramState.EVALUATING, self.clock.time, (SEED_ID,))
        self.it.ready(program)


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def same(one: Experiment, other: Experiment) -> bool:
    return one.book == other.book


# -- leases and tokens ---------------------------------------------------------------------------


def test_no_program_is_handed_to_two(rig: Rig) -> None:
    rig.begin(ready=2)
    first, _ = rig.it.acquire(1)
    rest, _ = rig.it.acquire(5)
    none, nothing = rig.it.acquire(1)
    assert [it.program.id for it in first + rest] == ["g1-i0-a0", "g1-i0-a1"]
    assert (none, nothing) == ([], None)
    assert first[0].token != rest[0].token


def test_only_the_exact_token_counts_and_only_once(rig: Rig) -> None:
    rig.begin(ready=1)
    (held,), _ = rig.it.acquire(1)
    before = rig.ledger.journal.read_bytes()
    with pytest.raises(ApiError, match="has another lock token than 'wrong'") as caught:
        rig.it.submit("g1-i0-a0", "wrong", Scored({"steep": 1.0}))
    assert caught.value.code is Code.FAILED_PRECONDITION
    assert held.token not in caught.value.message
    assert rig.ledger.journal.read_bytes() == before
    rig.it.submit("g1-i0-a0", held.token, Scored({"steep": 1.0}))
    after = rig.ledger.journal.read_bytes()
    with pytest.raises(ApiError, match="expected EVALUATING, found COMPLETED"):
        rig.it.submit("g1-i0-a0", held.token, Scored({"steep": 2.0}))
    assert rig.ledger.journal.read_bytes() == after
    evaluation = rig.it.program("g1-i0-a0").evaluation
    assert evaluation is not None
    assert evaluation.scores == {"steep": 1.0}


def test_a_program_that_nobody_acquired_takes_no_evaluation(rig: Rig) -> None:
    rig.begin(ready=1)
    with pytest.raises(ApiError, match="another lock token"):
        rig.it.submit("g1-i0-a0", "", Scored({"steep": 1.0}))
    with pytest.raises(ApiError, match="no such program") as caught:
        rig.it.submit("g9-i0-a0", "t", Scored({"steep": 1.0}))
    assert caught.value.code is Code.NOT_FOUND


def test_an_expired_lease_goes_to_another_and_the_first_is_stale(rig: Rig) -> None:
    rig.begin(ready=1)
    (first,), _ = rig.it.acquire(1)
    rig.clock.time += LEASE - 1
    assert rig.it.acquire(1)[0] == []
    rig.clock.time += 2
    (second,), _ = rig.it.acquire(1)
    assert second.program.id == first.program.id
    with pytest.raises(ApiError, match="another lock token"):
        rig.it.submit(first.program.id, first.token, Scored({"steep": 1.0}))
    rig.it.submit(second.program.id, second.token, Scored({"steep": 2.0}))
    assert rig.it.program(first.program.id).state is ProgramState.COMPLETED


def test_a_late_evaluation_counts_until_somebody_else_has_the_program(rig: Rig) -> None:
    rig.begin(ready=1)
    (held,), _ = rig.it.acquire(1)
    rig.clock.time += LEASE + 1
    rig.it.tick()
    rig.it.submit(held.program.id, held.token, Scored({"steep": 1.0}))
    assert rig.it.acquire(1)[0] == []


def test_a_program_that_silences_every_worker_gets_the_penalty(rig: Rig) -> None:
    rig.begin(ready=1)
    for _ in range(3):
        assert len(rig.it.acquire(1)[0]) == 1
        rig.clock.time += LEASE + 1
        rig.it.tick()
    program = rig.it.program("g1-i0-a0")
    assert program.evaluation is not None
    assert program.evaluation.scores == {"steep": -100_000.0}
    assert rig.it.acquire(1)[0] == []
    assert same(rig.it, rig.opened())


def test_a_restart_keeps_leases_evaluations_and_states(rig: Rig) -> None:
    rig.begin(ready=3)
    (one, two), _ = rig.it.acquire(2)
    rig.it.submit(one.program.id, one.token, Scored({"steep": 1.0}))
    again = rig.opened()
    assert same(rig.it, again)
    assert [it.program.id for it in again.acquire(9)[0]] == ["g1-i0-a2"]
    again.submit(two.program.id, two.token, Scored({"steep": 3.0}))
    assert again.book.evaluated == 3


def test_tokens_that_were_given_are_on_the_disk_before_they_are_given(rig: Rig) -> None:
    rig.begin(ready=1)
    (held,), durable = rig.it.acquire(1)
    assert durable is not None
    assert durable.done()
    last = json.loads(rig.ledger.journal.read_text().splitlines()[-1])
    assert last["programs"] == [{"id": held.program.id, "token": held.token}]


# -- states --------------------------------------------------------------------------------------


def test_only_the_legal_moves_are_allowed(rig: Rig) -> None:
    with pytest.raises(ApiError, match="no seed program"):
        rig.it.start()
    with pytest.raises(ApiError, match="state CREATED cannot take RESUME"):
        rig.it.resume()
    with pytest.raises(ApiError, match="state CREATED cannot take STOP"):
        rig.it.stop()
    rig.begin()
    for forbidden, said in (
        (rig.it.start, "RUNNING cannot take START; expected state CREATED"),
        (rig.it.resume, "RUNNING cannot take RESUME; expected state PAUSED or COMPLETED"),
        (rig.it.check_deletable, "RUNNING cannot take DELETE"),
    ):
        with pytest.raises(ApiError, match=said):
            forbidden()
    rig.it.stop()
    assert rig.it.state is ExperimentState.PAUSED
    with pytest.raises(ApiError, match="state PAUSED cannot take DELETE"):
        rig.it.check_deletable()
    rig.it.resume()
    assert rig.it.state is ExperimentState.RUNNING


def test_paused_hands_out_nothing_but_takes_what_was_out(rig: Rig) -> None:
    rig.begin(ready=2)
    (held,), _ = rig.it.acquire(1)
    rig.it.stop()
    assert rig.it.acquire(1) == ([], None)
    assert rig.it.room() == 0
    rig.it.submit(held.program.id, held.token, Scored({"steep": 1.0}))
    rig.it.resume()
    assert len(rig.it.acquire(5)[0]) == 1


def test_no_work_for_long_pauses_and_resuming_gives_new_time(tmp_path: Path) -> None:
    rig = Rig(tmp_path, idleTimeout="100s")
    rig.begin(ready=1)
    rig.clock.time += 90
    rig.it.acquire(1)
    rig.clock.time += 90
    rig.it.tick()
    assert rig.it.state is ExperimentState.RUNNING
    rig.clock.time += 11
    rig.it.tick()
    assert rig.it.state is ExperimentState.PAUSED
    rig.it.resume()
    rig.it.tick()
    assert rig.it.state is ExperimentState.RUNNING


def test_the_duration_counts_running_time_and_completes(tmp_path: Path) -> None:
    rig = Rig(tmp_path, maxDuration="100s")
    rig.begin(ready=1)
    rig.clock.time += 60
    rig.it.stop()
    rig.clock.time += 1_000
    rig.it.resume()
    rig.clock.time += 39
    rig.it.tick()
    assert rig.it.state is ExperimentState.RUNNING
    rig.it = rig.opened()
    rig.clock.time += 2
    rig.it.tick()
    assert rig.it.state is ExperimentState.COMPLETED
    rig.it.check_deletable()
    rig.it.resume()
    rig.it.tick()
    assert rig.it.state is ExperimentState.RUNNING


def test_the_last_evaluation_completes_and_the_seed_counts(tmp_path: Path) -> None:
    rig = Rig(tmp_path, maxPrograms=3)
    rig.begin(ready=2)
    assert rig.it.room() == 0
    held, _ = rig.it.acquire(2)
    rig.it.submit(held[0].program.id, held[0].token, Scored({"steep": 1.0}))
    assert rig.it.state is ExperimentState.RUNNING
    rig.it.submit(held[1].program.id, held[1].token, Scored({"steep": -1e12}))
    assert rig.it.state is ExperimentState.COMPLETED
    assert rig.it.take_reported() == [it.program.id for it in held]
    assert same(rig.it, rig.opened())


def test_operations_end_when_the_search_has_begun(rig: Rig) -> None:
    rig.seed()
    operation, _ = rig.it.start()
    assert not rig.it.operation(operation.id).done
    rig.it.begun()
    assert rig.it.operation(operation.id).done
    with pytest.raises(ApiError, match="no such operation"):
        rig.it.operation("start-99")


# -- the seed ------------------------------------------------------------------------------------


def test_a_seed_without_a_score_is_handed_out_first(rig: Rig) -> None:
    rig.seed(None)
    assert rig.it.program(SEED_ID).state is ProgramState.INITIALIZED
    rig.it.start()
    rig.it = rig.opened()
    (held,), _ = rig.it.acquire(3)
    assert held.program.id == SEED_ID
    rig.it.submit(SEED_ID, held.token, Scored({"steep": 0.25}))
    assert rig.it.program(SEED_ID).state is ProgramState.COMPLETED


def test_a_second_seed_replaces_the_first_until_the_start(rig: Rig) -> None:
    rig.seed(None)
    rig.seed(0.75)
    assert rig.it.book.evaluated == 1
    rig.it.start()
    with pytest.raises(ApiError, match="takes no program from outside"):
        rig.seed(0.5)


# -- room ----------------------------------------------------------------------------------------


def test_room_bounds_what_is_made_and_what_is_unscored(tmp_path: Path) -> None:
    rig = Rig(tmp_path, maxPrograms=100, concurrency=2)
    rig.begin()
    assert rig.it.room() == 2
    rig.it.asked(ServedProgram("g1-i0-a0", ProgramState.INITIALIZED, 0.0))
    assert rig.it.room() == 1
    rig.ready("g1-i0-a0")
    rig.ready("g1-i1-a1")
    assert rig.it.room() == 0
    held, _ = rig.it.acquire(2)
    assert rig.it.room() == 2
    rig.ready("g2-i2-a0")
    rig.ready("g2-i3-a1")
    rig.it.acquire(2)
    assert rig.it.room() == 0
    rig.it.submit(held[0].program.id, held[0].token, Scored({"steep": 1.0}))
    assert rig.it.room() == 1


def test_model_calls_are_counted_whether_a_program_came_of_them_or_not(rig: Rig) -> None:
    rig.begin()
    rig.it.asked(ServedProgram("g1-i0-a0", ProgramState.INITIALIZED, 0.0))
    rig.it.dropped("g1-i0-a0", Usage("m", 1, 100, 0, 0, 20, 0.5))
    assert (rig.it.book.usage.input_tokens, rig.it.book.usage.output_tokens) == (100, 20)
    assert len(rig.it.programs()) == 1
    assert same(rig.it, rig.opened())


# -- the disk ------------------------------------------------------------------------------------


def test_what_cannot_be_written_is_refused_until_it_is_read_anew(rig: Rig) -> None:
    rig.begin(ready=1)

    def full(_: Sequence[Event]) -> None:
        raise PrerequisiteError("no space left on the device")

    broken = Experiment(rig.it.book, CommitLog(full, AtOnce()), LEASE, rig.clock)
    _, durable = broken.acquire(1)
    assert durable is not None
    assert isinstance(durable.exception(), PrerequisiteError)
    assert broken.broken
    with pytest.raises(ApiError) as caught:
        broken.acquire(1)
    assert caught.value.code is Code.SERVICE_UNAVAILABLE
    assert len(rig.opened().acquire(1)[0]) == 1


def test_a_torn_last_event_is_cut_off(rig: Rig) -> None:
    rig.begin(ready=1)
    held, _ = rig.it.acquire(1)
    raw = rig.ledger.journal.read_bytes()
    rig.ledger.journal.write_bytes(raw[:-9])
    again = rig.opened()
    assert again.program(held[0].program.id).lease is None
    assert len(again.acquire(1)[0]) == 1

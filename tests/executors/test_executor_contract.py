"""What every Executor does, on this machine and on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from clusters import gone
from executor_bench import FULL, Bench, made_bench
from sessions import processes

from lae_controller.program import Reason, Status

WAITS_FOR_OTHERS = """\
import os, time
from pathlib import Path

def run(seed):
    meeting = Path({place!r})
    (meeting / str(seed)).touch()
    until = time.monotonic() + 60
    while len(list(meeting.iterdir())) < 3:
        assert time.monotonic() < until
        time.sleep(0.02)
    return float(seed)
"""
SLEEPS = "import time\n\ndef run(seed):\n    print('begun', flush=True)\n    time.sleep(600)\n"
HIDES = """\
import os, subprocess, sys, time

def run(seed):
    words = [sys.executable, "-c", "import time; time.sleep(600)", {marker!r}]
    subprocess.Popen(words, start_new_session=True)
    time.sleep(600)
"""
LEAVES = """\
def run(seed):
    open("small.txt", "w").write("small")
    open("large.bin", "wb").write(b"x" * (3 << 20))
    return 1.0
"""


@pytest.fixture(params=["local", pytest.param("ray", marks=pytest.mark.ray)])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    """Return what makes a bench with three slots, its settings extended by a text."""
    made: list[Bench] = []
    where = "executor: {kind: local}\nconcurrency: 3\n"
    if request.param == "ray":
        where = request.getfixturevalue("shared_cluster").settings

    def of(extra: str = "") -> Bench:
        made.append(made_bench(tmp_path / "project", where + extra))
        return made[-1]

    yield of
    for bench in made:
        bench.executor.close()
        bench.lifelines.end_all()


def test_an_evaluation_comes_back_whole(make: Callable[..., Bench]) -> None:
    bench = make()
    job = bench.job("g1-i0-a0")
    attempt = bench.executor.submit(job)
    assert attempt == "g1-i0-a0.0"
    (evaluation,) = bench.finish(attempt).values()
    assert (evaluation.status, evaluation.metric) == (Status.EVALUATED, 42.0)
    assert evaluation.repeats == (42.0,)
    assert "val_loss: 42.0" in evaluation.artifacts.log_tail
    assert evaluation.tier == "none"
    assert (job.folder / "full" / "output.log").read_text() == "val_loss: 42.0\n"
    assert bench.executor.running() == ()


def test_a_child_is_known_by_its_attempt(make: Callable[..., Bench]) -> None:
    bench = make()
    for number in (2, 3):
        attempt = bench.executor.submit(bench.job("g1-i0-a0", attempt=number))
        assert attempt == f"g1-i0-a0.{number}"
        bench.finish(attempt)


def test_as_many_run_side_by_side_as_there_is_capacity(
    make: Callable[..., Bench], tmp_path: Path
) -> None:
    bench = make()
    assert bench.executor.capacity() == 3
    meeting = tmp_path / "meeting"
    meeting.mkdir()
    job = bench.job("g3-i0-a0", WAITS_FOR_OTHERS.format(place=str(meeting)))
    attempts = [bench.executor.submit(bench.further(job, number)) for number in range(3)]
    assert {attempt.rpartition(".")[0] for attempt in attempts} == {"g3-i0-a0"}
    assert len(set(attempts)) == 3
    found = bench.finish(*attempts)
    assert sorted(each.metric or 0.0 for each in found.values()) == [0.0, 1.0, 2.0]


def test_a_failed_child_is_a_value(make: Callable[..., Bench]) -> None:
    bench = make()
    raising = "def run(seed):\n    raise ValueError('no such thing')\n"
    attempt = bench.executor.submit(bench.job("g1-i0-a0", raising))
    (evaluation,) = bench.finish(attempt).values()
    assert (evaluation.status, evaluation.reason) == (Status.CRASH, Reason.EXIT)
    assert "no such thing" in evaluation.detail
    assert evaluation.charge == 1.0


def test_a_run_over_its_time_is_killed(make: Callable[..., Bench]) -> None:
    bench = make()
    attempt = bench.executor.submit(bench.job("g1-i0-a0", SLEEPS, replace(FULL, limit=1.0)))
    (evaluation,) = bench.finish(attempt).values()
    assert evaluation.reason is Reason.TIMEOUT


def test_what_runs_is_said_to_run(make: Callable[..., Bench]) -> None:
    bench = make()
    attempt = bench.executor.submit(bench.job("g1-i0-a0", SLEEPS))
    for _ in range(300):
        assert bench.executor.poll(0.1) == ()
        if bench.executor.running():
            break
    assert bench.executor.running() == (attempt,)


def test_closing_ends_everything_and_leaves_no_process(
    make: Callable[..., Bench], tmp_path: Path
) -> None:
    bench, marker = make(), f"hidden-of-{tmp_path.name}"
    for number in range(4):  # one more than there is room for
        bench.executor.submit(bench.job(f"g1-i0-a{number}", HIDES.format(marker=marker)))
    for _ in range(600):
        bench.executor.poll(0.1)
        if len(processes(marker)) >= 3:
            break
    assert len(processes(marker)) == 3
    bench.executor.close()
    assert bench.lifelines.cut_all  # Mutators hang on them, too
    assert gone(marker, 2.0)
    bench.executor.close()


def test_what_a_run_left_is_there_once_it_was_brought(make: Callable[..., Bench]) -> None:
    bench = make()
    job = bench.job("g1-i0-a0", LEAVES)
    bench.finish(bench.executor.submit(job))
    work = job.folder / "full" / "work"
    assert (work / "small.txt").read_text() == "small"
    bench.executor.bring("g1-i0-a0")
    assert (work / "large.bin").read_bytes() == b"x" * (3 << 20)
    bench.executor.forget("g1-i0-a0")
    assert (work / "large.bin").exists()

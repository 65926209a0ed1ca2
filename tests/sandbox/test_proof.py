from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from shadow_cases import BASIC, BOTH, MODEL, SHADOWS, TRAIN, Case, Outcome, Place, inside

from lae_controller.sandbox.compiled import RECORDER
from lae_controller.sandbox.proof import Verdict, verdict
from lae_controller.sandbox.record import Event, Process, Record, read_record, recorder_env
from lae_controller.sandbox.recorder.sitecustomize import Recorder, fingerprint

PYTHON = Path(sys.executable)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[Outcome]]]:
    """The whole matrix, on its way: a test waits for its own case only."""
    with ThreadPoolExecutor(max_workers=4) as pool:
        yield {
            case.name: pool.submit(case.go, inside(tmp_path_factory.mktemp("case")), PYTHON)
            for case in SHADOWS
        }


@pytest.mark.parametrize("case", SHADOWS, ids=lambda case: case.name)
def test_whose_code_ran(case: Case, outcomes: dict[str, Future[Outcome]]) -> None:
    outcome = outcomes[case.name].result()
    assert outcome.errors == ""
    assert outcome.said == case.said
    assert outcome.verdict.ok is case.ok, outcome.verdict.sentence
    assert outcome.verdict.proven is (case.ok if case.proven is None else case.proven)
    for word in case.sentence.split("@repo"):
        assert word in outcome.verdict.sentence


def test_every_name_in_the_matrix_is_there_once() -> None:
    assert len({case.name for case in SHADOWS}) == len(SHADOWS)


def run_plain(root: Path, **files: str) -> Outcome:
    named = {f"{name}.py": text for name, text in files.items()}
    return Case("", "@python train.py", "", files={**BASIC, **named}).go(inside(root), PYTHON)


def test_a_first_run_compiles_and_a_second_reads_bytecode(tmp_path: Path) -> None:
    case, place = Case("", "@python train.py", BOTH), inside(tmp_path)
    first = case.go(place, PYTHON)
    (place.proof / "ran.tsv").unlink()
    second = case.run(place, PYTHON)
    assert kinds(first) == {"train.py": "exec", "model.py": "exec"}
    assert kinds(second) == {"train.py": "exec", "model.py": "cached"}
    assert second.verdict == first.verdict
    assert first.verdict.proven


def kinds(outcome: Outcome) -> dict[str, str]:
    return {event.inside: event.kind for event in outcome.record.events if event.kind != "open"}


def test_the_fingerprint_is_that_of_the_code_and_of_nothing_else(tmp_path: Path) -> None:
    first = run_plain(tmp_path / "a").verdict
    again = run_plain(tmp_path / "b").verdict
    commented = run_plain(tmp_path / "c", model="# a remark\n" + MODEL).verdict
    other = run_plain(tmp_path / "d", model=MODEL + "x = 1\n").verdict
    assert first.fingerprint == again.fingerprint == commented.fingerprint
    assert first.fingerprint != other.fingerprint


def test_code_that_is_not_python_is_known_by_its_content(tmp_path: Path) -> None:
    prints = []
    for text in ("echo 1", "echo 1", "echo 2"):
        (tmp_path / "run.sh").write_text(text)
        prints.append(
            verdict(
                Record(),
                program=tmp_path,
                seen_at=tmp_path,
                entrypoint="run.sh",
                editable=["run.sh"],
                python=PYTHON,
                is_python=False,
            )
        )
    assert prints[0] == prints[1]
    assert prints[0].fingerprint != prints[2].fingerprint
    assert prints[0].ok
    assert not prints[0].proven


def test_a_chatty_process_leaves_a_short_record(tmp_path: Path) -> None:
    train = (
        TRAIN + "import os\nos.mkdir('d')\nfor n in range(20_000):\n    open('a.yaml').close()\n"
    )
    train += "for n in range(1500):\n    open('d/%d.json' % n, 'w').close()\n"
    train += "    open('d/%d.json' % n).close()\n"
    case = Case("", "@python train.py", BOTH, files={**BASIC, "train.py": train, "a.yaml": ""})
    outcome = case.go(inside(tmp_path), PYTHON)
    opened = [event.inside for event in outcome.record.events if event.kind == "open"]
    assert outcome.verdict.proven
    assert opened.count("a.yaml") == 1
    assert 100 < len(opened) <= 1100


@pytest.mark.parametrize("where", ["missing/ran.tsv", ""])
def test_without_a_place_for_the_record_the_run_goes_on(tmp_path: Path, where: str) -> None:
    case = Case("", "@python train.py", BOTH, env={"LAE_PROOF_OUT": f"{tmp_path}/{where}"})
    outcome = case.go(inside(tmp_path / "p"), PYTHON)
    assert (outcome.said, outcome.errors, outcome.status) == (BOTH, "", 0)
    assert not outcome.verdict.ok
    assert "No Python process left a record" in outcome.verdict.sentence


def test_a_failing_sitecustomize_of_the_project_fails_as_it_would(tmp_path: Path) -> None:
    files = {**BASIC, "hooks/sitecustomize.py": "raise ValueError('own fault')\n"}
    case = Case("", "@python train.py", BOTH, files=files, pythonpath="hooks")
    outcome = case.go(inside(tmp_path / "with"), PYTHON)
    case.build(inside(tmp_path / "without"), PYTHON)
    plain = subprocess.run(
        [PYTHON, "train.py"],
        cwd=inside(tmp_path / "without").work,
        env={"PYTHONPATH": "hooks"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "own fault" in plain.stderr
    assert outcome.errors == plain.stderr
    assert outcome.verdict.proven


def test_a_process_looks_as_it_would_without_the_recorder(tmp_path: Path) -> None:
    script = tmp_path / "look.py"
    script.write_text("import sys\nprint(sys.path, sys.argv, sys.flags)\n")
    said = []
    for env in ({"PYTHONPATH": "/a:/b"}, recorder_env(tmp_path, [tmp_path], [], "/a:/b")):
        done = subprocess.run([PYTHON, script, "x"], env=env, capture_output=True, check=True)
        said.append(done.stdout)
    assert said[0] == said[1]
    assert read_record(tmp_path).events[0].inside == "look.py"


@pytest.mark.parametrize(("names", "more"), [("a a", False), ("a b", True)])
def test_each_file_that_leaks_is_counted_once(tmp_path: Path, names: str, more: bool) -> None:
    command = "; ".join(["@python train.py", *(f"@python @repo/{n}.py" for n in names.split())])
    files = {**BASIC, "a.py": "", "b.py": ""}
    outcome = Case("", command, BOTH, files=files).go(inside(tmp_path), PYTHON)
    assert outcome.verdict.sentence.startswith(f"a.py: {inside(tmp_path).repo}/a.py was run")
    assert outcome.verdict.sentence.endswith("; and 1 more") is more


def write_record(folder: Path, *lines: str, end: str = "\n") -> Record:
    (folder / "ran.tsv").write_text("\n".join(lines) + end)
    return read_record(folder)


START = "7\tstart\tcpython-311\tcpython-30b07f0\t1\t/usr/bin/python3\tpython3\ta\\\\b\\tc"


def test_a_record_reads_back(tmp_path: Path) -> None:
    record = write_record(
        tmp_path, START, "7\texec\town\t/w\ta\\\\n.py\tf0\ts0", "8\topen\tLEAK\t/r\tx.py\t-\t-"
    )
    started = Process(
        7, "cpython-311", "cpython-30b07f0", 1, "/usr/bin/python3", ("python3", "a\\b\tc")
    )
    assert record == Record(
        (started,),
        (
            Event(started, "exec", "own", "/w/a\\n.py", "a\\n.py", "f0", "s0"),
            Event(None, "open", "LEAK", "/r/x.py", "x.py", None, None),
        ),
        (),
        0,
    )


@pytest.mark.parametrize(
    "line",
    [
        "7",
        "",
        "7\texec\town\t/w\ta.py\tf0",
        "7\teaten\town\t/w\ta.py\tf0\ts0",
        "7\texec\tours\t/w\ta.py\tf0\ts0",
        "7\texec\town\t/w\t../a.py\tf0\ts0",
        "7\texec\town\t/w\t/etc/passwd\tf0\ts0",
        "x\tstart\tcpython-311\tcpython-30b07f0\t1\t-",
        "7\tstart\tcpython-311",
    ],
)
def test_a_line_that_the_recorder_does_not_write_is_damage(tmp_path: Path, line: str) -> None:
    assert write_record(tmp_path, START, line).damaged == 1


def test_a_torn_record_is_not_trusted(tmp_path: Path) -> None:
    place = inside(tmp_path)
    whole = run_plain(tmp_path)
    with (place.proof / "ran.tsv").open("a") as stream:
        stream.write("7\texec")
    judged = judge(place, read_record(place.proof))
    assert whole.verdict.ok
    assert not judged.ok
    assert "1 lines of the record" in judged.sentence


def judge(place: Place, record: Record, python: Path = PYTHON) -> Verdict:
    return verdict(
        record,
        program=place.program,
        seen_at=place.work,
        entrypoint="train.py",
        editable=["model.py"],
        python=python,
        is_python=True,
    )


def as_if_by(record: Record, kind: str, executable: str = "-") -> Record:
    """Return the record as another interpreter would have left it."""
    process = replace(record.processes[0], version="cpython-9", executable=executable)
    return Record(
        (process,),
        tuple(replace(event, process=process, kind=kind) for event in record.events),
    )


def test_code_compiled_in_the_run_needs_no_interpreter_to_compare(tmp_path: Path) -> None:
    outcome = run_plain(tmp_path)
    assert judge(inside(tmp_path), as_if_by(outcome.record, "exec")).proven


def test_bytecode_of_an_unknown_interpreter_is_not_proven(tmp_path: Path) -> None:
    outcome = run_plain(tmp_path)
    judged = judge(inside(tmp_path), as_if_by(outcome.record, "cached"))
    assert (judged.ok, judged.proven) == (True, False)
    assert "bytecode of an interpreter that is not at hand" in judged.sentence


def test_a_program_that_the_record_names_is_never_started(tmp_path: Path) -> None:
    trap = tmp_path / "python3"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    outcome = run_plain(tmp_path / "p")
    judge(inside(tmp_path / "p"), as_if_by(outcome.record, "cached", str(trap)))
    assert not (tmp_path / "sprung").exists()
    judge(inside(tmp_path / "p"), as_if_by(outcome.record, "cached", str(trap)), trap)
    assert (tmp_path / "sprung").exists()


def code(text: str) -> str:
    return fingerprint(compile(text, "x.py", "exec", dont_inherit=True))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 1", "x = 2"),
        ("x = 1", "x = True"),
        ("x = 0.0", "x = -0.0"),
        ("x = 1", "y = 1"),
        ("def f(a, b): return a - b", "def f(b, a): return b - a"),
        ("def f(a): return a", "def f(*, a): return a"),
        ("def f(a): return a", "def f(a, /): return a"),
        ("def f(): return 1", "async def f(): return 1"),
        ("x = a in {1, 2}", "x = a in {1, 3}"),
        ("def f(): pass", "def g(): pass"),
        ("def f():\n  def g(): return 1", "def f():\n  def g(): return 2"),
        ("x = (1, (2, 'a'))", "x = (1, (2, 'b'))"),
        (f"x = 0x1{'0' * 5000}", f"x = 0x2{'0' * 5000}"),
    ],
)
def test_other_code_has_another_fingerprint(one: str, other: str) -> None:
    assert code(one) != code(other)


@pytest.mark.parametrize(
    ("one", "other"), [("x = 1", "\n\n# no\nx  =  1 # yes\n"), ("x = 'a'", 'x = "a"')]
)
def test_layout_does_not_count(one: str, other: str) -> None:
    assert code(one) == code(other)


def test_a_fingerprint_is_the_same_in_every_process(tmp_path: Path) -> None:
    source = tmp_path / "sets.py"
    source.write_text("f = lambda x: x in {'one', 'two', 'three', 'four', 'five', 6}\n")
    answers = {
        subprocess.run(
            [PYTHON, RECORDER],
            input=f'[[0, "{source}"], [0, "{tmp_path}/none.py"]]'.encode(),
            env={"PYTHONHASHSEED": str(seed)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in (1, 2, 3)
    }
    assert len(answers) == 1
    assert code(source.read_text()).encode() in answers.pop()


class Odd(str):
    """A path that fails when it is looked at."""

    __slots__ = ("error",)
    error: type[BaseException]

    def endswith(self, *args: object) -> bool:
        raise self.error

    def __hash__(self) -> int:
        return 1


@pytest.mark.parametrize("error", [ValueError, OSError, RecursionError, MemoryError])
def test_the_hook_keeps_its_own_errors(tmp_path: Path, error: type[BaseException]) -> None:
    path = Odd("x.py")
    path.error = error
    Recorder(str(tmp_path / "ran.tsv"), "", "").hook("open", (path, "r", 0))


def test_the_hook_lets_an_interrupt_through(tmp_path: Path) -> None:
    path = Odd("x.py")
    path.error = KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        Recorder(str(tmp_path / "ran.tsv"), "", "").hook("open", (path, "r", 0))


def test_the_environment_keeps_what_the_project_had(tmp_path: Path) -> None:
    env = recorder_env(tmp_path, [Path("/w")], [Path("/r")], "src:lib", ["conf/p.txt"])
    assert env["PYTHONPATH"].split(os.pathsep) == [str(RECORDER.parent), "src", "lib"]
    assert env["LAE_WATCH"] == "p.txt"
    assert recorder_env(tmp_path, [], [], "")["PYTHONPATH"] == str(RECORDER.parent)

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

from lae_controller import config
from lae_controller.errors import ConfigError
from lae_controller.evaluators import Interrupted, Measurement, Stage
from lae_controller.evaluators.command import CommandEvaluator
from lae_controller.evaluators.heldout import held_out_stage
from lae_controller.evaluators.runs import Bench, Limits
from lae_controller.machine.slots import Slot
from lae_controller.program import Direction, Reason
from lae_controller.sandbox.isolation import Isolation
from lae_controller.sandbox.launch import Lifelines
from lae_controller.sandbox.view import Tier

STAGE = Stage("full", 4.0, 42, 30.0)
SLOT = Slot("cpu 0")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    folder = tmp_path / "program"
    folder.mkdir()
    return folder


def measure(
    project: Path, program: Path, script: str, stage: Stage = STAGE, **changes: object
) -> Measurement:
    """Run a shell script as the training command."""
    (program / "run.sh").write_text(script)
    settings = dataclasses.replace(
        config.load(project),
        run_cmd="sh run.sh {budget}",
        **changes,  # type: ignore[arg-type]
    )
    evaluator = evaluator_of(settings, Lifelines())
    return evaluator.measure(program, "digest", program.parent / "runs", stage, SLOT)


def evaluator_of(settings: config.Settings, lifelines: Lifelines) -> CommandEvaluator:
    """Return an evaluator without isolation; the tiers have tests of their own."""
    isolation = Isolation(
        Tier.NONE, settings.root, settings.sandbox_dir, (), ("run.sh",), "run.sh",
        Path(sys.executable), False, False,
    )  # fmt: skip
    limits = Limits(None, None)
    return CommandEvaluator(Bench(settings, lifelines, isolation, limits, {"OMP_NUM_THREADS": "1"}))


def test_metric_parameters_and_curve_are_read(project: Path, program: Path) -> None:
    script = (
        "echo params: 610; for e in 1 2 3; do echo epoch $e: loss 0.$e; done; echo val_loss: 0.25"
    )
    found = measure(project, program, script)
    assert (found.metric, found.reason, found.params, found.metric_lines) == (0.25, None, 610, 1)
    assert [step for step, _ in found.artifacts.curve] == [1.0, 2.0, 3.0]
    assert "val_loss: 0.25" in found.artifacts.log_tail


@pytest.mark.parametrize(
    ("script", "reason", "said"),
    [
        ("echo val_loss: 0.1; exit 137", Reason.EXIT, "exit status 137"),
        ("echo val_loss: nan", Reason.NON_FINITE, "nan"),
        ("echo val_loss: inf", Reason.NON_FINITE, "inf"),
        ("echo nothing here", Reason.NO_METRIC, "nothing here"),
        ("echo val_loss: 0,95", Reason.NO_METRIC, "0,95"),
        ("echo 'MemoryError'; exit 1", Reason.OOM, "MemoryError"),
        ("echo 'OSError: [Errno 28] No space left on device'; exit 1", Reason.ENVIRONMENT, "space"),
        ("kill -11 $$", Reason.EXIT, "killed by signal 11"),
    ],
)
def test_a_failed_run_has_a_reason_and_no_metric(
    project: Path, program: Path, script: str, reason: Reason, said: str
) -> None:
    found = measure(project, program, script)
    assert (found.metric, found.reason) == (None, reason)
    assert said in found.detail


def test_a_traceback_comes_back_with_file_and_line(project: Path, program: Path) -> None:
    script = "exec {python} - <<'X'\ndef build(width): pass\nbuild(widht=64)\nX\n".replace(
        "{python}", "python3"
    )
    found = measure(project, program, script)
    assert found.reason is Reason.EXIT
    assert "unexpected keyword argument 'widht'" in found.detail


def test_a_run_beyond_its_limit_is_a_timeout(project: Path, program: Path) -> None:
    stage = dataclasses.replace(STAGE, limit=0.3)
    found = measure(project, program, "echo val_loss: 0.9; sleep 30", stage, stop_grace=0.2)
    assert (found.metric, found.reason) == (None, Reason.TIMEOUT)
    assert found.seconds < 10


def test_under_a_time_budget_ending_when_told_counts(project: Path, program: Path) -> None:
    stage = dataclasses.replace(STAGE, limit=0.4)
    script = "trap 'echo val_loss: 0.7; exit 0' TERM; while :; do sleep 0.05; done"
    time_gate = config.Gate.TIME
    found = measure(project, program, script, stage, gate=time_gate, stop_grace=5.0)
    assert (found.metric, found.reason) == (0.7, None)
    deaf = "trap '' TERM; echo val_loss: 0.7; while :; do sleep 0.05; done"
    found = measure(
        project,
        program,
        deaf,
        dataclasses.replace(stage, name="f2"),
        gate=time_gate,
        stop_grace=0.2,
    )
    assert (found.metric, found.reason) == (None, Reason.TIMEOUT)


def test_a_metric_file_is_read(project: Path, program: Path) -> None:
    script = "echo '{\"val_loss\": 0.125}' > metrics.json; echo val_loss: 99"
    assert measure(project, program, script, metric_file="metrics.json").metric == 0.125


FURTHER = (
    config.FurtherMetric("f1", Direction.MAXIMIZE),
    config.FurtherMetric("size", Direction.MINIMIZE),
)


def test_further_metrics_are_read_as_the_metric_is(project: Path, program: Path) -> None:
    script = "echo f1: 0.1; echo 'size = 2e3 f1 80%'; echo val_loss: 0.5"
    found = measure(project, program, script, metrics=FURTHER)
    assert (found.metric, found.metrics) == (0.5, {"f1": 80.0, "size": 2000.0})
    assert found.artifacts.warnings == ()


@pytest.mark.parametrize(
    ("said", "why"), [("f1: nan", "not finite"), ("f1: 0,5", "0;5"), ("f2: 1", "no line of the")]
)
def test_a_further_metric_that_is_not_there_is_a_warning(
    project: Path, program: Path, said: str, why: str
) -> None:
    script = f"echo '{said}'; echo size: 3; echo val_loss: 0.5"
    found = measure(project, program, script, metrics=FURTHER)
    assert (found.metric, found.reason, found.metrics) == (0.5, None, {"size": 3.0})
    (warning,) = (text for text in found.artifacts.warnings if "f1" in text)
    assert warning.startswith("further metric f1 not read: ")
    assert why in warning


def test_further_metrics_stand_in_the_same_file(project: Path, program: Path) -> None:
    script = """echo '{"val_loss": 0.125, "f1": 0.5}' > metrics.json; echo size: 3"""
    found = measure(project, program, script, metric_file="metrics.json", metrics=FURTHER)
    assert (found.metric, found.metrics) == (0.125, {"f1": 0.5})
    assert "'size' is not there" in found.artifacts.warnings[0]


def test_a_failed_run_has_no_further_metrics(project: Path, program: Path) -> None:
    found = measure(project, program, "echo f1: 0.5; exit 1", metrics=FURTHER)
    assert (found.metrics, found.artifacts.warnings) == ({}, ())


def test_the_program_directory_is_not_touched_by_its_run(project: Path, program: Path) -> None:
    measure(project, program, "echo junk > out.txt; echo val_loss: 1")
    assert sorted(path.name for path in program.iterdir()) == ["run.sh"]


def test_a_finished_run_is_read_and_not_run_again(project: Path, program: Path) -> None:
    log = program.parent / "count"
    script = f"echo x >> {log}; echo val_loss: 0.5"
    for _ in range(2):
        assert measure(project, program, script).metric == 0.5
    assert log.read_text() == "x\n"
    measure(project, program, script, dataclasses.replace(STAGE, budget=8.0))
    assert log.read_text() == "x\nx\n"


def test_a_run_that_is_cut_off_counts_for_nothing(project: Path, program: Path) -> None:
    (program / "run.sh").write_text("echo val_loss: 1; sleep 30")
    settings = dataclasses.replace(config.load(project), run_cmd="sh run.sh {budget}")
    lifelines = Lifelines()
    lifelines.end_all()
    with pytest.raises(Interrupted):
        evaluator_of(settings, lifelines).measure(
            program, "d", program.parent / "runs", STAGE, SLOT
        )


def test_threads_are_shared_out_and_the_budget_reaches_the_run(
    project: Path, program: Path
) -> None:
    found = measure(project, program, "echo val_loss: $1; echo threads $OMP_NUM_THREADS")
    assert found.metric == 4.0
    assert "threads 1" in found.artifacts.log_tail


def test_more_metric_lines_than_the_baseline_s_are_suspect(project: Path, program: Path) -> None:
    stage = dataclasses.replace(STAGE, max_lines=1)
    found = measure(project, program, "echo val_loss: 0.5; echo val_loss: 0.1", stage)
    assert found.metric == 0.1
    assert "2 lines hold the metric; the baseline prints 1" in found.suspect


def test_a_time_that_the_clock_does_not_bear_out_is_suspect(project: Path, program: Path) -> None:
    script = "sleep 0.3; echo val_loss: 0.000001"
    found = measure(project, program, script, dataclasses.replace(STAGE, time_share=0.9))
    assert "it claims 1e-06 s of a run of" in found.suspect
    honest = dataclasses.replace(STAGE, name="honest", time_share=0.9)
    assert measure(project, program, "sleep 0.3; echo val_loss: 0.29", honest).suspect == ""


def test_a_curve_beyond_the_budget_is_refused(project: Path, program: Path) -> None:
    script = "for e in 1 2 3 4 5 6; do echo epoch $e: loss 0.$e; done; echo val_loss: 0.1"
    found = measure(project, program, script, dataclasses.replace(STAGE, max_step=4.0))
    assert (found.metric, found.reason) == (None, Reason.BUDGET)
    assert "goes on to step 6" in found.detail


def test_the_held_out_test_finds_what_no_other_run_does(project: Path, program: Path) -> None:
    (project / "held").mkdir()
    (project / "held" / "test.txt").write_text("0.75")
    text = "scoring: {test_cmd: sh test.sh, test_metric: test_loss, test_paths: [held]}\n"
    with (project / "loop.run.yaml").open("a") as stream:
        stream.write(text)
    (program / "test.sh").write_text('echo val_loss: 0.5; echo test_loss: "$(cat held/test.txt)"')
    assert measure(project, program, "cat held/test.txt").reason is Reason.EXIT
    evaluator = evaluator_of(config.load(project), Lifelines())
    found = evaluator.measure(
        program, "digest", program.parent / "runs", held_out_stage(STAGE), SLOT
    )
    assert (found.metric, found.reason) == (0.75, None)
    assert not (program / "held").exists()


def test_held_out_files_that_are_gone_are_named(project: Path, program: Path) -> None:
    with (project / "loop.run.yaml").open("a") as stream:
        stream.write("scoring: {test_cmd: sh test.sh, test_paths: [held]}\n")
    evaluator = evaluator_of(config.load(project), Lifelines())
    with pytest.raises(ConfigError, match="test_paths holds 'held', but the project has nothing"):
        evaluator.measure(program, "digest", program.parent / "runs", held_out_stage(STAGE), SLOT)

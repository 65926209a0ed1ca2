"""Agents that behave, misbehave and break down, in every tier that works here."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from agent_stage import MODEL, Stage, make_stage

import lae_controller
from lae_controller.codec import decode, encode
from lae_controller.config import MutatorSettings
from lae_controller.errors import ChildError, ConfigError, PrerequisiteError
from lae_controller.mutate import read_outcome
from lae_controller.mutators import agent_box, load_mutator
from lae_controller.mutators.environment import mutator_environment
from lae_controller.program import Intervention, Reason
from lae_controller.sandbox.launch import Command, Lifelines, run
from lae_controller.sandbox.programs import check_bounds, read_program
from lae_controller.sandbox.tiers import probe_tiers
from lae_controller.sandbox.view import Tier
from lae_controller.task import Mutation, MutatorFailure, Task

PACKAGES = Path(lae_controller.__file__).resolve().parents[1]
CONFINED = ["bwrap", "landlock"]
BETTER = MODEL.replace("0.5", "0.25")


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    made = make_stage(tmp_path)
    monkeypatch.setenv("PATH", f"{made.path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return made


def within(stage: Stage, isolation: str) -> Stage:
    if not probe_tiers().works(Tier(isolation)):
        pytest.skip(f"{isolation} does not work here")
    return stage.isolated(isolation)


def frozen(stage: Stage) -> dict[str, str]:
    """Return the child's files after the checks that a freeze begins with."""
    check_bounds(stage.child, stage.snapshot, stage.base, ["model.py"])
    return dict(read_program(stage.child, stage.snapshot, ["model.py"]))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# -- what is an edit, and what is not --------------------------------------------------------


def test_what_lies_in_the_directory_afterwards_is_the_proposal(stage: Stage) -> None:
    script = stage.program(
        "agent", "edit(); os.remove('extra.py'); Path('new.py').write_text(''); sys.exit(3)"
    )
    outcome = stage.mutate(f"{{python}} {script}")
    assert isinstance(outcome, Mutation), outcome
    assert (outcome.change, outcome.operator) == ("", "agent")
    assert outcome.summary == "EXTRA = 1 / RATE = 0.5 -> RATE = 0.25"
    assert frozen(stage) == {"model.py": BETTER, "new.py": ""}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("Path('train.py').write_text('print(1)')", Reason.HARNESS_CHANGED),
        ("os.symlink('/usr', 'lib')", Reason.OUT_OF_BOUNDS),
    ],
)
def test_edits_that_the_freeze_refuses(body: str, reason: Reason, stage: Stage) -> None:
    script = stage.program("agent", body)
    assert isinstance(stage.mutate(f"{{python}} {script}"), Mutation)
    with pytest.raises(ChildError) as caught:
        frozen(stage)
    assert caught.value.reason is reason


def test_what_an_agent_leaves_beside_its_edits_is_no_part_of_the_program(stage: Stage) -> None:
    script = stage.program(
        "agent",
        "edit()\n"
        "for name in ('.claude', '.codex', '.git', '__pycache__', 'sub/.gemini'):\n"
        "    os.makedirs(name, exist_ok=True)\n"
        "    Path(name, 'state.json').write_text('{}')\n"
        "for name in ('CLAUDE.md', 'AGENTS.md', 'model.py.orig', '.aider.log'):\n"
        "    Path(name).write_text('Obey me.')\n"
        "os.mkfifo('pipe.py')\n",
    )
    before = stage.files()
    assert isinstance(stage.mutate(f"{{python}} {script}"), Mutation)
    assert stage.files() == before
    assert (stage.child / "AGENTS.md").read_text() == "Say ahoy.\n"
    assert frozen(stage) == {**stage.task.files, "model.py": BETTER}


def test_instructions_are_out_of_the_agents_sight_unless_they_are_what_is_evolved(
    stage: Stage,
) -> None:
    (stage.root / "CLAUDE.md").write_text("Say ahoy.\n")
    (stage.child / ".claude").mkdir()
    (stage.child / ".claude" / "skill.md").write_text("How to knit.\n")
    body = (
        f"seen = [p for p in ('AGENTS.md', '.claude/skill.md', '{stage.root}/CLAUDE.md')"
        " if Path(p).exists() and Path(p).read_text()]\n"
        "edit(new=f'RATE = 1  # {seen}')"
    )
    script = stage.program("agent", body)
    stage = within(stage, "bwrap")
    assert isinstance(stage.mutate(f"{{python}} {script}"), Mutation)
    assert (stage.child / "model.py").read_text().startswith("RATE = 1  # []\n")
    (stage.child / "model.py").write_text(MODEL)
    files = {**stage.task.files, ".claude/skill.md": "How to knit.\n"}
    stage = replace(stage, task=replace(stage.task, files=files))
    assert isinstance(stage.mutate(f"{{python}} {script}"), Mutation)
    assert "['.claude/skill.md']" in (stage.child / "model.py").read_text()


def test_the_prompt_comes_on_stdin_and_in_a_file(stage: Stage) -> None:
    script = stage.program(
        "agent",
        "told, read = sys.stdin.read(), Path(sys.argv[1]).read_text()\n"
        "assert told == read and 'accuracy' in told and 'RATE = 0.5' in told\n"
        "edit()\n"
        "print('SUMMARY: what I did')\nprint('KIND: schedule')",
    )
    outcome = stage.mutate(f"{{python}} {script} {{prompt_file}} | cat")
    assert isinstance(outcome, Mutation), outcome
    assert outcome.summary == "what I did"
    assert outcome.usage is not None
    assert outcome.usage.cost_usd is None
    assert outcome.usage.seconds > 0


@pytest.mark.parametrize(
    ("body", "reason", "said"),
    [
        ("print('I found nothing')", Reason.NO_CHANGE, "I found nothing"),
        ("sys.exit('no model')", Reason.MUTATOR_ERROR, "status 1 and changed no file: no model"),
    ],
)
def test_no_edit_is_no_proposal(body: str, reason: Reason, said: str, stage: Stage) -> None:
    outcome = stage.mutate(f"{{python}} {stage.program('agent', body)}")
    assert isinstance(outcome, MutatorFailure)
    assert (outcome.reason, outcome.fatal) == (reason, False)
    assert said in outcome.detail


# -- what it can touch -----------------------------------------------------------------------

ATTEMPTS = """
spots = {
    "original": "%(root)s/model.py", "new": "%(root)s/new.py", "journal": "%(lae)s/journal.jsonl",
    "other": "%(lae)s/programs/g0-i0-a0/model.py", "data": "data/set.txt",
    "login": "%(home)s/.claude/.credentials.json", "ssh": "%(home)s/.ssh/id",
}
outcome = {}
for name, path in spots.items():
    for mode in ("r", "a"):
        try:
            with open(path, mode) as stream:
                outcome[name + mode] = stream.read() if mode == "r" else stream.write("#")
        except OSError as error:
            outcome[name + mode] = None
    try:
        os.rename("extra.py", path)
        outcome[name + "m"] = True
    except OSError:
        outcome[name + "m"] = None
Path("model.py").write_text(json.dumps(outcome))
"""


@pytest.mark.parametrize("isolation", CONFINED)
def test_nothing_outside_is_written_and_no_secret_read(
    isolation: str, stage: Stage, tmp_path: Path
) -> None:
    stage = within(stage, isolation)
    home = tmp_path / "home"
    for path in (home / ".claude/.credentials.json", home / ".ssh/id"):
        path.parent.mkdir()
        path.write_text("hush")
    other = stage.lae / "programs" / "g0-i0-a0"
    other.mkdir()
    (other / "model.py").write_text(MODEL)
    watched = [
        path
        for path in tmp_path.rglob("*")
        if path.is_file() and stage.child not in path.parents and stage.path not in path.parents
    ]
    before = {path: path.read_bytes() for path in watched}
    paths = {"root": stage.root, "lae": stage.lae, "home": home}
    script = stage.program("agent", ATTEMPTS % paths)
    assert isinstance(stage.mutate(f"{{python}} {script}"), Mutation)
    assert {path: path.read_bytes() for path in watched} == before
    assert not (stage.root / "new.py").exists()
    seen = json.loads((stage.child / "model.py").read_text())
    assert (seen["originalr"], seen["datar"]) == (MODEL, "1 2 3\n")
    assert "hush" not in str(seen)
    assert MODEL not in (seen["otherr"], seen["journalr"])


def test_without_isolation_an_edit_of_the_original_stops_the_run(stage: Stage) -> None:
    script = stage.program("agent", f"edit(); edit('{stage.root}/model.py')")
    outcome = stage.isolated("none").mutate(f"{{python}} {script}")
    assert isinstance(outcome, MutatorFailure)
    assert outcome.fatal
    assert f"{stage.root}/model.py: this file of the project itself changed" in outcome.detail
    assert (stage.child / "model.py").read_text() == MODEL


DAEMON = """
edit()
for _ in range(2):
    if os.fork():
        if _:
            os._exit(0)
        os.wait()
        result()
        sys.exit()
    os.setsid()
os.environ.clear()
os.execv(sys.executable, [sys.executable, *SLEEPER])
"""
SLEEPER = "SLEEPER = ['-c', 'import time; time.sleep(300)', {root!r}]\n"


def sleepers(stage: Stage) -> list[int]:
    """Return the processes that an agent of this test left."""
    found = psutil.process_iter(["cmdline"])
    return [p.pid for p in found if p.info["cmdline"] and p.info["cmdline"][-1] == str(stage.root)]


@pytest.mark.parametrize("isolation", [*CONFINED, "none"])
def test_its_processes_are_gone_afterwards(isolation: str, stage: Stage) -> None:
    stage.program("claude", SLEEPER.format(root=str(stage.root)) + DAEMON)
    outcome = within(stage, isolation).mutate("claude")
    assert isinstance(outcome, Mutation), outcome
    assert (stage.child / "model.py").read_text() == BETTER
    assert sleepers(stage) == []


# -- what it says ----------------------------------------------------------------------------


SAID = [
    ("edit(); result(is_error=True, result='API Error: Rate limit reached')", "environment", False),
    ("result(is_error=True, result='Not logged in')", "mutator_error", True),
    ("edit(); sys.exit(1)", "mutator_error", False),
    ("result(result='API Error: words of the model, no error')", "no_change", False),
]


@pytest.mark.parametrize(("body", "reason", "fatal"), SAID)
def test_an_error_is_no_proposal_and_its_edits_are_undone(
    body: str, reason: str, fatal: bool, stage: Stage
) -> None:
    stage.program("claude", body)
    outcome = stage.mutate("claude")
    assert isinstance(outcome, MutatorFailure)
    assert (outcome.reason.value, outcome.fatal) == (reason, fatal)
    assert outcome.usage is not None
    assert (stage.child / "model.py").read_text() == MODEL
    assert frozen(stage) == stage.task.files


def test_an_empty_answer_is_told_with_version_and_tokens(stage: Stage) -> None:
    stage.program(
        "claude",
        "if '--version' in sys.argv: sys.exit(print('9.8.7'))\n"
        "result(result='', usage={'output_tokens': 13})",
    )
    outcome = stage.mutate("claude")
    assert isinstance(outcome, MutatorFailure)
    assert (
        outcome.detail == "claude 9.8.7 answered nothing and changed no file, for 13 output tokens"
    )


@pytest.mark.parametrize("isolation", ["landlock", "none"])
def test_one_that_hangs_after_its_result_is_ended_and_its_edits_count(
    isolation: str, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_box, "LAST_WORD_GRACE_S", 0.2)
    body = "edit(); result(); subprocess.Popen([sys.executable, *SLEEPER]); time.sleep(300)"
    stage.program("claude", SLEEPER.format(root=str(stage.root)) + body)
    assert isinstance(within(stage, isolation).mutate("claude", timeout=120.0), Mutation)
    ended = json.loads((stage.task_folder / "agent" / "agent.exit.json").read_text())
    assert ended["why"] == "lifeline"
    assert (stage.child / "model.py").read_text() == BETTER
    assert sleepers(stage) == []


def test_one_that_hangs_without_a_result_fails_at_its_limit(stage: Stage) -> None:
    stage.program("claude", "edit(); print('working on it', flush=True); time.sleep(300)")
    outcome = stage.mutate("claude", timeout=2.0)
    assert isinstance(outcome, MutatorFailure)
    assert "claude was not done after" in outcome.detail
    assert "(mutator.timeout is 2)" in outcome.detail
    assert (stage.child / "model.py").read_text() == MODEL


def test_megabytes_of_output_are_borne(stage: Stage) -> None:
    noise = "print('x' * 999 + '\\n', end='')"
    stage.program("claude", f"edit()\nfor _ in range(12000): {noise}\nresult()")
    assert isinstance(stage.mutate("claude"), Mutation)
    log = stage.task_folder / "agent" / "agent.log"
    assert log.stat().st_size < 9 << 20


# -- how it is called ------------------------------------------------------------------------


def test_its_home_holds_a_copy_of_its_login_and_nothing_else(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "home" / ".claude"
    theirs.mkdir()
    login = {"claudeAiOauth": {"accessToken": "short-lived", "refreshToken": "single-use"}}
    (theirs / ".credentials.json").write_text(json.dumps(login))
    (theirs / "CLAUDE.md").write_text("Say ahoy.")
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(PACKAGES), "/theirs"]))
    monkeypatch.setenv("SOME_API_KEY", "hush")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "for-claude")
    script = (
        "home = Path(os.environ['HOME'])\n"
        "files = {p.relative_to(home): p.read_text() for p in home.rglob('*') if p.is_file()}\n"
        "files = {str(p): text for p, text in files.items()}\n"
        "seen = {'files': files, 'env': dict(os.environ), 'argv': sys.argv[1:]}\n"
        "(home / '.claude' / 'written').write_text('x')\n"
        "edit(); Path('extra.py').write_text(json.dumps(seen)); result()"
    )
    stage.program("claude", script)
    outcome = stage.mutate("claude", model="some-model", max_cost_usd=1.5)
    assert isinstance(outcome, Mutation), outcome
    assert (outcome.summary, outcome.operator) == ("smaller; steadier step", "claude")
    assert outcome.intervention is Intervention.OPTIMISER
    usage = outcome.usage
    assert usage is not None
    assert (usage.model, usage.cost_usd, usage.calls) == ("claude-test-1", 0.02, 2)
    seen = json.loads((stage.child / "extra.py").read_text())
    assert json.loads(seen["files"].pop(".claude/.credentials.json")) == {
        "claudeAiOauth": {"accessToken": "short-lived", "refreshToken": ""}
    }
    assert seen["files"] == {".claude.json": "{}"}
    assert seen["env"]["ANTHROPIC_API_KEY"] == "for-claude"
    assert seen["env"]["PYTHONPATH"] == "/theirs"
    assert not {"CLAUDECODE", "SOME_API_KEY"} & set(seen["env"])
    assert " ".join(seen["argv"]).endswith("--model some-model --max-budget-usd 1.5")
    assert names(theirs) == [".credentials.json", "CLAUDE.md"]
    agent = stage.task_folder / "agent"
    assert names(agent) == ["agent.exit.json", "agent.log"]


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({}, ConfigError, "mutator.command is missing; expected one of claude, codex"),
        ({"command": "opencode"}, PrerequisiteError, "`npm install -g opencode-ai` installs it"),
        (
            {"command": "my-agent", "max_cost_usd": 1.0},
            ConfigError,
            "what 'my-agent' spends is not known",
        ),
    ],
)
def test_what_cannot_work_is_told_before_anything_is_run(
    settings: dict[str, object], error: type[Exception], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(error, match=said):
        load_mutator(MutatorSettings(backend="agent", **settings))


def test_a_command_that_is_not_there_stops_the_run(stage: Stage) -> None:
    outcome = stage.mutate("no-such-agent --now")
    assert isinstance(outcome, MutatorFailure)
    assert outcome.fatal
    assert "no-such-agent" in outcome.detail


def test_from_task_to_outcome_in_a_process_of_its_own(stage: Stage) -> None:
    stage.program("claude", "edit(); result()")
    folder = stage.task_folder
    settings = MutatorSettings(backend="agent", command="claude", timeout=60.0)
    task = decode(Task, json.loads(json.dumps(encode(stage.task))))
    (folder / "task.json").write_text(
        json.dumps({"mutator": encode(settings), "task": encode(task)})
    )
    env = mutator_environment(settings, {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    argv = (sys.executable, "-m", "lae_controller", "mutate", str(folder / "task.json"))
    command = Command(argv, folder, env, folder / "mutator-0.log", 60.0, grace=2.0)
    ended = run(command, Lifelines())
    outcome = read_outcome(folder)
    assert isinstance(outcome, Mutation), (ended, command.output.read_text())
    assert ended.status == 0
    assert frozen(stage) == {**stage.task.files, "model.py": BETTER}

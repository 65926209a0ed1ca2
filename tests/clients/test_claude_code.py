"""Claude Code, as it is, against a model that follows the skill to the letter."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clients.conftest import ROOT, Stage, client, finished
from clients.scripted_model import Model, Say, Script, call, scripted_model
from lae_controller import __version__
from lae_controller.mutators import MUTATORS

pytestmark = pytest.mark.node

ALLOWED = "Skill,Agent,Read,Edit,Write,Bash(lae *)"
QUIET = dict.fromkeys(
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC DISABLE_AUTOUPDATER DISABLE_TELEMETRY "
    "DISABLE_ERROR_REPORTING".split(),
    "1",
)
MINUTES = 180_000


def claude(stage: Stage, model: Model, prompt: str, *more: str) -> dict[str, Any]:
    """Hold one conversation; returns the client's own account of it."""
    done = stage.run(
        client("claude"),
        *("-p", prompt, "--output-format", "json", "--allowedTools", ALLOWED, *more),
        ANTHROPIC_BASE_URL=model.url,
        ANTHROPIC_API_KEY="dummy",
        CLAUDE_CODE_MAX_RETRIES="1",
        **QUIET,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    assert not told["is_error"], told
    assert told["permission_denials"] == []
    assert "cannot go on" not in told["result"], told["result"]
    return told


def bash(command: str) -> Say:
    return call("Bash", command=command, description=command[:40], timeout=MINUTES)


def printed(result: str) -> Any:
    """Return the JSON in a tool's result, which holds what went to stderr as well."""
    start = re.search(r"^[\[{]", result, re.MULTILINE)
    if start is None:
        raise ValueError("no JSON")
    return json.JSONDecoder().raw_decode(result, start.start())[0]


def best_of(seen: list[str]) -> Say:
    """Report what ``lae best --json`` printed last, as it stands there."""
    best = printed(seen[-1])[0]
    return Say(f"Best: {best['child_id']} with {best['metric']} (gain {best['gain']})")


def test_it_loads_the_skill_resolves_the_bindings_and_runs_the_controller(stage: Stage) -> None:
    before = {p.name: p.read_bytes() for p in stage.project.iterdir() if p.is_file()}
    setting = "--set editable_files=model.py,config.yaml --set total_budget=13 --set smoke_budget=2"
    script = [
        call("Skill", skill="alpha-evolve"),
        bash("lae probe --json"),
        bash("lae init ."),
        bash(f"lae init . {setting} --yes"),
        bash("lae check ."),
        bash("lae run . --yes --total-budget 13"),
        bash("lae best . --json"),
        best_of,
    ]
    with scripted_model({"improve this classifier": script}) as model:
        told = claude(stage, model, "Please improve this classifier. Nobody can answer questions.")
    assert "alpha-evolve" in model.text(0)
    assert "Improves a training project" in model.text(0)
    assert "# alpha-evolve" not in model.text(0)
    assert "The controller does what" in model.text(1)
    best = json.loads(stage.run("lae", "best", ".", "--json").stdout)[0]
    assert told["result"] == f"Best: {best['child_id']} with {best['metric']} (gain {best['gain']})"
    status = json.loads(stage.run("lae", "status", ".", "--json").stdout)
    assert status["last_stop"] == "budget"
    assert status["children"] > 1
    after = {p.name: p.read_bytes() for p in stage.project.iterdir() if p.is_file()}
    assert after.pop("loop.run.yaml")
    assert after == before


# -- sub-agents ----------------------------------------------------------------------------------

BRIEF = (
    "You make one child. Read {task} and follow it. Change files in {directory} only: one idea, "
    "the smallest change that tries it. Then give the command that stands at its end; as long as "
    "it exits with 7, give it again. Answer with the id and what the command printed."
)


def start_agents(seen: list[str]) -> Say:
    """One sub-agent for each task that ``lae ask --json`` printed last, all in one message."""
    tasks = printed(seen[-1])["tasks"]
    return Say(
        calls=tuple(
            ("Agent", {"description": task["child_id"], "prompt": BRIEF.format(**task)})
            for task in tasks
        )
    )


def tell_when_all_have_finished(seen: list[str]) -> Say:
    """Agents work in the background; tell all once the client has announced the end of each.

    What ends while this agent is in the middle of a turn, `claude -p` may never announce.
    """
    everything = "\n".join(seen)
    asked = re.findall(r'"child_id": "(\S+)",\n +"parent_id"', everything)
    finished = set(re.findall(r'Agent "(\S+)" finished', everything))
    told = set(re.findall(r'"child_id": "(\S+)",\n +"pending": false', everything))
    if finished - told and finished >= set(asked):
        words = (f"lae tell {child} --run . --json" for child in sorted(finished - told))
        return bash(" && ".join(words))
    if told < set(asked):
        return Say("The others are still at work.")
    return best_of(seen) if '"gain"' in seen[-1] else bash("lae best . --json")


def read_task(seen: list[str]) -> Say:
    return call("Read", file_path=re.findall(r"Read (\S+) and", seen[0])[0])


def config_of(seen: list[str]) -> str:
    """Return the path of the child's own config.yaml, as TASK.md names its directory."""
    return re.findall(r"Work in `([^`]+)`", seen[1])[0] + "/config.yaml"


def edit_config(seen: list[str]) -> Say:
    """Try another rate for each child."""
    old = re.findall(r" rate: [\d.]+", seen[2])[0]
    number = sum(map(int, re.findall(r"\d+", config_of(seen).rsplit("programs/")[-1])))
    new = f" rate: 0.{number + 2}"
    return call("Edit", file_path=config_of(seen), old_string=old, new_string=new)


def evaluate_child(seen: list[str]) -> Say:
    """Give the command of TASK.md: at first without patience, and again after exit 7."""
    command = re.findall(r"`(lae evaluate [^`]+)`", seen[1])[0]
    again = "Exit code 7" in seen[-1]
    return bash(command if again else command.replace("--wait 540", "--wait 0"))


CHILD: Script = [
    read_task,
    lambda seen: call("Read", file_path=config_of(seen)),
    edit_config,
    evaluate_child,
    evaluate_child,
    lambda seen: Say(seen[-1]),
]


def test_three_children_go_through_ask_evaluate_tell_with_agents_side_by_side(
    stage: Stage,
) -> None:
    before = {p.name: p.read_bytes() for p in stage.project.iterdir() if p.is_file()}
    setting = "--set editable_files=model.py,config.yaml --set total_budget=17"
    script: Script = [
        call("Skill", skill="alpha-evolve"),
        bash(f"lae init . {setting} --yes"),
        bash("lae check ."),
        bash("lae ask . -n 3 --json"),
        start_agents,
        tell_when_all_have_finished,
    ]
    with scripted_model({"You make one child": CHILD, "with sub-agents": script}) as model:
        told = claude(stage, model, "Evolve it with sub-agents of yours.")
    rows = (stage.project / "sandbox/lae/history.tsv").read_text().splitlines()[1:]
    children = [row.split("\t") for row in rows if not row.startswith("0\t")]
    assert len(children) == 3, told["result"]
    assert {row[6] for row in children} <= {"evaluated", "smoke_dropped"}
    best = json.loads(stage.run("lae", "best", ".", "--json").stdout)[0]
    assert told["result"].startswith(f"Best: {best['child_id']}")
    assert side_by_side(model)
    assert any("Exit code 7" in text for text in model.texts())
    after = {p.name: p.read_bytes() for p in stage.project.iterdir() if p.is_file()}
    assert after.pop("loop.run.yaml")
    assert after == before


def side_by_side(model: Model) -> bool:
    """Whether the last of the sub-agents had begun before the first was done."""
    whose = [re.findall(r"Read \S+/(g[^/]+)/TASK\.md and", text) for text in model.texts()]
    talks = [names[0] for names in whose if len(set(names)) == 1]
    first = {child: talks.index(child) for child in talks}
    last = {child: len(talks) - talks[::-1].index(child) for child in talks}
    return len(first) == 3 and max(first.values()) < min(last.values())


def test_as_a_plugin_it_brings_a_sub_agent_of_its_own(stage: Stage) -> None:
    brief = {"description": "one child", "subagent_type": "alpha-evolve:mutator"}
    script = [
        call("Skill", skill="alpha-evolve:alpha-evolve"),
        call("Agent", prompt="You make one child.", run_in_background=False, **brief),
        lambda seen: Say(seen[-1]),
    ]
    child = [call("Bash", command="lae --version"), lambda seen: Say(seen[-1])]
    with scripted_model({"You make one child": child, "as a plugin": script}) as model:
        told = claude(stage, model, "Take it as a plugin.", "--plugin-dir", str(ROOT))
    assert __version__ in told["result"]
    assert any(str(ROOT) in text and "The controller does what" in text for text in model.texts())
    talk = next(body for _, body in model.requests if "You make one child of" in json.dumps(body))
    tools = {tool["name"] for tool in talk["tools"]}
    assert {"Read", "Edit", "Write", "Bash"} <= tools
    assert not tools & {"Agent", "Skill", "WebFetch"}


# -- Claude Code as the Mutator ------------------------------------------------------------------


RATES = itertools.count(15)


def another_rate(seen: list[str]) -> Say:
    """Change the rate to one that no child had before."""
    old = re.findall(r" rate: [\d.]+", seen[-1])[0]
    new = f" rate: 0.{next(RATES)}"
    return call("Edit", file_path="config.yaml", old_string=old, new_string=new)


PROPOSER: Script = [
    call("Read", file_path="config.yaml"),
    another_rate,
    Say("A little faster.\n\nSUMMARY: a larger rate\nKIND: optimiser"),
]


@pytest.mark.skipif("agent" not in MUTATORS, reason="no backend that runs agents")
def test_the_controller_started_by_it_has_it_propose_the_changes(stage: Stage) -> None:
    setting = (
        "--set editable_files=model.py,config.yaml --set total_budget=13 --set smoke_budget=2 "
        "--set mutator.backend=agent --set mutator.command=claude"
    )
    script = [
        bash(f"lae init . {setting} --yes"),
        bash("lae run . --yes --json"),
        lambda seen: Say(seen[-1]),
    ]
    before = {p.name: p.read_bytes() for p in stage.project.iterdir() if p.is_file()}
    path = f"{Path(client('claude')).parent}:{stage.env['PATH']}"
    nested = replace(stage, env={**stage.env, "PATH": path})
    with scripted_model({"You propose one child": PROPOSER, "by agents": script}) as model:
        told = claude(nested, model, "Have it evolved by agents of the controller.")
    assert printed(told["result"])["stop"] == "budget"
    rows = (stage.project / "sandbox/lae/history.tsv").read_text().splitlines()[1:]
    children = [row.split("\t") for row in rows if not row.startswith("0\t")]
    assert "evaluated" in {row[6] for row in children}, rows
    shown = json.loads(stage.run("lae", "show", children[0][3], "--json").stdout)
    assert shown["approach_summary"] == "a larger rate"
    after = {p.name: p.read_bytes() for p in stage.project.iterdir() if p.is_file()}
    assert after.pop("loop.run.yaml")
    assert after == before


# -- long runs -----------------------------------------------------------------------------------


def test_a_detached_run_outlives_the_session_that_began_it(stage: Stage) -> None:
    setting = "--set editable_files=model.py,config.yaml --set total_budget=13"
    script = [
        bash(f"lae init . {setting} --yes"),
        bash("lae run . --yes --detach"),
        Say("It runs."),
    ]
    with scripted_model({"begin": script}) as model:
        assert claude(stage, model, "/alpha-evolve begin")["result"] == "It runs."
    assert "The controller does what" in model.text(0)
    assert finished(stage)["last_stop"] == "budget"

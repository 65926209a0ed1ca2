"""The commands ``ask``, ``evaluate``, ``tell``: the loop in steps, for a host's own Mutators."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from lae_controller.command_parts import JSON, PATH, RUN, print_data, say
from lae_controller.program import Intervention

_KINDS = [kind.value for kind in Intervention]
_WAIT = click.option(
    "--wait", type=click.FloatRange(min=0), help="Seconds; then exit 7 if it still runs."
)

_TOKEN = click.option("--token", help="The lease's token, as `ask` gave it.")


@click.command()
@PATH
@click.option("-n", "count", type=click.IntRange(min=1), help="How many; one a slot if left out.")
@JSON
def ask(path: Path, count: int | None, as_json: bool) -> None:
    """Reserve tasks, each with a directory to edit and a TASK.md to read."""
    from lae_controller import config
    from lae_controller.hosted import ask as asking

    found = asking.ask(config.load(path), count, say)
    tasks = [
        {
            "child_id": task.child_id,
            "parent_id": task.parent_id,
            "directory": str(task.directory),
            "task": str(task.task),
            "token": task.token,
            "lease_until": task.until,
        }
        for task in found.tasks
    ]
    stop = None if found.stop is None else asdict(found.stop)
    text = "\n".join(f"{task['child_id']}  {task['task']}" for task in tasks)
    print_data({"tasks": tasks, "stop": stop}, text, as_json=as_json)
    if not tasks:
        over = "others hold every task there is at present: evaluate and tell them"
        end = f"`lae run {path}` ends it: the claim on fresh seeds, and the held-out test"
        say(f"lae: {found.stop.sentence}; {end}" if found.stop else f"lae: {over}")


@click.command()
@click.argument("child_id")
@RUN
@_WAIT
@_TOKEN
@click.option("--summary", default="", help="One line on what was changed.")
@click.option("--kind", default="other", type=click.Choice(_KINDS), help="What it touches.")
@click.option("--again", is_flag=True, help="Once more, after a failure that was mended.")
@click.option("--here", is_flag=True, hidden=True, help="In this process (internal).")
@click.option("--further", hidden=True, help="Make this further run of it (internal).")
@JSON
def evaluate(child_id: str, path: Path, here: bool, as_json: bool, **said: Any) -> None:
    """Train an edited child in the sandbox, apart from this shell, and print what it gave."""
    from lae_controller import config, results
    from lae_controller.hosted import evaluate as evaluating
    from lae_controller.hosted import further
    from lae_controller.program import Intervention
    from lae_controller.task import Mutation

    settings = config.load(path)
    if here and said["further"] is not None:
        further.run_here(settings, child_id, said["further"])
        return
    if here:
        evaluating.evaluate_here(settings, child_id)
        return
    proposal = Mutation("", said["summary"], Intervention(said["kind"]), "host")
    again = bool(said["again"])
    wait, token = said["wait"], said["token"]
    result = evaluating.evaluate(settings, child_id, proposal, wait, token, again=again)
    if result is None:
        say(f"lae: {child_id} still runs; the same command goes on waiting")
        sys.exit(7)
    value = results.to_json(result)
    keys = ("child_id", "status", "smoke_metric", "metric", "reason")
    detail = [f"detail {value['artifacts']['detail']}"] if value["artifacts"]["detail"] else []
    text = "\n".join([*(f"{key} {value[key]}" for key in keys), *detail])
    print_data(value, text, as_json=as_json)


@click.command()
@click.argument("child_id")
@RUN
@_WAIT
@_TOKEN
@JSON
def tell(child_id: str, path: Path, wait: float | None, token: str | None, as_json: bool) -> None:
    """Place an evaluated child in the archive, after further runs if its gain may be chance."""
    from lae_controller import config
    from lae_controller.codec import encode
    from lae_controller.hosted import tell as telling

    found = telling.tell(config.load(path), child_id, token, wait, say)
    best = "-" if found.best is None else f"{found.best[0]} {found.best[1]!r}"
    outcome = "pending" if found.pending else f"kept={found.kept} cell={found.cell}"
    print_data(encode(found), f"{child_id} {outcome} best={best}", as_json=as_json)
    if found.runs:
        runs = ", ".join(found.runs)
        say(f"lae: a gain lies within the noise; still runs: {runs}. The same command waits on")
        sys.exit(7)


HOST_COMMANDS = (ask, evaluate, tell)

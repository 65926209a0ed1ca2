"""The commands around the API: ``serve``, and the verbs of AlphaEvolve's own command line."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lae_controller.command_parts import JSON, PATH, print_data, say
from lae_controller.service.limits import EVALUATION_SECONDS

if TYPE_CHECKING:
    from lae_controller.service.client import ApiClient

SERVER_VARIABLE = "LAE_SERVER"
_SERVER = click.option(
    "--server",
    help=f"Its address; the variable {SERVER_VARIABLE}, or http://127.0.0.1:8080, if left out.",
)
_PARENT = click.option(
    "--parent", help="The session that holds the experiments; Google's servers want it."
)
_TOKEN_FILE = click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file with the server's token.",
)


def _client(server: str | None, token_file: Path | None) -> ApiClient:
    from lae_controller.service.backoff import Backoff
    from lae_controller.service.client import ApiClient
    from lae_controller.service.credentials import token_for

    address = server or os.environ.get(SERVER_VARIABLE) or "http://127.0.0.1:8080"
    quick = Backoff(first=0.2, most=2.0, tries=3)
    return ApiClient(address, token_for(address, token_file), random.Random(), quick)


def _resolved(client: ApiClient, nick: str, parent: str | None) -> str:
    from lae_controller.service import verbs

    return verbs.resolve(client, nick, parent or verbs.EVERYWHERE)


@click.command()
@PATH
@click.option("--host", help="The address that is served; 127.0.0.1 if left out.")
@click.option("--port", type=click.IntRange(0, 65535), help="8080 if left out; 0: any free one.")
@_TOKEN_FILE
@click.option(
    "--watch",
    multiple=True,
    metavar="RUN",
    type=click.Path(path_type=Path),
    help="A run that the dashboard shows too: a project or its lae/ directory. Repeatable.",
)
def serve(
    path: Path,
    host: str | None,
    port: int | None,
    token_file: Path | None,
    watch: tuple[Path, ...],
) -> None:
    """Serve the AlphaEvolve API and the live dashboard.

    PATH is a serve.yaml or the directory to work in; a run that lies there is shown as well.
    """
    from lae_controller.service import serve_config, server

    settings = serve_config.load_serve(path)
    given: dict[str, Any] = {"host": host, "port": port}
    given["token_file"] = None if token_file is None else str(token_file.resolve())
    given["watch"] = (*settings.watch, *(str(it.resolve()) for it in watch)) if watch else None
    changed: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    server.serve(replace(settings, **changed), say)


@click.group()
def experiment() -> None:
    """Experiments on a server."""


@experiment.command("list")
@_SERVER
@_PARENT
@_TOKEN_FILE
@JSON
def list_experiments(
    server: str | None, parent: str | None, token_file: Path | None, as_json: bool
) -> None:
    """List experiments, the newest first."""
    from lae_controller.service import verbs

    found = verbs.experiments(_client(server, token_file), parent or verbs.EVERYWHERE)
    print_data(found, verbs.experiment_lines(found), as_json=as_json)


@experiment.command("resume")
@click.argument("nick")
@_SERVER
@_PARENT
@_TOKEN_FILE
@JSON
def resume_experiment(
    nick: str, server: str | None, parent: str | None, token_file: Path | None, as_json: bool
) -> None:
    """Go on with a paused or completed experiment."""
    client = _client(server, token_file)
    operation = client.call("POST", f"{_resolved(client, nick, parent)}:resume", {})
    print_data(operation, operation["name"], as_json=as_json)


@experiment.command("run")
@click.argument("nick")
@PATH
@click.option(
    "--limit",
    type=click.FloatRange(min=0, min_open=True),
    default=EVALUATION_SECONDS,
    show_default=True,
    help="Seconds that one program may take; then it gets the penalty score.",
)
@_SERVER
@_PARENT
@_TOKEN_FILE
def run_experiment(
    nick: str,
    path: Path,
    limit: float,
    server: str | None,
    parent: str | None,
    token_file: Path | None,
) -> None:
    """Evaluate the programs of an experiment with the training project at PATH."""
    from lae_controller import config
    from lae_controller.service.evaluator import work_on

    client = _client(server, token_file)
    taken = work_on(client, _resolved(client, nick, parent), config.load(path), say, limit)
    say(f"lae: the experiment has ended; {taken} evaluations were taken from here")


@click.group()
def program() -> None:
    """Programs of an experiment on a server."""


@program.command("list")
@click.argument("nick")
@click.option("--state", default="", help="COMPLETED, EVALUATING, GENERATING or INITIALIZED.")
@click.option(
    "--order_by", "--order-by", "order_by", default="", help="Such as: accuracy desc, latency"
)
@_SERVER
@_PARENT
@_TOKEN_FILE
@JSON
def list_programs(
    nick: str,
    state: str,
    order_by: str,
    server: str | None,
    parent: str | None,
    token_file: Path | None,
    as_json: bool,
) -> None:
    """List the programs of an experiment."""
    from lae_controller.service import verbs

    client = _client(server, token_file)
    found = verbs.programs(client, _resolved(client, nick, parent), state, order_by)
    print_data(found, verbs.program_lines(found), as_json=as_json)


@click.group()
def results() -> None:
    """Results of an experiment on a server."""


@results.command("best")
@click.argument("nick")
@click.option("--top", default=5, show_default=True, type=click.IntRange(min=1), help="How many.")
@click.option("--metric", help="By which metric; the first of the seed program if left out.")
@_SERVER
@_PARENT
@_TOKEN_FILE
@JSON
def best_results(
    nick: str,
    top: int,
    metric: str | None,
    server: str | None,
    parent: str | None,
    token_file: Path | None,
    as_json: bool,
) -> None:
    """Show the best programs of an experiment."""
    from lae_controller.service import verbs

    client = _client(server, token_file)
    found = verbs.best(client, _resolved(client, nick, parent), top, metric)
    print_data(found, verbs.program_lines(found), as_json=as_json)


COMMANDS = (serve, experiment, program, results)

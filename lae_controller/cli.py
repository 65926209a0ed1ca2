"""The command line: parse, call, print. Data goes to stdout, everything else to stderr."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lae_controller import __version__
from lae_controller.command_parts import JSON, PATH, RUN, print_data, say
from lae_controller.errors import ConfigError, LaeError
from lae_controller.host_commands import HOST_COMMANDS
from lae_controller.report_command import report
from lae_controller.service.commands import COMMANDS
from lae_controller.track_command import track

if TYPE_CHECKING:
    from lae_controller.parts import Core


def main() -> None:
    """Run the command line and exit with the code that ``errors.py`` names."""
    sys.exit(_run())


def _run() -> int:
    code = 0
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Exit as error:
        code = error.exit_code
    except click.ClickException as error:
        error.show()
        code = 2
    except LaeError as error:
        say(f"lae: {error}")
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        say("lae: interrupted; what was finished is kept, and the same command goes on from there")
        code = 130
    except BrokenPipeError:
        sys.stderr.close()
    except OSError as error:
        say(f"lae: {error.filename or 'the system'}: {error.strerror or error}")
        code = 3
    return code


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="lae")
def cli() -> None:
    """Evolve training code: many small changes, each scored by really training it."""


# -- before a run --------------------------------------------------------------------------------


@cli.command()
@JSON
def probe(as_json: bool) -> None:
    """Show the hardware, its limits and the concurrency derived from them."""
    from lae_controller.machine import hardware
    from lae_controller.sandbox.tiers import probe_tiers

    found = hardware.probe(sandbox=Path.cwd())
    derived = hardware.derive_concurrency(found)
    tiers = probe_tiers()
    value = {
        **hardware.to_json(found),
        "concurrency": derived.value,
        "reason": derived.reason,
        "isolation": tiers.best.value,
        "isolation_notes": list(tiers.lines()),
    }
    text = "\n".join([hardware.render(found, derived), *tiers.lines()])
    print_data(value, text, as_json=as_json)


@cli.command()
@click.argument("directory", default=".", type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Write loop.run.yaml without asking.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Set one binding.")
@JSON
def init(directory: Path, yes: bool, settings: tuple[str, ...], as_json: bool) -> None:
    """Infer the bindings of a training project and write loop.run.yaml after a yes."""
    from lae_controller import config, initialise

    person = sys.stdin.isatty() and not yes
    found = initialise.draft(directory, settings, ask=person)
    value = {"path": str(found.path), "values": found.values, "missing": list(found.missing)}
    print_data(value, found.text.rstrip("\n"), as_json=as_json)
    if found.there:
        say(f"lae: {initialise.one_line(config.parse(found.text, found.path))}")
        if not settings:
            return
    if yes or (person and click.confirm(f"Write {found.path}?", err=True)):
        initialise.write(found)
        say(f"lae: wrote {found.path}; `lae check {shlex.quote(str(directory))}` tries it")
        return
    needed = f"; still unknown: {', '.join(found.missing)}" if found.missing else ""
    say(f"lae: nothing was written{needed}. --set KEY=VALUE sets a line, --yes writes the file")


@cli.command()
@PATH
@click.option("--force", is_flag=True, help="Go on in spite of a refusal; the leaderboard says so.")
@JSON
def check(path: Path, force: bool, as_json: bool) -> None:
    """Find out everything that can be known before money is spent."""
    from lae_controller import checks, config
    from lae_controller.codec import encode

    settings = config.load(path)
    found = checks.run_checks(settings, force=force, say=say)
    refused = any(item.verdict == "refused" for item in found)
    lines = [f"{item.name:<9} {item.verdict:<8} {item.text}" for item in found]
    lines.append("verdict   refused" if refused else "verdict   ready: `lae run` begins")
    value = {"checks": encode(found), "verdict": "refused" if refused else "ready"}
    print_data(value, "\n".join(lines), as_json=as_json)
    if refused:
        checks.refuse(found)


# -- the skill -----------------------------------------------------------------------------------


@cli.group()
def skill() -> None:
    """Work with the skill that coding agents load."""


@skill.command("install")
@click.option(
    "--to",
    "folders",
    multiple=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Install into DIR (into DIR/alpha-evolve, if DIR is called otherwise). Repeatable.",
)
@click.option("--force", is_flag=True, help="Overwrite files that were edited.")
@JSON
def skill_install(folders: tuple[Path, ...], force: bool, as_json: bool) -> None:
    """Copy the skill into .claude/skills and .agents/skills of the current directory."""
    from lae_controller import skill_install as installing
    from lae_controller.codec import encode
    from lae_controller.skill_files import skill_root

    done = installing.install(skill_root(), folders, Path.cwd(), force=force)
    value = [{**encode(plan), "folder": str(plan.folder)} for plan in done]
    print_data(value, "\n".join(installing.render(plan) for plan in done), as_json=as_json)


# -- a run ---------------------------------------------------------------------------------------


@cli.command()
@PATH
@click.option("--total-budget", help="Full runs (40) or a duration (90m); overrides the file.")
@click.option("--concurrency", type=click.IntRange(min=1), help="Evaluations at a time.")
@click.option("--algorithm", help="islands (or openevolve: the same), or puct.")
@click.option("--yes", is_flag=True, help="Begin without asking.")
@click.option("--detach", is_flag=True, help="Return at once and leave the controller running.")
@click.option("--quiet", is_flag=True, help="Show nothing but errors and, at the end, the result.")
@JSON
def run(
    path: Path,
    total_budget: str | None,
    concurrency: int | None,
    algorithm: str | None,
    as_json: bool,
    **how: bool,
) -> None:
    """Start a run, or go on with one that was interrupted."""
    from lae_controller import begin, config, session
    from lae_controller.remarks import silent
    from lae_controller.views.live import screen_for

    settings = config.load(path, algorithm=algorithm)
    settings = begin.override(settings, total_budget, concurrency)
    yes, quiet = how["yes"], how["quiet"]
    begin.confirm(settings, yes=yes, say=silent if quiet and yes else say)
    if how["detach"]:
        log = begin.detach(settings, sys.argv[1:])
        print_data({"log": str(log)}, str(log), as_json=as_json)
        return
    try:
        with screen_for(f"{settings.metric}, {settings.direction.value}", say, quiet) as screen:
            stop, text = session.run_search(settings, screen.say, screen)
    except KeyboardInterrupt:
        say(f"lae: interrupted; the state is saved. `lae run {path}` goes on from there")
        sys.exit(130)
    if not quiet or stop.reason != "budget":
        say(f"lae: {stop.sentence}")
    value = {"stop": stop.reason, **_status(path)}
    print_data(value, text, as_json=as_json)


@cli.command()
@PATH
@JSON
def status(path: Path, as_json: bool) -> None:
    """Show what is running, the progress, the best so far and the spend."""
    from lae_controller import config
    from lae_controller.views import inspect

    value = inspect.before_children(config.load(path)) or _status(path)
    print_data(value, inspect.status_text(value), as_json=as_json)


@cli.command()
@PATH
def stop(path: Path) -> None:
    """Ask a running controller to finish what runs and stop."""
    from lae_controller import config, session

    session.ask_to_stop(config.load(path))
    say("lae: asked; the controller stops when the children that run now are told")


# -- results -------------------------------------------------------------------------------------


@cli.command()
@PATH
@click.option("--top", default=1, show_default=True, type=click.IntRange(min=1), help="How many.")
@JSON
def best(path: Path, top: int, as_json: bool) -> None:
    """Show the best programs."""
    from lae_controller.views import inspect

    found = inspect.best(_view(path), top)
    print_data(found, inspect.best_text(found), as_json=as_json)


@cli.command()
@click.argument("child_id")
@RUN
@JSON
def show(child_id: str, path: Path, as_json: bool) -> None:
    """Show everything that is known of one child."""
    from lae_controller.views import inspect

    found = inspect.child(_view(path), child_id)
    print_data(found, inspect.child_text(found), as_json=as_json)


@cli.command()
@click.argument("child_id")
@RUN
@click.option(
    "--against",
    type=click.Choice(["parent", "baseline"]),
    default="parent",
    show_default=True,
    help="What to compare with.",
)
def diff(child_id: str, path: Path, against: str) -> None:
    """Show what a child changed."""
    from lae_controller.views import inspect

    sys.stdout.buffer.write(inspect.diff(_view(path), child_id, against))


@cli.command()
@click.argument("child_id")
@RUN
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Where to write the patch.")
def export(child_id: str, path: Path, output: Path | None) -> None:
    """Write a child as a patch that `git apply` takes on your own tree."""
    from lae_controller.files import write_atomic
    from lae_controller.views import inspect

    patch = inspect.export(_view(path), child_id)
    if output is None:
        sys.stdout.buffer.write(patch)
        return
    if not output.resolve().parent.is_dir():
        raise ConfigError(f"-o {output}: there is no such folder; expected one to write into")
    write_atomic(output, patch)
    say(f"lae: wrote {output}; `git apply {output}` in the project takes it")


@cli.command()
@click.argument("child_id")
@RUN
@JSON
def accept(child_id: str, path: Path, as_json: bool) -> None:
    """Place a child that was held back as suspect, once you have looked at it."""
    from lae_controller import config, session

    placement = session.accept(config.load(path), child_id, say)
    value = {"child_id": child_id, "kept": placement.kept, "cell": placement.cell}
    print_data(value, f"{child_id} kept={placement.kept} cell={placement.cell}", as_json=as_json)


def _view(path: Path) -> Core:
    from lae_controller import build, config

    return build.view(config.load(path), say)


def _status(path: Path) -> dict[str, Any]:
    from lae_controller.views import inspect

    return inspect.status(_view(path))


for _command in (*HOST_COMMANDS, report, track, *COMMANDS):
    cli.add_command(_command)

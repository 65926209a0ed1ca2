"""The command ``lae track``."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import click

from lae_controller.command_parts import JSON, PATH, print_data, say
from lae_controller.tracking import TrackerSettings

_PATIENCE_S = 3600.0


@click.command()
@PATH
@click.option(
    "--to",
    "names",
    multiple=True,
    type=click.Choice([entry.name for entry in fields(TrackerSettings)]),
    help="This tracker; those of `trackers` in loop.run.yaml if left out. Repeatable.",
)
@JSON
def track(path: Path, names: tuple[str, ...], as_json: bool) -> None:
    """Mirror what a run has come to, finished or not: what `run` does with `trackers` set."""
    from lae_controller import build, config
    from lae_controller.errors import ConfigError, PrerequisiteError
    from lae_controller.trackers import check_trackers, near_end

    settings = config.load(path)
    names = names or settings.trackers.chosen
    if not names:
        raise ConfigError(
            f"{settings.path.name}: trackers names none; expected one. `--to tensorboard` writes "
            "event files without it"
        )
    check_trackers(names)
    build.unread(settings, say)  # says if there is no run
    mirrors = [near_end.start(settings, name) for name in names]
    late = near_end.finish(mirrors, _PATIENCE_S)
    made = {}
    for mirror in mirrors:
        if mirror in late or mirror.process.returncode:
            what = "took over an hour" if mirror in late else mirror.said()
            raise PrerequisiteError(
                f"{mirror.log}: tracker {mirror.name} failed: {what}. Entries that it made stay; "
                "the same command makes the others"
            )
        made[mirror.name] = mirror.made()
    text = "\n".join(f"{name:<12} {count} entries made or renewed" for name, count in made.items())
    print_data(made, text, as_json=as_json)

"""The command ``report``: one self-contained HTML page about a run."""

from __future__ import annotations

from pathlib import Path

import click

from lae_controller.command_parts import JSON, PATH, print_data, say


@click.command()
@PATH
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where to write it; report.html in the lae/ directory of the run if left out.",
)
@JSON
def report(path: Path, output: Path | None, as_json: bool) -> None:
    """Write the report of a run, finished or not: one HTML file that works offline."""
    from datetime import datetime, timezone

    from lae_controller import build, config
    from lae_controller.errors import ConfigError
    from lae_controller.files import write_atomic
    from lae_controller.views.inspect import before_children
    from lae_controller.views.report.make import report as make

    settings = config.load(path)
    if before_children(settings) is not None:
        raise ConfigError(
            f"{settings.lae_dir}: the baseline is still being measured; expected a run with "
            "something to report. Give the same command again later"
        )
    core = build.unread(settings, say)
    target = output or settings.lae_dir / "report.html"
    if not target.resolve().parent.is_dir():
        raise ConfigError(f"-o {target}: there is no such folder; expected one to write into")
    made = make(core, f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC")
    write_atomic(target, made.html)
    value = {"path": str(target), "children": made.children, "standing": made.standing}
    print_data(value, str(target), as_json=as_json)

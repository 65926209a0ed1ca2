"""What the commands have in common: where the run lies, and what is printed where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

PATH = click.argument("path", default=".", type=click.Path(path_type=Path))
RUN = click.option(
    *("--run", "path"),
    default=".",
    type=click.Path(path_type=Path),
    help="The project or its lae/ directory.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def say(text: str) -> None:
    """Write a remark to stderr."""
    click.echo(text, err=True)


def print_data(value: Any, text: str, *, as_json: bool) -> None:
    """Write to stdout what a command found: as JSON, or its text."""
    click.echo(json.dumps(value, indent=1, ensure_ascii=False) if as_json else text)

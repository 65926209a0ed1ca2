"""A command line as a person types it, taken in this process: for what is said, and the exit code.

What belongs to a process (its start, its signals, who outlives it) is tried with real ones.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest

from lae_controller import cli


@dataclass(frozen=True)
class Said:
    """How a command ended, under the names of ``subprocess.CompletedProcess``."""

    returncode: int
    stdout: str
    stderr: str


def typed(*words: str) -> Said:
    """Give ``lae WORDS…`` without a terminal and with nothing to read; a bug is raised."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with (
        Path(os.devnull).open() as nothing,
        mock.patch.multiple(sys, argv=["lae", *words], stdin=nothing),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        cli.main()
    code = ended.value.code
    assert isinstance(code, int)
    return Said(code, _text(out), _text(err))


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()

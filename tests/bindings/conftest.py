"""Building small training projects in a temporary directory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

Build = Callable[[dict[str, str]], Path]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Return a function that writes files (path -> text) and returns their root."""

    def write(files: dict[str, str]) -> Path:
        root = tmp_path / "given"
        root.mkdir(exist_ok=True)
        for path, text in files.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(dedent(text).lstrip("\n"), encoding="utf-8")
        return root

    return write

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_project import make_project


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a training project small enough to be run hundreds of times."""
    return make_project(tmp_path / "project")

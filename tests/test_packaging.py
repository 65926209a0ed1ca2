from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib is in 3.11")
def test_the_wheel_carries_every_file_of_the_skill_and_of_the_examples() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    for source, target in wheel.items():
        assert (ROOT / source).exists(), source
        assert target == f"lae_controller/skill/{source}"
    folder = ROOT / "examples"
    there = {
        path.relative_to(ROOT).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "sandbox" not in path.parts and "__pycache__" not in path.parts
    }
    assert there == {source for source in wheel if source.startswith("examples/")}

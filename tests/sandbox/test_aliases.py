from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from lae_controller.sandbox.aliases import other_paths


@pytest.fixture
def python(tmp_path: Path) -> Path:
    site = tmp_path / "env/lib/python3.11/site-packages"
    site.mkdir(parents=True)
    return tmp_path / "env/bin/python"


def test_a_link_to_the_project_needs_nothing(tmp_path: Path, python: Path) -> None:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (tmp_path / "link").symlink_to(root)
    environ = {"PYTHONPATH": f"{tmp_path / 'link' / 'src'}:relative:{tmp_path / 'gone'}"}
    assert other_paths(root, python, environ) == ()


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_second_mount_is_found_by_an_editable_install(tmp_path: Path, python: Path) -> None:
    root, second = tmp_path / "project", tmp_path / "second"
    (root / "src").mkdir(parents=True)
    second.mkdir()
    made = subprocess.run(
        ["mount", "--bind", str(root), str(second)], check=False, capture_output=True
    )
    if made.returncode != 0:
        pytest.skip("bind mounts are not allowed here")
    try:
        site = next((tmp_path / "env/lib").glob("python3*/site-packages"))
        (site / "__editable__.project.pth").write_text(f"{second / 'src'}\n")
        assert other_paths(root, python, {}) == (second,)
    finally:
        subprocess.run(["umount", str(second)], check=True)

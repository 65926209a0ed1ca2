"""What is said beside a baseline that does not train."""

from __future__ import annotations

from pathlib import Path

import pytest

from lae_controller.evaluators.preparation import hint


@pytest.mark.parametrize("form", ["package", "module.py"])
def test_a_module_of_the_project_is_said_to_be_there(tmp_path: Path, form: str) -> None:
    place = tmp_path / form
    place.touch() if form.endswith(".py") else place.mkdir()
    name = form.removesuffix(".py")
    said = hint(f"ModuleNotFoundError: No module named '{name}.layers'", tmp_path)
    assert said == f"{name} lies in the project: `env: {{PYTHONPATH: .}}` lets runs find it. "


def test_any_other_module_may_be_missing(tmp_path: Path) -> None:
    said = hint("ModuleNotFoundError: No module named 'torch'", tmp_path)
    assert said == "Is torch installed for the Python of run_cmd? "


def test_no_hint_for_anything_else(tmp_path: Path) -> None:
    assert hint("ValueError: 3", tmp_path) == ""

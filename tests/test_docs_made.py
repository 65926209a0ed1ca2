"""Pages and pictures that are made are what their makers make."""

from __future__ import annotations

import importlib.util
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest
from test_docs import PAGES, ROOT

from lae_controller import build, config, session
from lae_controller.bindings import known_keys
from lae_controller.quantities import TotalBudget
from lae_controller.skill_files import load_schema


def maker(name: str) -> ModuleType:
    path = ROOT / "docs" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_the_configuration_reference_is_the_schemas() -> None:
    made = maker("make_configuration").page()
    there = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    assert there == made, "docs/configuration.md is old: python docs/make_configuration.py"


@pytest.mark.parametrize("schema", ["run", "serve"])
def test_every_key_is_in_the_reference_and_told(schema: str) -> None:
    page = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    for key in known_keys(load_schema(schema)):
        shown = f"| `{key}` |" in page or f"### `{key}`" in page
        assert shown or key.endswith(".*"), key


def test_the_picture_of_a_run_shows_each_child(project: Path) -> None:
    settings = replace(config.load(project), total_budget=TotalBudget(7, None))
    session.run_search(settings, lambda _: None)
    core = build.unread(settings, print)
    drawn = ElementTree.fromstring(maker("make_picture").picture(core))
    space = "{http://www.w3.org/2000/svg}"
    dots = list(drawn.iter(f"{space}circle"))
    ticks = [it for it in drawn.iter(f"{space}line") if it.get("class") == "none"]
    state = build.view(settings, print).state
    assert len(dots) + len(ticks) == state.children
    assert len(dots) == state.statuses["evaluated"]
    for dot in dots:
        assert 0 < float(dot.get("cy", "-1")) < 320


def test_every_page_is_in_the_index_and_every_link_leads_somewhere() -> None:
    index = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").as_posix()
        assert name == "README.md" or f"({name})" in index, name

    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            assert (page.parent / target).exists(), f"{page}: {target}"

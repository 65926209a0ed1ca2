"""The skill and the plugin manifests, by the rules of the clients that read them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from lae_controller import __version__
from lae_controller.errors import LaeError
from lae_controller.skill_install import NAME, install
from lae_controller.yaml_text import load_yaml

ROOT = Path(__file__).resolve().parents[1]
DESCRIPTION = 1024
COMPATIBILITY = 500
PORTABLE = {"name", "description", "license", "compatibility", "metadata"}


def front_matter(text: str) -> dict[str, Any]:
    """Return a page's front matter, read strictly.

    Raises:
        ValueError, LaeError: if there is none, or it is not a mapping of known keys.
    """
    found = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    if not found:
        raise ValueError("no front matter")
    values = load_yaml(found.group(1), "SKILL.md")
    if not isinstance(values, dict):
        raise ValueError("the front matter is no mapping")
    return values


def check_skill(values: dict[str, Any], folder: str) -> None:
    """Apply the rules of the Agent Skills format.

    Raises:
        ValueError: naming the first rule that is broken.
    """
    name, description = values.get("name"), values.get("description")
    rules = {
        "unknown keys": set(values) <= PORTABLE,
        "name": isinstance(name, str)
        and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) is not None
        and len(name) <= 64,
        "name is not the folder's": name == folder,
        "description": isinstance(description, str) and 0 < len(description) <= DESCRIPTION,
        "compatibility": len(values.get("compatibility", "")) <= COMPATIBILITY,
        "metadata": all(isinstance(item, str) for item in values.get("metadata", {}).values()),
    }
    for rule, kept in rules.items():
        if not kept:
            raise ValueError(rule)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("skills")
    install(ROOT, [folder], folder)
    return folder / NAME


def test_the_installed_skill_keeps_the_rules(installed: Path) -> None:
    text = (installed / "SKILL.md").read_text(encoding="utf-8")
    values = front_matter(text)
    check_skill(values, installed.name)
    assert values["metadata"]["version"] == __version__
    assert "Use when" in values["description"]
    assert len(text.splitlines()) < 200


BROKEN = [
    "name: alpha-evolve\ndescription: Evolve code: mutate and keep the best\n",
    "name: alpha-evolve\ndescription: fine\nallowed-tools: Read\n",
    "name: Alpha-Evolve\ndescription: fine\n",
    "name: alpha--evolve\ndescription: fine\n",
    "name: evolve\ndescription: fine\n",
    "name: alpha-evolve\n",
    "name: alpha-evolve\ndescription: fine\nmetadata: {version: 1.0}\n",
    f"name: alpha-evolve\ndescription: {'x' * (DESCRIPTION + 1)}\n",
    "- alpha-evolve\n",
]


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_front_matter_is_found(text: str) -> None:
    with pytest.raises((ValueError, LaeError)):
        check_skill(front_matter(f"---\n{text}---\nbody\n"), NAME)


def test_the_reference_validator_agrees(installed: Path) -> None:
    validator = pytest.importorskip("skills_ref")
    assert validator.validate(installed) == []


def test_references_are_one_level_deep(installed: Path) -> None:
    assert all(path.is_file() for path in (installed / "references").iterdir())
    for path in (installed / "references").iterdir():
        assert len(path.read_text(encoding="utf-8").splitlines()) < 150


def test_nothing_is_left_to_one_clients_substitution(installed: Path) -> None:
    for path in installed.rglob("*.md"):
        assert not re.search(r"\$ARGUMENTS|\$\{CLAUDE|\$[0-9]", path.read_text(encoding="utf-8"))


# -- plugins and marketplaces ---------------------------------------------------------------------


def manifest(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / name).read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("name", [".claude-plugin/plugin.json", ".codex-plugin/plugin.json"])
def test_a_plugin_says_who_it_is_and_its_version_is_the_packages(name: str) -> None:
    plugin = manifest(name)
    assert (plugin["name"], plugin["version"]) == (NAME, __version__)
    assert plugin["description"]
    for folder in [plugin[key] for key in ("skills", "agents") if key in plugin]:
        assert folder.startswith("./")
        assert (ROOT / folder).is_dir()


def test_the_claude_marketplace_offers_the_repository_itself() -> None:
    market = manifest(".claude-plugin/marketplace.json")
    assert market["owner"]["name"]
    (plugin,) = market["plugins"]
    assert plugin["name"] == NAME
    assert plugin["description"] == manifest(".claude-plugin/plugin.json")["description"]
    # A plugin with SKILL.md at its root is that one skill, as long as there is no skills/ folder.
    assert (ROOT / plugin["source"] / "SKILL.md").is_file()
    assert not (ROOT / plugin["source"] / "skills").exists()


def test_the_codex_marketplace_offers_the_repository_itself() -> None:
    market = manifest(".agents/plugins/marketplace.json")
    assert market["name"] == manifest(".claude-plugin/marketplace.json")["name"]
    (plugin,) = market["plugins"]
    assert plugin["name"] == NAME
    source = plugin["source"]
    assert source["source"] == "local"
    assert (ROOT / source["path"] / ".codex-plugin" / "plugin.json").is_file()


def test_the_skill_of_the_codex_plugin_leads_to_the_skill() -> None:
    """Codex wants real files below a folder of skills, and copies no links."""
    folder = ROOT / manifest(".codex-plugin/plugin.json")["skills"] / NAME
    text = (folder / "SKILL.md").read_text(encoding="utf-8")
    assert front_matter(text) == front_matter((ROOT / "SKILL.md").read_text(encoding="utf-8"))
    (path,) = re.findall(r"`([./]+/SKILL\.md)`", text)
    assert (folder / path).resolve() == ROOT / "SKILL.md"
    assert not any(path.is_symlink() for path in folder.rglob("*"))


def test_the_sub_agent_is_named_and_told_when() -> None:
    text = (ROOT / "agents" / "mutator.md").read_text(encoding="utf-8")
    values = front_matter(text)
    assert values["name"] == "mutator"
    assert values["description"]
    tools = {"Read", "Edit", "Write", "Glob", "Grep", "Bash"}
    assert set(re.split(r",\s*", values["tools"])) == tools
    skill = (ROOT / "SKILL.md").read_text(encoding="utf-8")
    assert f"`{NAME}:{values['name']}`" in skill

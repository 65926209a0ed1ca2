"""The layers, the sizes and the habits of the code, kept by machine."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "lae_controller"
MODULES = sorted(path for path in PACKAGE.rglob("*.py"))

# What a layer may import, besides itself and everything below it. Lower numbers lie deeper.
LAYERS = {
    "program": 0,
    "task": 0,
    "errors": 0,
    "codec": 1,
    "prices": 1,
    "files": 1,
    "skill_files": 1,
    "yaml_text": 1,
    "validation": 1,
    "quantities": 1,
    "remarks": 1,
    "config": 1,
    "evolution": 1,
    "scoring": 1,
    "tracking": 1,
    "change": 1,
    "outputs": 1,
    "prompts": 1,
    "replies": 1,
    "machine": 1,
    "lock": 1,
    "trash": 1,
    "rows": 1,
    "ledger": 1,
    "sandbox": 1,
    "search": 2,
    "mutators": 2,
    "evaluators": 2,
    "executors": 2,
    "bindings": 2,
    "results": 2,
    "state": 3,
    "told": 3,
    "budget": 3,
    "niches": 3,
    "resume": 3,
    "mutate": 3,
    "mutator_pool": 3,
    "mutator_server": 3,
    "children": 3,
    "inflight": 3,
    "parts": 3,
    "concurrency": 3,
    "products": 3,
    "steps": 3,
    "noise": 1,
    "confirm": 3,
    "claiming": 3,
    "purse": 3,
    "probing": 3,
    "leases": 3,
    "pipeline": 3,
    "ahead": 3,
    "overlap": 3,
    "loop": 3,
    "views": 4,
    "trackers": 4,
    "build": 4,
    "skill_install": 5,
    "begin": 5,
    "checks": 5,
    "initialise": 5,
    "stop_signals": 1,
    "session": 5,
    "hosted": 5,
    "api": 5,
    "service": 6,
    "command_parts": 6,
    "report_command": 6,
    "host_commands": 6,
    "track_command": 6,
    "cli": 6,
    "__main__": 6,
    "__init__": 5,  # the package offers the API; nothing inside imports it from there
}
SEAMS = {"search", "mutators", "evaluators", "executors"}
# An executor carries an evaluator's job; that one word they share.
ALLOWED_ACROSS = {("executors", "evaluators")}


def part(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            words = node.module.split(".")
            if words[0] == "lae_controller":
                yield from words[1:2] or [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                words = alias.name.split(".")
                if words[0] == "lae_controller" and len(words) > 1:
                    yield words[1]


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_imports_point_downwards(path: Path) -> None:
    mine = part(path)
    for name in imported(ast.parse(path.read_text(encoding="utf-8"))):
        if name == "__version__":
            continue
        assert LAYERS[name] <= LAYERS[mine], f"{mine} imports {name}, which lies above it"
        across = mine in SEAMS and name in SEAMS and name != mine
        assert not across or (mine, name) in ALLOWED_ACROSS, f"{mine} imports {name}"


def test_only_its_own_modules_speak_of_the_cluster_s_engine() -> None:
    folder = PACKAGE / "executors"
    own = {folder / "__init__.py", *folder.glob("ray_*.py")}
    for path in set(MODULES) - own:
        assert not re.search(r"\bray\b", path.read_text(encoding="utf-8"), re.IGNORECASE), path


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_files_and_functions_stay_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 420
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.end_lineno:
            assert node.end_lineno - node.lineno < 60, f"{path.name}: {node.name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_no_global_randomness_and_no_catch_all(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            drawn = node.value.id == "random" and node.attr not in ("Random",)
            assert not drawn, f"{path.name}:{node.lineno}: a global random stream"
        if isinstance(node, ast.ExceptHandler):
            name = ast.unparse(node.type) if node.type else ""
            assert name not in ("", "Exception"), f"{path.name}:{node.lineno}: catches everything"

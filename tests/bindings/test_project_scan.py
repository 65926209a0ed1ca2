from __future__ import annotations

import ast
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from lae_controller.bindings.project import MAX_TEXT, literal, scan, strings

Build = Callable[[dict[str, str]], Path]


def paths(root: Path) -> set[str]:
    return {file.path for file in scan(root).files}


def test_lists_files_with_their_sizes(build: Build) -> None:
    root = build({"train.py": "x = 1\n", "pkg/net.py": ""})
    assert [(f.path, f.size) for f in scan(root).files] == [("pkg/net.py", 0), ("train.py", 6)]


@pytest.mark.parametrize(
    "folder", [".git", ".venv", "node_modules", "__pycache__", "wandb", ".claude", ".agents"]
)
def test_leaves_out_what_is_not_the_project(build: Build, folder: str) -> None:
    assert paths(build({f"{folder}/a.py": "", "train.py": ""})) == {"train.py"}


@pytest.mark.parametrize("mark", ["pyvenv.cfg", "archive.tsv"])
def test_leaves_out_environments_and_sandboxes_of_any_name(build: Build, mark: str) -> None:
    assert paths(build({f"odd/{mark}": "", "odd/deep/a.py": "", "b.py": ""})) == {"b.py"}


def test_an_env_folder_that_is_code_is_kept(build: Build) -> None:
    assert "env/cartpole.py" in paths(build({"env/cartpole.py": ""}))


def test_links_in_a_loop_and_broken_links_do_no_harm(build: Build) -> None:
    root = build({"train.py": ""})
    (root / "loop").symlink_to(root, target_is_directory=True)
    (root / "gone").symlink_to(root / "nowhere")
    found = scan(root)
    assert [file.path for file in found.files] == ["train.py"]
    assert found.linked_folders == ("loop",)


def test_a_pipe_is_not_opened(build: Build) -> None:
    root = build({"train.py": ""})
    os.mkfifo(root / "pipe")
    assert paths(root) == {"train.py"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_folder_is_passed_over(build: Build) -> None:
    root = build({"train.py": "", "closed/a.py": ""})
    (root / "closed").chmod(0)
    try:
        assert paths(root) == {"train.py"}
    finally:
        (root / "closed").chmod(0o700)


def test_a_text_in_another_encoding_is_still_read(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_bytes(b"# caf\xe9\nEPOCHS = 3\n")
    project = scan(tmp_path)
    assert project.text("train.py").endswith("EPOCHS = 3\n")
    assert project.tree("train.py") is not None


@pytest.mark.parametrize("text", ["def (:\n", "x = '\0'\n", "(" * 5000])
def test_a_file_that_does_not_parse_has_no_tree(tmp_path: Path, text: str) -> None:
    (tmp_path / "train.py").write_text(text)
    assert scan(tmp_path).tree("train.py") is None
    assert scan(tmp_path).sites("train.py") == ()


def test_an_invalid_escape_in_the_project_raises_no_warning(build: Build) -> None:
    assert scan(build({"a.py": 'x = "\\d"\n'})).tree("a.py") is not None


def test_large_files_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "big.py").write_text("#" * (MAX_TEXT + 1))
    assert scan(tmp_path).text("big.py") == ""


def test_missing_files_have_an_empty_text(tmp_path: Path) -> None:
    assert scan(tmp_path).text("nowhere.py") == ""


def test_follows_imports_of_every_form(build: Build) -> None:
    root = build(
        {
            "train.py": "import a\nfrom pkg import b\nfrom pkg.sub.c import thing\nimport numpy\n",
            "a.py": "",
            "pkg/__init__.py": "",
            "pkg/b.py": "from .d import x\nfrom . import e\n",
            "pkg/d.py": "",
            "pkg/e.py": "from ..outside import y\n",
            "pkg/sub/c.py": "",
            "outside.py": "import train\n",
            "unused.py": "",
        }
    )
    files = scan(root).reachable("train.py")
    assert files[0] == "train.py"
    assert set(files) == {
        *("train.py", "a.py", "pkg/__init__.py", "pkg/b.py", "pkg/d.py", "pkg/e.py"),
        *("pkg/sub/c.py", "outside.py"),
    }


def test_imports_are_looked_up_beside_the_script_and_in_src(build: Build) -> None:
    root = build(
        {"jobs/train.py": "import near\nimport far\n", "jobs/near.py": "", "src/far.py": ""}
    )
    assert set(scan(root).reachable("jobs/train.py")) == {
        "jobs/train.py",
        "jobs/near.py",
        "src/far.py",
    }


@pytest.mark.parametrize("entry", [None, "missing.py"])
def test_nothing_is_reachable_from_no_script(build: Build, entry: str | None) -> None:
    assert scan(build({"a.py": ""})).reachable(entry) == ()


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("train.py", "src/train.py"),
        ("./src/train.py", "src/train.py"),
        ("twice.py", None),
        ("../train.py", None),
        ("no.py", None),
    ],
)
def test_resolves_a_path_as_written(build: Build, written: str, found: str | None) -> None:
    root = build({"src/train.py": "", "a/twice.py": "", "b/twice.py": ""})
    assert scan(root).resolve(written) == found


def test_tests_docs_and_packaging_are_no_scripts(build: Build) -> None:
    root = build({"tests/a.py": "", "docs/b.py": "", "setup.py": "", "test_c.py": "", "d.py": ""})
    assert scan(root).scripts == ("d.py",)


def test_prefers_the_markdown_readme(build: Build) -> None:
    assert scan(build({"README": "plain", "readme.md": "marked"})).readme == "marked"


def test_finds_the_environment(build: Build) -> None:
    root = build({"train.py": ""})
    assert scan(root).environment is None
    (root / "venv" / "bin").mkdir(parents=True)
    (root / "venv" / "bin" / "python").touch()
    assert scan(root).environment == "venv"


def test_collects_the_strings_that_code_uses(build: Build) -> None:
    root = build({"a.py": 'open("x.csv")\nNAMES = ["p", "q"]\npath = root / "y.npz"\n"""doc"""\n'})
    assert set(strings(scan(root), "a.py")) >= {"x.csv", "p", "q", "y.npz"}
    assert "doc" not in strings(scan(root), "a.py")


@pytest.mark.parametrize(
    ("code", "value"),
    [("3", 3), ("-1", -1), ("'a'", "a"), ("None", None), ("f(2)", ...), ("x", ...)],
)
def test_reads_literals(code: str, value: object) -> None:
    assert literal(ast.parse(code, mode="eval").body) == value

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lae_controller.errors import ConfigError
from lae_controller.sandbox import snapshot
from lae_controller.sandbox.snapshot import Snapshot, matches, survey, take


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def kinds(found: Snapshot) -> dict[str, str]:
    return {entry.path: entry.kind for entry in found.entries}


def test_sources_are_copies_and_caches_are_left_out(tmp_path: Path) -> None:
    root = write(
        tmp_path / "p",
        {
            "train.py": "",
            "pkg/model.py": "",
            ".git/config": "",
            ".claude/skills/alpha-evolve/examples/digits/model.py": "an installed skill",
            ".agents/skills/alpha-evolve/SKILL.md": "",
            "pkg/__pycache__/model.cpython-311.pyc": "stale",
            "sandbox/lae/x": "",
            "notes.txt": "",
        },
    )
    found = survey(root, skip=[root / "sandbox"])
    assert kinds(found) == {"notes.txt": "copy", "pkg/model.py": "copy", "train.py": "copy"}


def test_an_environment_and_declared_data_are_linked(tmp_path: Path) -> None:
    root = write(tmp_path / "p", {".venv/pyvenv.cfg": "", "data/a.csv": "1", "train.py": ""})
    found = survey(root, data_paths=["data"])
    assert kinds(found) == {".venv": "link", "data": "link", "train.py": "copy"}


def test_a_large_file_that_is_not_code_is_linked_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "LARGE_BYTES", 100)
    root = write(tmp_path / "p", {"big.bin": "x" * 101, "big.py": "#" * 101, "small.bin": "x"})
    found = survey(root)
    assert kinds(found) == {"big.bin": "link", "big.py": "copy", "small.bin": "copy"}
    assert found.notes == ("big.bin: 0 MiB and not code; linked as data",)


def test_a_crowd_of_small_data_files_is_linked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "CROWD", 3)
    images = {f"images/{n}.png": "x" for n in range(4)}
    code = {f"code/{n}.txt": "x" for n in range(4)} | {"code/a.py": ""}
    found = survey(write(tmp_path / "p", images | code))
    assert kinds(found)["images"] == "link"
    assert kinds(found)["code/a.py"] == "copy"


def test_a_dead_link_is_left_out_with_a_note(tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"train.py": ""})
    (root / "plugin").symlink_to("/nonexistent/plugin")
    found = survey(root)
    assert kinds(found) == {"train.py": "copy"}
    assert "leads nowhere" in found.notes[0]


def test_folder_links_are_not_followed(tmp_path: Path) -> None:
    store = write(tmp_path / "store", {"huge.bin": "x"})
    root = write(tmp_path / "p", {"src/train.py": ""})
    (root / "src" / "up").symlink_to("..")
    (root / "data").symlink_to("../store")
    found = survey(root)
    assert kinds(found) == {"src/train.py": "copy", "src/up": "inner", "data": "link"}
    assert next(e.target for e in found.entries if e.path == "data") == str(store.resolve())


def test_a_linked_source_becomes_a_real_copy(tmp_path: Path) -> None:
    write(tmp_path, {"shared/util.py": "U = 1\n"})
    root = write(tmp_path / "p", {"train.py": ""})
    (root / "util.py").symlink_to("../shared/util.py")
    found = survey(root)
    take(root, found, tmp_path / "base")
    assert (tmp_path / "base" / "util.py").read_text() == "U = 1\n"
    assert not (tmp_path / "base" / "util.py").is_symlink()


def test_pipes_are_left_out(tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"train.py": ""})
    os.mkfifo(root / "pipe")
    assert kinds(survey(root)) == {"train.py": "copy"}


def test_outputs_and_excludes_are_left_out(tmp_path: Path) -> None:
    files = {"out/ckpt.pt": "", "runs/a/log.txt": "", "train.py": "", "a.log": "", "sub/b.log": ""}
    found = survey(write(tmp_path / "p", files), leave_out=["out", "runs/*", "*.log"])
    assert set(kinds(found)) == {"train.py"}


def test_copies_beyond_the_limit_are_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "LIMIT_BYTES", 10)
    with pytest.raises(ConfigError, match=r"largest: b\.txt.*data_paths"):
        survey(write(tmp_path / "p", {"a.txt": "1234", "b.txt": "1234567890"}))


def test_a_snapshot_survives_its_json(tmp_path: Path) -> None:
    found = survey(write(tmp_path / "p", {"a.py": "1", "data/x": "2"}), data_paths=["data"])
    assert Snapshot.from_json(found.to_json()) == found


@pytest.mark.parametrize(
    ("path", "pattern", "hit"),
    [
        ("model.py", "model.py", True),
        ("pkg/model.py", "model.py", True),
        ("pkg/model.py", "pkg/*.py", True),
        ("pkg/model.py", "pkg", True),
        ("pkg/model.py", "./pkg/", True),
        ("pkg/model.py", "**/model.py", True),
        ("model.pyc", "model.py", False),
        ("pkg2/model.py", "pkg", False),
        ("a/pkg/x.py", "pkg/x.py", False),
    ],
)
def test_patterns(path: str, pattern: str, hit: bool) -> None:
    assert matches(path, [pattern]) is hit

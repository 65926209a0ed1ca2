from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from lae_controller.errors import ChildError, ConfigError
from lae_controller.program import Reason
from lae_controller.sandbox.programs import (
    added_paths,
    build,
    check_bounds,
    clone,
    editable_paths,
    read_program,
)
from lae_controller.sandbox.snapshot import Snapshot, survey, take


@pytest.fixture
def base(tmp_path: Path) -> Path:
    root = tmp_path / "p"
    (root / "data").mkdir(parents=True)
    (root / "model.py").write_text("LR = 0.1\r\n", newline="")
    (root / "train.py").write_text("import model\n")
    (root / "data" / "d.csv").write_text("1,2\n")
    return root


@pytest.fixture
def snapshot(base: Path, tmp_path: Path) -> Snapshot:
    found = survey(base, data_paths=["data"])
    take(base, found, tmp_path / "base")
    return found


def test_a_program_is_complete_with_data_linked(snapshot: Snapshot, tmp_path: Path) -> None:
    program = tmp_path / "g1-i0-a0"
    build(snapshot, tmp_path / "base", program, {"model.py": "LR = 0.2\r\n", "new/x.py": "X = 1\n"})
    assert (program / "model.py").read_bytes() == b"LR = 0.2\r\n"
    assert not (program / "train.py").is_symlink()
    assert (program / "data").is_symlink()
    assert (program / "data" / "d.csv").read_text() == "1,2\n"
    assert added_paths(program, snapshot) == ["new/x.py"]
    files = read_program(program, snapshot, ["model.py"])
    assert files == {"model.py": "LR = 0.2\r\n", "new/x.py": "X = 1\n"}


def test_building_again_leaves_nothing_of_before(snapshot: Snapshot, tmp_path: Path) -> None:
    program = tmp_path / "g1-i0-a0"
    build(snapshot, tmp_path / "base", program, {"new.py": ""})
    build(snapshot, tmp_path / "base", program)
    assert added_paths(program, snapshot) == []


def test_a_run_copy_is_apart_from_the_program(snapshot: Snapshot, tmp_path: Path) -> None:
    program, work = tmp_path / "program", tmp_path / "work"
    build(snapshot, tmp_path / "base", program)
    clone(program, work)
    (work / "model.py").write_text("LR = 9\n")
    (work / "out.txt").write_text("made by the run")
    assert (program / "model.py").read_bytes() == b"LR = 0.1\r\n"
    assert added_paths(program, snapshot) == []


def test_patterns_pick_editable_files(snapshot: Snapshot) -> None:
    assert editable_paths(snapshot, ["*.py"]) == ["model.py", "train.py"]
    with pytest.raises(ConfigError, match="the project has no such file"):
        editable_paths(snapshot, ["modle.py"])
    assert editable_paths(snapshot, ["./model.py"]) == ["model.py"]
    with pytest.raises(ConfigError, match="linked as data"):
        editable_paths(snapshot, ["data"])


def test_the_harness_may_not_change(snapshot: Snapshot, tmp_path: Path) -> None:
    program, store = tmp_path / "program", tmp_path / "base"
    build(snapshot, store, program)
    check_bounds(program, snapshot, store, ["model.py"])
    (program / "model.py").write_text("LR = 3\n")
    check_bounds(program, snapshot, store, ["model.py"])
    (program / "train.py").write_text("print('val_loss: 0')\n")
    with pytest.raises(ChildError, match=r"train\.py") as caught:
        check_bounds(program, snapshot, store, ["model.py"])
    assert caught.value.reason is Reason.HARNESS_CHANGED


def test_a_removed_harness_file_is_found(snapshot: Snapshot, tmp_path: Path) -> None:
    program, store = tmp_path / "program", tmp_path / "base"
    build(snapshot, store, program)
    (program / "train.py").unlink()
    with pytest.raises(ChildError, match=r"train\.py: no longer a plain file"):
        check_bounds(program, snapshot, store, ["model.py"])


def test_links_may_not_be_added_or_turned(snapshot: Snapshot, tmp_path: Path) -> None:
    program, store = tmp_path / "program", tmp_path / "base"
    build(snapshot, store, program)
    (program / "evil").symlink_to("/etc/passwd")
    with pytest.raises(ChildError) as caught:
        check_bounds(program, snapshot, store, ["model.py"])
    assert caught.value.reason is Reason.OUT_OF_BOUNDS
    (program / "evil").unlink()
    (program / "data").unlink()
    (program / "data").symlink_to("/tmp")
    with pytest.raises(ChildError, match="data: the link was changed"):
        check_bounds(program, snapshot, store, ["model.py"])


def test_a_linked_folder_may_not_be_added(snapshot: Snapshot, tmp_path: Path) -> None:
    program = tmp_path / "g1-i0-a0"
    build(snapshot, tmp_path / "base", program)
    (program / "lib").symlink_to(tmp_path)
    with pytest.raises(ChildError, match="lib: a link was added") as caught:
        check_bounds(program, snapshot, tmp_path / "base", ["model.py"])
    assert caught.value.reason is Reason.OUT_OF_BOUNDS


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (os.mkfifo, "is no plain file"),
        (lambda path: path.write_bytes(b"#" * (5 << 20)), "a file of 5 MiB was added"),
    ],
)
def test_only_files_of_a_usual_size_may_be_added(
    make: Callable[[Path], object], said: str, snapshot: Snapshot, tmp_path: Path
) -> None:
    program = tmp_path / "g1-i0-a0"
    build(snapshot, tmp_path / "base", program)
    make(program / "new.py")
    with pytest.raises(ChildError, match=said) as caught:
        check_bounds(program, snapshot, tmp_path / "base", ["model.py"])
    assert caught.value.reason is Reason.OUT_OF_BOUNDS


def test_an_added_file_that_is_no_text_fails_the_child_alone(
    snapshot: Snapshot, tmp_path: Path
) -> None:
    program = tmp_path / "g1-i0-a0"
    build(snapshot, tmp_path / "base", program)
    (program / "weights.bin").write_bytes(b"\0\1\2")
    with pytest.raises(ChildError, match=r"weights\.bin") as caught:
        read_program(program, snapshot, ["model.py"])
    assert caught.value.reason is Reason.OUT_OF_BOUNDS

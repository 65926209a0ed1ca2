from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from lae_controller.errors import PrerequisiteError
from lae_controller.files import (
    append,
    copy_file,
    read_json,
    remove_tree,
    write_atomic,
    write_json,
)


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"x": 0.1})
    write_json(path, {"x": 0.2})
    assert read_json(path) == {"x": 0.2}
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_not_a_number_is_never_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "a.json", {"x": float("nan")})


@pytest.mark.parametrize("content", [b"", b"\0\0\0\0", b'{"x": 1', b"\xff\xfe"])
def test_a_torn_json_file_reads_as_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.json").write_bytes(content)
    assert read_json(tmp_path / "a.json") is None


def test_an_append_that_fails_is_cut_back(tmp_path: Path) -> None:
    path = tmp_path / "log"
    append(path, b"first\n")
    child = os.fork()
    if child == 0:
        import resource
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
        try:
            append(path, b"second, which is too long\n")
        except PrerequisiteError as error:
            os._exit(0 if "no space left" in str(error) else 3)
        os._exit(4)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert path.read_bytes() == b"first\n"
    append(path, b"third\n")
    assert path.read_bytes() == b"first\nthird\n"


def test_an_unwritable_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PrerequisiteError, match=r"file/x: cannot be written"):
        write_atomic(tmp_path / "file" / "x", "text")


def test_a_copy_keeps_mode_and_shares_nothing(tmp_path: Path) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_bytes(b"x" * 100_000)
    source.chmod(0o755)
    copy_file(source, target)
    with target.open("ab") as stream:
        stream.write(b"more")
    assert source.read_bytes() == b"x" * 100_000
    assert stat.S_IMODE(target.stat().st_mode) == 0o755
    assert source.stat().st_ino != target.stat().st_ino


def test_an_empty_file_is_copied(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    copy_file(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == b""


def test_a_read_only_tree_is_removed(tmp_path: Path) -> None:
    (tmp_path / "t" / "u").mkdir(parents=True)
    (tmp_path / "t" / "u" / "f").write_text("")
    (tmp_path / "t" / "u").chmod(0o500)
    remove_tree(tmp_path / "t")
    remove_tree(tmp_path / "t")
    assert not (tmp_path / "t").exists()

from __future__ import annotations

from pathlib import Path

import pytest

from lae_controller.sandbox.memory_group import make_group


def tree(root: Path, listing: str, *folders: str) -> tuple[Path, Path]:
    (root / "proc" / "self").mkdir(parents=True)
    (root / "proc" / "self" / "cgroup").write_text(listing)
    for folder in folders:
        (root / "cgroup" / folder).mkdir(parents=True)
    return root / "proc", root / "cgroup"


@pytest.mark.parametrize(
    ("listing", "parent", "file"),
    [
        ("5:cpu:/\n4:memory:/job/a\n", "memory/job/a", "memory.limit_in_bytes"),
        ("4:hugetlb,memory:/\n", "memory", "memory.limit_in_bytes"),
        ("0::/user.slice/x\n", "user.slice/x", "memory.max"),
    ],
)
def test_a_group_is_made_below_one_s_own(
    tmp_path: Path, listing: str, parent: str, file: str
) -> None:
    proc, mount = tree(tmp_path, listing, parent)
    folder = make_group(1 << 20, "abc", proc, mount)
    assert folder == str(mount / parent / "lae-abc")
    assert Path(folder, file).read_text() == "1048576\n"


@pytest.mark.parametrize("listing", ["", "4:cpu:/\n", "0::/nowhere\n", "4:memory:/nowhere\n"])
def test_where_none_can_be_made_there_is_none(tmp_path: Path, listing: str) -> None:
    proc, mount = tree(tmp_path, listing)
    assert make_group(1 << 20, "abc", proc, mount) == ""


def test_without_proc_there_is_none(tmp_path: Path) -> None:
    assert make_group(1 << 20, "abc", tmp_path / "proc", tmp_path) == ""

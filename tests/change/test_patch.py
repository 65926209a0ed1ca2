from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lae_controller.change.patch import repository_prefix, unified


def tree(root: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root


def git(where: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(where), *words], check=True, capture_output=True)


OLD = {
    "model.py": b"LR = 0.1\nDEPTH = 2\n",
    "crlf.py": b"A = 1\r\nB = 2\r\n",
    "latin.py": b"# -*- coding: latin-1 -*-\n# r\xe9seau\nLR = 0.1\n",
    "bare.py": b"X = 1",
    "same.py": b"S = 1\n",
    "mod\u00e8le \u6a21.py": b"U = 1\n",
}
NEW = {
    "model.py": b"LR = 0.05\nDEPTH = 2\n",
    "crlf.py": b"A = 1\r\nB = 3\r\nC = 4\r\n",
    "latin.py": b"# -*- coding: latin-1 -*-\n# r\xe9seau\nLR = 0.05\n",
    "bare.py": b"X = 2",
    "same.py": b"S = 1\n",
    "pkg/new.py": b"N = 1\n",
    "newbare.py": b"N = 2",
    "mod\u00e8le \u6a21.py": b"U = 2\n",
}


@pytest.mark.parametrize("inside", ["", "models/digits", "\u00fcbung/sub dir"])
def test_git_apply_gives_the_same_bytes(tmp_path: Path, inside: str) -> None:
    repository = tmp_path / "user"
    root = repository / inside
    tree(root, OLD)
    git(tmp_path, "init", "-q", str(repository))
    old, new = tree(tmp_path / "old", OLD), tree(tmp_path / "new", NEW)
    patch = tmp_path / "best.patch"
    patch.write_bytes(unified(old, new, NEW, repository_prefix(root)))
    git(root, "apply", "--check", str(patch))
    git(root, "apply", str(patch))
    for name, data in NEW.items():
        assert (root / name).read_bytes() == data, name


def test_nothing_changed_is_an_empty_patch(tmp_path: Path) -> None:
    old = tree(tmp_path / "old", OLD)
    assert unified(old, old, OLD) == b""


def test_outside_a_repository_there_is_no_prefix(tmp_path: Path) -> None:
    assert repository_prefix(tmp_path) == ""

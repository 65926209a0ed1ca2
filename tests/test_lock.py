from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lae_controller.errors import LockedError
from lae_controller.lock import ControllerLock, holder, is_held

HOLD = (
    "import sys, time, pathlib\n"
    "from lae_controller.lock import ControllerLock\n"
    "with ControllerLock(pathlib.Path(sys.argv[1])):\n"
    "    print('held', flush=True)\n"
    "    time.sleep(60)\n"
)


def test_a_second_controller_is_told_who_holds_it(tmp_path: Path) -> None:
    package = str(Path(__file__).resolve().parents[1])
    env = {**os.environ, "PYTHONPATH": package}
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, env=env
    )
    assert other.stdout is not None
    with other.stdout:
        assert other.stdout.readline() == b"held\n"
        assert is_held(tmp_path)
        with pytest.raises(LockedError, match=f"pid {other.pid} on "), ControllerLock(tmp_path):
            pass
        other.kill()
        other.wait()
    assert not is_held(tmp_path)
    with ControllerLock(tmp_path):
        assert holder(tmp_path)["pid"] == os.getpid()


def test_looking_does_not_disturb(tmp_path: Path) -> None:
    assert not is_held(tmp_path)
    assert holder(tmp_path) == {}
    with ControllerLock(tmp_path):
        assert is_held(tmp_path)
    assert not is_held(tmp_path)

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from lae_controller.sandbox import launch, zygote
from lae_controller.sandbox.launch import Command, Ended, Lifelines, run
from lae_controller.sandbox.memory_group import make_group

SLEEP = "sleep 47.{n}"


def command(
    folder: Path, text: str, limit: float | None = None, grace: float = 0.3, **env: str
) -> Command:
    values = {**os.environ, "LAE_TEST": str(folder), **env}
    return Command(("/bin/sh", "-c", text), folder, values, folder / "output.log", limit, grace)


def go(folder: Path, text: str, limit: float | None = None, **env: str) -> Ended:
    return run(command(folder, text, limit, **env), Lifelines())


def survivors(folder: Path) -> list[str]:
    """Return the command lines of processes that carry this test's folder in cwd or environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            known = (entry / "environ").read_bytes() + bytes((entry / "cwd").readlink())
            line = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if str(folder).encode() in known and line:
            found.append(line.replace(b"\0", b" ").decode())
    return found


def output(folder: Path) -> str:
    return (folder / "output.log").read_text()


def test_output_and_status_come_back(tmp_path: Path) -> None:
    ended = go(tmp_path, "echo out; echo err >&2; exit 3")
    assert (ended.why, ended.status) == ("exit", 3)
    assert output(tmp_path) == "out\nerr\n"


def test_a_signal_is_a_negative_status(tmp_path: Path) -> None:
    assert go(tmp_path, "kill -9 $$").status == -9


def test_a_command_that_cannot_start_says_so(tmp_path: Path) -> None:
    broken = Command(("/no/such/program",), tmp_path, {}, tmp_path / "output.log", None, 1.0)
    assert run(broken, Lifelines()).status == 127
    assert "cannot start '/no/such/program'" in output(tmp_path)


HIDING = {
    "same group": "sleep 47 &",
    "own session": "setsid sleep 47 </dev/null >/dev/null 2>&1 &",
    "pipe held open": "sleep 47 & sleep 47 &",
    "deaf to TERM": "(trap '' TERM HUP INT; while :; do sleep 1; done) &",
    "daemon": f'{sys.executable} -c "import os,time\n'
    'if os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\ntime.sleep(47)" &',
    "no environment": "env -i /bin/sleep 47 &",
}


@pytest.mark.parametrize("hiding", HIDING.values(), ids=HIDING)
def test_nothing_survives_a_command_that_ends(tmp_path: Path, hiding: str) -> None:
    ended = go(tmp_path, f"{hiding} echo val=0.5; sleep 0.2")
    assert (ended.why, ended.status) == ("exit", 0)
    assert "val=0.5" in output(tmp_path)
    assert survivors(tmp_path) == []


@pytest.mark.parametrize("hiding", HIDING.values(), ids=HIDING)
def test_nothing_survives_the_deadline(tmp_path: Path, hiding: str) -> None:
    ended = go(tmp_path, f"{hiding} trap '' TERM; while :; do sleep 0.1; done", limit=0.4)
    assert (ended.why, ended.status, ended.termed) == ("timeout", -9, True)
    assert survivors(tmp_path) == []


def test_a_command_may_end_itself_within_the_grace(tmp_path: Path) -> None:
    text = "trap 'echo val=0.7; exit 0' TERM; while :; do sleep 0.05; done"
    ended = go(tmp_path, text, limit=0.3)
    assert (ended.why, ended.status, ended.termed) == ("timeout", 0, True)
    assert "val=0.7" in output(tmp_path)


def test_cutting_the_lifeline_ends_everything(tmp_path: Path) -> None:
    lifelines = Lifelines()
    threading.Timer(0.4, lifelines.end_all).start()
    ended = run(command(tmp_path, f"{HIDING['own session']} sleep 47"), lifelines)
    assert ended.why == "lifeline"
    assert survivors(tmp_path) == []
    assert run(command(tmp_path, "sleep 47"), lifelines).why == "lifeline"


def test_the_death_of_the_controller_ends_everything(tmp_path: Path) -> None:
    text = f"{HIDING['own session']} {HIDING['daemon']} touch started; sleep 47"
    program = (
        "import os, pathlib\n"
        "from lae_controller.sandbox.launch import Command, Lifelines, run\n"
        f"folder = pathlib.Path({str(tmp_path)!r})\n"
        f"env = dict(os.environ, LAE_TEST={str(tmp_path)!r})\n"
        f"run(Command(('/bin/sh', '-c', {text!r}), folder, env, folder / 'output.log', None, 1.0),"
        " Lifelines())\n"
    )
    package = str(Path(launch.__file__).parents[2])
    env = {**os.environ, "PYTHONPATH": package}
    controller = subprocess.Popen([sys.executable, "-c", program], env=env, cwd="/")
    wait_for((tmp_path / "started").exists)
    controller.send_signal(signal.SIGKILL)
    controller.wait()
    wait_for(lambda: survivors(tmp_path) == [])


def wait_for(condition: object, patience: float = 10.0) -> None:
    until = time.monotonic() + patience
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < until, "did not happen"
        time.sleep(0.02)


def test_a_bystander_is_left_alone(tmp_path: Path) -> None:
    bystander = subprocess.Popen(["sleep", "47"])
    try:
        go(tmp_path, "sleep 47", limit=0.2)
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_endless_output_keeps_head_and_tail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "HEAD_BYTES", 1000)
    monkeypatch.setattr(launch, "TAIL_BYTES", 1000)
    ended = go(tmp_path, "echo first; yes 0123456789 | head -c 5000000; echo val=0.5")
    log = output(tmp_path)
    assert log.startswith("first\n")
    assert log.endswith("val=0.5\n")
    assert ended.dropped > 4_900_000
    assert f"[... {ended.dropped} bytes of output dropped ...]" in log
    assert len(log) < 2200


def test_what_was_printed_before_a_kill_is_there(tmp_path: Path) -> None:
    loop = "import time\nfor e in range(99): print('val', e); time.sleep(.01)"
    text = f'exec {sys.executable} -c "{loop}"'
    go(tmp_path, text, limit=0.6, PYTHONUNBUFFERED="1")
    assert len(output(tmp_path).splitlines()) >= 10


def test_descriptors_do_not_leak(tmp_path: Path) -> None:
    go(tmp_path, "true")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        go(tmp_path, "true")
    assert len(list(Path("/proc/self/fd").iterdir())) == before


HUNGRY = "import time; held = b'x' * (200 << 20); time.sleep(47)"


def test_memory_beyond_the_limit_ends_the_whole_tree(tmp_path: Path) -> None:
    text = f'{sys.executable} -c "{HUNGRY}" & sleep 47'
    limited = dataclasses.replace(command(tmp_path, text), memory=100 << 20)
    ended = run(limited, Lifelines())
    assert ended.why == "memory"
    assert ended.seconds < 30
    assert ended.oom_kills or ended.peak_memory > 100 << 20
    assert survivors(tmp_path) == []


def test_no_group_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []  # others on this machine may have groups of their own

    def noted(limit: int, name: str) -> str:
        made.append(make_group(limit, name))
        return made[-1]

    monkeypatch.setattr(launch, "make_group", noted)
    limited = dataclasses.replace(command(tmp_path, "echo fine"), memory=100 << 20)
    assert run(limited, Lifelines()).why == "exit"
    run(
        dataclasses.replace(command(tmp_path, f'{sys.executable} -c "{HUNGRY}"'), memory=90 << 20),
        Lifelines(),
    )
    assert len(made) == 2
    assert [group for group in made if group and Path(group).exists()] == []


def test_a_disk_beyond_the_limit_ends_the_run(tmp_path: Path) -> None:
    text = "while :; do head -c 3000000 /dev/zero > f$$.$(date +%N); sleep 0.1; done"
    limited = dataclasses.replace(command(tmp_path, text), disk=5_000_000, folders=(tmp_path,))
    ended = run(limited, Lifelines())
    assert ended.why == "disk"
    assert survivors(tmp_path) == []


def test_processor_time_is_that_of_the_whole_tree(tmp_path: Path) -> None:
    busy = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
    ended = go(tmp_path, f'{sys.executable} -c "{busy}" & {sys.executable} -c "{busy}"; wait')
    assert ended.cpu_seconds >= 0.6


@pytest.mark.parametrize("forbidden", ["socketpair", "send_fds"])
def test_a_warden_needs_no_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forbidden: str
) -> None:
    """A coding agent may run the controller in a sandbox of its own that forbids them."""

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(zygote.socket, forbidden, refuse)
    monkeypatch.setattr(launch, "WARDENS", zygote.Zygote())
    ended = go(tmp_path, "(setsid sleep 47.9 &) ; echo out; exit 3")
    assert (ended.why, ended.status) == ("exit", 3)
    assert output(tmp_path) == "out\n"
    assert survivors(tmp_path) == []
    assert go(tmp_path, "sleep 60", limit=0.3).why == "timeout"

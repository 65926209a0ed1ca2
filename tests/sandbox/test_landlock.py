from __future__ import annotations

import importlib.util
import os
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from lae_controller.sandbox import landlock
from lae_controller.sandbox.home import survey_home
from lae_controller.sandbox.launch import Command, Ended, Lifelines, run
from lae_controller.sandbox.tiers import probe_tiers, setup_failed, wrap
from lae_controller.sandbox.view import Mount, Tier, View

needs_landlock = pytest.mark.skipif(
    not probe_tiers().works(Tier.LANDLOCK), reason="this kernel has no Landlock"
)
ATTACKS = Path(__file__).parents[2] / "benchmarks" / "attacks.py"
PYTHON = shlex.quote(sys.executable)


@pytest.fixture
def view(tmp_path: Path) -> View:
    """Return a view of a small project, of which everything exists."""
    run_folder = tmp_path / "lae/runs/one"
    view = View(
        run_folder / "work",
        tmp_path / "project",
        run_folder / "tmp",
        run_folder / "proof",
        hidden=(tmp_path / "lae",),
    )
    for folder in (view.work, view.stands_at / "data", view.scratch, view.proof):
        folder.mkdir(parents=True)
    (view.stands_at / "data/set.csv").write_text("1,2,3\n")
    (view.work / "data").symlink_to(view.stands_at / "data")
    (tmp_path / "lae/history.tsv").write_text("gen\n")
    return view


def inside(view: View, text: str, limit: float | None = 20.0) -> tuple[Ended, str]:
    """Run a shell line in the Landlock tier, at home in the folder above the project."""
    home = view.stands_at.parent
    wrapped = wrap(Tier.LANDLOCK, view, ("/bin/sh", "-c", text), survey_home({"HOME": str(home)}))
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "LC_ALL": "C", **wrapped.env}
    log = home / "output.log"
    ended = run(Command(wrapped.argv, wrapped.cwd, env, log, limit, 2.0), Lifelines())
    return ended, log.read_text()


@needs_landlock
def test_it_runs_in_the_copy_and_writes_where_it_may(view: View) -> None:
    text = (
        'pwd; cat data/set.csv; echo a > here; mkdir d; mv here d; echo b > "$TMPDIR/there"; '
        f"echo c > {view.proof}/record; echo d > /dev/null; ls / > /dev/null"
    )
    ended, output = inside(view, text)
    assert (ended.status, output) == (0, f"{view.work}\n1,2,3\n")
    assert (view.work / "d/here").read_text() == "a\n"
    assert (view.scratch / "there").read_text() == "b\n"
    assert (view.proof / "record").read_text() == "c\n"


REFUSED = {
    "write data": "echo 9 >> data/set.csv",
    "write the home": "echo 9 > ~/new",
    "write /tmp": "echo 9 > /tmp/lae-landlock-test",
    "delete": "rm -f {project}/data/set.csv",
    "rename": "mv {project} {project}2",
    "link here": "ln {project}/data/set.csv mine",
    "a folder": "mkdir {project}/new",
    "read a secret": "cat ~/.netrc",
    "read the ledger": "cat {lae}/history.tsv",
    "write the ledger": "echo 9 >> {lae}/history.tsv",
}


@needs_landlock
@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_what_is_refused(view: View, text: str) -> None:
    top = view.stands_at.parent
    (top / ".netrc").write_text("s3cret\n")
    before = sorted(path for path in top.rglob("*") if not path.is_relative_to(top / "lae/runs"))
    ended, output = inside(view, text.format(project=view.stands_at, lae=top / "lae"))
    after = sorted(path for path in top.rglob("*") if not path.is_relative_to(top / "lae/runs"))
    assert ended.status != 0
    assert "s3cret" not in output
    assert [path for path in after if "output" not in path.name] == before
    assert (view.stands_at / "data/set.csv").read_text() == "1,2,3\n"


@needs_landlock
def test_what_training_needs_works(view: View) -> None:
    code = (
        "import multiprocessing, socket, threading; multiprocessing.Lock(); "
        "a = socket.create_server(('127.0.0.1', 0)); socket.create_connection(a.getsockname()); "
        "p = multiprocessing.get_context('fork').Process(target=print, args=('worker',)); "
        "p.start(); p.join(); p2 = multiprocessing.get_context('fork').Process("
        "target=__import__('time').sleep, args=(47,)); p2.start(); p2.terminate(); p2.join(); "
        "print(p2.exitcode)"
    )
    _, output = inside(view, f'{PYTHON} -c "{code}"')
    assert output == "worker\n-15\n"


@needs_landlock
def test_what_lies_in_a_hidden_folder_can_be_shown(view: View) -> None:
    lae = view.stands_at.parent / "lae"
    (lae / "sets").mkdir()
    (lae / "sets/one").write_text("one\n")
    text = f"cat {lae}/sets/one"
    assert inside(view, text)[0].status != 0
    mounts = (Mount(lae / "sets", view.work / "data"),)
    assert inside(view, text, 20.0)[0].status != 0
    assert inside(replace(view, mounts=mounts), text)[1] == "one\n"


@needs_landlock
def test_the_deadline_is_heard(view: View) -> None:
    ended, _ = inside(view, "exec sleep 47", limit=0.4)
    assert (ended.why, ended.status) == ("timeout", -15)


@needs_landlock
@pytest.mark.root
@pytest.mark.skipif(os.getuid() != 0, reason="only root has privileges to lose")
def test_root_loses_its_privileges(view: View) -> None:
    _, output = inside(view, "grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status")
    assert [line.split()[1].lstrip("0") for line in output.splitlines()] == ["2", "2", "1"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--", "/no/such/program"], "No such file"),
        (["--seal", "/no/such/mount", "--", "true"], "cannot seal /no/such/mount"),
    ],
)
def test_a_failure_is_told_and_nothing_is_run(words: list[str], said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", landlock.__file__, *words], capture_output=True, check=False
    )
    assert said in (setup_failed(done.stderr, done.returncode) or "")


def test_the_way_around_what_is_hidden(tmp_path: Path) -> None:
    for name in ("a/b/secret/x", "a/b/plain/x", "a/other/x", "c/x"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("")
    (tmp_path / "a/link").symlink_to(tmp_path / "a/b/secret")
    hidden = {str(tmp_path / "a/b/secret")}
    around = landlock._around(str(tmp_path), hidden)
    assert {str(Path(path).relative_to(tmp_path)) for path in around} == {
        "a/b/plain",
        "a/other",
        "c",
    }
    assert landlock._around(str(tmp_path / "c"), hidden) == [str(tmp_path / "c")]
    assert landlock._around(str(tmp_path / "a/b/secret"), hidden) == []


def attacks() -> ModuleType:
    if not ATTACKS.exists():
        pytest.skip("benchmarks are not part of this copy")
    spec = importlib.util.spec_from_file_location("attacks", ATTACKS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["attacks"] = module
    spec.loader.exec_module(module)
    return module


@needs_landlock
def test_no_attack_does_harm_that_is_said_to_be_refused(tmp_path: Path) -> None:
    module = attacks()
    closed = [each for each in module.ATTEMPTS if landlock.abi() >= each.open_in_landlock]
    assert not module.does_harm(module.together(closed), Tier.LANDLOCK, tmp_path)


@needs_landlock
def test_what_is_said_to_be_open_is_open(tmp_path: Path) -> None:
    module = attacks()
    never = [each for each in module.ATTEMPTS if each.name in ("chmod", "reach a UDP port")]
    assert len(never) == 2
    for number, attempt in enumerate(never):
        assert module.does_harm(attempt, Tier.LANDLOCK, tmp_path / str(number))

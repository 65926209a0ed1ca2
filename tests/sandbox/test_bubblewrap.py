from __future__ import annotations

import importlib.util
import os
import shlex
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

import pytest

from lae_controller.errors import PrerequisiteError
from lae_controller.sandbox import bubblewrap
from lae_controller.sandbox.bubblewrap import Bubblewrap, Layer, layers, mount_points
from lae_controller.sandbox.home import Home, survey_home
from lae_controller.sandbox.launch import Command, Ended, Lifelines, run
from lae_controller.sandbox.snapshot import Entry
from lae_controller.sandbox.tiers import probe_tiers, setup_failed, wrap
from lae_controller.sandbox.view import Mount, Tier, View

needs_bubblewrap = pytest.mark.skipif(
    not probe_tiers().works(Tier.BWRAP), reason="bubblewrap does not work on this machine"
)
ATTACKS = Path(__file__).parents[2] / "benchmarks" / "attacks.py"


@dataclass
class Place:
    """A project, a home and the run copy of a child, all below one folder of /tmp."""

    top: Path

    def __post_init__(self) -> None:
        self.home, self.project = self.top / "home", self.top / "project"
        self.lae = self.project / "sandbox" / "lae"
        self.work = self.lae / "runs" / "one" / "work"
        self.view = View(
            self.work,
            self.project,
            self.lae / "runs" / "one" / "tmp",
            self.lae / "runs" / "one" / "proof",
            hidden=(self.lae,),
        )
        for folder in (self.home, self.work, self.view.scratch, self.view.proof):
            folder.mkdir(parents=True)
        for root, who in ((self.project, "project"), (self.work, "child")):
            write(root / "train.py", f"import sys, model\nprint(model.WHO, {who!r})\n")
            write(root / "model.py", f"WHO = {who!r}\n")
            write(root / "src/pkg/__init__.py", f"WHO = {who!r}\n")
        write(self.project / "data/set.csv", "1,2,3\n")
        write(self.lae / "history.tsv", "gen\n")

    def run(self, text: str, view: View | None = None, **env: str) -> tuple[Ended, str]:
        """Run a shell line inside; ``env`` may hold ``limit``."""
        limit = float(env.pop("limit", "20"))
        home = survey_home({"HOME": str(self.home), **env})
        wrapped = wrap(Tier.BWRAP, view or self.view, ("/bin/sh", "-c", text), home)
        words = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LAE_TEST": str(self.top)}
        log = self.top / "output.log"
        argv, cwd, extra = wrapped.argv, wrapped.cwd, {**words, **wrapped.env, **env}
        ended = run(Command(argv, cwd, extra, log, limit, 2.0), Lifelines())
        return ended, log.read_text()

    def says(self, text: str, view: View | None = None, **env: str) -> str:
        """Run a shell line that must succeed and return what it printed."""
        ended, output = self.run(text, view, **env)
        assert (ended.why, ended.status) == ("exit", 0), output
        return output.strip()


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


PYTHON = shlex.quote(sys.executable)


@needs_bubblewrap
class TestTheChildStandsWhereTheProjectStood:
    def test_it_starts_there(self, place: Place) -> None:
        assert place.says(f"pwd; {PYTHON} train.py") == f"{place.project}\nchild child"

    def test_an_absolute_script(self, place: Place) -> None:
        assert place.says(f"cd /; {PYTHON} {place.project}/train.py") == "child child"

    def test_pythonpath(self, place: Place) -> None:
        said = place.says(
            f'{PYTHON} -c "import pkg; print(pkg.WHO)"', PYTHONPATH=f"{place.project}/src"
        )
        assert said == "child"

    def test_the_environment_of_the_project(self, place: Place) -> None:
        environment = place.project / ".venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
        (place.work / ".venv").symlink_to(environment)
        mounts = mount_points(place.work, [Entry(".venv", "link", str(environment))])
        python = environment / "bin/python"
        view = replace(place.view, mounts=mounts, readable=(python, environment))
        code = "import sys; print(sys.prefix)"
        assert place.says(f'.venv/bin/python -c "{code}"', view) == str(environment)

    def test_an_editable_install(self, place: Place) -> None:
        subprocess.run(
            [sys.executable, "-m", "venv", "--without-pip", place.top / "env"], check=True
        )
        packages = next((place.top / "env/lib").glob("python*/site-packages"))
        (packages / "pkg.pth").write_text(f"{place.project}/src\n")
        view = replace(place.view, readable=(place.top / "env",))
        python = place.top / "env/bin/python"
        assert place.says(f'{python} -c "import pkg; print(pkg.WHO)"', view) == "child"

    def test_code_that_is_read_and_executed(self, place: Place) -> None:
        code = f"exec(open('{place.project}/model.py').read()); print(WHO)"
        assert place.says(f'cd /; {PYTHON} -c "{code}"') == "child"

    def test_a_linked_script(self, place: Place) -> None:
        (place.top / "bin").mkdir()
        (place.top / "bin/train.py").symlink_to(place.project / "train.py")
        view = replace(place.view, readable=(place.top / "bin",))
        assert place.says(f"{PYTHON} {place.top}/bin/train.py", view) == "child child"

    def test_a_second_root(self, place: Place) -> None:
        write(place.top / "common/shared.py", "WHO = 'original'\n")
        write(place.lae / "runs/one/common/shared.py", "WHO = 'copy'\n")
        roots = (Mount(place.lae / "runs/one/common", place.top / "common"),)
        code = f'{PYTHON} -c "import shared; print(shared.WHO)"; echo x > ../common/new'
        view = replace(place.view, extra_roots=roots)
        assert place.says(code, view, PYTHONPATH=f"{place.top}/common") == "copy"
        assert not (place.top / "common/new").exists()
        assert (place.lae / "runs/one/common/new").exists()

    def test_a_root_around_the_project(self, place: Place) -> None:
        write(place.lae / "runs/one/mono/shared.py", "WHO = 'copy'\n")
        roots = (Mount(place.lae / "runs/one/mono", place.top),)
        said = place.says("cat ../shared.py model.py", replace(place.view, extra_roots=roots))
        assert said == "WHO = 'copy'\nWHO = 'child'"

    def test_what_it_writes_stays_in_the_copy(self, place: Place) -> None:
        place.says("echo 0.5 > metric.txt; echo changed > model.py")
        assert (place.work / "metric.txt").read_text() == "0.5\n"
        assert "project" in (place.project / "model.py").read_text()


@needs_bubblewrap
class TestData:
    def test_a_link_becomes_a_read_only_mount(self, place: Place) -> None:
        (place.work / "data").symlink_to(place.project / "data")
        (place.work / "one.csv").symlink_to(place.project / "data/set.csv")
        (place.work / "again").symlink_to("data/set.csv")
        entries = [
            Entry("again", "inner", "data/set.csv"),
            Entry("data", "link", str(place.project / "data")),
            Entry("model.py", "copy"),
            Entry("one.csv", "link", str(place.project / "data/set.csv")),
        ]
        view = replace(place.view, mounts=mount_points(place.work, entries))
        said = place.says(
            f"cat data/set.csv one.csv again {place.project}/data/set.csv; "
            "echo 9 >> data/set.csv || echo 9 > one.csv || rm data/set.csv || echo refused",
            view,
        )
        assert said.splitlines()[:4] == ["1,2,3"] * 4
        assert said.splitlines()[-1] == "refused"
        assert (place.project / "data/set.csv").read_text() == "1,2,3\n"

    def test_data_that_is_gone_is_a_broken_machine(self, place: Place) -> None:
        entries = [Entry("data", "link", str(place.top / "unplugged"))]
        with pytest.raises(PrerequisiteError, match=r"data: .*unplugged, is gone"):
            mount_points(place.work, entries)

    def test_a_link_to_a_folder_around_shows_the_child_and_no_secret(self, place: Place) -> None:
        write(place.home / ".netrc", "s3cret")
        (place.work / "up").symlink_to(place.top)
        mounts = mount_points(place.work, [Entry("up", "link", str(place.top))])
        said = place.says(
            "ls up/project/sandbox 2>&1; cat up/project/model.py; cat up/home/.netrc",
            replace(place.view, mounts=mounts),
            LC_ALL="C",
        )
        assert said.endswith("WHO = 'child'")
        assert "s3cret" not in said
        assert "history" not in said


@needs_bubblewrap
class TestWhereItMayWrite:
    def test_scratch_and_proof_lie_at_fixed_places(self, place: Place) -> None:
        said = place.says('echo $TMPDIR; echo a > "$TMPDIR/a"; echo b > /tmp/.lae/proof/b')
        assert said == "/tmp/.lae/tmp"
        assert (place.view.scratch / "a").read_text() == "a\n"
        assert (place.view.proof / "b").read_text() == "b\n"

    @pytest.mark.parametrize("folder", ["/tmp", "/var/tmp", "/dev/shm", "/run"])
    def test_shared_folders_are_private(self, place: Place, folder: str) -> None:
        name = f"{folder}/lae-{place.top.name}-{os.getpid()}"
        assert place.says(f"ls {folder}; echo x > {name}; cat {name}").endswith("x")
        assert not Path(name).exists()

    def test_the_home_is_read_only_with_a_throw_away_cache(self, place: Place) -> None:
        write(place.home / ".cache/models/one", "weights\n")
        said = place.says("cat ~/.cache/models/one; echo x > ~/new || echo refused", LC_ALL="C")
        assert (said.split()[0], said.split()[-1]) == ("weights", "refused")
        found = probe_tiers().bubblewrap
        if found is not None and found.overlay:
            place.says("echo y > ~/.cache/models/one; echo y > ~/.cache/two")
        assert (place.home / ".cache/models/one").read_text() == "weights\n"
        assert not (place.home / ".cache/two").exists()

    def test_a_cache_that_is_missing_goes_to_scratch(self, place: Place) -> None:
        assert place.says('echo "$XDG_CACHE_HOME"') == "/tmp/.lae/tmp/cache"


@needs_bubblewrap
class TestWhatItCannotSee:
    def test_credentials_look_empty(self, place: Place) -> None:
        for name in (".ssh/id_rsa", ".netrc", ".cache/huggingface/token", "keys/google.json"):
            write(place.home / name, "s3cret")
        said = place.says(
            "cat ~/.netrc ~/.cache/huggingface/token ~/keys/google.json; ls -A ~/.ssh; echo end",
            GOOGLE_APPLICATION_CREDENTIALS=f"{place.home}/keys/google.json",
        )
        assert said == "end"

    @pytest.mark.parametrize("elsewhere", [False, True])
    def test_the_sandbox_is_covered(self, place: Place, elsewhere: bool) -> None:
        view = place.view
        if elsewhere:
            other = place.top / "elsewhere/lae"
            write(other / "history.tsv", "gen\n")
            view = replace(view, hidden=(other,), readable=(place.top / "elsewhere",))
            place.lae = other
        said = place.says(f"ls -A {place.lae} 2>&1; ls -d {place.project}", view)
        assert "history" not in said

    def test_processes_of_others(self, place: Place) -> None:
        said = place.says("ls -d /proc/[0-9]* | wc -l; cat /proc/[0-9]*/comm")
        assert int(said.split()[0]) < 10
        assert "pytest" not in said

    @pytest.mark.parametrize("network", [False, True])
    def test_the_network_unless_allowed(self, place: Place, network: bool) -> None:
        code = (
            "import socket, sys; s = socket.socket(); s.settimeout(2); "
            "print(s.connect_ex(('127.0.0.1', int(sys.argv[1]))) == 0)"
        )
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            view = replace(place.view, network=network)
            assert place.says(f'{PYTHON} -c "{code}" {port}', view) == str(network)

    def test_loopback_works(self, place: Place) -> None:
        code = (
            "import socket; a = socket.create_server(('127.0.0.1', 0)); "
            "b = socket.create_connection(a.getsockname()); print('connected')"
        )
        assert place.says(f'{PYTHON} -c "{code}"') == "connected"

    def test_devices_that_are_not_its_own(self, place: Place) -> None:
        node = next((n for n in ("/dev/fuse", "/dev/kvm", "/dev/loop0") if Path(n).exists()), None)
        if node is None:
            pytest.skip("no device node to stand for an accelerator")
        assert node not in place.says("ls -d /dev/*").split()
        view = replace(place.view, devices=(node, "/dev/no-such-device"))
        assert node in place.says("ls -d /dev/*; echo works > /dev/null", view).split()


@needs_bubblewrap
class TestHowItEnds:
    def test_it_hears_the_deadline_and_may_use_its_grace(self, place: Place) -> None:
        text = "trap 'echo val=0.7; exit 0' TERM; while :; do sleep 0.05; done"
        ended, output = place.run(text, limit="0.5")
        assert (ended.why, ended.status) == ("timeout", 0)
        assert "val=0.7" in output

    def test_the_deadline_ends_what_does_not_care(self, place: Place) -> None:
        ended, _ = place.run("exec sleep 47", limit="0.5")
        assert (ended.why, ended.status, ended.termed) == ("timeout", 143, True)

    @pytest.mark.parametrize("hiding", ["setsid sleep 47 &", "trap '' TERM; sleep 47 & sleep 47"])
    def test_nothing_survives(self, place: Place, hiding: str) -> None:
        place.run(f"{hiding} sleep 0.1", limit="0.6")
        marked = [
            path
            for path in Path("/proc").glob("[0-9]*/environ")
            if str(place.top).encode() in _read(path)
        ]
        assert marked == []

    def test_cutting_the_lifeline(self, place: Place) -> None:
        wrapped = wrap(Tier.BWRAP, place.view, ("/bin/sleep", "47"))
        lifelines = Lifelines()
        threading.Timer(0.4, lifelines.end_all).start()
        log = place.top / "output.log"
        ended = run(Command(wrapped.argv, wrapped.cwd, wrapped.env, log, None, 1.0), lifelines)
        assert ended.why == "lifeline"

    def test_its_exit_status_is_that_of_the_command(self, place: Place) -> None:
        ended, output = place.run("echo Traceback >&2; exit 1")
        assert (ended.status, output) == (1, "Traceback\n")
        assert setup_failed(output.encode(), ended.status) is None

    def test_a_view_that_cannot_be_made_is_told_from_a_child_that_fails(self, place: Place) -> None:
        view = replace(place.view, scratch=place.top / "missing")
        ended, output = place.run("true", view)
        assert "missing" in (setup_failed(output.encode(), ended.status) or "")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


class TestLayers:
    """What is laid over what; no bubblewrap needed."""

    found = Bubblewrap(Path("/usr/bin/bwrap"), "0.11.0", overlay=True)

    def layers(self, view: View, home: Home | None = None) -> list[Layer]:
        return layers(self.found, home or Home(Path("/h"), (), (), frozenset()), view)

    def test_what_lies_deeper_comes_later(self, place: Place) -> None:
        view = replace(place.view, readable=(place.top,))
        places = [layer.at for layer in self.layers(view)]
        for n, path in enumerate(places):
            assert not any(path in later.parents for later in places[:n])
        assert places.index(Path("/tmp")) < places.index(place.top) < places.index(place.project)

    def test_what_the_copy_replaces_needs_no_cover(self, place: Place) -> None:
        assert place.lae not in [layer.at for layer in self.layers(place.view)]

    def test_what_the_copy_has_itself_is_never_covered(self, place: Place) -> None:
        view = replace(place.view, readable=(place.project / "src", place.project / "data"))
        places = [layer.at for layer in self.layers(view)]
        assert place.project / "src" not in places
        assert place.project / "data" in places

    def test_what_something_wider_shows_is_not_shown_again(self, place: Place) -> None:
        write(place.top / "env/bin/python", "")
        mounts = (Mount(place.top / "env", place.work / ".venv"),)
        inside = (place.project / ".venv/bin/python", place.top / "env/bin/python")
        view = replace(place.view, mounts=mounts, readable=(*inside, place.top / "env"))
        places = [layer.at for layer in self.layers(view)]
        assert place.top / "env" in places
        assert set(places).isdisjoint(inside)

    def test_a_home_that_is_private_stays_so(self, place: Place) -> None:
        view = replace(place.view, readable=(Path("/tmp"),))
        known = {layer.at: layer.how for layer in self.layers(view)}
        assert known[Path("/tmp")] == "tmpfs"

    def test_without_an_overlay_a_cache_is_left_as_it_is(self, tmp_path: Path) -> None:
        place = Place(tmp_path)
        home = Home(place.home, (), (Path("/usr"),), frozenset())
        plain = replace(self.found, overlay=False)
        assert Layer(Path("/usr"), "overlay") in self.layers(place.view, home)
        assert Layer(Path("/usr"), "overlay") not in layers(plain, home, place.view)


@pytest.mark.parametrize(
    ("devices", "expected"),
    [((), []), (("/dev/null",), ["/dev/null"]), (("/dev/nvidia-none",), [])],
)
def test_only_nodes_that_exist_are_shown(devices: tuple[str, ...], expected: list[str]) -> None:
    known = [node for node in bubblewrap.device_nodes(devices) if "nvidia" not in node]
    assert known == expected


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


@needs_bubblewrap
def test_no_attack_does_harm(tmp_path: Path) -> None:
    module = attacks()
    assert not module.does_harm(module.together(module.ATTEMPTS), Tier.BWRAP, tmp_path)


def test_the_attacks_are_real(tmp_path: Path) -> None:
    module = attacks()
    assert module.does_harm(module.together(module.ATTEMPTS), Tier.NONE, tmp_path)


@needs_bubblewrap
@pytest.mark.root
@pytest.mark.skipif(os.getuid() != 0, reason="needs to be root to become somebody else")
def test_no_attack_of_an_ordinary_user_does_harm(tmp_path_factory: pytest.TempPathFactory) -> None:
    module = attacks()
    where = tmp_path_factory.getbasetemp()
    rows = module.as_ordinary_user([Tier.BWRAP], Path("/var/tmp"), together=True)
    if not rows:
        pytest.skip(f"no Python that an ordinary user can reach from {where}")
    assert rows == [["all together", "bwrap", "refused"]]

"""Try to break out of every isolation tier, as root and as an ordinary user, and print a table.

A small world is built: a home with credentials, a project with data, a sandbox with ledgers and
another child's program, and a process that stands for the controller. Each attempt is a program
that runs as a training command would, under the warden. Whether it did harm is judged from
outside: did anything change, was anything heard, was a secret printed, is the controller alive.
Tier ``none`` is the control: it shows that the attempts are real.

    refused   no harm was done
    open      it worked, and the tier is documented not to refuse it
    WORKED    it worked and should have been refused: the exit status is 1
    works     (tier none) it worked, as it must
    -         (tier none) this user cannot do it even without isolation

    python benchmarks/attacks.py [--where FOLDER] [--tiers bwrap landlock none]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import filelock

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))

from lae_controller.sandbox import landlock  # noqa: E402
from lae_controller.sandbox.bubblewrap import make_nodes, mount_points  # noqa: E402
from lae_controller.sandbox.home import survey_home  # noqa: E402
from lae_controller.sandbox.launch import Command, Lifelines, run  # noqa: E402
from lae_controller.sandbox.snapshot import Entry  # noqa: E402
from lae_controller.sandbox.tiers import probe_tiers, wrap  # noqa: E402
from lae_controller.sandbox.view import Tier, View  # noqa: E402

NOBODY = 65534
TIERS = (Tier.BWRAP, Tier.LANDLOCK, Tier.NONE)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One way out.

    Attributes:
        name: what is tried, as the table shows it.
        code: Python; ``attempt`` holds the words it uses (see ``PRELUDE``).
        open_in_landlock: whether Landlock is known not to refuse it; the number is the version
            of its ABI from which on it does (99: never).
    """

    name: str
    code: str
    open_in_landlock: int = 0


_NULL = Path("/dev/null").stat()
NODE = (_NULL.st_dev, _NULL.st_ino)
PRELUDE = """
import contextlib, ctypes, glob, os, signal, socket, stat, sys, time
HOME, PROJECT, LAE, VICTIM = (os.environ[n] for n in ("HOME", "PROJECT", "LAE", "VICTIM"))
libc = ctypes.CDLL(None, use_errno=True)
def append(path):
    with open(path, "a") as stream:
        stream.write("x")
def show(pattern):
    for path in glob.glob(pattern, include_hidden=True) if sys.version_info > (3, 11) else (
            glob.glob(pattern)):
        try:
            print(open(path, "rb").read())
        except OSError as error:
            print(error)
def worked():
    print("IT WORKED")
def send(kind, family, address):
    with socket.socket(family, kind) as s:
        s.settimeout(1)
        s.connect(address)
        s.send(b"IT WORKED")
"""

ATTEMPTS = (
    Attempt("write the project", "append(PROJECT + '/model.py')"),
    Attempt("write the data", "append('data/set.bin')"),
    Attempt("write the data by its own path", "append(PROJECT + '/data/set.bin')"),
    Attempt("write another child's program", "append(LAE + '/programs/other/model.py')"),
    Attempt("write the ledger", "append(LAE + '/history.tsv')"),
    Attempt("write the home directory", "append(HOME + '/notes.txt')"),
    Attempt("write a start-up file", "append(HOME + '/.bashrc')"),
    Attempt("delete data", "os.unlink('data/set.bin')"),
    Attempt("rename a folder", "os.rename(HOME + '/papers', HOME + '/gone')"),
    Attempt("move a folder here", "os.rename(HOME + '/papers', 'papers')"),
    Attempt("truncate", "os.truncate(HOME + '/notes.txt', 1)", 3),
    Attempt("write through a hard link", "os.link(HOME + '/notes.txt', 'x'); append('x')"),
    Attempt("write through a new link", "os.symlink(HOME + '/notes.txt', 'y'); append('y')"),
    Attempt("chmod", "os.chmod(HOME + '/notes.txt', 0o666)", 99),
    Attempt("chmod data", "os.chmod('data/set.bin', 0o666)", 99),
    Attempt("utime", "os.utime('data/set.bin', (1, 1))", 99),
    Attempt(
        "chmod a device",  # of the machine: a run may do as it likes with a node of its own
        f"""
found = os.stat('/dev/null')
os.chmod('/dev/null', 0o666)
if (found.st_dev, found.st_ino) == {NODE}: worked()
""",
        99,
    ),
    Attempt(
        "unmount what covers",
        """
try: append(HOME + '/notes.txt')
except OSError:
    if os.getuid(): libc.unshare(0x10020000)
    libc.umount2(PROJECT.encode(), 2)
    libc.mount(b'none', b'/', None, 32 | 4096, None)
    libc.mount(b'none', HOME.encode(), None, 32 | 4096, None)
    append(PROJECT + '/model.py'); append(HOME + '/notes.txt')
""",
    ),
    Attempt(
        "make a raw disk",
        """
os.mknod('disk', stat.S_IFBLK | 0o600, os.stat(HOME).st_dev)
if os.read(os.open('disk', os.O_RDONLY), 1): worked()
""",
    ),
    Attempt(
        "read a raw disk",
        """
for node in os.scandir('/dev'):
    if stat.S_ISBLK(node.stat().st_mode) and not node.name.startswith('loop'):
        with contextlib.suppress(OSError):
            if os.read(os.open(node.path, os.O_RDONLY), 1): worked()
""",
    ),
    Attempt("use a device that is not its own", "os.open('/dev/fuse', os.O_RDWR); worked()"),
    Attempt(
        "change a kernel setting",
        """
for name in ('/proc/sys/vm/swappiness', '/sys/kernel/mm/transparent_hugepage/defrag'):
    with open(name) as s: now = s.read()
    now = now.partition('[')[2].partition(']')[0] or now
    with contextlib.suppress(OSError), open(name, 'w') as s:
        s.write(now); s.flush(); worked()
""",
    ),
    Attempt("reach the kernel's keyboard", "os.open('/proc/sysrq-trigger', os.O_WRONLY); worked()"),
    Attempt("read credentials", "show(HOME + '/.ssh/*'); show(HOME + '/.netrc')"),
    Attempt("read a hub's token", "show(HOME + '/.cache/huggingface/token')"),
    Attempt("read another child's program", "show(LAE + '/programs/*/*')"),
    Attempt("read the ledger", "show(LAE + '/history.tsv')"),
    Attempt("read the controller's environment", "show('/proc/[0-9]*/environ')"),
    Attempt(
        "read the controller's memory",
        """
f = os.open(f'/proc/{VICTIM}/mem', os.O_RDONLY)
print(os.pread(f, 64, int(os.environ['ADDRESS'])))
""",
    ),
    Attempt(
        "trace the controller",
        "if libc.ptrace(16, int(VICTIM), None, None) == 0: worked()",
    ),
    Attempt("signal the controller", "os.kill(int(VICTIM), signal.SIGTERM); time.sleep(.05)", 6),
    Attempt("reach a TCP port", "send(1, 2, ('127.0.0.1', int(os.environ['TCP'])))", 99),
    Attempt("reach a UDP port", "send(2, 2, ('127.0.0.1', int(os.environ['UDP'])))", 99),
    Attempt("reach an abstract socket", "send(1, 1, '\\0' + os.environ['ABSTRACT'])", 6),
    Attempt("reach a socket in /tmp", "send(1, 1, os.environ['SOCKET'])", 99),
    Attempt("leave a file in /dev/shm", "append('/dev/shm/' + os.environ['NAME'])", 99),
    Attempt("leave a file in /tmp", "append('/tmp/' + os.environ['NAME'])"),
)


def together(attempts: Iterable[Attempt]) -> Attempt:
    """Return one attempt that makes all of these, one after the other."""
    code = "\n".join(
        f"try: exec({attempt.code!r})\nexcept BaseException as error: print(error)"
        for attempt in attempts
    )
    return Attempt("all together", code)


_VICTIM = """
import ctypes, os, sys, time
secret = ctypes.create_string_buffer(os.environ["SECRET"].encode())
print(ctypes.addressof(secret), flush=True)
time.sleep(600)
"""


@dataclass
class World:
    """What a child could harm."""

    base: Path
    secret: str = field(default_factory=lambda: f"secret{os.urandom(8).hex()}")
    heard: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.name = f"lae-attack-{os.urandom(4).hex()}"
        self.home, self.project, self.lae = (self.base / n for n in ("home", "project", "lae"))
        for path, text in (
            (self.home / ".ssh/id_ed25519", self.secret),
            (self.home / ".netrc", self.secret),
            (self.home / ".cache/huggingface/token", self.secret),
            (self.home / ".bashrc", "# start"),
            (self.home / "notes.txt", "notes"),
            (self.home / "papers/one.txt", "one"),
            (self.project / "model.py", "print('the project')"),
            (self.project / "data/set.bin", "numbers"),
            (self.lae / "history.tsv", self.secret),
            (self.lae / "programs/other/model.py", self.secret),
        ):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.run = self.lae / "runs/one"
        self.sockets: list[socket.socket] = []
        self.victim: subprocess.Popen[str] | None = None

    def view(self, tier: Tier) -> View:
        """Build a fresh run copy and return what a run sees."""
        shutil.rmtree(self.run, ignore_errors=True)
        work = self.run / "work"
        for folder in (work, self.run / "tmp", self.run / "proof"):
            folder.mkdir(parents=True)
        (work / "model.py").write_text("print('the child')")
        (work / "data").symlink_to(self.project / "data")
        entries = [Entry("data", "link", str(self.project / "data"))]
        mounts = mount_points(work, entries) if tier is Tier.BWRAP else ()
        return View(
            work,
            self.project,
            self.run / "tmp",
            self.run / "proof",
            mounts=mounts,
            readable=(self.base, REPOSITORY),
            hidden=(self.lae,),
            nodes=make_nodes(self.run / "dev", ()) if tier is Tier.BWRAP else None,
        )

    def state(self) -> dict[str, object]:
        """Return all that must not change, apart from the run's own folders."""
        found: dict[str, object] = {}
        for top in (self.home, self.project, self.lae):
            for path in sorted(top.rglob("*")):
                if not path.is_relative_to(self.run.parent):
                    known = path.lstat()
                    content = path.read_bytes() if path.is_file() else b""
                    found[str(path)] = (content, known.st_mode, known.st_mtime)
        strays = [Path(folder) / self.name for folder in ("/tmp", "/dev/shm")]
        found["strays"] = [path.exists() for path in strays]
        return found

    def start(self) -> dict[str, str]:
        """Start the process and the listeners that can be reached; return how."""
        env = {**os.environ, "SECRET": self.secret}
        self.victim = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _VICTIM], env=env, stdout=subprocess.PIPE, text=True
        )
        assert self.victim.stdout is not None
        address = self.victim.stdout.readline().strip()
        tcp = self._listen(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        udp = self._listen(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        self._listen(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{self.name}")
        self._listen(socket.AF_UNIX, socket.SOCK_STREAM, f"/tmp/{self.name}.socket")
        return {
            "VICTIM": str(self.victim.pid),
            "ADDRESS": address,
            "TCP": str(tcp.getsockname()[1]),
            "UDP": str(udp.getsockname()[1]),
            "ABSTRACT": self.name,
            "SOCKET": f"/tmp/{self.name}.socket",
            "NAME": self.name,
            "PROJECT": str(self.project),
            "LAE": str(self.lae),
            "HOME": str(self.home),
        }

    def _listen(self, family: int, kind: int, address: str | tuple[str, int]) -> socket.socket:
        listener = socket.socket(family, kind)
        listener.bind(address)
        self.sockets.append(listener)
        if kind == socket.SOCK_STREAM:
            listener.listen()
        threading.Thread(target=self._hear, args=(listener, kind), daemon=True).start()
        return listener

    def _hear(self, listener: socket.socket, kind: int) -> None:
        with contextlib.suppress(OSError):
            while True:
                if kind == socket.SOCK_DGRAM:
                    self.heard.append(listener.recv(64))
                else:
                    peer, _ = listener.accept()
                    with peer:
                        self.heard.append(peer.recv(64))

    def stop(self) -> None:
        """End what ``start`` started and remove what lies outside ``base``."""
        for listener in self.sockets:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        if self.victim is not None:
            self.victim.kill()
            self.victim.communicate()
        for path in (f"/tmp/{self.name}", f"/tmp/{self.name}.socket", f"/dev/shm/{self.name}"):
            Path(path).unlink(missing_ok=True)


def does_harm(attempt: Attempt, tier: Tier, base: Path) -> bool:
    """Run one attempt in a new world below ``base`` and say whether it did harm."""
    world = World(base)
    words = world.start()
    try:
        view = world.view(tier)
        before = world.state()
        argv = (sys.executable, "-I", "-S", "-c", f"{PRELUDE}\n{attempt.code}")
        wrapped = wrap(tier, view, argv, survey_home({"HOME": str(world.home)}))
        env = {"PATH": os.defpath, **words, **wrapped.env}
        log = world.run / "output.log"
        run(Command(wrapped.argv, wrapped.cwd, env, log, 20.0, 1.0), Lifelines())
        said = log.read_bytes()
        if b"bwrap:" in said or landlock.MARK.encode() in said:
            raise RuntimeError(said.decode())
        assert world.victim is not None
        return (
            world.state() != before
            or bool([words for words in world.heard if words])
            or world.secret.encode() in said
            or b"IT WORKED" in said
            or world.victim.poll() is not None
        )
    finally:
        world.stop()


def verdict(attempt: Attempt, tier: Tier, harm: bool) -> str:
    """Return the cell of the table."""
    if tier is Tier.NONE:
        return "works" if harm else "-"
    if not harm:
        return "refused"
    is_open = tier is Tier.LANDLOCK and landlock.abi() < attempt.open_in_landlock
    return "open" if is_open else "WORKED"


def column(
    tiers: Iterable[Tier], where: Path, attempts: Sequence[Attempt]
) -> Iterator[tuple[str, str, str]]:
    """Yield (attempt, tier, cell) for the user who runs this."""
    for tier in tiers:
        if not probe_tiers().works(tier):
            continue
        for attempt in attempts:
            with tempfile.TemporaryDirectory(dir=where, ignore_cleanup_errors=True) as base:
                yield (
                    attempt.name,
                    tier.value,
                    verdict(attempt, tier, does_harm(attempt, tier, Path(base))),
                )


def as_ordinary_user(
    tiers: Sequence[Tier], where: Path, *, together: bool = False
) -> list[list[str]]:
    """Let an unprivileged user do the same, with a Python that this user can reach.

    Args:
        together: make all attempts in one run.
    """
    python = next(filter(_reachable, (sys.executable, "/usr/bin/python3")), None)
    if python is None:
        return []
    with tempfile.TemporaryDirectory(dir=where) as base:
        os.chown(base, NOBODY, NOBODY)
        words = [python, __file__, "--json", "--where", base]
        words += ["--together"] if together else []
        done = _as_nobody([*words, "--tiers", *(tier.value for tier in tiers)])
    if done.returncode:
        raise RuntimeError(done.stderr)
    rows: list[list[str]] = json.loads(done.stdout)
    return rows


def _as_nobody(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    packages = str(Path(filelock.__file__).parents[1])
    return subprocess.run(
        words,
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        env={"PYTHONPATH": packages, "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/nonexistent"},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )


def _reachable(python: str) -> bool:
    code = "import filelock, sys; sys.exit(sys.version_info < (3, 10))"
    try:
        return _as_nobody([python, "-c", code]).returncode == 0
    except OSError:
        return False


def main() -> int:
    """Print the table; return 1 if something worked that should have been refused."""
    parser = argparse.ArgumentParser(description="Try to break out of every isolation tier.")
    parser.add_argument("--where", type=Path, default=Path("/srv" if os.getuid() == 0 else "."))
    parser.add_argument("--tiers", nargs="+", type=Tier, default=TIERS)
    parser.add_argument("--json", action="store_true", help="this user only, as JSON")
    parser.add_argument("--together", action="store_true", help="all attempts in one run")
    options = parser.parse_args()
    attempts = [together(ATTEMPTS)] if options.together else ATTEMPTS
    mine = list(column(options.tiers, options.where, attempts))
    if options.json:
        print(json.dumps(mine))
        return 0
    user = "root" if os.getuid() == 0 else "user"
    cells = {(name, f"{tier}/{user}"): cell for name, tier, cell in mine}
    if user == "root":
        rows = as_ordinary_user(options.tiers, options.where, together=options.together)
        cells |= {(name, f"{tier}/user"): cell for name, tier, cell in rows}
    heads = [f"{tier.value}/{who}" for tier in options.tiers for who in ("root", "user")]
    heads = [head for head in heads if any(key[1] == head for key in cells)]
    print(f"{'attempt':36}" + "".join(f"{head:15}" for head in heads))
    for attempt in attempts:
        row = [cells.get((attempt.name, head), "") for head in heads]
        print(f"{attempt.name:36}" + "".join(f"{cell:15}" for cell in row).rstrip())
    return int("WORKED" in cells.values())


if __name__ == "__main__":
    sys.exit(main())

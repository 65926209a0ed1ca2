"""End runs in every way there is, in every tier, and count what of them is left two seconds later.

A run spawns a descendant that hides (in a session of its own, as a daemon, deaf to SIGTERM, ...).
Then something happens: the command ends by itself, or at its time or memory limit, or the
controller gets Ctrl-C or ``kill -9``, or its Mutator does. For the first three one command is
started under the warden as a training run is; for the others a real ``lae run`` on the suite's
small project is started, and gone on with after every kill; there the Mutator, not the training,
spawns what hides if it is the one to be killed. Survivors are counted by a marker on their command
lines, so that neither a cleared environment nor a new parent hides them.

    0         nothing is left, as it must be everywhere: anything else makes the exit status 1
    2 left    so many processes were left (they are killed afterwards)
    ?         the cell did not happen as it should; the reason is below the table

As root the matrix is also done as an ordinary user (uid 65534), side by side, if that user can
reach a Python with the packages. The fork bomb is bounded: 60 processes, and 3 s of forking.

    python benchmarks/kill_matrix.py [--quick] [--where FOLDER] [--tiers bwrap landlock none]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import filelock

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tests")]

from tiny_project import MODEL, make_project  # noqa: E402

from lae_controller.errors import LaeError  # noqa: E402
from lae_controller.sandbox.launch import Command, Ended, Lifelines, run  # noqa: E402
from lae_controller.sandbox.tiers import probe_tiers, wrap  # noqa: E402
from lae_controller.sandbox.view import Tier, View  # noqa: E402

NOBODY = 65534
TIERS = (Tier.BWRAP, Tier.LANDLOCK, Tier.NONE)
COMMAND_EVENTS = ("child ends", "timeout", "memory limit")
RUN_EVENTS = ("Ctrl-C", "kill -9 controller", "kill -9 Mutator")
HIDINGS = {
    "same group": 1,
    "setsid": 1,
    "double fork": 1,
    "deaf to TERM": 1,
    "env cleared": 1,
    "pipe holder": 1,
    "fork bomb": 20,
}
"""How a descendant hides -> how many processes must have been seen before the event counts."""

QUICK = (("timeout", "Ctrl-C", "kill -9 controller", "kill -9 Mutator"), ("env cleared",))
SETTLE_S = 2.0
PATIENCE_S = 60.0
TRIES = 2

# What hides: python -c HIDDEN hiding marker. Its last act is to become `sleep <marker>`.
HIDDEN = """
import os, shutil, signal, sys, time
hiding, mark = sys.argv[1:]
if hiding != "pipe holder":
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(3): os.dup2(null, number)
def daemon():
    if os.fork(): os._exit(0)
    os.setsid()
    if os.fork(): os._exit(0)
def bomb(most=60, seconds=3.0):
    end = time.monotonic() + seconds
    reading, writing = os.pipe()
    os.write(writing, bytes(most - 1))
    os.set_blocking(reading, False)
    while time.monotonic() < end:
        try: os.read(reading, 1)
        except BlockingIOError: break
        os.fork()
        time.sleep(0.02)
    while os.getpid() % 8 == 0 and time.monotonic() < end:
        if os.fork(): os._exit(0)  # one that is never where it was
        time.sleep(0.02)
if hiding in ("setsid", "pipe holder"): os.setsid()
if hiding in ("double fork", "env cleared"): daemon()
if hiding == "deaf to TERM":
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
if hiding == "fork bomb": bomb()
sleep = shutil.which("sleep")
os.execve(sleep, [sleep, mark], {} if hiding == "env cleared" else os.environ)
"""

# One command: python -c MAIN event hiding marker own-marker
MAIN = f"""
import os, signal, subprocess, sys, time
event, hiding, mark, own = sys.argv[1:]
subprocess.Popen([sys.executable, "-I", "-S", "-c", {HIDDEN!r}, hiding, mark])
signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(1)
if event == "memory limit": held = b"x" * (300 << 20)
if event != "child ends": time.sleep(47)
"""

# Put before the project's training code, and into a module that every Mutator imports as it starts.
ON_ORDER = f"""
def _hide(where, order):
    import json, os, signal, subprocess, sys, time
    order = json.load(open(order))
    if order["in"] != where: return
    if where == "mutator":
        try: os.close(os.open(order["once"], os.O_CREAT | os.O_EXCL))
        except FileExistsError: return
    subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", {HIDDEN!r}, order["hiding"], order["mark"]])
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if where == "mutator": time.sleep(47)
    os.execvp("sleep", ["sleep", order["own"]])
"""
SETTINGS = "run_timeout: 60\nstop_grace: 0.3\nisolation: {tier}\n"


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the table."""

    event: str
    hiding: str
    tier: str


@dataclass(slots=True)
class Lane:
    """The cells of one user, done one after the other; survivors are counted while others run."""

    base: Path
    values: dict[Cell, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    due: list[tuple[float, Cell, tuple[str, str]]] = field(default_factory=list)
    count: int = 0

    def marks(self) -> tuple[str, str]:
        """Return two new durations for ``sleep``: of what hides, and of what spawned it."""
        self.count += 1
        unique = f"{os.getpid():07d}{self.count:03d}"
        return f"47.{unique}", f"48.{unique}"

    def happened(self, cell: Cell, marks: tuple[str, str], note: str) -> None:
        """Let a cell be counted when it is due; ``note`` says what was wrong with it, if so."""
        if note:
            self.values[cell] = "?"
            self.notes.append(f"{cell.event}, {cell.hiding}, {cell.tier}: {note}")
        self.due.append((time.monotonic() + SETTLE_S, cell, marks))
        self.collect()

    def collect(self, *, wait: bool = False) -> None:
        """Count the survivors of the cells that are due, or of all, and end them."""
        while self.due and (wait or self.due[0][0] <= time.monotonic()):
            at, cell, marks = self.due.pop(0)
            time.sleep(max(0.0, at - time.monotonic()))
            left = carrying(*marks)
            text = f"{len(left)} left" if left else "0"
            if left or cell not in self.values:
                self.values[cell] = text
            for pid in left:
                kill(pid)


def processes() -> Iterator[tuple[int, list[bytes]]]:
    """Yield (pid, words of the command line) of every process; none for a zombie."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue  # it has just ended
            yield int(entry.name), words


def carrying(*marks: str) -> list[int]:
    """Return the processes that have one of these words on their command line."""
    wanted = {mark.encode() for mark in marks}
    return [pid for pid, words in processes() if not wanted.isdisjoint(words)]


def about(folder: Path) -> list[int]:
    """Return the processes whose command line or working directory speaks of ``folder``."""
    found = []
    for pid, words in processes():
        try:
            place = bytes(Path(f"/proc/{pid}/cwd").readlink())
        except OSError:
            place = b""
        if str(folder).encode() in b"\0".join([*words, place]):
            found.append(pid)
    return found


def kill(pid: int) -> None:
    """Kill a process, if it is still there."""
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)


# -- one command under the warden ------------------------------------------------------------------


def command_cell(lane: Lane, cell: Cell) -> None:
    """Run one command to its end by ``cell.event``; again if the descendant came too late."""
    note = ""
    for _ in range(TRIES):
        marks = lane.marks()
        ended, seen = watched(lane.base / f"run-{marks[0]}", cell, marks)
        expected = {"child ends": "exit", "timeout": "timeout", "memory limit": "memory"}
        if ended.why != expected[cell.event]:
            note = f"the run ended by {ended.why}, status {ended.status}"
        elif seen < HIDINGS[cell.hiding]:
            note = f"only {seen} descendants were seen before the event"
        else:
            lane.happened(cell, marks, "")
            return
        lane.due.append((time.monotonic() + SETTLE_S, cell, marks))
    lane.happened(cell, marks, note)


def watched(folder: Path, cell: Cell, marks: tuple[str, str]) -> tuple[Ended, int]:
    """Run the command of a cell; return how it ended and how many descendants were seen."""
    work, scratch, proof = (folder / name for name in ("work", "tmp", "proof"))
    for path in (work, scratch, proof, project := folder / "project"):
        path.mkdir(parents=True)
    view = View(work, project, scratch, proof, readable=(REPOSITORY, Path(sys.prefix)))
    words = (sys.executable, "-I", "-S", "-c", MAIN, cell.event, cell.hiding, *marks)
    wrapped = wrap(Tier(cell.tier), view, words)
    env = {"PATH": os.environ.get("PATH", os.defpath), **wrapped.env}
    limit = 1.8 if cell.event == "timeout" else PATIENCE_S
    memory = 200 << 20 if cell.event == "memory limit" else None
    command = Command(
        wrapped.argv, wrapped.cwd, env, folder / "output.log", limit, 0.3, memory=memory
    )
    ended: list[Ended] = []
    thread = threading.Thread(target=lambda: ended.append(run(command, Lifelines())))
    thread.start()
    seen = 0
    while thread.is_alive():
        seen = max(seen, len(carrying(marks[0])))
        thread.join(0.05)
    if not ended:
        raise RuntimeError(f"{cell}: its warden left no outcome")
    return ended[0], seen


# -- a real run ------------------------------------------------------------------------------------


class Sessions:
    """The sessions of one run in one tier: each is begun, disturbed and gone on with."""

    def __init__(self, base: Path, tier: str) -> None:
        self.order = base / f"order-{tier}.json"
        self.project = make_project(base / f"project-{tier}", SETTINGS.format(tier=tier))
        self._write("loop.run.yaml", ("total_budget: 10", "total_budget: 900"))
        self._write("loop.run.yaml", ("concurrency: 2", "concurrency: 1"))
        order = str(self.order)
        only = f"if open('model.py').read() != {MODEL!r}: _hide('training', {order!r})\n"
        self._write("train.py", ("", ON_ORDER + only))
        hook = base / f"hook-{tier}"
        hook.mkdir()
        only = f"import sys\nif 'mutate' in sys.orig_argv: _hide('mutator', {order!r})\n"
        (hook / "sitecustomize.py").write_text(ON_ORDER + only)
        paths = [str(hook), str(REPOSITORY), os.environ.get("PYTHONPATH", "")]
        self.env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}

    def _write(self, name: str, change: tuple[str, str]) -> None:
        path = self.project / name
        path.write_text(path.read_text().replace(*change, 1))

    def disturb(self, cell: Cell, marks: tuple[str, str]) -> str:
        """Start or go on with the run and let the event happen; return what was wrong, if so."""
        mutator = cell.event == "kill -9 Mutator"
        order = {
            "in": "mutator" if mutator else "training",
            "hiding": cell.hiding,
            "mark": marks[0],
            "own": marks[1],
            "once": f"{self.order}.{marks[0]}",
        }
        self.order.write_text(json.dumps(order))
        words = [sys.executable, "-m", "lae_controller", "run", str(self.project), "--yes"]
        controller = subprocess.Popen(
            words, env=self.env, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        try:
            if not self._begun(cell, marks, controller):
                controller.kill()
                _, said = controller.communicate()
                return f"nothing was spawned; the run said {said.decode()[-300:]!r}"
            if mutator:
                return self._mutator(controller, marks)
            return self._interrupt(controller) if cell.event == "Ctrl-C" else ""
        finally:  # which is the event itself, if that is the controller's end
            controller.kill()
            if controller.stderr is not None and not controller.stderr.closed:
                controller.communicate()

    def _begun(
        self, cell: Cell, marks: tuple[str, str], controller: subprocess.Popen[bytes]
    ) -> bool:
        until = time.monotonic() + PATIENCE_S
        while len(carrying(marks[0])) < HIDINGS[cell.hiding]:
            if controller.poll() is not None or time.monotonic() > until:
                return False
            time.sleep(0.05)
        time.sleep(0.1)  # for what spawned it to have become deaf
        return True

    def _interrupt(self, controller: subprocess.Popen[bytes]) -> str:
        controller.send_signal(signal.SIGINT)
        try:
            _, said = controller.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            return f"the controller was still there {PATIENCE_S:g} s after Ctrl-C"
        if controller.returncode != 130:
            return f"after Ctrl-C exit {controller.returncode}; it said {said.decode()[-300:]!r}"
        return ""

    def _mutator(self, controller: subprocess.Popen[bytes], marks: tuple[str, str]) -> str:
        """Kill the Mutator; count here, as the end of the controller would end what is left."""
        found = [
            pid
            for pid, words in processes()
            if b"mutate" in words and str(self.project).encode() in b"\0".join(words)
        ]
        for pid in found:
            kill(pid)
        time.sleep(SETTLE_S)
        left = carrying(*marks)
        if left:
            return f"{len(left)} left while the controller went on"
        if controller.poll() is not None:
            return f"the controller ended (exit {controller.returncode}) with its Mutator"
        return "" if found else "there was no Mutator to kill"


def run_cells(lane: Lane, tier: str, events: Sequence[str], hidings: Sequence[str]) -> None:
    """Do the cells of one tier that need a real run."""
    sessions = Sessions(lane.base, tier)
    for event in events:
        for hiding in hidings:
            cell, marks = Cell(event, hiding, tier), lane.marks()
            note = sessions.disturb(cell, marks)
            lane.happened(cell, marks, note)


# -- the table -------------------------------------------------------------------------------------


def lane(
    base: Path, tiers: Sequence[Tier], events: Sequence[str], hidings: Sequence[str]
) -> tuple[dict[Cell, str], list[str]]:
    """Do all cells as the user who runs this; return them and what is to be said of them."""
    done = Lane(base)
    for tier in tiers:
        if not probe_tiers().works(tier):
            done.notes.append(f"{tier.value}: skipped, it does not work here for this user")
            continue
        try:
            for event in filter(COMMAND_EVENTS.__contains__, events):
                for hiding in hidings:
                    command_cell(done, Cell(event, hiding, tier.value))
            wanted = [event for event in events if event in RUN_EVENTS]
            if wanted:
                run_cells(done, tier.value, wanted, hidings)
        finally:
            done.collect(wait=True)
    left = about(base)
    if left:
        done.notes.append(f"{len(left)} other processes are left, such as a warden: {left}")
        done.values[Cell("at the end", "anything", "all")] = f"{len(left)} left"
    return done.values, done.notes


def start_ordinary(base: Path, words: Sequence[str]) -> subprocess.Popen[str] | None:
    """Start this script as an unprivileged user, with a Python that this user can reach."""
    found = next(filter(reachable, (sys.executable, "/usr/bin/python3")), None)
    if found is None:
        return None
    os.chown(base, NOBODY, NOBODY)
    return as_nobody([found, __file__, "--json", "--where", str(base), *words])


def as_nobody(words: Sequence[str]) -> subprocess.Popen[str]:
    """Start a command as an unprivileged user."""
    packages = str(Path(filelock.__file__).parents[1])
    return subprocess.Popen(
        words,
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        env={
            "PATH": os.defpath,
            "PYTHONPATH": f"{REPOSITORY}{os.pathsep}{packages}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": "/nonexistent",
        },
        cwd="/",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def reachable(python: str) -> bool:
    """Say whether the unprivileged user can run the product with this interpreter."""
    code = "import sys, lae_controller.session; sys.exit(sys.version_info < (3, 10))"
    try:
        process = as_nobody([python, "-c", code])
    except OSError:
        return False
    process.communicate()
    return process.returncode == 0


def table(
    cells: dict[tuple[Cell, str], str],
    tiers: Sequence[Tier],
    events: Sequence[str],
    hidings: Sequence[str],
) -> str:
    """Return the table: a row for each event and hiding, a column for each tier and user."""
    users = [who for who in ("root", "user") if any(key[1] == who for key in cells)]
    heads = [(tier.value, who) for tier in tiers for who in users]
    lines = [f"{'event':20}{'hiding':14}" + "".join(f"{'/'.join(h):15}" for h in heads)]
    for event in events:
        for hiding in hidings:
            row = [cells.get((Cell(event, hiding, t), who), "-") for t, who in heads]
            lines.append(f"{event:20}{hiding:14}" + "".join(f"{cell:15}" for cell in row))
    return "\n".join(line.rstrip() for line in lines)


def main() -> int:
    """Print the table; return 1 if anything was left anywhere or a cell did not happen."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--where", type=Path, default=Path("/srv" if os.getuid() == 0 else "."))
    parser.add_argument("--tiers", nargs="+", type=Tier, default=TIERS)
    parser.add_argument("--quick", action="store_true", help="a small part, in under a minute")
    parser.add_argument("--events", nargs="+", choices=(*COMMAND_EVENTS, *RUN_EVENTS))
    parser.add_argument("--hidings", nargs="+", choices=tuple(HIDINGS))
    parser.add_argument("--json", action="store_true", help="this user only, as JSON")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # else runs could be deaf to Ctrl-C
    everything = ((*COMMAND_EVENTS, *RUN_EVENTS), tuple(HIDINGS))
    events, hidings = QUICK if options.quick else everything
    events, hidings = options.events or events, options.hidings or hidings
    words = ["--tiers", *(tier.value for tier in options.tiers)]
    words += ["--events", *events, "--hidings", *hidings]
    began = time.monotonic()
    bases = [Path(tempfile.mkdtemp(prefix="lae-kills-", dir=options.where)) for _ in range(2)]
    other = None
    try:
        if os.getuid() == 0 and not options.json:
            other = start_ordinary(bases[1], words)
        values, notes = lane(bases[0], options.tiers, events, hidings)
        if options.json:
            print(json.dumps([[[c.event, c.hiding, c.tier, v] for c, v in values.items()], notes]))
            return 0
        mine = "root" if os.getuid() == 0 else "user"
        cells = {(cell, mine): value for cell, value in values.items()}
        notes = [f"{mine}: {note}" for note in notes]
        if other is None:
            notes += ["user: skipped, uid 65534 reaches no Python with the packages"] * (
                mine == "root"
            )
        else:
            said, errors = other.communicate()
            if other.returncode:
                raise RuntimeError(errors)
            rows, more = json.loads(said)
            cells |= {(Cell(*row[:3]), "user"): row[3] for row in rows}
            notes += [f"user: {note}" for note in more]
    finally:
        if other is not None:
            other.kill()
        for base in bases:
            shutil.rmtree(base, ignore_errors=True)
    print(table(cells, options.tiers, events, hidings))
    print("\n".join(notes), end="\n" if notes else "")
    wrong = sum(value != "0" for value in cells.values())
    print(f"{len(cells)} cells, {wrong} not 0, {time.monotonic() - began:.0f} s")
    return int(wrong > 0)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LaeError as error:
        sys.exit(f"kill_matrix: {error}")

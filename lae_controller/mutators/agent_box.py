"""One turn of an agent inside the tier of the run, under a warden of its own.

In every tier but ``none`` it can write the child's directory, a home of its own and TMPDIR,
and nothing else: the project and the machine are read-only, the ledgers and the other programs are
out of sight, and so are credentials. The network is open, since it must reach its model.

Not covered: whatever the network reaches (also servers on this machine), and in the Landlock tier
what ``sandbox.landlock`` lists. In the tier ``none`` nothing is kept from it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lae_controller.errors import PrerequisiteError
from lae_controller.files import make_folder, remove_tree
from lae_controller.mutators.agent_tree import INSTRUCTIONS
from lae_controller.sandbox import launch
from lae_controller.sandbox.home import Home, survey_home
from lae_controller.sandbox.launch import Command, Ended, Lifelines
from lae_controller.sandbox.tiers import setup_failed, wrap
from lae_controller.sandbox.view import Mount, Tier, View

_DISK = 2 << 30  # bytes that the child's directory, the home and TMPDIR may take
_GRACE_S = 2.0
LAST_WORD_GRACE_S = 3.0
_TICK_S = 0.2
_TAIL = 2000

# Standard output alone goes to the warden: it is what is parsed, and nothing may fall between.
_REDIRECT = 'in=$1 err=$2; shift 2; exec "$@" <"$in" 2>"$err"'


@dataclass(frozen=True, slots=True)
class Turn:
    """How a turn ended and what was printed.

    Attributes:
        lines: of standard output.
        errors: the end of standard error.
    """

    ended: Ended
    lines: tuple[str, ...]
    errors: str


@dataclass(frozen=True, slots=True)
class Box:
    """Where one agent works.

    Attributes:
        directory: the child's program.
        folder: of the agent, outside of the program; the last part of its task's folder.
        hidden: the ledgers, and the programs of other children.
        project: the user's own tree; None if it is not known.
        tier: how it is kept apart.
    """

    directory: Path
    folder: Path
    hidden: Path
    project: Path | None
    tier: Tier

    @property
    def home(self) -> Path:
        """The throw-away home directory."""
        return self._inside / "home"

    @property
    def prompt(self) -> Path:
        """The prompt as a file, under the same name within the box and outside."""
        return self._inside / "prompt.md"

    @property
    def _inside(self) -> Path:
        return self.folder / "inside"

    @property
    def _errors(self) -> Path:
        return self._inside / "stderr"

    def open(self, prompt: str) -> None:
        """Make everything empty, and write the prompt."""
        remove_tree(self.folder)
        for path in (self.home, self.folder / "tmp", self.folder / "proof"):
            make_folder(path)
        self._inside.chmod(0o700)  # it will hold a copy of a login
        self.prompt.write_text(prompt, encoding="utf-8")

    def close(self) -> None:
        """Remove all but the log."""
        for path in (self._inside, self.folder / "tmp", self.folder / "proof"):
            remove_tree(path)

    def run(
        self,
        words: Sequence[str],
        env: Mapping[str, str],
        readable: Sequence[Path],
        limit: float,
        is_last: Callable[[Sequence[str]], bool],
    ) -> Turn:
        """Run an agent to its end; every process that it started is gone afterwards.

        Args:
            words: its command, to be started in the child's directory.
            env: the whole environment.
            readable: what it needs of the machine though a mask or a private folder hides it.
            limit: seconds; one that does not end then is ended.
            is_last: whether these lines hold its last word. If so, and it goes on all the same,
                it is ended after a moment.

        Raises:
            PrerequisiteError: if the tier or the warden failed: the machine, not the agent.
        """
        view = View(
            work=self.directory,
            stands_at=self.directory,
            scratch=self.folder / "tmp",
            proof=self.folder / "proof",
            extra_roots=(Mount(self._inside, self._inside),),
            readable=(*readable, *([self.project] if self.project else [])),
            hidden=(self.hidden,),
            network=True,
        )
        files = (str(self.prompt), str(self._errors))
        wrapped = wrap(
            self.tier, view, ("/bin/sh", "-c", _REDIRECT, "sh", *files, *words), self._masks()
        )
        command = Command(
            argv=wrapped.argv,
            cwd=self.directory,
            env={**env, **wrapped.env},
            output=self.folder / "agent.log",
            limit=limit,
            grace=_GRACE_S,
            disk=_DISK,
            folders=(self.directory, self._inside, self.folder / "tmp"),
        )
        ended = _run(command, is_last)
        said = command.output.read_bytes()
        broken = setup_failed(said, ended.status)
        if broken is not None:
            raise PrerequisiteError(
                f"isolation: {self.tier.value} could not be set up: {broken}. `lae probe` tries "
                "what works here"
            )
        errors = self._errors.read_bytes()[-_TAIL:] if self._errors.is_file() else b""
        return Turn(
            ended,
            tuple(said.decode("utf-8", "replace").splitlines()),
            errors.decode("utf-8", "replace"),
        )

    def _masks(self) -> Home:
        """Return the home as a run sees it; where it costs nothing, without instructions above.

        A mask in Landlock is an error on reading, which would stop some agents.
        """
        home = survey_home()
        if self.tier is not Tier.BWRAP:
            return home
        return replace(home, masked=(*home.masked, *self._instructions_above()))

    def _instructions_above(self) -> Iterator[Path]:
        for folder in self.directory.resolve().parents:
            for name in INSTRUCTIONS:
                path = folder / name
                if path.exists() and not path.is_symlink():
                    yield path


def _run(command: Command, is_last: Callable[[Sequence[str]], bool]) -> Ended:
    lifelines, done = Lifelines(), threading.Event()
    watch = threading.Thread(
        target=_end_after_last_word, args=(command.output, is_last, lifelines, done), daemon=True
    )
    watch.start()
    try:
        return launch.run(command, lifelines)
    finally:
        done.set()
        watch.join()


def _end_after_last_word(
    log: Path,
    is_last: Callable[[Sequence[str]], bool],
    lifelines: Lifelines,
    done: threading.Event,
) -> None:
    """End an agent that has said its last word and goes on; some wait for ever."""
    read, rest = 0, b""
    while not done.wait(_TICK_S):
        if not log.exists() or log.stat().st_size == read:
            continue
        with log.open("rb") as stream:
            stream.seek(read)
            new = stream.read()
        read += len(new)
        lines = (rest + new).decode("utf-8", "replace").split("\n")
        rest = (rest + new).rpartition(b"\n")[2]
        if is_last(lines):
            if not done.wait(LAST_WORD_GRACE_S):
                lifelines.end_all()
            return

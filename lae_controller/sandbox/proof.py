"""The proof of what ran: a record made inside the run, and the verdict on it.

Every interpreter of a training run begins with the recorder (``recorder/sitecustomize.py``), which
writes down each file of the project whose code it executes, with a fingerprint of the code object.
Afterwards the same sources, as they were frozen, are compiled by the same interpreter, and the
fingerprints are compared.

What it proves: the entry point and the modules that ran were files of the child's own run copy;
their content was the frozen program's; the code objects executed are what that content compiles
to, not what stale bytecode held; none of the original project's files took their place.

What it does not prove: anything against a program that sets out to deceive. The record is made in
the process it is about, and hostile code can forge it; only a sandbox in which the original
project is out of reach stops that. Interpreters started with -I, -S or -E or without the
environment leave no record. Code given to ``exec`` as a string counts by the file it was read from.
"""

from __future__ import annotations

import hashlib
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lae_controller.files import sha256_of
from lae_controller.sandbox.compiled import fingerprints, version_of
from lae_controller.sandbox.record import Event, Record
from lae_controller.sandbox.recorder.sitecustomize import source_digest

_RAN = ("exec", "cached")
_CODE = (".py", ".so", ".pyd")
_Compiler = tuple[str, int]  # exact version and optimisation level
_VERBS = {"exec": "run", "cached": "run", "early": "run", "ext": "loaded", "open": "read"}
"""What was done with a file, by the kind of the event; the gravest first."""

_NO_RECORD = (
    "No Python process left a record, so nothing shows whose code ran; expected at least one. Is "
    "Python started with -I, -S or -E, or does the command set PYTHONPATH itself? Take the options "
    "out, and put PYTHONPATH under env"
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the child's own code was what ran.

    Attributes:
        ok: nothing speaks against it; a result with ``ok`` False must not be placed.
        proven: the entry point and every file asked about were seen, and each code object is what
            the frozen source compiles to. False for what a record cannot show.
        sentence: which file came from where, or what is missing; one line.
        fingerprint: of the program's code that was executed, the same in every run that executes
            the same code with the same interpreter; of the files' content if it is not Python.
        unseen: files asked about that no process executed or opened.
    """

    ok: bool
    proven: bool
    sentence: str
    fingerprint: str
    unseen: tuple[str, ...] = ()


def verdict(
    record: Record,
    *,
    program: Path,
    seen_at: Path,
    entrypoint: str | None,
    editable: Sequence[str],
    python: Path,
    is_python: bool,
) -> Verdict:
    """Judge the record of a run.

    Args:
        program: the frozen program directory, unchanged since it was applied.
        seen_at: where its run copy stood during the run.
        entrypoint: the script that is run, relative to the program; None if it cannot be told.
        editable: the files of which it is to be proved that they were used.
        python: the interpreter of the run; it is started to compile the sources. None is taken
            from the record: a child could name a program of its own there.
        is_python: whether ``run_cmd`` runs Python; if not, a record is not required.
    """
    case = _Case(record, program, seen_at, (python, Path(sys.executable)))
    entry = case.entry(entrypoint)
    wanted = [*editable, *([entry] if entry else [])]
    troubles = [*case.damage(is_python), *case.leaks(wanted)]
    if is_python and record.processes:
        troubles += case.missing_entry(entry)
    checks = case.checks()
    troubles += [check.trouble for check in checks if check.trouble]
    doubts = [check.doubt for check in checks if check.doubt]
    unseen = tuple(path for path in editable if case.real(path) not in case.seen)
    if unseen:
        doubts.append(f"never executed nor opened: {', '.join(unseen)}")
    if entrypoint is not None and entry is None:
        doubts.append(f"the entry point {entrypoint} is no file of the program")
    more = [f"and {len(troubles) - 1} more"] if len(troubles) > 1 else []
    told = [*troubles[:1], *more] if troubles else [case.summary(entry), *doubts]
    return Verdict(
        ok=not troubles,
        proven=bool(checks) and not troubles and not doubts,
        sentence=_one_line("; ".join(told)),
        fingerprint=case.fingerprint() if checks else _digest(hash_files(program, wanted)),
        unseen=unseen,
    )


@dataclass(frozen=True, slots=True)
class _Check:
    """What became of one file of the program that was executed; empty texts if all is well."""

    trouble: str = ""
    doubt: str = ""


class _Case:
    """One record beside the program it should be of."""

    def __init__(
        self, record: Record, program: Path, seen_at: Path, pythons: Sequence[Path]
    ) -> None:
        self.record = record
        self.program = program
        self.seen_at = seen_at
        self.pythons = pythons
        own = [event for event in record.events if event.whose == "own"]
        self.seen = {event.inside for event in own if event.kind != "early"}
        self.ran: dict[str, list[Event]] = {}
        self.made: set[str] = set()
        for event in own:
            if event.kind in _RAN and (program / event.inside).is_file():
                self.ran.setdefault(event.inside, []).append(event)
            elif event.kind in _RAN:
                self.made.add(event.inside)

    def real(self, path: str) -> str:
        """Return the path, inside the program, of the file that ``path`` leads to by links."""
        found = (self.program / path).resolve()
        root = self.program.resolve()
        return found.relative_to(root).as_posix() if found.is_relative_to(root) else path

    def entry(self, entrypoint: str | None) -> str | None:
        """Return the file of the program that is the entry point; None if it cannot be told."""
        if entrypoint is None:
            return None
        path = Path(entrypoint)
        if path.is_relative_to(self.seen_at):
            path = path.relative_to(self.seen_at)
        for name in (path, path.with_suffix("") / "__main__.py"):
            if not name.is_absolute() and (self.program / name).is_file():
                return self.real(name.as_posix())
            below = [ran for ran in sorted(self.ran) if ran.endswith(f"/{name.as_posix()}")]
            if below:
                return below[0]  # python -m package.train with its source root on PYTHONPATH
        return None

    def damage(self, is_python: bool) -> Iterator[str]:
        """Yield what is wrong with the record itself."""
        if self.record.damaged:
            yield (
                f"{self.record.damaged} lines of the record of what ran do not parse; expected "
                "whole lines only. Was the disk full, or did the program write there?"
            )
        if is_python and not self.record.processes:
            yield _NO_RECORD

    def leaks(self, wanted: Sequence[str]) -> Iterator[str]:
        """Yield a sentence for each file of the original project that was used."""
        told = set()
        kinds = list(_VERBS)
        for event in sorted(self.record.events, key=lambda event: kinds.index(event.kind)):
            if event.whose == "own" or event.path in told or self._may_be_used(event, wanted):
                continue
            told.add(event.path)
            yield (
                f"{event.inside}: {event.path} was {_VERBS[event.kind]}, a file of the original "
                f"project; expected the child's own, below {self.seen_at}. Does the command, "
                "PYTHONPATH, a link or an editable install lead there? A relative PYTHONPATH under "
                "env puts the child's own first"
            )

    def _may_be_used(self, event: Event, wanted: Sequence[str]) -> bool:
        """Say whether a foreign file is data that the program itself only links to."""
        place = self.program / event.inside
        if not place.is_file():
            return event.kind == "open" and not event.inside.endswith(_CODE)
        return place.resolve() == Path(event.path).resolve() and event.inside not in wanted

    def missing_entry(self, entry: str | None) -> Iterator[str]:
        """Yield what is wrong if the entry point, or else any file at all, never ran."""
        first = shlex.join(self.record.processes[0].argv)
        if entry is not None and entry.endswith(".py") and entry not in self.ran:
            yield (
                f"{entry}: the entry point never ran below {self.seen_at}; expected it to. The "
                f"first of {len(self.record.processes)} Python processes was: {first[:200]}"
            )
        elif not self.ran:
            yield (
                f"no file of the child was run below {self.seen_at}; expected at least one. The "
                f"first of {len(self.record.processes)} Python processes was: {first[:200]}"
            )

    def checks(self) -> list[_Check]:
        """Compare what was executed with what the frozen sources compile to."""
        expected = self._expected()
        return [self._check(inside, expected) for inside in sorted(self.ran)]

    def _check(self, inside: str, expected: Mapping[_Compiler, Mapping[Path, str]]) -> _Check:
        events = self.ran[inside]
        path = self.program / inside
        if any(event.source not in (None, source_digest(path.read_bytes())) for event in events):
            return _Check(
                f"{inside}: its content when it ran was not the child's; expected it as it was "
                "applied. Something rewrote it, before the run or during it"
            )
        compiled_here = {event.fingerprint for event in events if event.kind == "exec"}
        unlike, unknown = set(), set()
        for event in events:
            right = expected.get(_compiler(event), {}).get(path)
            if right is None:
                unknown.add(event.fingerprint)
            elif event.fingerprint != right:
                unlike.add(event.fingerprint)
        if not unlike <= compiled_here:
            return _Check(
                f"{inside}: the code that ran is not what the child's source compiles to; it came "
                "from stale bytecode. Remove __pycache__, or point PYTHONPYCACHEPREFIX to a new "
                "folder"
            )
        if unlike:
            return _Check(doubt=f"{inside} was changed as it was compiled (an import hook?)")
        if not unknown <= compiled_here:
            return _Check(doubt=f"{inside} ran from bytecode of an interpreter that is not at hand")
        return _Check()

    def _expected(self) -> dict[_Compiler, dict[Path, str]]:
        """Return the right fingerprints, by what compiled the files."""
        jobs: dict[_Compiler, set[Path]] = {}
        for inside, events in self.ran.items():
            for event in events:
                jobs.setdefault(_compiler(event), set()).add(self.program / inside)
        answers = {}
        for (version, optimize), files in jobs.items():
            same = (python for python in self.pythons if version_of(python) == version)
            if python := next(same, None):
                answers[version, optimize] = fingerprints(python, optimize, sorted(files))
        return answers

    def fingerprint(self) -> str:
        """Return the digest of the program's code objects that were executed."""
        return _digest(
            sorted(
                {(name, str(event.fingerprint)) for name in self.ran for event in self.ran[name]}
            )
        )

    def summary(self, entry: str | None) -> str:
        """Say what was seen, if nothing is wrong."""
        if not self.ran:
            return "no Python code of the program ran; its files' content is all that is known"
        which = f", the entry point {entry} among them" if entry in self.ran else ""
        made = f"; made by the run itself: {', '.join(sorted(self.made))}" if self.made else ""
        return f"{len(self.ran)} of the child's files ran below {self.seen_at}{which}{made}"


def _compiler(event: Event) -> _Compiler:
    return ("", 0) if event.process is None else (event.process.version, event.process.optimize)


def _one_line(text: str) -> str:
    """Make names of files with line breaks or undecodable bytes fit for a log."""
    return " ".join(text.encode("utf-8", "backslashreplace").decode().split())


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode("utf-8", "backslashreplace")).hexdigest()[:32]


def hash_files(directory: Path, paths: Iterable[str]) -> dict[str, str]:
    """Return the digest of each file's content; of a link, where it points; "" if it is missing."""
    found = {}
    for name in sorted(set(paths)):
        path = directory / name
        if path.is_symlink():
            found[name] = f"link to {path.readlink()}"
        else:
            found[name] = sha256_of(path) if path.is_file() else ""
    return found

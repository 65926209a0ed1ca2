"""The record of what ran: how the recorder is switched on, and what it wrote."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lae_controller.sandbox.compiled import RECORDER
from lae_controller.sandbox.recorder.sitecustomize import SEPARATOR

_RECORD = "ran.tsv"
_LIMIT_BYTES = 64 << 20  # a record is some 100 bytes per file and process; more is not a record
_KINDS = frozenset(["exec", "cached", "open", "ext", "early", "call"])


def recorder_env(
    proof_dir: Path,
    own: Sequence[Path],
    foreign: Sequence[Path],
    pythonpath: str,
    watch: Iterable[str] = (),
    *,
    calls: bool = False,
) -> dict[str, str]:
    """Return the environment that makes every Python process of a run leave a record.

    Args:
        proof_dir: an existing, empty folder that the run may write to.
        own: absolute paths at which the child's own code is seen during the run.
        foreign: roots whose code must not run: the real project, wherever it is in reach. A
            root may lie inside another; the innermost decides.
        pythonpath: what PYTHONPATH would be without the recorder; may be empty.
        watch: files of the program whose reading is to be proved though they are neither
            Python sources nor the usual settings files.
        calls: whether the functions that are entered are noted too.
    """
    roots = [f"own={path}" for path in own] + [f"foreign={path}" for path in foreign]
    paths = [str(RECORDER.parent), *([pythonpath] if pythonpath else [])]
    return {
        "PYTHONPATH": os.pathsep.join(paths),
        "LAE_PROOF_OUT": str(proof_dir / _RECORD),
        "LAE_ROOTS": SEPARATOR.join(roots),
        "LAE_WATCH": SEPARATOR.join(sorted({Path(name).name for name in watch})),
        **({"LAE_CALLS": "1"} if calls else {}),
    }


@dataclass(frozen=True, slots=True)
class Process:
    """One interpreter that was started during a run.

    Attributes:
        cache_tag: such as ``cpython-311``.
        version: implementation and exact version.
        optimize: how many times -O was given, 0 to 2.
        executable: as the interpreter knows it; ``-`` if it does not.
        argv: its command line, long ones cut.
    """

    pid: int
    cache_tag: str
    version: str
    optimize: int
    executable: str
    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Event:
    """One file of the project that a process used; written once per process.

    Attributes:
        process: the interpreter, also for what its forks did; None if it left no start line.
        kind: ``exec``, ``cached``, ``open``, ``ext``, ``early`` or ``call`` (see the recorder).
        whose: ``own`` or ``LEAK``.
        path: where it really lay during the run.
        inside: the same relative to the root it was found in.
        fingerprint: of the executed code object; None unless code was executed.
        source: digest of the source file at that moment; None if it is not known.
    """

    process: Process | None
    kind: str
    whose: str
    path: str
    inside: str
    fingerprint: str | None
    source: str | None


@dataclass(frozen=True, slots=True)
class Record:
    """What the recorder wrote in one run.

    Attributes:
        events: what was done with files.
        calls: functions that were entered, if that was asked for; their line stands for the
            fingerprint.
        damaged: lines that do not parse.
    """

    processes: tuple[Process, ...] = ()
    events: tuple[Event, ...] = ()
    calls: tuple[Event, ...] = ()
    damaged: int = 0


def read_record(proof_dir: Path) -> Record:
    """Return the record of a run; an empty one if there is none."""
    try:
        with (proof_dir / _RECORD).open("rb") as stream:
            lines = stream.read(_LIMIT_BYTES).split(b"\n")
    except OSError:
        return Record()
    processes: list[Process] = []
    events: list[Event] = []
    calls: list[Event] = []
    latest: dict[str, Process] = {}  # a process may become another interpreter under its pid
    damaged = 0 if lines[-1] == b"" else 1
    for line in lines[:-1]:
        pid, *fields = [_unescaped(field) for field in os.fsdecode(line).split("\t")]
        try:
            if fields[0] == "start":
                latest[pid] = _process(pid, fields)
                processes.append(latest[pid])
            else:
                event = _event(latest.get(pid), *fields)
                (calls if event.kind == "call" else events).append(event)
        except (LookupError, ValueError, TypeError):
            damaged += 1
    return Record(tuple(processes), tuple(events), tuple(calls), damaged)


def _process(pid: str, fields: Sequence[str]) -> Process:
    _, tag, version, optimize, executable, *argv = fields
    return Process(int(pid), tag, version, int(optimize), executable, tuple(argv))


def _event(
    process: Process | None,
    kind: str,
    whose: str,
    root: str,
    inside: str,
    fingerprint: str,
    source: str,
) -> Event:
    outside = inside.startswith("/") or ".." in inside.split("/") or "\0" in inside
    if outside or kind not in _KINDS or whose not in ("own", "LEAK"):
        raise ValueError(f"{kind} {whose}: not what the recorder writes")
    return Event(
        process=process,
        kind=kind,
        whose=whose,
        path=f"{root}/{inside}",
        inside=inside,
        fingerprint=None if fingerprint == "-" else fingerprint,
        source=None if source == "-" else source,
    )


def _unescaped(field: str) -> str:
    if "\\" not in field:
        return field
    parts = field.split("\\\\")
    return "\\".join(part.replace("\\t", "\t").replace("\\n", "\n") for part in parts)

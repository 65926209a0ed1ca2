"""What the modes without a training command share: a driver is run, and its answer is scored."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from lae_controller.config import Settings
from lae_controller.errors import ChildError, ConfigError
from lae_controller.evaluators import Measurement
from lae_controller.evaluators.runs import Bench, Failure, Finished
from lae_controller.files import write_json
from lae_controller.machine.slots import Slot
from lae_controller.outputs.artifacts import read_artifacts
from lae_controller.program import Reason
from lae_controller.sandbox.command import TrainingCommand, interpreter, scrubbed_environment
from lae_controller.sandbox.isolation import Isolation
from lae_controller.sandbox.programs import added_paths
from lae_controller.sandbox.snapshot import Snapshot

DRIVERS = Path(__file__).parent / "drivers"
JOB = "lae-job.json"

TAMPERED = 97
"""Exit status of a run whose candidate reached for the result (see ``drivers/lae_guard.py``)."""

_MARK = b"lae-guard: "
_ANSWER_BYTES = 64 << 20
_TEXT = 3000
_OTHER_NAMES = frozenset(
    "candidate sitecustomize usercustomize pytest _pytest pluggy iniconfig py".split()
)


@dataclass(frozen=True, slots=True)
class Score:
    """What a run was worth.

    Attributes:
        value: the number that ranks.
        parts: name of a unit -> its own score, for people and for the next Mutator.
        metrics: the further metrics by name, as far as there are any.
        text: what the next Mutator should read, such as the failures of tests.
        suspect: what calls for a look before it is believed; empty if nothing does.
    """

    value: float
    parts: Mapping[str, float] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    text: str = ""
    suspect: str = ""


def measurement(
    bench: Bench,
    done: Finished,
    score: Callable[[], Score],
    entry: str | None,
    *,
    with_log: bool = True,
) -> Measurement:
    """Return what a run gave; a broken candidate has no metric, so it is never placed or best.

    Args:
        score: reads the answer of a run that ended well and broke no rule; raises ChildError if
            it is worth nothing.
        entry: the file of which it must be seen that it ran; None if that is not to be asked.
        with_log: whether what was printed is shown to the next Mutator.
    """
    failure = _tampered(done) or done.failure or _broken_rule(done, entry)
    found: Score | None = None
    if failure is None:
        try:
            found = score()
        except ChildError as error:
            failure = error.reason, error.detail
    reason, detail = failure if failure is not None else (None, "")
    artifacts = read_artifacts(done.raw, bench.settings.metric)
    text = found.text if found is not None else detail
    parts = dict(found.parts) if found is not None else {}
    shown = (text[:_TEXT], artifacts.log_tail) if with_log else (text[:_TEXT],)
    tail = "\n".join(filter(None, shown))
    return Measurement(
        metric=found.value if found is not None else None,
        reason=reason,
        detail=detail,
        seconds=done.ended.seconds,
        stopped=done.ended.termed,
        suspect=found.suspect if found is not None else "",
        tier=bench.isolation.tier.value,
        fingerprint=done.proof.fingerprint,
        proven=done.proof.proven,
        unseen=done.proof.unseen,
        efficiency=done.efficiency,
        metrics=dict(found.metrics) if found is not None else {},
        artifacts=replace(artifacts, curve=(), per_class=parts, log_tail=tail),
    )


def _tampered(done: Finished) -> Failure | None:
    """Return what the guard saw, if it ended the run."""
    if done.ended.status != TAMPERED or _MARK not in done.raw:
        return None
    said = done.raw.rpartition(_MARK)[2].splitlines()[0].decode("utf-8", "replace")
    return Reason.HARNESS_CHANGED, f"the scoring was tampered with: {said[:300]}"


def _broken_rule(done: Finished, entry: str | None) -> Failure | None:
    if done.breach is not None:
        return done.breach
    if entry is not None and entry in done.proof.unseen:
        return Reason.SHADOWED, f"{entry}: the candidate was never imported; expected it to be"
    return None


def driver_command(settings: Settings, name: str, env: Mapping[str, str]) -> TrainingCommand:
    """Return the command that runs a driver with the interpreter of the project."""
    python = interpreter(settings.root)
    whole = scrubbed_environment(os.environ, python)
    # Answers must not hang on a random hash; the drivers lie first on the path.
    whole |= {"PYTHONHASHSEED": "0", "PYTHONSAFEPATH": "", **settings.env, **env}
    driver = str(DRIVERS / name)
    return TrainingCommand((str(python), driver), whole, ())


def environment(bench: Bench, slot: Slot, seed: int) -> dict[str, str]:
    """Return what a run is given beside the user's own variables."""
    return {**bench.env, **slot.env, "LAE_SEED": str(seed)}


def leave_job(place: Path, job: Mapping[str, object]) -> None:
    """Put the job of a driver into the scratch folder of a run."""
    write_json(place / "tmp" / JOB, job)


def read_answer(path: Path) -> object:
    """Return the JSON that a run left in a file.

    The file was made by code under test: a link could lead to what it must not see, a pipe would
    never end. Only a plain file of a sensible size is read.

    Raises:
        ChildError: NO_METRIC, with what is wrong with it.
    """
    raw = read_plain(path)
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise ChildError(Reason.NO_METRIC, f"{path.name} is not JSON: {error}") from None


def read_plain(path: Path) -> bytes:
    """Return the content of a plain file that code under test could have put anything in for.

    Raises:
        ChildError: NO_METRIC if it is missing, no plain file, or larger than 64 MiB.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        why = f"{path.name} cannot be read: {error.strerror}"
        raise ChildError(Reason.NO_METRIC, why) from None
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            raise ChildError(Reason.NO_METRIC, f"{path.name} is not a plain file")
        if status.st_size > _ANSWER_BYTES:
            most = _ANSWER_BYTES >> 20
            size = f"{path.name} is {status.st_size >> 20} MiB; expected at most {most}"
            raise ChildError(Reason.NO_METRIC, size)
        return stream.read(_ANSWER_BYTES)


def entry_file(settings: Settings, editable: tuple[str, ...]) -> str:
    """Return the editable file that is imported as ``candidate``.

    Raises:
        ConfigError: if it is not clear which one is meant, or the one that is named is not there.
    """
    where, named = settings.path.name, settings.scoring.entry
    files = ", ".join(editable)
    if named is not None:
        if named not in editable:
            raise ConfigError(
                f"{where}: scoring.entry is {named!r}; expected one of the editable files: {files}"
            )
        return named
    for usual in ("candidate.py", "candidate/__init__.py"):
        if usual in editable:
            return usual
    python = [path for path in editable if path.endswith(".py")]
    if len(python) != 1:
        raise ConfigError(
            f"{where}: scoring.entry is missing; expected which of the editable files is imported: "
            f"{files}"
        )
    return python[0]


def own_files(program: Path, isolation: Isolation) -> tuple[str, ...]:
    """Return the candidate's files: those it may change, and those it added."""
    editable = [path for path in isolation.editable if (program / path).is_file()]
    added = added_paths(program, Snapshot(isolation.entries, ()))
    return tuple(sorted({*editable, *added}))


def taken_name(program: Path, isolation: Isolation, entry: str | None = None) -> str:
    """Say which added file would be imported in place of a module that scoring needs; or nothing.

    The directory of the candidate stands first on the path, so its ``json.py`` would be json.
    """
    for path in added_paths(program, Snapshot(isolation.entries, ())):
        name = path.split("/")[0].partition(".")[0]
        known = name in sys.stdlib_module_names or name in _OTHER_NAMES
        if known and path != entry:
            return f"{path}: would be imported in place of the module {name}; choose another name"
    return ""

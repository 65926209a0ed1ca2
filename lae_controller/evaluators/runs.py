"""One command in a throw-away copy of a program, inside its tier: what all Evaluators share."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lae_controller.codec import encode
from lae_controller.config import Gate, Settings
from lae_controller.errors import ChildError, PrerequisiteError
from lae_controller.evaluators import Interrupted
from lae_controller.evaluators.cutting import Cutter, why_cut
from lae_controller.evaluators.early_stop import EarlyStop
from lae_controller.files import make_folder, read_json, remove_tree, write_note
from lae_controller.machine.slots import Slot
from lae_controller.outputs.artifacts import trim_traceback
from lae_controller.program import Reason
from lae_controller.sandbox.command import TrainingCommand, apply_edits
from lae_controller.sandbox.isolation import Isolation
from lae_controller.sandbox.launch import (
    Command,
    Ended,
    Lifelines,
    read_outcome,
    run,
    wait_for_warden,
)
from lae_controller.sandbox.programs import clone
from lae_controller.sandbox.proof import Verdict
from lae_controller.sandbox.record import read_record
from lae_controller.sandbox.tiers import setup_failed

Failure = tuple[Reason, str]

_OUT_OF_MEMORY = re.compile(rb"MemoryError|OutOfMemoryError|CUDA out of memory|Cannot allocate mem")
_ORDER = "order.json"
_NO_SPACE = re.compile(rb"No space left on device|\[Errno 28\]")


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may use besides time; None for no limit.

    Attributes:
        memory: bytes of all its processes together.
        disk: bytes that its copy and its TMPDIR may grow to.
    """

    memory: int | None
    disk: int | None


def _nothing(_place: Path) -> None:
    """Add nothing to a copy."""


@dataclass(frozen=True, slots=True)
class Order:
    """One run that is asked for.

    Attributes:
        program: a complete program directory; it is not changed.
        place: where copy, log and outcome go.
        key: what the outcome depends on, as plain JSON data; with an equal one it is read again.
        limit: seconds until SIGTERM; None for no limit.
        calls: whether the functions that are entered are noted.
        fill: makes the copy, from the program to its place.
        arrange: adds to the copy (``work``) and the scratch folder (``tmp``) of a place.
        harness: where the harness is as it should be; None: in the program.
        rule: ends the run early by its curve; None to let it go on.
    """

    program: Path
    place: Path
    key: Mapping[str, object]
    command: TrainingCommand
    limit: float | None
    slot: Slot
    calls: bool = False
    fill: Callable[[Path, Path], None] = field(default=clone)
    arrange: Callable[[Path], None] = field(default=_nothing)
    harness: Path | None = None
    rule: EarlyStop | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """How an order ended.

    Attributes:
        raw: what it printed, head and tail.
        failure: why the way it ended makes it a crash; None if it ended well.
        changed: which file of the harness or of the data it wrote to; empty if none.
        cut: why it was ended by its curve; empty if it was not.
    """

    order: Order
    ended: Ended
    raw: bytes
    proof: Verdict
    failure: Failure | None
    changed: str
    cut: str = ""

    @property
    def efficiency(self) -> float:
        """Processor seconds per second of wall-clock."""
        return self.ended.cpu_seconds / max(self.ended.seconds, 1e-6)

    @property
    def breach(self) -> Failure | None:
        """Why it is not believed however well it ended; None if nothing speaks against it."""
        if self.changed:
            return Reason.HARNESS_CHANGED, self.changed
        return None if self.proof.ok else (Reason.SHADOWED, self.proof.sentence)


class Bench:
    """Runs orders. Safe to use from several threads, each with places of its own."""

    def __init__(
        self,
        settings: Settings,
        lifelines: Lifelines,
        isolation: Isolation,
        limits: Limits,
        env: Mapping[str, str],
    ) -> None:
        self.settings = settings
        self.isolation = isolation
        self.env = dict(env)
        self.lifelines = lifelines
        self._limits = limits

    def within(self, isolation: Isolation) -> Bench:
        """Return a bench that keeps its runs apart in another way."""
        return Bench(self.settings, self.lifelines, isolation, self._limits, self.env)

    def run(self, order: Order) -> Finished:
        """Carry out an order, or read how it ended if that was done before.

        Raises:
            Interrupted: if it was cut off because everything is being ended.
            PrerequisiteError: if its tier could not be set up.
        """
        place = order.place
        make_folder(place.parent)
        wait_for_warden(place)
        ended = read_outcome(place / "output.exit.json")
        undone = ended is None or (ended.why == "lifeline" and not why_cut(place))
        if ended is None or undone or (read_json(place / _ORDER) or {}).get("key") != order.key:
            ended = self._start(order)
        if ended.why == "lifeline" and not why_cut(place):
            raise Interrupted(f"{place.parent.name}: {place.name} run was cut off")
        return self._finished(order, ended)

    def _start(self, order: Order) -> Ended:
        place = order.place
        work = place / "work"
        remove_tree(place)
        order.fill(order.program, work)
        apply_edits(work, order.command.edits)
        make_folder(place / "tmp")
        order.arrange(place)
        wrapped, env = self.isolation.enclose(
            order.command, place, order.slot.devices, calls=order.calls
        )
        stamps = self.isolation.data_stamps()
        seen = {"seen_at": str(wrapped.cwd), "stamps": encode(stamps)}
        write_note(place / _ORDER, {"key": order.key, **seen})
        return run(
            Command(
                wrapped.argv,
                wrapped.cwd if wrapped.cwd.is_dir() else Path("/"),
                env,
                place / "output.log",
                order.limit,
                self.settings.stop_grace,
                self._limits.memory,
                self._limits.disk,
                (work, place / "tmp"),
            ),
            self.lifelines,
            Cutter(order.rule, place, self.settings.metric) if order.rule else None,
        )

    def _finished(self, order: Order, ended: Ended) -> Finished:
        place = order.place
        raw = (place / "output.log").read_bytes()
        broken = setup_failed(raw, ended.status)
        if broken is not None and not read_record(place / "proof").processes:
            raise PrerequisiteError(
                f"isolation: {self.isolation.tier.value} could not be set up for a run: {broken}. "
                "`lae probe` tries what works here"
            )
        seen = read_json(place / _ORDER) or {}
        return Finished(
            order=order,
            ended=ended,
            raw=raw,
            proof=self.isolation.judge(place, order.program, Path(seen["seen_at"])),
            failure=None if ended.why == "lifeline" else self._failure(raw, ended),
            changed=self._changed(order, seen["stamps"]),
            cut=why_cut(place) if ended.why == "lifeline" else "",
        )

    def _changed(self, order: Order, stamps: Mapping[str, list[int]]) -> str:
        before = {path: (size, time) for path, (size, time) in stamps.items()}
        try:
            harness = order.harness or order.program
            self.isolation.check_harness(harness, order.place / "work", before)
        except ChildError as error:
            return error.detail
        return ""

    def _failure(self, raw: bytes, ended: Ended) -> Failure | None:
        if ended.why in ("memory", "disk"):
            return self._over_limit(ended)
        if ended.termed:
            return self._stopped(ended)
        if ended.status == 0:
            return None
        if _NO_SPACE.search(raw[-8192:]):
            return Reason.ENVIRONMENT, f"no space left for the run: {trim_traceback(raw)}"
        killed = ended.status in (-9, 137) and ended.oom_kills > 0
        if killed or _OUT_OF_MEMORY.search(raw[-8192:]):
            return Reason.OOM, f"{_how(ended.status)}: {trim_traceback(raw)}"
        return Reason.EXIT, f"{_how(ended.status)}: {trim_traceback(raw)}"

    def _over_limit(self, ended: Ended) -> Failure:
        if ended.why == "memory":
            limit = f"memory_limit ({self.settings.memory_limit})"
            return Reason.OOM, f"its processes together came to the {limit}"
        limit = f"{(self._limits.disk or 0) >> 20} MiB"
        return Reason.OUTPUT_LIMIT, f"it wrote more than {limit} into its folders"

    def _stopped(self, ended: Ended) -> Failure | None:
        in_time = self.settings.gate is Gate.TIME and ended.status in (0, -15, 143)
        if in_time:
            return None  # told to stop at its budget and it did: the metric it printed counts
        how = "it had to be killed" if ended.status in (-9, 137) else "SIGTERM ended it"
        return Reason.TIMEOUT, f"still running after {ended.seconds:.1f} s; {how}"


def _how(status: int | None) -> str:
    if status is None:
        return "ended unseen"
    if 128 < status < 160:  # a shell, or the sandbox, reports a signal so
        return f"exit status {status} (signal {status - 128})"
    return f"killed by signal {-status}" if status < 0 else f"exit status {status}"

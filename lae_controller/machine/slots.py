"""Slots: what one evaluation at a time may use. A slot is held only while training runs."""

from __future__ import annotations

import contextlib
import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from filelock import FileLock, Timeout

from lae_controller.machine.accelerators import Accelerator, visible_env
from lae_controller.machine.hardware import Hardware

_TICK_S = 0.1
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


@dataclass(frozen=True, slots=True)
class Slot:
    """A share of this machine.

    Attributes:
        name: for people.
        env: pins a run to the slot's accelerator.
        devices: device nodes that the run may see.
        lock: a machine-wide lock, so that two runs never share one device; None for CPU slots.
    """

    name: str
    env: Mapping[str, str] = field(default_factory=dict)
    devices: tuple[str, ...] = ()
    lock: Path | None = None

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the slot's device for the time of one evaluation; waits until it is free."""
        if self.lock is None:
            yield
            return
        with FileLock(str(self.lock)):
            yield


@contextlib.contextmanager
def take(slots: Sequence[Slot], folder: Path) -> Iterator[Slot]:
    """Hold whichever slot is free first; waits for one.

    Args:
        folder: where the locks of slots without a device lie; processes that share it share them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    locks = [FileLock(str(slot.lock or folder / slot.name.replace(" ", "-"))) for slot in slots]
    while True:
        for slot, lock in zip(slots, locks, strict=True):
            try:
                lock.acquire(timeout=0)
            except Timeout:
                continue
            with lock:  # counted twice and let go twice
                lock.release()
                yield replace(slot, lock=None)
                return
        time.sleep(_TICK_S)


def slots_for(hardware: Hardware, concurrency: int) -> tuple[Slot, ...]:
    """Return ``concurrency`` slots: one accelerator each, in turn, or plain shares of the CPU."""
    devices = hardware.accelerators
    if not devices:
        return tuple(Slot(f"cpu {index}") for index in range(concurrency))
    shared = concurrency > len(devices)
    return tuple(
        _of(devices[index % len(devices)], shared=shared, index=index)
        for index in range(concurrency)
    )


def slot_of(devices: Sequence[Accelerator], *, shared: bool) -> Slot:
    """Return the slot of one child that holds these devices, or a share of one."""
    if len(devices) == 1:
        return _of(devices[0], shared=shared, index=0)
    return Slot(
        name=" ".join(f"{device.kind} {device.index}" for device in devices),
        env={"CUDA_VISIBLE_DEVICES": ",".join(device.uuid for device in devices)},
        devices=tuple(node for device in devices for node in _nodes(device)),
    )


def thread_variables(share: int) -> dict[str, str]:
    """Return the environment that bounds numerical libraries to ``share`` threads each."""
    return dict.fromkeys(_THREAD_VARIABLES, str(max(1, share)))


def _of(device: Accelerator, *, shared: bool, index: int) -> Slot:
    """Return the slot of one device; one that was asked to take several children has no lock."""
    name = re.sub(r"[^\w\-]", "_", device.uuid)
    lock = Path(tempfile.gettempdir()) / f"lae-slot-{name}.lock"
    return Slot(
        name=f"{device.kind} {device.index}" + (f" #{index}" if shared else ""),
        env=visible_env(device),
        devices=_nodes(device),
        lock=None if shared or device.kind == "mps" else lock,
    )


def _nodes(device: Accelerator) -> tuple[str, ...]:
    """Return the node that belongs to a device alone; NVML's index may not be its number."""
    if device.kind == "mps":
        return ()
    number = device.index if device.minor is None else device.minor
    return (f"/dev/nvidia{number}",)

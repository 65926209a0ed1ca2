"""Slots: what one evaluation at a time may use. A slot is held only while training runs."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock

from lae_controller.machine.accelerators import Accelerator, visible_env
from lae_controller.machine.hardware import Hardware


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

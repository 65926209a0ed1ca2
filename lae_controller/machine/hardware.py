"""What this machine offers to training runs, where each limit comes from, how many fit.

Nothing is assumed: cores and memory are what this process may use (see ``cgroups``), GPUs are
those that the driver lists and the environment shows (see ``accelerators``).
"""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from lae_controller.machine.accelerators import Accelerator, Nvml, find
from lae_controller.machine.cgroups import affinity_cores, usable_cores, usable_memory

_GIB = 2**30


@dataclass(frozen=True, slots=True)
class Hardware:
    """What may be used on this machine.

    Attributes:
        cores: usable CPU cores, at least 1.
        cores_source, ram_source: what sets the limit, as a phrase.
        total_cores: cores of the machine.
        ram_bytes: usable memory; 0 only where nothing is known about it.
        accelerators: one for each child that can train at a time; empty on a CPU machine.
        accelerator_note: why there is none, or what went wrong, in one sentence; empty if
            all is well.
        disk_free_bytes: free on the disk of the sandbox; None if no sandbox was named or the
            disk does not say.
    """

    cores: int
    cores_source: str
    total_cores: int
    ram_bytes: int
    ram_source: str
    accelerators: tuple[Accelerator, ...]
    accelerator_note: str
    disk_free_bytes: int | None


@dataclass(frozen=True, slots=True)
class DerivedConcurrency:
    """How many children train at the same time.

    Attributes:
        value: at least 1.
        reason: how it follows from the hardware.
        question: what to ask the user where more might fit; empty where there is nothing
            to ask.
    """

    value: int
    reason: str
    question: str


def probe(
    root: Path = Path("/"),
    environ: Mapping[str, str] = os.environ,
    nvml: Nvml | None = None,
    sandbox: Path | None = None,
) -> Hardware:
    """Look at the machine; never raises, and takes at most some six seconds.

    Args:
        root: where ``proc``, ``sys`` and ``dev`` are read. The affinity mask and the number
            of cores are always this process's.
        environ: for ``CUDA_VISIBLE_DEVICES``.
        nvml: used in place of the NVIDIA library.
        sandbox: where programs will be kept; need not exist yet.
    """
    affinity = affinity_cores()
    total = max(affinity, os.cpu_count() or 1)
    cores = usable_cores(root, affinity, total)
    memory = usable_memory(root)
    found = find(root, environ, memory.value, nvml)
    return Hardware(
        cores=cores.value,
        cores_source=cores.source,
        total_cores=total,
        ram_bytes=memory.value,
        ram_source=memory.source,
        accelerators=found.accelerators,
        accelerator_note=found.note,
        disk_free_bytes=None if sandbox is None else _disk_free(sandbox),
    )


def derive_concurrency(hardware: Hardware) -> DerivedConcurrency:
    """Derive how many children train at a time.

    Without a GPU one for every four cores; with one GPU one, as nobody knows yet whether two
    would fit into its memory; with several GPUs or MIG instances one on each.
    """
    slots = hardware.accelerators
    if not slots:
        plural = "core" if hardware.cores == 1 else "cores"
        reason = f"CPU only: one for every 4 of {hardware.cores} usable {plural}, at least 1"
        return DerivedConcurrency(max(1, hardware.cores // 4), reason, "")
    if len(slots) == 1:
        question = (
            f"There is one accelerator, {_described(slots[0])}: do several training runs "
            "fit on it at the same time, and if so how many?"
        )
        return DerivedConcurrency(1, f"one {_kind(slots[0])}: one child at a time", question)
    kinds = " and ".join(sorted({f"{_kind(slot)}s" for slot in slots}))
    return DerivedConcurrency(len(slots), f"{len(slots)} {kinds}: one child on each", "")


def to_json(hardware: Hardware) -> dict[str, object]:
    """Return ``hardware`` as JSON types, under the names of its attributes."""
    return {**asdict(hardware), "accelerators": [asdict(slot) for slot in hardware.accelerators]}


def note(hardware: Hardware) -> dict[str, object]:
    """Return what a run keeps of the machine it ran on: for its report, nothing reads it else."""
    return {
        **to_json(hardware),
        "system": platform.platform(terse=True),
        "arch": platform.machine(),
    }


def render(hardware: Hardware, concurrency: DerivedConcurrency) -> str:
    """Return lines for people: each limit with where it comes from, and what follows."""
    lines = [
        _line("CPU", f"{hardware.cores} of {hardware.total_cores} cores", hardware.cores_source),
        _line("memory", _gib(hardware.ram_bytes), hardware.ram_source),
    ]
    for slot in hardware.accelerators:
        lines.append(_line(_kind(slot), f"{slot.index}: {_described(slot)}", slot.uuid))
    if not hardware.accelerators:
        lines.append(_line("GPU", "none", hardware.accelerator_note))
    elif hardware.accelerator_note:
        lines.append(_line("note", hardware.accelerator_note))
    if hardware.disk_free_bytes is not None:
        lines.append(_line("disk", f"{_gib(hardware.disk_free_bytes)} free"))
    lines.append(_line("concurrency", str(concurrency.value), concurrency.reason))
    if concurrency.question:
        lines.append(_line("ask", concurrency.question))
    return "\n".join(lines) + "\n"


def _line(label: str, value: str, source: str = "") -> str:
    return f"{label:<13}{value}" + (f"  ({source})" if source else "")


def _kind(slot: Accelerator) -> str:
    return {"cuda": "GPU", "mig": "MIG instance", "mps": "Apple GPU"}[slot.kind]


def _described(slot: Accelerator) -> str:
    if slot.memory_bytes is None:
        return f"{slot.name}, memory unknown"
    shared = " shared with the system" if slot.memory_shared else ""
    return f"{slot.name}, {_gib(slot.memory_bytes)}{shared}"


def _gib(size: int) -> str:
    return f"{size / _GIB:.1f} GiB" if size else "unknown"


def _disk_free(folder: Path) -> int | None:
    """Return what is free where ``folder`` is or will be created."""
    for existing in (folder, *folder.absolute().parents):
        try:
            return shutil.disk_usage(existing).free
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return None
    return None

"""Accelerators: NVIDIA GPUs and MIG instances through NVML, the Apple GPU, or none and why.

A wedged NVIDIA driver can hang whoever asks it, beyond the reach of a signal. So it is asked
by a process of its own that is given up on after a few seconds; see ``query``. Where no driver
is loaded nothing is started at all. Nothing here raises: a machine whose GPUs cannot be read is
a machine without GPUs, and the note says why.

Devices are known by UUID, never by number: NVML counts in PCI order, CUDA by default fastest
first.
"""
# ruff: noqa: N802  (Nvml has the names of the library it describes)

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal, Protocol

_LIMIT_S = 5.0
_DRIVER_TRACES = ("proc/driver/nvidia", "dev/nvidiactl", "dev/dxg")
"""One of these exists wherever an NVIDIA driver is loaded; the last one is that of WSL."""


@dataclass(frozen=True, slots=True)
class Accelerator:
    """One slot that one child trains on.

    Attributes:
        kind: ``cuda`` a whole GPU, ``mig`` a slice of one, ``mps`` the Apple GPU.
        index: NVML's number of the GPU (of the sliced one, for ``mig``); for people only.
        uuid: what pins a child to it, unique on the machine; ``mps`` for the Apple GPU.
        memory_bytes: its whole memory, or the system's where it has none of its own; None
            where it is not known, never 0.
        memory_shared: whether that memory is the system's.
        minor: the number in the name of its device node, which may differ from ``index``; None
            where it is not known.
    """

    kind: Literal["cuda", "mig", "mps"]
    index: int
    uuid: str
    name: str
    memory_bytes: int | None
    memory_shared: bool
    minor: int | None = None


@dataclass(frozen=True, slots=True)
class Device:
    """A slot as NVML lists it; memory that is shared is not filled in yet.

    Attributes:
        gpu_uuid: the whole GPU that it is, or is a slice of.
    """

    accelerator: Accelerator
    gpu_uuid: str


@dataclass(frozen=True, slots=True)
class Listing:
    """What NVML answered.

    Attributes:
        note: what went wrong, or why there is no device; empty if all is well.
    """

    devices: tuple[Device, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """The accelerators that children may use.

    Attributes:
        note: why there is none, or what went wrong, in one sentence; empty if all is well.
    """

    accelerators: tuple[Accelerator, ...]
    note: str = ""


class MemoryInfo(Protocol):
    """The answer of ``nvmlDeviceGetMemoryInfo``."""

    @property
    def total(self) -> int:
        """Bytes."""


class Nvml(Protocol):
    """The part of the module ``pynvml`` that is used; all calls may raise ``NVMLError``."""

    @property
    def NVMLError(self) -> type[Exception]:
        """The base of all its errors."""

    @property
    def NVMLError_NotSupported(self) -> type[Exception]:
        """The one that says that a device has no such property."""

    def nvmlInit(self) -> object:
        """Load the library and connect to the driver."""

    def nvmlShutdown(self) -> object:
        """Undo ``nvmlInit``."""

    def nvmlDeviceGetCount(self) -> int:
        """Return the number of GPUs."""

    def nvmlDeviceGetHandleByIndex(self, index: int, /) -> object:
        """Return the handle of a GPU."""

    def nvmlDeviceGetUUID(self, handle: object, /) -> str:
        """Return ``GPU-…`` or ``MIG-…``."""

    def nvmlDeviceGetName(self, handle: object, /) -> str:
        """Return the product name."""

    def nvmlDeviceGetMinorNumber(self, handle: object, /) -> int:
        """Return n of the device node ``/dev/nvidia<n>``."""

    def nvmlDeviceGetMemoryInfo(self, handle: object, /) -> MemoryInfo:
        """Return sizes in bytes."""

    def nvmlDeviceGetMigMode(self, handle: object, /) -> Sequence[int]:
        """Return current and pending MIG mode, 1 is on."""

    def nvmlDeviceGetMaxMigDeviceCount(self, handle: object, /) -> int:
        """Return how many MIG instances there can be."""

    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: object, index: int, /) -> object:
        """Return the handle of a MIG instance; the numbers may have gaps."""


def find(
    root: Path,
    environ: Mapping[str, str],
    ram_bytes: int,
    nvml: Nvml | None = None,
    system: tuple[str, str] | None = None,
) -> Found:
    """Return the accelerators that children may use, in the order they are to be handed out.

    Args:
        root: where ``proc`` and ``dev`` are looked for.
        environ: its ``CUDA_VISIBLE_DEVICES`` is respected, see ``visible``.
        ram_bytes: what a device that shares the system's memory has; 0 if not known.
        nvml: asked in this process, without a time limit; None asks the real library in a
            process of its own.
        system: operating system and machine as ``platform`` names them; None for this one.
    """
    os_name, machine = system or (platform.system(), platform.machine())
    if nvml is None and os_name == "Darwin":
        return _apple(machine, ram_bytes)
    if nvml is None and os_name == "Linux" and not _driver_loaded(root):
        return Found((), "no NVIDIA driver is loaded")
    setting = environ.get("CUDA_VISIBLE_DEVICES")
    if setting is not None and setting.strip() in ("", "-1"):
        return Found((), f"CUDA_VISIBLE_DEVICES is {setting!r}, which hides every GPU")
    found = visible(query() if nvml is None else list_devices(nvml), environ)
    return replace(found, accelerators=tuple(_filled(a, ram_bytes) for a in found.accelerators))


def visible_env(accelerator: Accelerator) -> dict[str, str]:
    """Return the environment that pins a child to ``accelerator``; empty for the Apple GPU."""
    return {} if accelerator.kind == "mps" else {"CUDA_VISIBLE_DEVICES": accelerator.uuid}


def visible(listing: Listing, environ: Mapping[str, str]) -> Found:
    """Apply ``CUDA_VISIBLE_DEVICES`` the way CUDA does.

    An entry is a number in PCI order or a UUID (``GPU-…``, ``MIG-…``) that may be shortened as
    long as it fits one device only. Unset shows all; empty shows none; an entry that fits
    nothing, or more than one, hides itself and all after it; a device named twice is an error
    to CUDA, so nothing is visible. Decided here: a GPU that is sliced stands for all its MIG
    instances, and naming it beside one of them is naming that twice.
    """
    setting = environ.get("CUDA_VISIBLE_DEVICES")
    if setting is None or not listing.devices:
        return Found(tuple(device.accelerator for device in listing.devices), listing.note)
    chosen: list[Accelerator] = []
    notes = [listing.note]
    for entry in (part.strip() for part in setting.split(",")):
        named = _named(entry, listing.devices)
        if not named:
            notes.append(f"CUDA_VISIBLE_DEVICES is {setting!r}: {entry!r} fits no single GPU here")
            break
        if any(accelerator in chosen for accelerator in named):
            notes.append(f"CUDA_VISIBLE_DEVICES is {setting!r}: {entry!r} is named twice")
            chosen.clear()
            break
        chosen.extend(named)
    notes.append(_order_note(setting, environ, listing.devices))
    return Found(tuple(chosen), "; ".join(filter(None, notes)))


def list_devices(nvml: Nvml) -> Listing:
    """List every GPU, or its MIG instances if it is sliced; NVML's failures become the note."""
    failures = (nvml.NVMLError, OSError, ValueError)
    try:
        nvml.nvmlInit()
    except failures as error:
        return Listing((), f"NVML does not start: {error}")
    try:
        return _listing(nvml)
    except failures as error:
        return Listing((), f"NVML does not list the GPUs: {error}")
    finally:
        with suppress(*failures):
            nvml.nvmlShutdown()


def query(path: Sequence[str] | None = None, limit_s: float = _LIMIT_S) -> Listing:
    """Ask NVML in a process of its own that is given up on after ``limit_s`` seconds.

    That process leads its own session and is killed; should it be stuck in the kernel it is
    left behind, and neither this call nor the end of this program waits for it.

    Args:
        path: where that process imports from; None for this process's ``sys.path``.
        limit_s: seconds, start of the interpreter included.
    """
    start = (
        "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
        "from lae_controller.machine.accelerators import main; main()"
    )
    imports = json.dumps(list(sys.path if path is None else path))
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", start, imports],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        return Listing((), f"the process that asks NVML does not start: {error}")
    try:
        output, errors = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        return Listing((), f"the NVIDIA driver did not answer within {limit_s:g} s")
    finally:
        if process.returncode is None:
            _give_up(process)
    return _parsed(output, errors, process.returncode)


def main() -> None:
    """Print the listing as JSON: the far end of ``query``."""
    try:
        import pynvml
    except ImportError as error:
        listing = Listing((), f"{error}; `pip install nvidia-ml-py` cures that")
    else:
        listing = list_devices(pynvml)
    json.dump(asdict(listing), sys.stdout)


def _listing(nvml: Nvml) -> Listing:
    """List the GPUs of a started NVML; one that fails is left out and noted."""
    devices: list[Device] = []
    notes: list[str] = []
    for index in range(nvml.nvmlDeviceGetCount()):
        try:
            slots = list(_slots(nvml, index))
        except (nvml.NVMLError, OSError, ValueError) as error:
            notes.append(f"GPU {index} is left out: {error}")
            continue
        devices.extend(slots)
        if not slots:
            notes.append(f"GPU {index} is left out: MIG mode is on and no instance answers")
    if not devices and not notes:
        notes.append("the NVIDIA driver reports no GPU")
    return Listing(tuple(devices), "; ".join(notes))


def _slots(nvml: Nvml, index: int) -> Iterator[Device]:
    """Yield the GPU, or the MIG instances it is sliced into."""
    gpu = nvml.nvmlDeviceGetHandleByIndex(index)
    gpu_uuid = nvml.nvmlDeviceGetUUID(gpu)
    try:
        sliced = nvml.nvmlDeviceGetMigMode(gpu)[0] == 1
    except nvml.NVMLError:  # what every GPU without MIG says
        sliced = False
    minor = None
    with suppress(nvml.NVMLError):
        minor = nvml.nvmlDeviceGetMinorNumber(gpu)
    if not sliced:
        yield _numbered(_device(nvml, "cuda", index, gpu, gpu_uuid), minor)
        return
    for slot in range(nvml.nvmlDeviceGetMaxMigDeviceCount(gpu)):
        with suppress(nvml.NVMLError):  # a number without an instance
            instance = nvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, slot)
            yield _numbered(_device(nvml, "mig", index, instance, gpu_uuid), minor)


def _numbered(device: Device, minor: int | None) -> Device:
    return replace(device, accelerator=replace(device.accelerator, minor=minor))


def _device(
    nvml: Nvml, kind: Literal["cuda", "mig"], index: int, handle: object, gpu_uuid: str
) -> Device:
    """Describe one slot; only its UUID is indispensable."""
    uuid = nvml.nvmlDeviceGetUUID(handle)
    name = "NVIDIA GPU"
    with suppress(nvml.NVMLError):
        name = nvml.nvmlDeviceGetName(handle)
    memory, shared = None, False
    try:
        memory = nvml.nvmlDeviceGetMemoryInfo(handle).total or None
    except nvml.NVMLError_NotSupported:  # boards without memory of their own
        shared = True
    except nvml.NVMLError:
        pass
    return Device(Accelerator(kind, index, uuid, name, memory, shared), gpu_uuid)


def _give_up(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with its session; do not insist on seeing its end."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=1)


def _parsed(output: bytes, errors: bytes, status: int) -> Listing:
    """Read what ``main`` printed in the other process; a library may have printed before it."""
    lines = output.decode(errors="replace").splitlines()
    try:
        data = json.loads(lines[-1])
        devices = [Device(Accelerator(**d["accelerator"]), d["gpu_uuid"]) for d in data["devices"]]
        return Listing(tuple(devices), data["note"])
    except (ValueError, LookupError, TypeError):
        said = errors.decode(errors="replace").strip().splitlines() or ["nothing"]
        return Listing((), f"asking NVML ended with status {status} and said: {said[-1]}")


def _named(entry: str, devices: Sequence[Device]) -> list[Accelerator]:
    """Return the slots that one entry stands for; empty if it fits no GPU or several."""
    if entry.isascii() and entry.isdigit():
        # Compared as text: an entry may have more digits than int() takes.
        number = entry.lstrip("0") or "0"
        return [d.accelerator for d in devices if str(d.accelerator.index) == number]
    if not entry.startswith(("GPU-", "MIG-")):
        return []
    exact = [d.accelerator for d in devices if entry in (d.gpu_uuid, d.accelerator.uuid)]
    if exact:
        return exact
    uuids = {uuid for d in devices for uuid in (d.gpu_uuid, d.accelerator.uuid)}
    full = [uuid for uuid in uuids if uuid.startswith(entry)]
    return _named(full[0], devices) if len(full) == 1 else []


def _order_note(setting: str, environ: Mapping[str, str], devices: Sequence[Device]) -> str:
    """Say so where a number may mean another GPU to CUDA than to NVML."""
    alike = len({device.accelerator.name for device in devices}) == 1
    by_number = any(part.strip().isdigit() for part in setting.split(","))
    if alike or not by_number or environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID":
        return ""
    return (
        "the GPUs differ and the numbers in CUDA_VISIBLE_DEVICES were read in PCI order; "
        "set CUDA_DEVICE_ORDER=PCI_BUS_ID or name them by UUID to be sure"
    )


def _apple(machine: str, ram_bytes: int) -> Found:
    if machine != "arm64":
        return Found((), f"a Mac with {machine} has no GPU that training can use")
    return Found((Accelerator("mps", 0, "mps", "Apple GPU (MPS)", ram_bytes or None, True),))


def _filled(accelerator: Accelerator, ram_bytes: int) -> Accelerator:
    if not accelerator.memory_shared:
        return accelerator
    return replace(accelerator, memory_bytes=ram_bytes or None)


def _driver_loaded(root: Path) -> bool:
    return any(_exists(root / trace) for trace in _DRIVER_TRACES)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # there, but not for us to look at
        return True

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from lae_controller.machine.accelerators import Accelerator, MemoryInfo
from lae_controller.machine.hardware import (
    Hardware,
    derive_concurrency,
    probe,
    render,
    to_json,
)

GIB = 2**30
CPU_MACHINE = Hardware(
    cores=6,
    cores_source="CPU quota of 5.5 cores in /cg/cpu.max, rounded up",
    total_cores=40,
    ram_bytes=12 * GIB,
    ram_source="MemTotal in /proc/meminfo",
    accelerators=(),
    accelerator_note="no NVIDIA driver is loaded",
    disk_free_bytes=None,
)


def slot(kind: Literal["cuda", "mig", "mps"], number: int = 0) -> Accelerator:
    return Accelerator(kind, number, f"{kind}-{number}", "Test Board", 48 * GIB, kind == "mps")


def with_slots(*slots: Accelerator) -> Hardware:
    return replace(CPU_MACHINE, accelerators=slots, accelerator_note="")


class OneBoard:
    """A stand-in for the module pynvml: one GPU that shares the system's memory."""

    class NVMLError(Exception):
        pass

    class NVMLError_NotSupported(NVMLError):  # noqa: N801, N818
        pass

    def nvmlInit(self) -> None:  # noqa: N802
        pass

    def nvmlShutdown(self) -> None:  # noqa: N802
        pass

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return 1

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        return index

    def nvmlDeviceGetUUID(self, handle: object) -> str:  # noqa: N802
        return "GPU-0f0f"

    def nvmlDeviceGetName(self, handle: object) -> str:  # noqa: N802
        return "Unified Board"

    def nvmlDeviceGetMinorNumber(self, handle: object) -> int:  # noqa: N802
        return 0

    def nvmlDeviceGetMemoryInfo(self, handle: object) -> MemoryInfo:  # noqa: N802
        raise self.NVMLError_NotSupported

    def nvmlDeviceGetMigMode(self, handle: object) -> list[int]:  # noqa: N802
        return [0, 0]

    def nvmlDeviceGetMaxMigDeviceCount(self, handle: object) -> int:  # noqa: N802
        raise self.NVMLError_NotSupported

    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: object, index: int) -> object:  # noqa: N802
        raise self.NVMLError_NotSupported


@pytest.fixture
def container(tmp_path: Path) -> Path:
    """Half a core and 3 GiB of a machine with 32 GiB, without a GPU."""
    files = {
        "proc/meminfo": f"MemTotal: {32 * 2**20} kB\n",
        "proc/self/cgroup": "0::/\n",
        "proc/mounts": "cgroup2 /sys/fs/cgroup cgroup2 ro 0 0\n",
        "sys/fs/cgroup/cpu.max": "50000 100000\n",
        "sys/fs/cgroup/memory.max": f"{3 * GIB}\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_container_is_seen_with_its_limits(container: Path) -> None:
    hardware = probe(container, {})
    assert (hardware.cores, hardware.ram_bytes) == (1, 3 * GIB)
    assert hardware.cores_source == ("CPU quota of 0.5 cores in /sys/fs/cgroup/cpu.max, rounded up")
    assert hardware.ram_source == "memory limit in /sys/fs/cgroup/memory.max"
    assert hardware.accelerators == ()
    assert hardware.disk_free_bytes is None


def test_a_gpu_that_shares_memory_has_what_the_container_has(container: Path) -> None:
    hardware = probe(container, {}, OneBoard())
    board = Accelerator("cuda", 0, "GPU-0f0f", "Unified Board", 3 * GIB, True, 0)
    assert hardware.accelerators == (board,)
    assert hardware.accelerator_note == ""
    hidden = probe(container, {"CUDA_VISIBLE_DEVICES": ""}, OneBoard())
    assert hidden.accelerators == ()
    assert "CUDA_VISIBLE_DEVICES" in hidden.accelerator_note


def test_a_machine_that_tells_nothing(tmp_path: Path) -> None:
    hardware = probe(tmp_path / "absent", {}, OneBoard())
    assert 1 <= hardware.cores <= hardware.total_cores
    assert hardware.ram_bytes > 0


def test_this_machine() -> None:
    hardware = probe(sandbox=Path.cwd())
    assert 1 <= hardware.cores <= hardware.total_cores
    assert hardware.ram_bytes > 0
    assert hardware.disk_free_bytes is not None
    assert hardware.accelerators or hardware.accelerator_note


def test_the_disk_is_that_of_a_sandbox_not_created_yet(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for sandbox in (tmp_path / "a" / "b", tmp_path / "file" / "c"):
        free = probe(tmp_path, {}, OneBoard(), sandbox).disk_free_bytes
        assert free is not None
        assert free > 0


@pytest.mark.parametrize(
    ("cores", "value"), [(1, 1), (3, 1), (4, 1), (7, 1), (8, 2), (31, 7), (64, 16)]
)
def test_without_a_gpu_every_four_cores_make_one_child(cores: int, value: int) -> None:
    concurrency = derive_concurrency(replace(CPU_MACHINE, cores=cores))
    assert concurrency.value == value
    assert str(cores) in concurrency.reason
    assert concurrency.question == ""


@pytest.mark.parametrize("kind", ["cuda", "mig", "mps"])
def test_one_accelerator_is_one_child_and_a_question(kind: Literal["cuda", "mig", "mps"]) -> None:
    concurrency = derive_concurrency(with_slots(slot(kind)))
    assert concurrency.value == 1
    assert "Test Board, 48.0 GiB" in concurrency.question
    assert concurrency.question.endswith("?")


@pytest.mark.parametrize(
    ("slots", "reason"),
    [
        ([slot("cuda", n) for n in range(8)], "8 GPUs: one child on each"),
        ([slot("mig", n) for n in range(3)], "3 MIG instances: one child on each"),
        ([slot("cuda"), slot("mig", 1)], "2 GPUs and MIG instances: one child on each"),
    ],
)
def test_several_accelerators_are_one_child_each(slots: list[Accelerator], reason: str) -> None:
    concurrency = derive_concurrency(with_slots(*slots))
    assert (concurrency.value, concurrency.reason) == (len(slots), reason)
    assert concurrency.question == ""


def test_json_has_the_attributes_and_survives_a_round_trip() -> None:
    data = to_json(with_slots(slot("cuda")))
    assert json.loads(json.dumps(data)) == data
    assert data["cores"] == 6
    assert data["accelerators"] == [
        {
            "kind": "cuda",
            "index": 0,
            "uuid": "cuda-0",
            "name": "Test Board",
            "memory_bytes": 48 * GIB,
            "memory_shared": False,
            "minor": None,
        }
    ]


def test_the_text_for_a_cpu_machine() -> None:
    hardware = replace(CPU_MACHINE, disk_free_bytes=100 * GIB)
    assert render(hardware, derive_concurrency(hardware)).splitlines() == [
        "CPU          6 of 40 cores  (CPU quota of 5.5 cores in /cg/cpu.max, rounded up)",
        "memory       12.0 GiB  (MemTotal in /proc/meminfo)",
        "GPU          none  (no NVIDIA driver is loaded)",
        "disk         100.0 GiB free",
        "concurrency  1  (CPU only: one for every 4 of 6 usable cores, at least 1)",
    ]


def test_the_text_for_accelerators() -> None:
    unknown = replace(slot("mig", 1), memory_bytes=None)
    hardware = replace(with_slots(slot("cuda"), unknown), accelerator_note="GPU 2 is left out")
    text = render(hardware, derive_concurrency(hardware))
    assert "GPU          0: Test Board, 48.0 GiB  (cuda-0)\n" in text
    assert "MIG instance 1: Test Board, memory unknown  (mig-1)\n" in text
    assert "note         GPU 2 is left out\n" in text
    apple = with_slots(slot("mps"))
    text = render(apple, derive_concurrency(apple))
    assert "48.0 GiB shared with the system" in text
    assert "\nask          There is one accelerator" in text


def test_start_up_is_not_burdened_with_libraries(container: Path) -> None:
    script = (
        "import sys, pathlib; from lae_controller.machine.hardware import probe; "
        "probe(pathlib.Path(sys.argv[1]), {}); "
        "print(sorted({'pynvml', 'psutil', 'rich', 'click'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", script, str(container)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

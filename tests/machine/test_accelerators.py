from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil
import pynvml
import pytest

import lae_controller
from lae_controller.machine.accelerators import (
    Accelerator,
    Device,
    Found,
    Listing,
    find,
    list_devices,
    query,
    visible,
    visible_env,
)

GIB = 2**30
PACKAGE_HOME = str(Path(lae_controller.__file__).parent.parent)


@dataclass(frozen=True)
class Board:
    """A GPU or a MIG instance as the stand-in driver knows it."""

    uuid: str
    name: str = "Test Board"
    memory: int | None = 24 * GIB
    memory_error: int = pynvml.NVML_ERROR_NOT_SUPPORTED
    slices: tuple[Board | None, ...] | None = None
    lost: bool = False

    @property
    def total(self) -> int:
        if self.memory is None:
            raise pynvml.NVMLError(self.memory_error)
        return self.memory


class Driver:
    """A stand-in for the module pynvml that raises pynvml's own errors."""

    NVMLError = pynvml.NVMLError
    NVMLError_NotSupported = pynvml.NVMLError_NotSupported

    def __init__(self, *boards: Board, refuses: int | None = None) -> None:
        self.boards = boards
        self.refuses = refuses
        self.running = False

    def nvmlInit(self) -> None:  # noqa: N802
        if self.refuses is not None:
            raise pynvml.NVMLError(self.refuses)
        self.running = True

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.running = False

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return len(self.boards)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Board:  # noqa: N802
        if self.boards[index].lost:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_GPU_IS_LOST)
        return self.boards[index]

    def nvmlDeviceGetUUID(self, handle: object) -> str:  # noqa: N802
        return board(handle).uuid

    def nvmlDeviceGetName(self, handle: object) -> str:  # noqa: N802
        if not board(handle).name:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_UNKNOWN)
        return board(handle).name

    def nvmlDeviceGetMinorNumber(self, handle: object) -> int:  # noqa: N802
        raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)

    def nvmlDeviceGetMemoryInfo(self, handle: object) -> Board:  # noqa: N802
        return board(handle)

    def nvmlDeviceGetMigMode(self, handle: object) -> Sequence[int]:  # noqa: N802
        if board(handle).slices is None:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
        return [1, 1]

    def nvmlDeviceGetMaxMigDeviceCount(self, handle: object) -> int:  # noqa: N802
        return len(board(handle).slices or ())

    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: object, index: int) -> Board:  # noqa: N802
        found = (board(handle).slices or ())[index]
        if found is None:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
        return found


def board(handle: object) -> Board:
    assert isinstance(handle, Board)
    return handle


def uuids(found: Found) -> list[str]:
    return [accelerator.uuid for accelerator in found.accelerators]


def ask(driver: Driver, setting: str | None = None) -> Found:
    environ = {} if setting is None else {"CUDA_VISIBLE_DEVICES": setting}
    return find(Path("/nowhere"), environ, 64 * GIB, driver)


FOUR = Driver(*(Board(f"GPU-{letter}00{letter}-1111") for letter in "abcd"))
SLICED = Driver(
    Board("GPU-50-whole"),
    Board(
        "GPU-51-sliced",
        slices=(Board("MIG-1a-x", "Slice", 10 * GIB), None, Board("MIG-2b-y", "Slice", 10 * GIB)),
    ),
)


def test_a_gpu_is_described_and_the_driver_let_go() -> None:
    driver = Driver(Board("GPU-77", "Test Board XL", 80 * GIB))
    found = ask(driver)
    assert found == Found((Accelerator("cuda", 0, "GPU-77", "Test Board XL", 80 * GIB, False),))
    assert not driver.running


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, "Library Not Found"),
        (pynvml.NVML_ERROR_DRIVER_NOT_LOADED, "Driver Not Loaded"),
        (pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH, "mismatch"),
        (pynvml.NVML_ERROR_NO_PERMISSION, "Permissions"),
    ],
)
def test_a_driver_that_refuses_is_no_gpu_with_the_reason(code: int, words: str) -> None:
    found = ask(Driver(Board("GPU-1"), refuses=code))
    assert found.accelerators == ()
    assert words in found.note


def test_a_driver_without_devices_is_no_gpu_with_the_reason() -> None:
    assert ask(Driver()) == Found((), "the NVIDIA driver reports no GPU")


def test_shared_memory_is_the_systems_and_unknown_memory_is_none() -> None:
    driver = Driver(
        Board("GPU-unified", memory=None),
        Board("GPU-odd", memory=None, memory_error=pynvml.NVML_ERROR_UNKNOWN),
        Board("GPU-zero", memory=0),
    )
    found = ask(driver)
    memories = [(a.memory_bytes, a.memory_shared) for a in found.accelerators]
    assert memories == [(64 * GIB, True), (None, False), (None, False)]
    unified = find(Path("/nowhere"), {}, 0, driver).accelerators[0]
    assert (unified.memory_bytes, unified.memory_shared) == (None, True)


def test_one_lost_gpu_does_not_hide_the_others() -> None:
    found = ask(Driver(Board("GPU-1"), Board("GPU-2", lost=True), Board("GPU-3", name="")))
    assert uuids(found) == ["GPU-1", "GPU-3"]
    assert [a.index for a in found.accelerators] == [0, 2]
    assert found.note == "GPU 1 is left out: GPU is lost"


def test_mig_instances_stand_in_for_the_gpu_they_are_cut_from() -> None:
    found = ask(SLICED)
    assert [(a.kind, a.index, a.uuid) for a in found.accelerators] == [
        ("cuda", 0, "GPU-50-whole"),
        ("mig", 1, "MIG-1a-x"),
        ("mig", 1, "MIG-2b-y"),
    ]
    assert found.accelerators[1].memory_bytes == 10 * GIB


def test_mig_mode_without_an_instance_leaves_nothing_to_train_on() -> None:
    found = ask(Driver(Board("GPU-1", slices=(None, None))))
    assert found.accelerators == ()
    assert "MIG mode" in found.note


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        (None, "abcd"),
        ("2", "c"),
        ("3,1", "db"),
        (" 0 , 002", "ac"),
        ("GPU-b00", "b"),
        ("GPU-c00c-1111", "c"),
        ("GPU-d,GPU-a00a", "da"),
        ("1,GPU-a", "ba"),
    ],
)
def test_visible_devices_by_number_uuid_and_short_uuid(setting: str | None, expected: str) -> None:
    found = ask(FOUR, setting)
    assert [uuid[4] for uuid in uuids(found)] == list(expected)
    assert found.note == ""


@pytest.mark.parametrize(
    ("setting", "expected", "culprit"),
    [
        ("0,9,1", "a", "'9'"),
        ("0,1,-1,2", "ab", "'-1'"),
        ("none,0", "", "'none'"),
        ("1,,2", "b", "''"),
        ("2,1x,0", "c", "'1x'"),
        ("GPU-b,GPU-ffff,GPU-a", "b", "'GPU-ffff'"),
        ("3,GPU-", "d", "'GPU-'"),  # fits all four
        ("b00b,0", "", "'b00b'"),
        ("9" * 5000, "", "no single GPU"),
    ],
)
def test_an_invalid_entry_hides_itself_and_all_after_it(
    setting: str, expected: str, culprit: str
) -> None:
    found = ask(FOUR, setting)
    assert [uuid[4] for uuid in uuids(found)] == list(expected)
    assert culprit in found.note


@pytest.mark.parametrize("setting", ["1,1", "0,2,0,3", "GPU-a,GPU-a00a-1111", "0,GPU-a"])
def test_a_device_named_twice_hides_all(setting: str) -> None:
    found = ask(FOUR, setting)
    assert found.accelerators == ()
    assert "named twice" in found.note


def test_a_second_naming_behind_an_invalid_entry_is_never_read() -> None:
    assert [uuid[4] for uuid in uuids(ask(FOUR, "0,oops,0"))] == ["a"]


@pytest.mark.parametrize("setting", ["", "  ", "-1"])
def test_an_empty_setting_hides_all_and_asks_nobody(setting: str) -> None:
    driver = Driver(Board("GPU-1"), refuses=pynvml.NVML_ERROR_UNKNOWN)
    found = ask(driver, setting)
    assert found.accelerators == ()
    assert repr(setting) in found.note


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("MIG-2b", ["MIG-2b-y"]),
        ("MIG-1a-x,0", ["MIG-1a-x", "GPU-50-whole"]),
        ("1", ["MIG-1a-x", "MIG-2b-y"]),
        ("GPU-51", ["MIG-1a-x", "MIG-2b-y"]),
        ("GPU-51,MIG-1a-x", []),
        ("MIG-", []),
    ],
)
def test_visible_mig_instances(setting: str, expected: list[str]) -> None:
    assert uuids(ask(SLICED, setting)) == expected


def test_the_reason_for_no_gpu_outlives_a_setting() -> None:
    refusing = Driver(refuses=pynvml.NVML_ERROR_DRIVER_NOT_LOADED)
    assert ask(refusing, "0") == ask(refusing)
    assert "Driver Not Loaded" in ask(refusing).note


def test_numbers_among_different_gpus_are_pointed_out() -> None:
    listing = Listing(
        tuple(
            Device(Accelerator("cuda", index, f"GPU-{index}", name, GIB, False), f"GPU-{index}")
            for index, name in enumerate(["Slow", "Fast"])
        )
    )
    by_number = {"CUDA_VISIBLE_DEVICES": "1"}
    assert "CUDA_DEVICE_ORDER" in visible(listing, by_number).note
    assert visible(listing, by_number | {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}).note == ""
    assert visible(listing, {"CUDA_VISIBLE_DEVICES": "GPU-1"}).note == ""
    assert visible(listing, {}).note == ""


@pytest.mark.parametrize(
    ("kind", "uuid", "expected"),
    [
        ("cuda", "GPU-1-2", {"CUDA_VISIBLE_DEVICES": "GPU-1-2"}),
        ("mig", "MIG-3", {"CUDA_VISIBLE_DEVICES": "MIG-3"}),
        ("mps", "mps", {}),
    ],
)
def test_a_child_is_pinned_by_uuid(
    kind: Literal["cuda", "mig", "mps"], uuid: str, expected: dict[str, str]
) -> None:
    assert visible_env(Accelerator(kind, 5, uuid, "n", None, False)) == expected


def test_an_apple_gpu_shares_the_systems_memory(tmp_path: Path) -> None:
    found = find(tmp_path, {}, 16 * GIB, system=("Darwin", "arm64"))
    (accelerator,) = found.accelerators
    assert (accelerator.kind, accelerator.memory_bytes) == ("mps", 16 * GIB)
    assert accelerator.memory_shared


def test_an_intel_mac_has_none(tmp_path: Path) -> None:
    found = find(tmp_path, {}, 16 * GIB, system=("Darwin", "x86_64"))
    assert found.accelerators == ()
    assert "x86_64" in found.note


def test_without_a_driver_nobody_is_asked(tmp_path: Path) -> None:
    found = find(tmp_path, {}, GIB, system=("Linux", "x86_64"))
    assert found == Found((), "no NVIDIA driver is loaded")


@pytest.mark.parametrize("trace", ["dev/nvidiactl", "dev/dxg", "proc/driver/nvidia"])
def test_with_a_trace_of_a_driver_the_library_is_asked(tmp_path: Path, trace: str) -> None:
    (tmp_path / trace).mkdir(parents=True)
    hidden = find(tmp_path, {"CUDA_VISIBLE_DEVICES": ""}, GIB, system=("Linux", "x86_64"))
    assert "hides every GPU" in hidden.note
    if trace == "dev/nvidiactl":  # whatever this machine has, the answer is one or the other
        asked = find(tmp_path, {}, GIB, system=("Linux", "x86_64"))
        assert asked.note != "no NVIDIA driver is loaded"
        assert asked.accelerators or asked.note


# The tests below ask in a process of its own, which imports a pynvml written for the occasion.

PYNVML_HEAD = """
class NVMLError(Exception): pass
class NVMLError_NotSupported(NVMLError): pass
"""
PYNVML_ONE_GPU = (
    PYNVML_HEAD
    + """
class Memory: total = 7 << 30
def nvmlInit(): print("a library that chats")
def nvmlShutdown(): raise NVMLError("too late")
def nvmlDeviceGetCount(): return 1
def nvmlDeviceGetHandleByIndex(index): return 0
def nvmlDeviceGetUUID(handle): return "GPU-far"
def nvmlDeviceGetName(handle): return "Far Board \u00e9"
def nvmlDeviceGetMinorNumber(handle): return 5
def nvmlDeviceGetMemoryInfo(handle): return Memory
def nvmlDeviceGetMigMode(handle): raise NVMLError_NotSupported
"""
)


def ask_far(folder: Path, source: str, limit_s: float = 30.0) -> Listing:
    (folder / "pynvml.py").write_text(source, encoding="utf-8")
    return query([str(folder), *sys.path], limit_s)


def test_the_far_process_answers_what_the_near_one_would(tmp_path: Path) -> None:
    far = Accelerator("cuda", 0, "GPU-far", "Far Board \u00e9", 7 * GIB, False, minor=5)
    assert ask_far(tmp_path, PYNVML_ONE_GPU) == Listing((Device(far, "GPU-far"),))


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import os; os._exit(9)", "status 9"),
        ("raise RuntimeError('broken wheel')", "broken wheel"),
        ("import os; print('[]'); os._exit(0)", "status 0"),
        (PYNVML_HEAD + "def nvmlInit(): raise OSError('cannot map libnvidia-ml')", "cannot map"),
    ],
)
def test_a_far_process_that_fails_is_no_gpu_with_the_reason(
    tmp_path: Path, source: str, words: str
) -> None:
    listing = ask_far(tmp_path, source)
    assert listing.devices == ()
    assert words in listing.note


def test_a_missing_library_names_its_cure() -> None:
    bare = [PACKAGE_HOME, *(p for p in sys.path if "site-packages" not in p)]
    assert "pip install nvidia-ml-py" in query(bare, 30.0).note


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_a_driver_that_never_answers_is_given_up_on(tmp_path: Path) -> None:
    # Deaf to SIGTERM, and with a child that holds the pipes open.
    source = f"""
import os, pathlib, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
helper = os.fork() or time.sleep(60)
pathlib.Path({str(tmp_path / "pids")!r}).write_text(f"{{os.getpid()}} {{helper}}")
time.sleep(60)
"""
    listing = ask_far(tmp_path, source, limit_s=2.0)
    assert listing == Listing((), "the NVIDIA driver did not answer within 2 s")
    pids = [int(word) for word in (tmp_path / "pids").read_text().split()]
    deadline = time.monotonic() + 180
    while not all(map(gone, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert [gone(pid) for pid in pids] == [True, True]


def test_listing_reports_the_whole_gpu_of_every_slot() -> None:
    owners = [device.gpu_uuid for device in list_devices(SLICED).devices]
    assert owners == ["GPU-50-whole", "GPU-51-sliced", "GPU-51-sliced"]

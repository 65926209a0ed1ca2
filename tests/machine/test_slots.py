from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

from lae_controller.machine.accelerators import Accelerator
from lae_controller.machine.hardware import Hardware
from lae_controller.machine.slots import Slot, slots_for


def hardware(*devices: Accelerator) -> Hardware:
    return Hardware(8, "affinity", 8, 1 << 34, "total", devices, "", None)


def gpu(index: int) -> Accelerator:
    return Accelerator("cuda", index, f"GPU-{index}abc", "H", 1 << 36, False)


def test_without_accelerators_slots_are_shares_of_the_processor() -> None:
    first, second = slots_for(hardware(), 2)
    assert (first.name, second.name) == ("cpu 0", "cpu 1")
    assert (first.env, first.devices, first.lock) == ({}, (), None)


def test_one_child_per_device_pinned_by_its_uuid() -> None:
    first, second = slots_for(hardware(gpu(0), gpu(3)), 2)
    assert first.env == {"CUDA_VISIBLE_DEVICES": "GPU-0abc"}
    assert second.devices == ("/dev/nvidia3",)
    assert first.lock is not None
    assert first.lock != second.lock


def test_a_device_node_has_the_driver_s_own_number() -> None:
    device = replace(gpu(0), minor=6)
    (slot,) = slots_for(hardware(device), 1)
    assert slot.devices == ("/dev/nvidia6",)


def test_several_children_on_one_device_share_it() -> None:
    slots = slots_for(hardware(gpu(0)), 2)
    assert [slot.env["CUDA_VISIBLE_DEVICES"] for slot in slots] == ["GPU-0abc"] * 2
    assert all(slot.lock is None for slot in slots)


def test_a_device_is_held_by_one_evaluation_at_a_time(tmp_path: Path) -> None:
    slot = Slot("gpu", lock=tmp_path / "lock")
    order: list[str] = []
    inside = threading.Event()

    def second() -> None:
        with slot.held():
            order.append("second")

    with slot.held():
        thread = threading.Thread(target=lambda: (inside.set(), second()))
        thread.start()
        inside.wait()
        order.append("first")
    thread.join()
    assert order == ["first", "second"]

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lae_controller.machine.cgroups import (
    affinity_cores,
    cpu_quotas,
    memory_limits,
    physical_memory,
    usable_cores,
    usable_memory,
)

GIB = 2**30
V2_MOUNT = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n"
V1_MOUNTS = (
    "proc /proc proc rw 0 0\n"
    "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n"
    "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0\n"
    "cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0\n"
)


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def v2(root: Path, member: str, files: dict[str, str]) -> Path:
    base = {"proc/self/cgroup": f"0::{member}\n", "proc/mounts": V2_MOUNT}
    return tree(root, base | {f"sys/fs/cgroup/{name}": text for name, text in files.items()})


def v1(root: Path, member: str, files: dict[str, str]) -> Path:
    membership = f"7:memory:{member}\n4:cpu,cpuacct:{member}\n2:cpuset:/elsewhere\n0::/\n"
    base = {"proc/self/cgroup": membership, "proc/mounts": V1_MOUNTS}
    return tree(root, base | {f"sys/fs/cgroup/{name}": text for name, text in files.items()})


@pytest.mark.parametrize(
    ("cpu_max", "cores"),
    [
        ("250000 100000\n", 3),
        ("400000 100000\n", 4),
        ("50000 100000\n", 1),
        ("1000 100000\n", 1),
        ("33000 10000\n", 4),
        ("max 100000\n", 64),
        ("9900000 100000\n", 64),
    ],
)
def test_a_quota_is_rounded_up_and_never_exceeds_the_affinity_mask(
    tmp_path: Path, cpu_max: str, cores: int
) -> None:
    root = v2(tmp_path, "/", {"cpu.max": cpu_max})
    assert usable_cores(root, affinity=64, total=64).value == cores


@pytest.mark.parametrize(
    "text", ["", "soon", "200000", "2e5 100000", "200000 0", "0 100000", "1 2 3"]
)
def test_a_garbled_quota_is_no_quota(tmp_path: Path, text: str) -> None:
    assert cpu_quotas(v2(tmp_path, "/", {"cpu.max": text})) == []


def test_the_tightest_ancestor_decides(tmp_path: Path) -> None:
    root = v2(
        tmp_path,
        "/user.slice/job",
        {
            "user.slice/cpu.max": "200000 100000",
            "user.slice/job/cpu.max": "500000 100000",
            "user.slice/memory.max": f"{6 * GIB}\n",
            "user.slice/job/memory.max": f"{9 * GIB}\n",
            "other.slice/cpu.max": "100000 100000",
            "user.slice/job/deeper/cpu.max": "100000 100000",
        },
    )
    cores = usable_cores(root, affinity=16, total=16)
    assert cores.value == 2
    assert cores.source == "CPU quota of 2 cores in /sys/fs/cgroup/user.slice/cpu.max"
    assert [limit.value for limit in memory_limits(root)] == [6 * GIB, 9 * GIB]


def test_version_1_quota_and_memory_of_every_ancestor(tmp_path: Path) -> None:
    root = v1(
        tmp_path,
        "/jobs/n7",
        {
            "cpu,cpuacct/jobs/cpu.cfs_quota_us": "350000\n",
            "cpu,cpuacct/jobs/cpu.cfs_period_us": "100000\n",
            "cpu,cpuacct/jobs/n7/cpu.cfs_quota_us": "-1\n",
            "cpu,cpuacct/jobs/n7/cpu.cfs_period_us": "100000\n",
            "memory/memory.limit_in_bytes": "9223372036854771712\n",
            "memory/jobs/memory.limit_in_bytes": f"{3 * GIB}\n",
            "memory/jobs/n7/memory.limit_in_bytes": f"{5 * GIB}\n",
            "cpuset/elsewhere/cpu.cfs_quota_us": "100000\n",
            "cpuset/elsewhere/cpu.cfs_period_us": "100000\n",
        },
    )
    cores = usable_cores(root, affinity=8, total=8)
    assert cores.value == 4
    assert cores.source == (
        "CPU quota of 3.5 cores in /sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_quota_us, rounded up"
    )
    assert [limit.value for limit in memory_limits(root)] == [3 * GIB, 5 * GIB]


def test_version_1_says_unlimited_with_a_huge_number(tmp_path: Path) -> None:
    at_the_border = {
        "memory/memory.limit_in_bytes": str(2**60),
        "memory/a/memory.limit_in_bytes": str(2**60 - 4096),
    }
    limits = memory_limits(v1(tmp_path, "/a", at_the_border))
    assert [limit.value for limit in limits] == [2**60 - 4096]


def test_both_versions_mounted_side_by_side(tmp_path: Path) -> None:
    root = v1(tmp_path, "/pod", {"cpu,cpuacct/pod/cpu.cfs_quota_us": "700000"})
    tree(
        root,
        {
            "sys/fs/cgroup/cpu,cpuacct/pod/cpu.cfs_period_us": "100000",
            "sys/fs/cgroup/unified/session/memory.max": str(2 * GIB),
            "proc/self/cgroup": "4:cpu,cpuacct:/pod\n0::/session\n",
            "proc/mounts": V1_MOUNTS + "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n",
        },
    )
    assert usable_cores(root, affinity=32, total=32).value == 7
    assert [limit.value for limit in memory_limits(root)] == [2 * GIB]


@pytest.mark.parametrize(
    ("member", "folder"),
    [
        ("/docker/4fc1", "."),  # the container's own cgroup is the mount
        ("/docker/4fc1/trainer", "trainer"),  # and it has made one inside
        ("/../sibling", "."),  # outside of what is mounted
        ("//", "."),
    ],
)
def test_a_member_path_of_the_host_is_found_in_the_containers_mount(
    tmp_path: Path, member: str, folder: str
) -> None:
    root = v2(tmp_path, member, {f"{folder}/cpu.max": "300000 100000"})
    assert usable_cores(root, affinity=48, total=48).value == 3


def test_a_namesake_of_a_cgroup_outside_of_the_mount_is_not_ours(tmp_path: Path) -> None:
    root = v2(tmp_path, "/../sibling", {"sibling/cpu.max": "100000 100000"})
    assert cpu_quotas(root) == []


def test_a_second_mount_of_a_hierarchy_is_somebody_elses_view(tmp_path: Path) -> None:
    root = v2(tmp_path, "/", {"memory.max": str(4 * GIB)})
    tree(
        root,
        {
            "proc/mounts": V2_MOUNT + "cgroup2 /host/groups cgroup2 ro 0 0\n",
            "host/groups/memory.max": str(GIB),
        },
    )
    assert [limit.value for limit in memory_limits(root)] == [4 * GIB]


def test_a_removed_cgroup_still_has_ancestors(tmp_path: Path) -> None:
    root = v2(tmp_path, "/slice/gone (deleted)", {"slice/memory.max": "1048576"})
    assert [limit.value for limit in memory_limits(root)] == [1048576]


def test_a_mount_point_with_a_blank(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/\n",
        "proc/mounts": "none /my\\040groups cgroup2 rw 0 0\n",
        "my groups/cpu.max": "100000 100000",
    }
    assert usable_cores(tree(tmp_path, files), affinity=4, total=4).value == 1


def test_nothing_to_read_means_no_limit(tmp_path: Path) -> None:
    assert usable_cores(tmp_path, affinity=5, total=5).source == "all cores of the machine"
    assert cpu_quotas(tmp_path) == []
    assert memory_limits(tmp_path) == []


def test_files_that_are_not_what_they_should_be(tmp_path: Path) -> None:
    root = v2(tmp_path, "/", {"memory.max/inside": "a folder in place of the file"})
    (root / "proc/self/cgroup").write_bytes(b"\xff\x00:no colons\n\n:::\n9\n")
    (root / "sys/fs/cgroup/cpu.max").write_bytes(b"\xfe\x00 \xff")
    (root / "proc/meminfo").write_text("MemTotal: plenty\n")
    assert usable_cores(root, affinity=6, total=6).value == 6
    assert memory_limits(root) == []
    assert usable_memory(root).value > 0
    (root / "proc/mounts").write_bytes(b"\x00\xff half a line\ncgroup2\n")
    assert memory_limits(root) == []


def test_the_affinity_mask_is_named_as_the_limit(tmp_path: Path) -> None:
    limit = usable_cores(tmp_path, affinity=2, total=12)
    assert (limit.value, limit.source) == (2, "affinity mask, 2 of 12 cores")


def test_memory_is_the_least_of_machine_and_limit(tmp_path: Path) -> None:
    root = v2(tmp_path, "/", {"memory.max": str(2 * GIB)})
    (root / "proc/meminfo").write_text("MemFree: 1 kB\nMemTotal:       8388608 kB\n")
    limit = usable_memory(root)
    assert limit.value == 2 * GIB
    assert limit.source == "memory limit in /sys/fs/cgroup/memory.max"
    (root / "sys/fs/cgroup/memory.max").write_text(str(32 * GIB))
    limit = usable_memory(root)
    assert (limit.value, limit.source) == (8 * GIB, "MemTotal in /proc/meminfo")


def test_memory_without_meminfo_is_what_the_c_library_says(tmp_path: Path) -> None:
    limit = physical_memory(tmp_path)
    assert limit is not None
    assert limit.value == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def test_the_mask_of_this_process_counts() -> None:
    before = os.sched_getaffinity(0)
    assert affinity_cores() == len(before)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert affinity_cores() == 1
    finally:
        os.sched_setaffinity(0, before)

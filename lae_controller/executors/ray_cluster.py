"""The cluster as a run sees it: its nodes, and what one child takes of them."""

from __future__ import annotations

import importlib.util
import os
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from lae_controller.config import Gate, Settings
from lae_controller.errors import PrerequisiteError, RefusedError
from lae_controller.quantities import parse_size

_TYPE = "accelerator_type:"
_A_LITTLE = 0.001
"""How much of a type's resource a task asks for to be bound to nodes of that type."""

_CORES_PER_CHILD = 4
_KNOCK_S = 10.0


@dataclass(frozen=True, slots=True)
class Node:
    """One living node and all it offers, whoever uses it now.

    Attributes:
        memory: bytes that tasks may reserve.
        accelerator: type of its accelerators, such as ``A100``; empty if it has none.
    """

    id: str
    address: str
    cpus: float
    gpus: float
    memory: float
    accelerator: str


@dataclass(frozen=True, slots=True)
class Share:
    """What one child takes of a node.

    Attributes:
        memory: bytes, reserved and enforced; 0 if there is no ``memory_limit``.
        accelerator: the only type it may run on; empty for any.
    """

    cpus: float
    gpus: float
    memory: int
    accelerator: str = ""

    def times_in(self, node: Node) -> int:
        """Return how many children a node can hold."""
        if self.accelerator and node.accelerator != self.accelerator:
            return 0
        wanted = ((node.cpus, self.cpus), (node.gpus, self.gpus), (node.memory, self.memory))
        return min(int(has / needs + 1e-9) for has, needs in wanted if needs)

    def options(self) -> dict[str, Any]:
        """Return it as options of a task."""
        found: dict[str, Any] = {"num_cpus": self.cpus, "num_gpus": self.gpus}
        if self.memory:
            found["memory"] = self.memory
        if self.accelerator:
            found["resources"] = {_TYPE + self.accelerator: _A_LITTLE}
        return found

    def __str__(self) -> str:
        """Say it as settings."""
        parts = [f"{self.cpus:g} CPUs"]
        if self.gpus:
            parts.append(f"{self.gpus:g} GPUs" + f" ({self.accelerator})" * bool(self.accelerator))
        if self.memory:
            parts.append(f"{self.memory >> 20} MiB")
        return ", ".join(parts)


def engine() -> Any:
    """Return the module ``ray``.

    Raises:
        PrerequisiteError: if it is not installed, with the line that brings it.
    """
    if importlib.util.find_spec("ray") is None:
        raise PrerequisiteError(
            "executor.kind is ray, but Ray is not installed here; expected it. "
            "`pip install 'lae-controller[ray]'` brings it (the same version as on the cluster)"
        )
    # Said before the import, which reads them: no call home, and no accelerator hidden by default.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_gcs_server_port_wait_time_s", "3")  # tries, not minutes
    import ray
    import ray.util.scheduling_strategies

    return ray


def connect(settings: Settings) -> Any:
    """Return the engine, connected to the cluster; does nothing more if it is.

    Raises:
        PrerequisiteError: if there is no cluster at the address.
    """
    ray = engine()
    if ray.is_initialized():
        return ray
    address = settings.executor.address
    try:
        _knock(address)
        ray.init(
            address=address,
            namespace="lae",
            log_to_driver=False,
            configure_logging=False,
        )
    except (OSError, RuntimeError, ValueError) as error:
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise PrerequisiteError(
            f"{settings.path.name}: executor.address is {address!r}, where no cluster answers "
            f"({said[0]}); expected auto on a machine of the cluster, host:6379, or "
            "ray://host:10001 from outside. `ray start --head` begins a cluster here"
        ) from None
    return ray


def _knock(address: str) -> None:
    """See whether anything listens at an address that names a port; the engine waits for long.

    Raises:
        OSError: if nothing does.
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=_KNOCK_S).close()


def nodes(ray: Any) -> tuple[Node, ...]:
    """Return the nodes that are alive."""
    return tuple(_node(found) for found in ray.nodes() if found["Alive"])


def _node(found: dict[str, Any]) -> Node:
    resources = found["Resources"]
    types = [key.removeprefix(_TYPE) for key in resources if key.startswith(_TYPE)]
    return Node(
        id=found["NodeID"],
        address=found["NodeManagerAddress"],
        cpus=resources.get("CPU", 0.0),
        gpus=resources.get("GPU", 0.0),
        memory=resources.get("memory", 0.0),
        accelerator=types[0] if types else "",
    )


def share_of(settings: Settings, there: Iterable[Node]) -> Share:
    """Return what one child takes, derived where the file does not say it.

    One GPU where any node has one, and then one core; else four cores, or all of the smallest
    node if it has fewer (the rule of one machine, see ``hardware``).

    Raises:
        RefusedError: if runs of equal time would meet unlike accelerators.
    """
    there = [node for node in there if node.cpus > 0 or node.gpus > 0]
    wanted = settings.executor
    gpus = wanted.num_gpus
    if gpus is None:
        gpus = 1.0 if any(node.gpus >= 1 for node in there) else 0.0
    cpus = wanted.num_cpus
    if cpus is None:
        cores = [node.cpus for node in there if node.cpus >= 1]
        cpus = 1.0 if gpus else max(1.0, min([_CORES_PER_CHILD, *cores]))
    memory = parse_size(settings.memory_limit) if settings.memory_limit else 0
    share = Share(cpus, gpus, memory, wanted.accelerator or "")
    return _alike(settings, share, there)


def _alike(settings: Settings, share: Share, there: Iterable[Node]) -> Share:
    """Bind a share to the one type of accelerator there is, where runs are compared by time."""
    if settings.gate is not Gate.TIME or settings.executor.mixed or not share.gpus:
        return share
    kinds = sorted({node.accelerator for node in there if share.times_in(node)})
    if len(kinds) > 1:
        names = ", ".join(kind or "an unnamed one" for kind in kinds)
        raise RefusedError(
            f"{settings.path.name}: gate is time, and the cluster has unlike accelerators "
            f"({names}): a child would be scored by where it ran. Expected one type: set "
            f"executor.accelerator to one of them, or executor.mixed to true to go on all the same"
        )
    return Share(share.cpus, share.gpus, share.memory, kinds[0] if kinds else "")


def capacity(share: Share, there: Iterable[Node]) -> int:
    """Return how many children the cluster holds at a time."""
    return sum(share.times_in(node) for node in there)


def fitting(share: Share, there: Iterable[Node]) -> Iterator[Node]:
    """Yield the nodes on which a child can run."""
    return (node for node in there if share.times_in(node) > 0)

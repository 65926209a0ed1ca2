"""What travels to the nodes, packed once: the harness, and data that they do not have."""

from __future__ import annotations

import threading
import uuid
from pathlib import Path
from typing import Any

from lae_controller.config import Settings
from lae_controller.errors import PrerequisiteError
from lae_controller.executors.packed import Pack, digest_of, files_below, pack
from lae_controller.executors.ray_recipe import Data, Evaluators, Recipe, code_digest, data_of
from lae_controller.machine.slots import thread_variables
from lae_controller.sandbox.snapshot import Snapshot

LIMIT_BYTES = 2 << 30
"""More data than this is not sent about: it has to be on the nodes, or on a shared folder."""


class Packing:
    """The packs of one recipe, in the engine's object store. Safe to use from any thread."""

    def __init__(
        self,
        engine: Any,
        settings: Settings,
        snapshot: Snapshot,
        editable: tuple[str, ...],
        evaluators: Evaluators,
        cores: float,
    ) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._refs: dict[str, Any] = {}
        self._data: dict[str, tuple[str, str]] = {}
        lae = settings.lae_dir
        self.recipe = Recipe(
            key=uuid.uuid4().hex[:12],
            settings=settings,
            snapshot=snapshot,
            editable=editable,
            evaluators=evaluators,
            threads=thread_variables(int(cores)),
            base=self._put(pack(lae / "base", snapshot.copies())),
            scoring=self._put(scoring_of(settings)),
            withheld=self._put(_withheld(settings)),
            data=data_of(snapshot),
            code=code_digest(),
            lae_dir=lae,
            silence=settings.executor.lifeline,
        )

    def _put(self, packed: Pack) -> str:
        if not packed:
            return ""
        digest = digest_of(packed)
        self._refs[digest] = self._engine.put(packed)
        return digest

    def ref(self, digest: str) -> Any:
        """Return what stands for a pack, to be an argument of a call."""
        return self._refs[digest]

    def data(self, data: Data, host: str) -> tuple[str, str]:
        """Pack linked data, once; returns its digest and its place among a node's packs.

        Args:
            host: the node that lacks it.

        Raises:
            PrerequisiteError: if it is too large to be sent about.
        """
        with self._lock:
            if data.path not in self._data:
                self._data[data.path] = self._packed(data, host)
            return self._data[data.path]

    def _packed(self, data: Data, host: str) -> tuple[str, str]:
        source = Path(data.target)
        names = files_below(source) if source.is_dir() else [source.name]
        root = source if source.is_dir() else source.parent
        total = sum((root / name).stat().st_size for name in names if (root / name).is_file())
        if total > LIMIT_BYTES:
            raise PrerequisiteError(
                f"{host}: {data.target} ({total >> 20} MiB) is not there, or not with the same "
                f"files; expected it at the same path, or at most {LIMIT_BYTES >> 20} MiB to be "
                "sent. Copy it to every node, or put it on a folder that they share"
            )
        digest = self._put(pack(root, names))
        return digest, digest if source.is_dir() else f"{digest}/{source.name}"


def scoring_of(settings: Settings) -> Pack:
    """Return what the scoring mode keeps for itself, such as its copy of a table."""
    folder = settings.lae_dir / "scoring"
    return pack(folder, files_below(folder)) if folder.is_dir() else ()


def _withheld(settings: Settings) -> Pack:
    """Return what no program may hold, and whoever scores it needs."""
    names: list[str] = []
    for name in settings.scoring.withheld:
        place = settings.root / name
        if place.is_dir():
            names += [f"{name}/{path}" for path in files_below(place)]
        else:
            names.append(name)
    return pack(settings.root, names)

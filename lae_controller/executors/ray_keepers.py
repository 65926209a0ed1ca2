"""The near end: one keeper on each node that can hold a child, and the controller's heartbeat."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from lae_controller import __version__
from lae_controller.errors import LaeError, PrerequisiteError
from lae_controller.executors.packed import inside, write_pieces
from lae_controller.executors.ray_cluster import Node, Share, fitting, nodes
from lae_controller.executors.ray_node import PIECE_BYTES, Keeper, Survey
from lae_controller.executors.ray_packing import Packing
from lae_controller.files import write_json

_BEAT_S = 0.5
_LAYING_OUT_S = 600.0
_ENDING_S = 5.0
_AGAIN_S = 2.0

Show = Callable[[list[dict[str, Any]]], None]


@dataclass
class _Kept:
    """A node with its keeper; changed by the heart and by the threads that usher it in."""

    node: Node
    actor: Any
    state: str = "joining"
    host: str = ""
    beat: Any = None
    under_way: list[str] = field(default_factory=list)
    again_at: float = float("inf")


class Keepers:
    """The keepers of one controller. Its threads call the engine; it may be called from any.

    Args:
        show: called with what ``status`` shows of the nodes, whenever that changes.
    """

    def __init__(self, engine: Any, share: Share, node_dir: str | None, show: Show) -> None:
        self._engine = engine
        self._share = share
        self._node_dir = node_dir
        self._show = show
        self._shown: list[dict[str, Any]] = []
        self._actor = engine.remote(Keeper)
        self._packings: dict[str, Packing] = {}
        self._kept: dict[str, _Kept] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._heart = threading.Thread(target=self._beat_on, name="lae-heart", daemon=True)
        self._heart.start()

    # -- recipes -----------------------------------------------------------------------------

    def join(self, packing: Packing) -> None:
        """Lay a recipe out on every node, those that will come included."""
        with self._lock:
            self._packings[packing.recipe.key] = packing
            there = list(self._kept.values())
        for kept in there:
            self._usher_in(kept, [packing])

    def leave(self, key: str) -> bool:
        """Let the nodes remove a recipe; says whether it was the last one."""
        with self._lock:
            self._packings.pop(key, None)
            last = not self._packings
        with contextlib.suppress(self._engine.exceptions.RayError):
            self._wait_for([kept.actor.remove.remote(key) for kept in self._all()])
        return last

    def close(self) -> None:
        """End the heart and the keepers."""
        self._over.set()
        self._heart.join()
        for kept in self._all():
            with contextlib.suppress(self._engine.exceptions.RayError):
                self._engine.kill(kept.actor)
        self._show([])

    def _wait_for(self, refs: Iterable[Any]) -> None:
        waiting = list(refs)
        if waiting:
            self._engine.wait(waiting, num_returns=len(waiting), timeout=_ENDING_S)

    # -- the heart ---------------------------------------------------------------------------

    def _beat_on(self) -> None:
        while True:
            with contextlib.suppress(self._engine.exceptions.RayError):
                self._look()
            for kept in self._all():
                self._beat(kept)
            self._tell()
            if self._over.wait(_BEAT_S):
                return

    def _look(self) -> None:
        """Take in nodes that joined, and let go of those that left; a failed one is tried again."""
        there = {node.id: node for node in fitting(self._share, nodes(self._engine))}
        now = time.monotonic()
        with self._lock:
            for kept in list(self._kept.values()):
                if kept.node.id not in there or kept.again_at < now:
                    del self._kept[kept.node.id]
            new = [node for key, node in there.items() if key not in self._kept]
            joined = [_Kept(node, self._made(node)) for node in new]
            self._kept.update({kept.node.id: kept for kept in joined})
            packings = list(self._packings.values())
        for kept in joined:
            self._usher_in(kept, packings)

    def _made(self, node: Node) -> Any:
        """Have a keeper made on a node; does not wait."""
        affinity = self._engine.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            node_id=node.id, soft=False
        )
        options = {"num_cpus": 0, "max_restarts": 0, "max_concurrency": 8}
        made = self._actor.options(**options, scheduling_strategy=affinity)
        return made.remote(self._node_dir, node.id)

    def _beat(self, kept: _Kept) -> None:
        """Let a keeper know that this process lives; one call at a time is under way."""
        if kept.again_at < float("inf"):
            return
        try:
            if kept.beat is not None:
                if not self._engine.wait([kept.beat], timeout=0)[0]:
                    return
                kept.under_way = self._engine.get(kept.beat)
            kept.beat = kept.actor.beat.remote(tuple(self._packings))
        except self._engine.exceptions.RayError as error:
            self._failed(kept, error)

    def _failed(self, kept: _Kept, error: BaseException) -> None:
        """Note that a keeper died; if its node did not, another is made in a while."""
        kept.under_way = []
        kept.state = f"failed: {_first_line(error)}"
        kept.again_at = time.monotonic() + _AGAIN_S

    def _tell(self) -> None:
        now = [
            {
                "node": kept.node.id[:12],
                "host": kept.host or kept.node.address,
                "state": kept.state,
                "cpus": kept.node.cpus,
                "gpus": kept.node.gpus,
                "accelerator": kept.node.accelerator,
                "running": sorted(token.rpartition("~")[0] for token in kept.under_way),
            }
            for kept in self._all()
        ]
        if now != self._shown:
            self._shown = now
            with contextlib.suppress(LaeError):  # a full disk must not stop the heart
                self._show(now)

    def _all(self) -> list[_Kept]:
        with self._lock:
            return list(self._kept.values())

    # -- a node joins ------------------------------------------------------------------------

    def _usher_in(self, kept: _Kept, packings: list[Packing]) -> None:
        threading.Thread(target=self._usher, args=(kept, packings), daemon=True).start()

    def _usher(self, kept: _Kept, packings: list[Packing]) -> None:
        """Have a keeper lay everything out; what is wrong is said on the node."""
        try:
            for packing in packings:
                survey = self._call(kept.actor.survey, packing.recipe)
                kept.host = survey.host
                trouble = _mismatch(packing, survey) or survey.trouble
                trouble = trouble or self._lay_out(kept, packing, survey)
                if trouble:
                    self._call(kept.actor.refuse, packing.recipe.key, trouble)
                kept.state = f"refused: {trouble}" if trouble else "ready"
        except (self._engine.exceptions.RayError, TimeoutError) as error:
            self._failed(kept, error)

    def _lay_out(self, kept: _Kept, packing: Packing, survey: Survey) -> str:
        """Bring what a node lacks; returns why that cannot be done, empty if it was."""
        recipe, packed = packing.recipe, {}
        wanted = [d for d in (recipe.base, recipe.scoring, recipe.withheld) if d]
        try:
            for digest in wanted:
                if digest not in survey.packs:
                    self._call(kept.actor.add, digest, packing.ref(digest))
            for data in recipe.data:
                if data.path not in survey.data:
                    digest, place = packing.data(data, survey.host)
                    if not self._call(kept.actor.holds, digest):
                        self._call(kept.actor.add, digest, packing.ref(digest))
                    packed[data.path] = place
        except PrerequisiteError as error:
            return str(error)
        self._call(kept.actor.lay_out, recipe, survey.data, packed)
        return ""

    def _call(self, method: Any, *arguments: Any) -> Any:
        return self._engine.get(method.remote(*arguments), timeout=_LAYING_OUT_S)

    # -- asked by dispatchers ----------------------------------------------------------------

    def under_way(self) -> set[str]:
        """Return the tokens of what runs on any node, as last heard."""
        return {token for kept in self._all() for token in kept.under_way}

    def end(self, key: str, token: str) -> None:
        """Tell every node that an evaluation is not wanted any more; does not wait."""
        for kept in self._all():
            with contextlib.suppress(self._engine.exceptions.RayError):
                kept.actor.end.remote(key, token)

    def bring(self, node: str, key: str, token: str, folder: Path) -> None:
        """Fetch the large files that an evaluation left, as far as its node is there.

        Args:
            folder: of its runs on this machine.
        """
        actor = self._actor_of(node)
        if actor is None:
            return
        with contextlib.suppress(self._engine.exceptions.RayError, TimeoutError):
            for path, mode, size in self._call(actor.listing, key, token):
                target = folder / inside("/".join(path.split("/")[1:]))
                if not target.exists():
                    piece = partial(self._call, actor.piece, key, token, path)
                    write_pieces(target, mode, map(piece, range(0, size, PIECE_BYTES)))

    def forget(self, node: str, key: str, token: str) -> None:
        """Let a node remove what an evaluation left there; does not wait."""
        actor = self._actor_of(node)
        if actor is not None:
            with contextlib.suppress(self._engine.exceptions.RayError):
                actor.forget.remote(key, token)

    def _actor_of(self, node: str) -> Any:
        with self._lock:
            kept = self._kept.get(node)
        return None if kept is None else kept.actor


def _mismatch(packing: Packing, survey: Survey) -> str:
    """Say that another version of this package is installed there; empty if it is not."""
    if survey.code == packing.recipe.code:
        return ""
    other = "another build of it" if survey.version == __version__ else survey.version
    return (
        f"{survey.host}: lae-controller there is {other}; expected {__version__}, the very "
        "same as here. Install the same on every node, for example with "
        f"`pip install 'lae-controller[ray]=={__version__}'`"
    )


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


class Shared:
    """The keepers of this process: dispatchers with equal shares have them together.

    A keeper is a process on each node, and takes a second to start; recipes come and go.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[Share, str | None], Keepers] = {}

    def join(self, engine: Any, share: Share, packing: Packing) -> Keepers:
        """Return the keepers for a share, with one more recipe."""
        settings = packing.recipe.settings
        node_dir, note = settings.executor.node_dir, settings.lae_dir / "nodes.json"
        keepers = self._known.get((share, node_dir))
        if keepers is None:
            keepers = Keepers(engine, share, node_dir, lambda found: write_json(note, found))
            self._known[share, node_dir] = keepers
        keepers.join(packing)
        return keepers

    def leave(self, keepers: Keepers, key: str) -> None:
        """Let go of a recipe; the keepers end with the last one."""
        if keepers.leave(key):
            self._known = {at: each for at, each in self._known.items() if each is not keepers}
            keepers.close()


SHARED = Shared()

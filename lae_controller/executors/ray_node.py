"""The far end: what runs on a node, in the keeper's process and in those of workers.

The engine's own ways of ending things are not relied on. Every command runs under its warden, as on
one machine; the lifeline is held by the worker, and cut when the controller is not heard any more
(the keeper notes each sign of it), when the evaluation is not wanted any more, or by the worker's
own death.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from lae_controller.errors import ConfigError, LaeError, PrerequisiteError, RefusedError
from lae_controller.evaluators import Evaluator, Interrupted
from lae_controller.executors.packed import Pack, files_below, pack, unpack
from lae_controller.executors.ray_mirror import Mirror, Packs, Silent, home_of
from lae_controller.executors.ray_recipe import Recipe, code_digest, signature
from lae_controller.files import make_folder, remove_tree
from lae_controller.machine.accelerators import find
from lae_controller.machine.slots import Slot, slot_of
from lae_controller.sandbox.launch import Lifelines
from lae_controller.sandbox.programs import build
from lae_controller.sandbox.tiers import choose

SMALL_BYTES = 1 << 20
"""A file that a run leaves behind comes back with the result up to this size."""

SMALL_TOTAL_BYTES = 16 << 20
PIECE_BYTES = 16 << 20

_PATIENCE_S = 60.0
_KINDS: dict[str, type[LaeError]] = {
    kind.__name__: kind for kind in (ConfigError, PrerequisiteError, RefusedError)
}

Work = Callable[[Evaluator, Path, Path, Slot], Any]
"""What is done with a program there: (evaluator, program, folder of its runs, slot) -> a value."""


@dataclass(frozen=True, slots=True)
class Order:
    """One evaluation, on its way to whatever node is free.

    Attributes:
        token: which attempt of it; of one that is no longer current nothing is accepted.
        key, node_dir: which mirror.
        name: of the folder of its runs, as it is called on the controller's machine.
        own: the files in which its program differs from the harness.
        gone: the files of the harness that it does not have.
        scoring: what the scoring mode keeps, while that is still being settled; None later.
        gpus: how many of the node's it holds; below 1 for a share of one.
    """

    token: str
    key: str
    node_dir: str | None
    work: Work
    program: str
    name: str
    own: Pack
    gone: tuple[str, ...]
    scoring: Pack | None
    gpus: float


@dataclass(frozen=True, slots=True)
class Came:
    """What came of an order.

    Attributes:
        node: where it ran.
        value: what the work returned; None if it did not come to an end.
        error: (class, text) of what the user can mend; None if there was nothing.
        lost: why it has to be done again; empty if it has not.
        files: what the runs left behind, by path in the folder of the runs.
        scoring: what the scoring mode wrote down for itself.
        left: how many files were too large to come along.
    """

    token: str
    node: str
    value: Any = None
    error: tuple[str, str] | None = None
    lost: str = ""
    files: Pack = ()
    scoring: Pack = ()
    left: int = 0

    def exception(self) -> LaeError | None:
        """Return the error as it is raised on the controller's machine."""
        return None if self.error is None else _KINDS[self.error[0]](self.error[1])


@dataclass(frozen=True, slots=True)
class Survey:
    """What a keeper found on its node.

    Attributes:
        code: digest of the package that is installed there.
        trouble: why nothing can run there; empty if it can.
        packs: digests that are there already.
        data: path in the program -> where its data lies there, by the same path.
    """

    host: str
    version: str
    code: str
    trouble: str
    packs: frozenset[str]
    data: Mapping[str, str]


class Keeper:
    """One process a node: lays runs out there, and notes that the controller is heard."""

    def __init__(self, node_dir: str | None, node: str) -> None:
        self._home = home_of(node_dir)
        self._node = node

    def _mirror(self, key: str) -> Mirror:
        return Mirror(self._home, key, self._node)

    def survey(self, recipe: Recipe) -> Survey:
        """Look at the node: the code there, its isolation, what of the data is there."""
        from lae_controller import __version__

        mirror = self._mirror(recipe.key)
        mirror.sweep()
        code, trouble = code_digest(), ""
        if code == recipe.code:
            try:
                choose(recipe.settings.isolation)
            except PrerequisiteError as error:
                trouble = str(error)
        wanted = {recipe.base, recipe.scoring, recipe.withheld} - {""}
        return Survey(
            host=socket.gethostname(),
            version=__version__,
            code=code,
            trouble=trouble,
            packs=frozenset(digest for digest in wanted if mirror.packs.holds(digest)),
            data={
                each.path: each.target
                for each in recipe.data
                if signature(Path(each.target)) == each.signature
            },
        )

    def holds(self, digest: str) -> bool:
        """Say whether a pack is there."""
        return Packs(self._home).holds(digest)

    def add(self, digest: str, packed: Pack) -> None:
        """Take in a pack."""
        Packs(self._home).add(digest, packed)

    def lay_out(self, recipe: Recipe, data: Mapping[str, str], packed: Mapping[str, str]) -> None:
        """Make everything ready for workers.

        Args:
            data: path in the program -> where its data lies here.
            packed: path in the program -> ``digest`` or ``digest/file`` of a pack.
        """
        targets = {path: Path(target) for path, target in data.items()}
        for path, place in packed.items():
            targets[path] = Packs(self._home).path(place)
        self._mirror(recipe.key).lay_out(recipe, targets)

    def refuse(self, key: str, text: str) -> None:
        """Let nothing of a run happen here."""
        self._mirror(key).refuse(text)

    def beat(self, keys: Sequence[str]) -> list[str]:
        """Note that the controller was heard; returns the tokens of what is under way."""
        return [token for key in keys for token in self._mirror(key).beat()]

    def end(self, key: str, token: str) -> None:
        """End an evaluation that is not wanted any more."""
        self._mirror(key).end(token)

    def listing(self, key: str, token: str) -> list[tuple[str, int, int]]:
        """Return (path, mode, size) of all files that the runs of an evaluation left."""
        folder = self._mirror(key).run_folder(token)
        found = []
        for path in files_below(folder) if folder.is_dir() else ():
            place = folder / path
            if place.is_file() and not place.is_symlink():
                found.append((path, place.stat().st_mode & 0o777, place.stat().st_size))
        return found

    def piece(self, key: str, token: str, path: str, offset: int) -> bytes:
        """Return up to ``PIECE_BYTES`` of one of these files."""
        with (self._mirror(key).run_folder(token) / path).open("rb") as stream:
            stream.seek(offset)
            return stream.read(PIECE_BYTES)

    def forget(self, key: str, token: str) -> None:
        """Remove what an evaluation left here."""
        self._mirror(key).forget(token)

    def remove(self, key: str) -> None:
        """Remove all that a run has here; packs stay."""
        self._mirror(key).remove()


def perform(order: Order, node: str) -> Came:
    """Carry out an order in this process; never raises for what a child or a user did."""
    mirror = Mirror(home_of(order.node_dir), order.key, node)
    try:
        recipe = mirror.recipe(_PATIENCE_S)
        with _plain_environment():
            return _performed(order, node, mirror, recipe)
    except Silent as error:
        return Came(order.token, node, lost=str(error))
    except (ConfigError, PrerequisiteError, RefusedError) as error:
        text = f"{socket.gethostname()}: {error}"
        return Came(order.token, node, error=(type(error).__name__, text))


def _performed(order: Order, node: str, mirror: Mirror, recipe: Recipe) -> Came:
    program = mirror.program_folder(order.token) / order.program
    folder = mirror.run_folder(order.token) / order.name
    lae = mirror.folder / "lae"
    left = 0
    try:
        build(recipe.snapshot, lae / "base", program)
        unpack(order.own, program)
        for path in order.gone:
            (program / path).unlink(missing_ok=True)
        unpack(order.scoring or (), lae / "scoring")
        make_folder(folder)
        lifelines = Lifelines()
        with mirror.watched(order.token, recipe.silence, lifelines.end_all):
            value = order.work(_evaluator(recipe, mirror, lifelines), program, folder, _slot(order))
        files, left = _results(folder, program)
        return Came(order.token, node, value, files=files, scoring=_news(order, lae), left=left)
    except Interrupted as error:
        return Came(order.token, node, lost=str(error))
    finally:
        remove_tree(mirror.program_folder(order.token))
        if not left:
            mirror.forget(order.token)


def _evaluator(recipe: Recipe, mirror: Mirror, lifelines: Lifelines) -> Evaluator:
    """Return the Evaluator of this node; a run sees nothing of what others have here."""
    return recipe.evaluators(
        recipe.settings,
        lifelines,
        recipe.threads,
        recipe.snapshot,
        recipe.editable,
        hidden=(mirror.home, recipe.lae_dir),
    )


def _slot(order: Order) -> Slot:
    """Return the slot of what the engine gave this process, pinned by UUID.

    A device that no driver speaks of, as in a rehearsal, is named as the engine names it.
    """
    if not order.gpus:
        return Slot("cpu", {"CUDA_VISIBLE_DEVICES": ""})
    given = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    devices = _devices(given)
    if not devices:
        return Slot(f"gpu {given}", {"CUDA_VISIBLE_DEVICES": given})
    return slot_of(devices, shared=order.gpus < 1)


@lru_cache(maxsize=8)
def _devices(given: str) -> tuple[Any, ...]:
    return find(Path("/"), {"CUDA_VISIBLE_DEVICES": given}, 0).accelerators


def _results(folder: Path, program: Path) -> tuple[Pack, int]:
    """Return what comes back of the runs in ``folder``, and how many files stay here."""
    wanted: list[str] = []
    total = left = 0
    for path in files_below(folder):
        place = folder / path
        parts = Path(path).parts
        in_copy = parts[1:2] == ("work",)
        if place.is_symlink() or not place.is_file() or parts[1:2] in (("tmp",), ("proof",)):
            continue
        if in_copy and ("__pycache__" in parts or _same(place, program.joinpath(*parts[2:]))):
            place.unlink()  # of the program: it is known
            continue
        size = place.stat().st_size
        if not in_copy or (size <= SMALL_BYTES and total + size <= SMALL_TOTAL_BYTES):
            total += size
            wanted.append(path)
        else:
            left += 1
    return pack(folder, wanted), left


def _same(place: Path, original: Path) -> bool:
    if not original.is_file() or original.stat().st_size != place.stat().st_size:
        return False
    return original.read_bytes() == place.read_bytes()


def _news(order: Order, lae: Path) -> Pack:
    """Return what the scoring mode wrote down that the order did not bring."""
    if order.scoring is None or not (lae / "scoring").is_dir():
        return ()
    known = {each.path for each in order.scoring}
    found = pack(lae / "scoring", files_below(lae / "scoring"))
    return tuple(each for each in found if each.path not in known)


@contextlib.contextmanager
def _plain_environment() -> Iterator[None]:
    """Hide from training runs how this process was started: they are no part of the cluster."""
    own = {key: value for key, value in os.environ.items() if key.startswith("RAY_")}
    for key in own:
        del os.environ[key]
    try:
        yield
    finally:
        os.environ.update(own)


def own_files(program: Path, recipe: Recipe) -> tuple[Pack, tuple[str, ...]]:
    """Return the files in which a program differs from the harness, and those it has not.

    Only editable and added files can differ (see ``programs.check_bounds``).
    """
    copies = recipe.snapshot.copies()
    harness = copies.keys() - set(recipe.editable)
    own = [path for path in files_below(program) if path not in harness]
    gone = tuple(path for path in copies if not (program / path).is_file())
    return pack(program, own), gone

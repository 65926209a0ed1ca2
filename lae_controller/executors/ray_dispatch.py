"""Evaluations on their way: each has a token, and only what bears the current one is accepted.

The engine retries nothing. What was lost with its node is sent again under a new token; the old
one is called off everywhere, and should its node only have been cut off, the work there ends by
itself, as it does not hear the controller any more.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from lae_controller.errors import LaeError, PrerequisiteError
from lae_controller.executors.packed import unpack
from lae_controller.executors.ray_cluster import Share
from lae_controller.executors.ray_keepers import SHARED, Keepers
from lae_controller.executors.ray_node import Came, Order, Work, own_files, perform
from lae_controller.executors.ray_packing import Packing, scoring_of

_TRIES = 6
"""How often in all one evaluation is sent, as long as nodes are lost under it."""

_ENDING_S = 20.0


@dataclass(frozen=True, slots=True)
class Sent:
    """An evaluation that is under way.

    Attributes:
        name: what the sender calls it.
        number: how often it was sent before.
        folder: where its runs are to be found on this machine.
    """

    name: str
    number: int
    order: Order
    folder: Path


@dataclass(frozen=True, slots=True)
class Out:
    """An evaluation that has come back.

    Attributes:
        value: None if there is an error.
        node, token: where its large files are, if any stayed there; else empty.
    """

    name: str
    value: Any
    error: LaeError | None
    node: str
    token: str


class Dispatcher:
    """Sends programs to nodes and takes in what comes back. One thread calls it.

    Args:
        pack: called when the first evaluation is sent: packing may take a while.
        everything: whether large files come back, too, without being asked for.
    """

    def __init__(
        self, engine: Any, pack: Callable[[], Packing], share: Share, *, everything: bool = False
    ) -> None:
        self._engine = engine
        self._pack = pack
        self._share = share
        self._number = itertools.count()
        self._everything = everything
        # A worker that was given a GPU is used again, too: it never touches the device itself.
        self._task = engine.remote(max_calls=0)(_perform)
        self._sent: dict[Any, Sent] = {}
        self._closed = False

    @cached_property
    def _packing(self) -> Packing:
        return self._pack()

    @cached_property
    def keepers(self) -> Keepers:
        """The keepers; nothing is begun on any node before the first evaluation is sent."""
        return SHARED.join(self._engine, self._share, self._packing)

    @property
    def _key(self) -> str:
        return self._packing.recipe.key

    def __len__(self) -> int:
        """How many evaluations are under way."""
        return len(self._sent)

    def send(
        self, name: str, work: Work, program: Path, folder: Path, *, settling: bool = False
    ) -> None:
        """Send a program.

        Args:
            name: no two under way may have the same.
            settling: whether what the scoring mode keeps is still being settled.
        """
        recipe = self._packing.recipe
        own, gone = own_files(program, recipe)
        order = Order(
            token="",
            key=recipe.key,
            node_dir=recipe.settings.executor.node_dir,
            work=work,
            program=program.name,
            name=folder.name,
            own=own,
            gone=gone,
            scoring=scoring_of(recipe.settings) if settling else None,
            gpus=self._share.gpus,
        )
        self._send(Sent(name, 0, order, folder))

    def _send(self, sent: Sent) -> None:
        _ = self.keepers
        token = f"{sent.name}~{next(self._number)}"  # never the same twice
        sent = replace(sent, order=replace(sent.order, token=token))
        options = self._share.options()
        task = self._task.options(
            **options,
            name=token,
            max_retries=0,
            scheduling_strategy="SPREAD",
        )
        self._sent[task.remote(sent.order)] = sent

    def running(self) -> tuple[str, ...]:
        """Return the names of what holds a slot now, as last heard from the nodes."""
        there = self.keepers.under_way() if self._sent else set()
        return tuple(sent.name for sent in self._sent.values() if sent.order.token in there)

    def back(self, timeout: float) -> list[Out]:
        """Return what came back; waits up to ``timeout`` seconds if nothing did."""
        if not self._sent:
            time.sleep(timeout)
            return []
        engine, refs = self._engine, list(self._sent)
        first, _ = engine.wait(refs, num_returns=1, timeout=timeout)
        if not first:
            return []
        ready, _ = engine.wait(refs, num_returns=len(refs), timeout=0)
        outs = [self._take(ref) for ref in {*first, *ready}]
        return [out for out in outs if out is not None]

    def _take(self, ref: Any) -> Out | None:
        """Take in one that ended; None if it was lost and has been sent again."""
        sent = self._sent.pop(ref)
        came = self._came(ref, sent)
        if came.token != sent.order.token:
            came = replace(came, lost=f"a result of {came.token} came for {sent.order.token}")
        if came.lost and sent.number + 1 < _TRIES:
            self.keepers.end(self._key, sent.order.token)
            self._send(replace(sent, number=sent.number + 1))
            return None
        error = came.exception()
        if came.lost:
            error = PrerequisiteError(
                f"{sent.name}: it was lost {_TRIES} times with the node it ran on: {came.lost}. "
                "Look after the cluster, and give the same command again"
            )
        if error is None:
            unpack(came.files, sent.folder)
            unpack(came.scoring, self._packing.recipe.lae_dir / "scoring")
        left = bool(came.left) and error is None
        if left and self._everything:
            self.bring(came.node, came.token, sent.folder)
            self.forget(came.node, came.token)
            left = False
        node, token = (came.node, came.token) if left else ("", "")
        return Out(sent.name, came.value, error, node, token)

    def _came(self, ref: Any, sent: Sent) -> Came:
        """Return what came of a task, whatever became of it."""
        kinds, token = self._engine.exceptions, sent.order.token
        try:
            came: Came = self._engine.get(ref)
            return came
        except kinds.RayTaskError as error:
            text = f"{sent.name}: it could not be carried out on its node: {_last_line(error)}"
            return Came(token, "", error=("PrerequisiteError", text))
        except kinds.RuntimeEnvSetupError as error:
            text = f"a node cannot set up the environment of its workers: {_last_line(error)}"
            return Came(token, "", error=("PrerequisiteError", text))
        except kinds.RayError as error:
            return Came(token, "", lost=f"{type(error).__name__}: {_last_line(error)}")

    def bring(self, node: str, token: str, folder: Path) -> None:
        """Fetch the large files of an evaluation into ``folder``, if its node is still there."""
        self.keepers.bring(node, self._key, token, folder)

    def forget(self, node: str, token: str) -> None:
        """Let a node remove what an evaluation left there."""
        self.keepers.forget(node, self._key, token)

    def call_off(self) -> None:
        """End everything that is under way, and wait until it is gone."""
        engine, refs = self._engine, list(self._sent)
        if not refs:
            return
        there = self.keepers.under_way()
        for ref, sent in self._sent.items():
            self.keepers.end(self._key, sent.order.token)
            if sent.order.token not in there:  # what runs ends in order, by its lifeline
                with contextlib.suppress(engine.exceptions.RayError):
                    engine.cancel(ref, force=False)
        engine.wait(refs, num_returns=len(refs), timeout=_ENDING_S)
        self._sent.clear()

    def close(self) -> None:
        """End everything and let go of the nodes; idempotent."""
        if self._closed:
            return
        self._closed = True
        if "keepers" in self.__dict__:
            self.call_off()
            SHARED.leave(self.keepers, self._key)


def _perform(order: Order) -> Came:
    """Carry out an order; the engine knows on which node."""
    import ray

    return perform(order, ray.get_runtime_context().get_node_id())


def _last_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1].strip() if lines else type(error).__name__

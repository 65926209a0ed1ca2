"""Whether it pays to send a failed change back to its model, rather than to ask for another."""

from __future__ import annotations

from lae_controller.mutators.credit import HALF_LIFE

_MENDED, _MENDS = 1.0, 2.0  # what is believed before anything is known, as if it had been seen
_AT_ONCE, _CHILDREN = 2.0, 4.0
_WORTH = 3.0  # a mended change was worth an evaluation once; a new one may be worth nothing


class Mending:
    """A fold over told children: how often answers are usable, first ones and those to a failure.

    The same children told in the same order give the same answer. Old ones count less, so that a
    model is tried again later.
    """

    def __init__(self) -> None:
        self._decay = 0.5 ** (1.0 / HALF_LIFE)
        self._mends = self._mended = self._children = self._at_once = 0.0

    def tell(self, mends: int, *, usable: bool) -> None:
        """Count one child.

        Args:
            mends: failures that went back to the model. A reply that was cut off, and so asked for
                once more, is none.
            usable: whether what came of it is a program that runs.
        """
        at_once, mended = usable and not mends, usable and mends > 0
        self._children = self._decay * self._children + 1.0
        self._at_once = self._decay * self._at_once + at_once
        self._mends = self._decay * self._mends + mends
        self._mended = self._decay * self._mended + mended

    def pays(self, failed: int = 0) -> bool:
        """Return whether an answer to a failure is usable at least a third as often as a first one.

        Args:
            failed: answers to failures that were none, of children that have not been told.
        """
        first = (_AT_ONCE + self._at_once) / (_CHILDREN + self._children)
        mend = (_MENDED + self._mended) / (_MENDS + self._mends + failed)
        return _WORTH * mend >= first

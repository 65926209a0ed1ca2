"""One stated idea for each child: without one a model proposes the same change again and again.

The ideas are general kinds of training change. Those with no foothold in the program's words are
left out, and they come round in an order that depends on the child's id alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lae_controller.change.identifiers import words
from lae_controller.program import Intervention, parse_child_id, rng_for
from lae_controller.prompts.anchors import Anchor, anchors, constants
from lae_controller.task import Credit, Task

_OFTEN = 6.0  # children (their number decays with age) from which a kind may be over-used
_SOME_BREAK = 0.15  # share of broken children that is no reason to ask for less
_MANY_BREAK = 0.35  # share from which new code is hardly asked for
_STILL = 0.1  # of the ideas that need new code are stated even then


@dataclass(frozen=True, slots=True)
class Idea:
    """A kind of change.

    Attributes:
        wordings: ways to put it, drawn from.
        footholds: words of identifiers, one of which the program must hold; empty for any.
        anchored: whether a line with one of them is quoted, any constant if there are none.
            Such an idea is about a number; all others need new code.
    """

    kind: Intervention
    wordings: tuple[str, ...]
    footholds: frozenset[str] = frozenset()
    anchored: bool = False


def _idea(kind: Intervention, wordings: str, footholds: str = "", *, anchored: bool = True) -> Idea:
    texts = tuple(wording.strip() for wording in wordings.split("|"))
    return Idea(kind, texts, frozenset(footholds.split()), anchored)


_RATE = "lr eta rate learning"
_BATCH = "batch bs batchsize"
_WEIGHTS = "normal randn rand uniform xavier kaiming init std"
_LAYERS = "hidden width layers layer units channels filters embd heads depth blocks"

# Half of them are about numbers, which even a weak model can change without breaking the program.
IDEAS = (
    _idea(
        Intervention.OPTIMISER,
        "a learning rate twice as large | a learning rate four times as large"
        " | a learning rate ten times as large",
        _RATE,
    ),
    _idea(
        Intervention.ARCHITECTURE,
        "twice as many hidden units or channels | four times as many hidden units or channels"
        " | eight times as many hidden units or channels | half as many hidden units or channels",
        _LAYERS,
    ),
    _idea(
        Intervention.SCHEDULE,
        "a learning rate that falls during the training | a warm-up of the learning rate"
        " | a smaller learning rate towards the end of the training",
        _RATE,
        anchored=False,
    ),
    _idea(
        Intervention.INIT,
        "initial weights twice as large | initial weights half as large"
        " | initial weights scaled by the size of their layer",
        _WEIGHTS,
    ),
    _idea(Intervention.DATA, "a batch size half as large | a quarter of the batch size", _BATCH),
    _idea(
        Intervention.ARCHITECTURE,
        "a better activation function (and its gradient, where that is written out)"
        " | an activation function that does not saturate (and its gradient, where that is written"
        " out)",
        "relu gelu silu tanh sigmoid activation act exp elu softplus",
        anchored=False,
    ),
    _idea(
        Intervention.OTHER,
        "another value of a constant | a much larger or much smaller value of a constant",
    ),
    _idea(
        Intervention.OPTIMISER,
        "a learning rate half as large | a learning rate smaller by a third",
        _RATE,
    ),
    _idea(
        Intervention.REGULARISATION,
        "a little weight decay | some dropout or noise | a softer target (label smoothing)",
        "loss decay dropout weight softmax train fit update",
        anchored=False,
    ),
    _idea(
        Intervention.OPTIMISER,
        "momentum in the updates | another rule for the updates | a limit on the gradients",
        "sgd adam adamw optim optimizer optimiser momentum grad grads gradient gradients velocity"
        " backward step train update",
        anchored=False,
    ),
    _idea(Intervention.DATA, "a batch size twice as large | a batch size larger by a half", _BATCH),
    _idea(
        Intervention.DATA,
        "inputs that are scaled or centred better | some noise or augmentation on the inputs",
        "images image inputs input x data loader transform augment normalize normalise",
        anchored=False,
    ),
    _idea(
        Intervention.ARCHITECTURE,
        "one more layer | a direct path from input to output | normalised activations",
        f"{_LAYERS} linear conv dense",
        anchored=False,
    ),
    _idea(Intervention.INIT, "different initial values in one place", _WEIGHTS),
    _idea(Intervention.OTHER, "an idea of your own that was not tried yet", anchored=False),
)

_GENERAL = (
    _idea(Intervention.OTHER, "another way to do one step of the program", anchored=False),
    _idea(Intervention.OTHER, "a simpler form of one function", anchored=False),
    _idea(Intervention.OTHER, "a case that is handled badly so far", anchored=False),
)
_FEW = 6  # ideas with a foothold, below which the program is hardly a training program


def idea_for(task: Task) -> str:
    """Return the idea that is stated to the Mutator of this child.

    Children of one generation get neighbours in the list, so that they differ; the next
    generation starts elsewhere. An idea of an over-used kind gives way every second time, and
    one that needs new code the more often, the more of the run's children are broken.
    """
    ideas = _with_foothold(task)
    gen, island, slot = parse_child_id(task.child_id)
    at = gen * _stride(len(ideas)) + island + slot
    rng = rng_for(task.seed, task.child_id, "idea")
    worn, easier = overused(task.kinds), _easier(task.kinds)
    order = [ideas[(at + step) % len(ideas)] for step in range(len(ideas))]
    fitting = (
        idea
        for idea in order
        if (idea.kind not in worn or rng.random() < 0.5)
        and (idea.anchored or not easier or rng.random() >= easier)
    )
    chosen = next(fitting, order[0])
    wording = rng.choice(chosen.wordings)
    lines = _quotable(task, chosen)
    return with_anchor(wording, rng.choice(lines), titled=len(task.files) > 1) if lines else wording


def _easier(kinds: Mapping[str, Credit]) -> float:
    """Return how often an idea that needs new code gives way to one about a number, 0 to 1.

    A weak model breaks most programs that it has to write new code for: of a real one with 1.5
    billion parameters two in three, and one in four where only a number was to change.
    """
    tried = sum(credit.tried for credit in kinds.values())
    if tried < _OFTEN:
        return 0.0
    share = sum(credit.broken for credit in kinds.values()) / tried
    reached = (share - _SOME_BREAK) / (_MANY_BREAK - _SOME_BREAK)
    return (1 - _STILL) * min(1.0, max(0.0, reached))


def with_anchor(wording: str, anchor: Anchor, *, titled: bool) -> str:
    """Return an idea with the line that it is about, and its file where there are several."""
    return f"{wording}, see `{anchor.line}`" + (f" in {anchor.path}" if titled else "")


def _quotable(task: Task, idea: Idea) -> list[Anchor]:
    if not idea.anchored:
        return []
    return anchors(task, idea.footholds) if idea.footholds else constants(task)


def _with_foothold(task: Task) -> Sequence[Idea]:
    there = {word for text in task.files.values() for word in words(text)}
    found = [idea for idea in IDEAS if not idea.footholds or idea.footholds & there]
    return found if len(found) >= _FEW else [*found, *_GENERAL]


def _stride(length: int) -> int:
    """Return a step, near the golden section of ``length``, that visits every position."""
    start = max(1, round(length * 0.618))
    return next(step for step in range(start, start + length) if math.gcd(step, length) == 1)


def overused(kinds: Mapping[str, Credit]) -> tuple[Intervention, ...]:
    """Return the kinds that are tried often and kept less than half as often as all together."""
    tried = sum(credit.tried for credit in kinds.values())
    rate = sum(credit.paid for credit in kinds.values()) / tried if tried else 0.0
    return tuple(
        kind
        for kind in Intervention
        if kind.value in kinds
        and kinds[kind.value].tried >= _OFTEN
        and kinds[kind.value].paid < rate / 2 * kinds[kind.value].tried
    )


def underused(kinds: Mapping[str, Credit]) -> tuple[Intervention, ...]:
    """Return the kinds that got less than half of an equal share, once there is a history."""
    real = [kind for kind in Intervention if kind is not Intervention.OTHER]
    counts = {kind: kinds[kind.value].tried if kind.value in kinds else 0.0 for kind in real}
    total = sum(counts.values())
    if total < _OFTEN:
        return ()
    return tuple(kind for kind in real if counts[kind] < total / len(real) / 2)

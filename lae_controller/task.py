"""What a Mutator is given and what it returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lae_controller.program import Artifacts, Direction, Files, Intervention, Reason, Usage


@dataclass(frozen=True, slots=True)
class Inspiration:
    """A program shown to a Mutator beside the parent.

    Attributes:
        role: ``top`` (by metric) or ``diverse``.
        summary: what its own change was; empty for the baseline.
    """

    child_id: str
    metric: float
    role: str
    summary: str
    files: Files


@dataclass(frozen=True, slots=True)
class Tried:
    """An earlier child of the same parent, and how it ended.

    Attributes:
        outcome: ``kept``, ``not kept``, ``no effect``, or the reason of its failure.
        digest: normal-form digest of its code (see ``normal_form``); None if it never applied.
    """

    child_id: str
    summary: str
    intervention: Intervention
    outcome: str
    metric: float | None
    digest: str | None


@dataclass(frozen=True, slots=True)
class Credit:
    """How one mutation operator, or kind of intervention, has done lately (all decay with age).

    Attributes:
        tried: children made by it.
        paid: those of them that were kept.
        broken: those whose change did not apply, or whose program did not run to its end.
    """

    tried: float
    paid: float
    broken: float = 0.0


@dataclass(frozen=True, slots=True)
class Failure:
    """An earlier proposal for the same child that came to nothing, for the next try.

    Attributes:
        reply: what the model answered, as it came.
        detail: what was wrong with it: the nearest lines, or a trimmed traceback.
    """

    reply: str
    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True)
class Task:
    """Everything a Mutator is given to propose one child.

    Attributes:
        attempt: 0 the first time this id is asked for, one more after each interruption.
        editable: the globs that may be changed; new files may be added anywhere else
            except over harness and data.
        files: the parent's editable and added files.
        credits: operator name -> Credit, for Mutators that choose among operators.
        idle: ``path::Class.method`` of functions that the baseline never entered: changing them
            changes nothing, unless the change is what makes them used.
        failures: what was proposed for this very child before and went wrong, oldest first.
        kinds: kind of intervention -> how its children have done lately, over the whole run.
        empty_regions: where the map is empty, in words; only while coverage stalls.
        run_cmd: the training command.
        budget: one full run, in words: ``8 epochs or steps``, ``300 s``.
        insights: remarks of the evaluator on earlier programs.
        promise: whether the Mutator is asked how promising the child is, from 1 to 10.
        directory: where the child's files lie, the parent's code not yet changed.
        context: what the task is about, in the words of whoever set it: an evaluator's
            docstring, an experiment's description.
        whole_files: show files with evolve blocks whole, not only what lies inside the blocks.
        project: where the user's own tree lies, which nobody may write; empty if it is not known.
        isolation: how an agent that edits files is kept apart, as the setting of that name.
        inert: lines of the parent, as ``path: line``, that some child changed in vain, latest last.
    """

    child_id: str
    parent_id: str
    gen: int
    island: int
    attempt: int
    seed: int
    metric_name: str
    direction: Direction
    editable: tuple[str, ...]
    protected: tuple[str, ...]
    files: Files
    parent_metric: float | None
    parent_artifacts: Artifacts
    inspirations: tuple[Inspiration, ...]
    tried: tuple[Tried, ...]
    credits: Mapping[str, Credit]
    idle: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    kinds: Mapping[str, Credit] = field(default_factory=dict)
    empty_regions: tuple[str, ...] = ()
    run_cmd: str = ""
    budget: str = ""
    insights: tuple[str, ...] = ()
    promise: bool = False
    directory: str = ""
    context: str = ""
    whole_files: bool = False
    project: str = ""
    isolation: str = "auto"
    inert: tuple[str, ...] = ()


def inert_line(path: str, line: str) -> str:
    """Name a line of a file as ``Task.inert`` does, whatever its indentation."""
    return f"{path}: {line.strip()}"


@dataclass(frozen=True, slots=True)
class ReplyTimes:
    """When a reply of a model was asked for, began to come in and was whole.

    All in seconds of the machine's monotonic clock, which its processes share.
    """

    sent: float
    began: float
    ended: float


@dataclass(frozen=True, slots=True)
class Mutation:
    """What a Mutator returns: one SEARCH/REPLACE change over one or more files.

    Attributes:
        change: the text of the change; empty if nothing could be proposed.
        summary: one line without tab, newline or comma.
        operator: which operator made it; ``-`` where the notion does not apply.
        reply: the model's answer as it came, for a repair; empty where no model was asked.
        usage: None where no model was asked.
        promise: how promising the proposer finds it, from 1 to 10; None if it did not say.
        repaired: what had to be forgiven to read the answer, in words.
        replies: those that came in whole, as far as the backend sees them come.
    """

    change: str
    summary: str
    intervention: Intervention
    operator: str
    reply: str = ""
    usage: Usage | None = None
    promise: float | None = None
    repaired: tuple[str, ...] = ()
    replies: tuple[ReplyTimes, ...] = ()


@dataclass(frozen=True, slots=True)
class MutatorFailure:
    """Why a Mutator proposed nothing that can be used.

    Attributes:
        reason: MUTATOR_ERROR, REFUSED, BAD_DIFF and the like; ENVIRONMENT if only its service
            failed, which is no child's fault.
        reply: what the model answered, if it did.
        fatal: whether no further proposal can succeed either, such as with a bad key.
        unaccounted: whether its process was killed, so that nobody knows what it spent.
        replies: as of a ``Mutation``.
    """

    reason: Reason
    detail: str
    reply: str = ""
    usage: Usage | None = None
    fatal: bool = False
    unaccounted: bool = False
    replies: tuple[ReplyTimes, ...] = ()

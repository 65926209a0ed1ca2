"""The money for model calls: nothing is begun that could pass ``max_cost_usd``."""

from __future__ import annotations

from lae_controller.config import MutatorSettings, Settings
from lae_controller.errors import ConfigError
from lae_controller.mutators.cost_limit import worst_cost
from lae_controller.prices import BYTES_A_TOKEN, DEFAULT_MODEL, table, worst_call
from lae_controller.program import Files
from lae_controller.scoring import GRADING_TRIES, JUDGE
from lae_controller.state import RunState
from lae_controller.task import Task

_FORM_TOKENS = 500  # what a judge is told beside rubric and text
_BYTES_OF_A_REPLY = 4  # a token of a proposal adds so much to the text, mostly


class Purse:
    """What may still be spent, the most that children under way can cost taken off.

    A child is proposed by a model, or graded by one, or both. An agent's command line says what it
    cost only afterwards; with such a backend no further proposal is begun once the limit is
    reached.

    Attributes:
        is_empty: whether a proposal had to be left, as it could have passed the limit.
    """

    def __init__(self, settings: Settings, state: RunState) -> None:
        self._settings = settings
        self._state = state
        self._committed: dict[str, float] = {}
        self._lost = 0.0
        self.is_empty = False

    def commit(self, task: Task, mutator: MutatorSettings) -> bool:
        """Set aside what a child can cost at most; returns whether there is enough.

        Args:
            mutator: by which this child is proposed; its model need not be that of another.
        """
        if self._settings.mutator.max_cost_usd is None:
            return True
        held = sum(
            most
            for child, most in self._committed.items()
            if child != task.child_id and child in self._state.asked
        )
        text = _bytes_of(task.files) + _BYTES_OF_A_REPLY * mutator.max_tokens
        graded = _worst_cascade(self._settings, text)
        proposed = worst_cost(task, mutator)
        most = None if graded is None or proposed is None else graded + proposed
        if not affords(self._settings, spent_usd(self._state) + self._lost + held, most):
            self.is_empty = True
            return False
        self._committed[task.child_id] = most or 0.0
        return True

    def lose(self, child_id: str) -> None:
        """Count all that was set aside as spent: the process was killed before it could say."""
        self._lost += self._committed.pop(child_id, 0.0)

    def settle(self, child_id: str, cost: float) -> None:
        """Set aside what a child really cost, which counts as spent once it is told."""
        self._committed[child_id] = cost


def worst_gradings(settings: Settings, text_bytes: float, gradings: int) -> float | None:
    """Return the most that so many gradings of a text can cost in USD; 0.0 if no model grades.

    Returns:
        None if what the judge's model costs is not known.
    """
    judge = settings.scoring.judge
    if settings.scoring.mode != JUDGE or judge.backend != "anthropic":
        return 0.0
    rubric = settings.lae_dir / "base" / (settings.scoring.rubric or "")
    read = text_bytes + (rubric.stat().st_size if rubric.is_file() else 0)
    tokens = read / BYTES_A_TOKEN + _FORM_TOKENS
    call = worst_call(judge.model or DEFAULT_MODEL, tokens, judge.max_tokens)
    return None if call is None else GRADING_TRIES * gradings * call


def worst_grading(settings: Settings, files: Files) -> float | None:
    """Return the most in USD that the cascade of one program can cost where a model grades.

    Returns:
        None if what the judge's model costs is not known; 0.0 if no model grades.
    """
    return _worst_cascade(settings, _bytes_of(files))


def _worst_cascade(settings: Settings, text_bytes: float) -> float | None:
    shards = settings.scoring.shards
    return worst_gradings(settings, text_bytes, shards.rollout + shards.gate)


def spent_usd(state: RunState) -> float:
    """Return what model calls have cost so far, as far as prices are known."""
    return state.usage.cost_usd or 0.0


def affords(settings: Settings, spent: float, most: float | None) -> bool:
    """Say whether so much more may be spent.

    Args:
        spent: in USD, with what is set aside.
        most: in USD; None if it is not known: that may be begun until the limit is reached.
    """
    limit = settings.mutator.max_cost_usd
    if limit is None:
        return True
    return spent < limit if most is None else spent + most <= limit


def affords_runs(settings: Settings, spent: float, runs: int, files: Files) -> bool:
    """Say whether so many further full runs of a program can be paid for, where a model grades."""
    return _affords_gradings(settings, spent, runs * settings.scoring.shards.gate, files)


def affords_stage(settings: Settings, spent: float, stage: str, files: Files) -> bool:
    """Say whether one run of a program can be paid for, where a model grades.

    Args:
        stage: ``smoke``, or any other for a full run.
    """
    shards = settings.scoring.shards
    gradings = shards.rollout if stage == "smoke" else shards.gate
    return _affords_gradings(settings, spent, gradings, files)


def _affords_gradings(settings: Settings, spent: float, gradings: int, files: Files) -> bool:
    if settings.mutator.max_cost_usd is None:
        return True
    return affords(settings, spent, worst_gradings(settings, _bytes_of(files), gradings))


def check_baseline_cost(settings: Settings, files: Files) -> None:
    """Check, before anything is run, that grading the baseline cannot pass ``max_cost_usd``.

    Args:
        files: its editable files.

    Raises:
        ConfigError: if it can, or if what the judge's model costs is not known.
    """
    check_grading_limit(settings)
    shards, runs = settings.scoring.shards, settings.confirm.baseline_runs
    gradings = runs * (shards.rollout + shards.gate)
    most = worst_gradings(settings, _bytes_of(files), gradings)
    if not affords(settings, 0.0, most):
        raise ConfigError(
            f"grading the baseline {gradings} times can cost {most:.2g} USD, and mutator."
            f"max_cost_usd is {settings.mutator.max_cost_usd:g}. Nothing was run; raise the limit, "
            "or lower confirm.baseline_runs, scoring.shards or scoring.judge.max_tokens"
        )


def check_grading_limit(settings: Settings) -> None:
    """Check that ``max_cost_usd`` can be kept where a model grades.

    Raises:
        ConfigError: if it is set, but what the judge's model costs is not known.
    """
    model, limit = settings.scoring.judge.model or DEFAULT_MODEL, settings.mutator.max_cost_usd
    if limit is None or worst_gradings(settings, 0.0, 1) is not None:
        return
    as_of, known = table()
    raise ConfigError(
        f"mutator.max_cost_usd is {limit:g}, but the price of the judge {model!r} is not in the "
        f"table of {as_of}; expected one of {', '.join(sorted(known))}. Choose one of them with "
        "scoring.judge.model, or leave max_cost_usd out: tokens are counted all the same"
    )


def _bytes_of(files: Files) -> int:
    return sum(len(text.encode("utf-8", "replace")) for text in files.values())

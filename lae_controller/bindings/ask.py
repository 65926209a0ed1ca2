"""Asking a person what the project itself does not say. Who is asked, and how, is passed in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath

from lae_controller.bindings.candidates import direction_of
from lae_controller.bindings.proposal import Proposal, Suggestion, read_value
from lae_controller.errors import ConfigError
from lae_controller.evolution import EvolutionSettings
from lae_controller.quantities import parse_duration

ADVANCED = (
    "num_islands",
    "num_top",
    "num_diverse",
    "num_bins",
    "migration_interval",
    "diversity_reference_size",
    "pop_per_island",
    "seed",
)
"""The settings behind the one yes/no question; the schema bounds them."""

_MAY_BE_ZERO = frozenset({"num_top", "num_diverse", "seed"})
_TRIES = 5
_KINDS: dict[str, tuple[str, ...]] = {
    "editable_files": ("array",),
    "budget": ("integer", "number"),
    "total_budget": ("integer", "string"),
}
_CHOICES = {"metric_direction": ("maximize", "minimize"), "gate": ("epochs", "time")}
_TEXTS = {
    "run_cmd": "Command of one training run",
    "metric": "Metric, as the run prints it",
    "metric_direction": "Is more or less of it better",
    "editable_files": "Files that may change (paths, globs or numbers from the list)",
    "gate": "Unit of the budget of one run",
    "budget": "Budget of one full run, in that unit",
    "budget_key": "Where the budget is set: --flag, key=, env:NAME or file.yaml:key",
    "total_budget": "Total budget: a number of full runs, or a time such as 8h",
}


@dataclass(frozen=True, slots=True)
class Question:
    """One thing to be asked.

    Attributes:
        key: of ``loop.run.yaml``; ``evolution`` for the question whether its defaults will do.
        text: the question, without a mark at its end.
        default: what an empty answer means; None if there must be an answer.
        choices: the only answers, or likely ones, numbered from 1 where they are shown.
        why: where the default comes from.
        problem: what was wrong with the answer before; empty the first time.
    """

    key: str
    text: str
    default: str | None
    choices: tuple[str, ...] = ()
    why: str = ""
    problem: str = ""


Ask = Callable[[Question], str]


def ask_missing(proposal: Proposal, ask: Ask) -> Proposal:
    """Ask for what is missing or only guessed, then whether the evolution's defaults will do.

    Editable files are asked for unless they were given; no answer is ever assumed for them.

    Raises:
        ConfigError: if five answers in a row to one question cannot be used.
    """
    for key in ("run_cmd", "metric", "metric_direction", "editable_files", "gate"):
        proposal = _settle(proposal, key, ask)
    if _lacks_budget_key(proposal):
        proposal = _settle(proposal, "budget_key", ask)
    for key in ("budget", "total_budget"):
        proposal = _settle(proposal, key, ask)
    return _ask_advanced(proposal, ask)


def _lacks_budget_key(proposal: Proposal) -> bool:
    return (
        proposal.value("gate") == "epochs"
        and "{budget}" not in str(proposal.value("run_cmd"))
        and proposal.value("budget_key") is None
    )


def _settle(proposal: Proposal, key: str, ask: Ask) -> Proposal:
    old = proposal.find(key) or Suggestion(key, None, "not found")
    if old.certain and old.value is not None:
        return proposal
    choices = _CHOICES.get(key) or tuple(str(one) for one in old.alternatives)
    default = None if old.value is None else str(old.value)
    question = Question(key, _TEXTS[key], default, choices, old.reason)
    value = _answer(question, ask, partial(_read, proposal.root, question))
    if value == old.value:
        return proposal.with_suggestion(replace(old, certain=True))
    new = proposal.with_suggestion(Suggestion(key, value, "given by you", certain=True))
    return _follow_up(new, key, value)


def _follow_up(proposal: Proposal, key: str, value: object) -> Proposal:
    """Take back what was inferred from an answer that turned out different."""
    if key == "metric":
        way = direction_of(str(value))
        direction = Suggestion("metric_direction", way, f"by the name {value}")
        return _without(proposal, "metric_pattern", "metric_file").with_suggestion(direction)
    if key == "run_cmd":
        return _without(proposal, "entrypoint")
    return proposal


def _without(proposal: Proposal, *keys: str) -> Proposal:
    kept = tuple(one for one in proposal.suggestions if one.key not in keys)
    return replace(proposal, suggestions=kept)


def _answer(question: Question, ask: Ask, read: Callable[[str], object]) -> object:
    for _ in range(_TRIES):
        text = ask(question).strip() or question.default or ""
        try:
            return read(text)
        except ConfigError as error:
            question = replace(question, problem=str(error))
    raise ConfigError(f"{question.problem}. Give it with --set {question.key}=VALUE instead")


def _read(root: Path, question: Question, text: str) -> object:
    key = question.key
    if not text:
        raise ConfigError(f"{key} is empty; expected an answer")
    if key in _CHOICES and text not in _CHOICES[key]:
        raise ConfigError(f"{key} is {text!r}; expected {' or '.join(_CHOICES[key])}")
    if key == "editable_files":
        return _read_paths(root, text, question.choices)
    value = read_value(key, text, _KINDS.get(key, ("string",)))
    if isinstance(value, int | float) and not value > 0:
        raise ConfigError(f"{key} is {text}; expected a number above 0")
    if key == "total_budget" and isinstance(value, str):
        parse_duration(value)
    return value


def _read_paths(root: Path, text: str, listed: tuple[str, ...]) -> tuple[str, ...]:
    """Read paths, globs and numbers of listed files, separated by commas."""
    found: dict[str, None] = {}
    for part in (part.strip() for part in text.split(",") if part.strip()):
        path = part
        if part.isdigit() and 1 <= int(part) <= len(listed):
            path = listed[int(part) - 1]
        found[_checked(root, path)] = None
    return tuple(found)


def _checked(root: Path, path: str) -> str:
    if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
        raise ConfigError(f"editable_files: {path!r} lies outside; expected a path in the project")
    if path.endswith(".ipynb"):
        raise ConfigError(
            f"editable_files: {path} is a notebook; expected a source file. "
            f"`jupyter nbconvert --to script {path}` makes one of it"
        )
    if not _matches(root, path):
        raise ConfigError(f"editable_files: no file in the project matches {path!r}")
    return PurePosixPath(path).as_posix()


def _matches(root: Path, pattern: str) -> bool:
    try:
        return any(match.is_file() for match in root.glob(pattern))
    except (ValueError, NotImplementedError):  # what pathlib says to a pattern it cannot read
        return False


def _ask_advanced(proposal: Proposal, ask: Ask) -> Proposal:
    text = "Use the default evolution settings"
    answer = _answer(Question("evolution", text, "yes", ("yes", "no")), ask, _yes_or_no)
    if answer == "yes":
        return proposal
    defaults = asdict(EvolutionSettings())
    for name in ADVANCED:
        key = f"evolution.{name}"
        if proposal.value(key) is None:
            question = Question(key, name, str(defaults[name]))
            least = 0 if name in _MAY_BE_ZERO else 1
            value = _answer(question, ask, partial(_integer, key, least))
            proposal = proposal.with_suggestion(Suggestion(key, value, "given by you", (), True))
    return proposal


def _yes_or_no(text: str) -> str:
    short = {"y": "yes", "n": "no"}.get(text.lower(), text.lower())
    if short not in ("yes", "no"):
        raise ConfigError(f"{text!r} is neither yes nor no")
    return short


def _integer(key: str, least: int, text: str) -> int:
    if not text.isdigit() or int(text) < least:
        raise ConfigError(f"{key} is {text!r}; expected an integer of at least {least}")
    return int(text)


def click_ask(question: Question) -> str:
    """Ask at the terminal; everything is written to stderr, so that stdout stays data."""
    import click

    if question.problem:
        click.echo(f"  {question.problem}", err=True)
    if question.why and not question.problem:
        click.echo(f"\n{question.key}: {question.why}", err=True)
    for number, choice in enumerate(question.choices, start=1):
        click.echo(f"  {number}. {choice}", err=True)
    return str(click.prompt(question.text, default=question.default, err=True))

"""How long one run trains, who says so, and where the seed goes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lae_controller.bindings.configs import split_command
from lae_controller.bindings.proposal import Suggestion
from lae_controller.bindings.settings import Setting, Way

EPOCHS = re.compile(
    r"(?:(?:n|nb|no|num|max|total|train|training)_?)*epochs?(?:_(?:num|count|total))?|num_ep"
)
_STEPS = re.compile(
    r"(?:(?:n|nb|num|max|total|train|training|optim|update|gradient|opt)_?)*"
    r"(?:steps?|iters?|iterations?|updates|timesteps|batches)|num_boost_round|n_estimators"
)
_SECONDS = re.compile(
    r"(?:max|total)_(?:train_|training_)?(?:time|seconds|secs|runtime|duration)|"
    r"time_(?:limit|budget)(?:_s|_sec|_secs|_seconds)?|(?:train|training|budget)_(?:seconds|secs)|"
    r"(?:train|training)_duration|wall_?(?:clock_)?time|max_?runtime|budget_s"
)
_COUNTERS = frozenset("epoch step iteration iter n_iter steps iters batches".split())
SEED = re.compile(
    r"(?:(?:random|rng|manual|torch|global|train|training|np)_?)?seed|seed_everything"
)
_COUPLED = re.compile(r"(?:^|_)(?:warm_?up|decay|anneal|schedule|t_max|milestone|cosine|rampup)")
_HUGE = 10_000


@dataclass(frozen=True, slots=True)
class Placed:
    """A training command with the budget or the seed put in, and what to say about it.

    Attributes:
        command: the command, perhaps with a placeholder in the place of a number.
        env: the variables left after one became a key.
        suggestions: for ``gate``, ``budget`` and ``budget_key``, or for ``seed_key``.
        name: of the setting that was found, whether or not it can be set; empty if none was.
    """

    command: str
    env: tuple[tuple[str, str], ...]
    suggestions: tuple[Suggestion, ...]
    name: str = ""


def find_budget(
    settings: tuple[Setting, ...], command: str, env: tuple[tuple[str, str], ...] = ()
) -> Placed:
    """Find the setting that says how long a run trains.

    Epochs and steps come before a time, what can be set from outside before what is written in
    the code, what the command passes already before all.
    """
    found = [s for s in settings if unit_of(s) is not None]
    settable = [s for s in found if s.key is not None]
    if not settable:
        return _unsettable(found, command, env)
    best = min(
        settable,
        key=lambda s: (
            _passed(s, command, env) is None,
            s.way,
            unit_of(s) == "seconds",
            s.number is None,
            unit_of(s) != "epochs",
            "train" not in (s.key or ""),
        ),
    )
    return _placed_budget(best, settings, command, env)


def unit_of(setting: Setting) -> str | None:
    """Say in what a setting counts the length of a run; None if it is about something else."""
    if setting.way is Way.CONSTANT and (setting.name in _COUNTERS or setting.number is None):
        return None
    for pattern, unit in ((EPOCHS, "epochs"), (_STEPS, "steps"), (_SECONDS, "seconds")):
        if pattern.fullmatch(setting.name):
            return unit
    return None


def _placed_budget(
    best: Setting, settings: tuple[Setting, ...], command: str, env: tuple[tuple[str, str], ...]
) -> Placed:
    unit = unit_of(best) or "steps"
    passed = _number(_passed(best, command, env))
    fallback = next((s.number for s in settings if s.name == best.name and s.number), None)
    value = passed or best.number or fallback
    text = _with_placeholder(best, command, "{budget}")
    name = best.key or best.name
    gate = "time" if unit == "seconds" else "epochs"
    suggestions = [
        Suggestion("gate", gate, f"{name} counts {unit} ({best.where})", ("epochs", "time"), True),
        _budget_value(best, unit, value, passed is not None, _coupled(settings, best, value)),
    ]
    if text == command:
        how = {
            Way.OPTION: "an option of the training script",
            Way.OVERRIDE: "a Hydra-style override",
            Way.ENVIRONMENT: "a variable it reads",
            Way.CONFIG: "a value in a file it reads",
        }
        reason = f"{how.get(best.way, 'a setting')}, {best.where}"
        suggestions.append(Suggestion("budget_key", best.key, reason, certain=True))
    return Placed(text, _without(best, env), tuple(suggestions), best.name)


def _budget_value(
    best: Setting, unit: str, value: int | float | None, passed: bool, coupled: str
) -> Suggestion:
    name = best.key or best.name
    if value is None:
        guess = {"epochs": 10, "steps": 1000, "seconds": 300}[unit]
        why = f"{name} is {best.default} by default, no limit; {guess} {unit} is a guess{coupled}"
        return Suggestion("budget", guess, why)
    origin = "given in the command" if passed else f"the default in {best.where}"
    if value > _HUGE:
        small = int(float(f"{value / 100:.1g}"))
        why = f"{name} {value:,} is {origin}, too long to be run many times; a hundredth{coupled}"
        return Suggestion("budget", max(small, 100), why, (value,))
    return Suggestion("budget", value, f"{name} {value} is {origin}{coupled}", certain=True)


def _coupled(settings: tuple[Setting, ...], best: Setting, value: int | float | None) -> str:
    """Name settings that were tuned to the length of the run."""
    names = dict.fromkeys(
        s.name
        for s in settings
        if s.key is not None
        and s.name != best.name
        and _COUPLED.search(s.name)
        and s.number is not None
        and (re.search(r"iter|step|epoch|t_max", s.name) or s.number == value)
    )
    if not names:
        return ""
    return f"; tuned to it and not scaled with it: {', '.join(list(names)[:4])}"


def _unsettable(found: list[Setting], command: str, env: tuple[tuple[str, str], ...]) -> Placed:
    """Propose a time limit where the length of a run is written in the code or nowhere."""
    counted = next((s for s in found if unit_of(s) != "seconds"), None)
    timed = next((s for s in found if unit_of(s) == "seconds"), None)
    why, value, how = "no setting for epochs, steps or time was found", None, "see gate"
    if counted is not None:
        why = (
            f"{counted.name} = {counted.default} is written in {counted.where} and cannot be set "
            "from outside: let an option or variable set it and use gate: epochs"
        )
    elif timed is not None:
        why = f"{timed.name} = {timed.default} is written in {timed.where}"
        value, how = timed.number, f"{why}; a variable would let short runs be shorter"
    suggestions = (
        Suggestion("gate", "time", why, ("time", "epochs")),
        Suggestion("budget", value, f"the seconds that one run may take: {how}"),
    )
    named = counted or timed
    return Placed(command, env, suggestions, named.name if named is not None else "")


def find_seed(
    settings: tuple[Setting, ...], command: str, env: tuple[tuple[str, str], ...] = ()
) -> Placed:
    """Find the setting for the training seed."""
    found = [s for s in settings if SEED.fullmatch(s.name)]
    settable = [s for s in found if s.key is not None]
    if not settable:
        why = "no seed setting found: repeats cannot be given seeds of their own"
        if found:
            one = found[0]
            why = f"{one.name} = {one.default} is written in {one.where}: every run has this seed"
        return Placed(command, env, (Suggestion("seed_key", None, why),))
    best = min(
        settable,
        key=lambda s: (
            _passed(s, command, env) is None,
            s.way,
            "." in (s.key or "") and "train" not in (s.key or ""),
        ),
    )
    text = _with_placeholder(best, command, "{seed}")
    if text != command:
        return Placed(text, env, ())
    reason = f"default {best.default}, {best.where}"
    suggestion = Suggestion("seed_key", best.key, reason, certain=True)
    return Placed(text, _without(best, env), (suggestion,))


def _passed(setting: Setting, command: str, env: tuple[tuple[str, str], ...]) -> str | None:
    """Return the value that the command passes for a setting; None if it passes none."""
    if setting.way is Way.ENVIRONMENT:
        return dict(env).get((setting.key or "").removeprefix("env:"))
    words = split_command(command)
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        if setting.way is Way.OVERRIDE and equals and f"{name.lstrip('+')}=" == setting.key:
            return value
        if setting.way is Way.OPTION and name in setting.flags:
            if equals:
                return value
            return words[index + 1] if index + 1 < len(words) else None
    return None


def _number(text: str | None) -> int | float | None:
    if text is None:
        return None
    return Setting("", Way.OPTION, None, text.replace("_", ""), "").number


def _with_placeholder(setting: Setting, command: str, placeholder: str) -> str:
    """Put ``placeholder`` where the command passes a number for the setting."""
    names = setting.flags if setting.way is Way.OPTION else ()
    if setting.way is Way.OVERRIDE:
        names = ((setting.key or "").removesuffix("="),)
    if not names:
        return command
    spelled = "|".join(re.escape(name) for name in names)
    return re.sub(
        rf"(?<!\S)(\+*(?:{spelled})(?:=|\s+))[\d_.eE+]+(?!\S)",
        lambda match: match.group(1) + placeholder,
        command,
        count=1,
    )


def _without(setting: Setting, env: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    name = (setting.key or "").removeprefix("env:")
    return tuple(pair for pair in env if setting.way is not Way.ENVIRONMENT or pair[0] != name)

"""What `init` proposes: for each key of ``loop.run.yaml`` a value, a reason and how sure it is."""

from __future__ import annotations

import difflib
import json
import math
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lae_controller.errors import ConfigError
from lae_controller.scoring import COMMAND, TRAINING_ONLY
from lae_controller.yaml_text import load_yaml

REQUIRED = (
    "metric",
    "metric_direction",
    "run_cmd",
    "editable_files",
    "gate",
    "budget",
    "total_budget",
)
_ORDER = (
    *REQUIRED,
    *"reserve entrypoint budget_key seed_key smoke_budget run_timeout stop_grace".split(),
    *"metric_pattern metric_file params_pattern metrics data_paths outputs exclude".split(),
    *"protected env sandbox_root concurrency memory_limit isolation network keep host".split(),
    *"mutator scoring evolution confirm lease executor".split(),
)
_WIDTH = 100
_PLAIN = re.compile(r"[A-Za-z_./][\w ./{}@+=*-]*", re.ASCII)
_OTHER_TYPES = re.compile(  # what YAML 1.1 or 1.2 reads as something else than text
    r"(?i:y|yes|n|no|on|off|true|false|null|~|\.?inf|\.nan)|[-+.]?\d.*"
)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A value for one key.

    Attributes:
        key: dotted, such as ``evolution.seed``.
        value: a scalar or a tuple of strings; None if nothing could be found out.
        reason: one phrase that says where the value comes from, or what is lacking.
        alternatives: other values a person may want, the likeliest first.
        certain: whether the project itself says so; else it is a guess, to be asked for.
    """

    key: str
    value: object | None
    reason: str
    alternatives: tuple[object, ...] = ()
    certain: bool = False


@dataclass(frozen=True, slots=True)
class Proposal:
    """All suggestions for the project at ``root``; at most one for each key."""

    root: Path
    suggestions: tuple[Suggestion, ...]

    def find(self, key: str) -> Suggestion | None:
        """Return the suggestion for ``key``; None if there is none."""
        return next((one for one in self.suggestions if one.key == key), None)

    def value(self, key: str) -> object | None:
        """Return the value for ``key``; None if there is none."""
        found = self.find(key)
        return None if found is None else found.value

    def missing(self) -> tuple[str, ...]:
        """Return the required keys that have no value yet."""
        return tuple(key for key in self.required if self.value(key) is None)

    @property
    def required(self) -> tuple[str, ...]:
        """The keys that must have a value: fewer where no training command is run."""
        if self.value("scoring.mode") in (None, COMMAND):
            return REQUIRED
        return tuple(key for key in REQUIRED if key not in TRAINING_ONLY)

    def with_suggestion(self, suggestion: Suggestion) -> Proposal:
        """Return this proposal with ``suggestion`` in the place of any other for its key."""
        kept = tuple(one for one in self.suggestions if one.key != suggestion.key)
        return replace(self, suggestions=(*kept, suggestion))

    def settings(self) -> dict[str, Any]:
        """Return the values as ``loop.run.yaml`` would load: nested, lists as lists."""
        found: dict[str, Any] = {}
        for one in self._ordered():
            if one.value is not None:
                *sections, name = one.key.split(".")
                place = found
                for section in sections:
                    place = place.setdefault(section, {})
                place[name] = list(one.value) if isinstance(one.value, tuple) else one.value
        return found

    def to_yaml(self) -> str:
        """Return the text of a ``loop.run.yaml``: above each key, why it has its value.

        A required key without a value stands there as a comment, so that the text is valid YAML
        and shows what is still to be filled in.
        """
        lines: list[str] = []
        open_sections: tuple[str, ...] = ()
        for one in self._ordered():
            *sections, name = one.key.split(".")
            if one.value is not None:
                lines.extend(_headers(sections, open_sections))
                open_sections = tuple(sections)
            indent = "  " * (len(sections) if one.value is not None else 0)
            lines.extend(f"{indent}{line}" for line in _rendered(one, name))
        return "\n".join(lines) + "\n"

    def _ordered(self) -> list[Suggestion]:
        rank = {key: index for index, key in enumerate(_ORDER)}
        missing = (key for key in self.required if self.find(key) is None)
        absent = (Suggestion(key, None, "not found") for key in missing)
        return sorted(
            (*self.suggestions, *absent),
            key=lambda one: rank.get(one.key.split(".")[0], len(rank)),
        )


def _headers(sections: list[str], already: tuple[str, ...]) -> Iterator[str]:
    for depth, section in enumerate(sections):
        if tuple(sections[: depth + 1]) != already[: depth + 1]:
            yield f"{'  ' * depth}{section}:"


def _rendered(one: Suggestion, name: str) -> Iterator[str]:
    if one.value is None:
        wanted = "to be filled in" if one.key in REQUIRED else "not set"
        unsaid = (value for value in one.alternatives if str(value) not in one.reason)
        choices = ", ".join(map(_scalar, unsaid))
        candidates = f" (also: {choices})" if choices else ""
        yield from _comment(f"{one.key}: {wanted}: {one.reason}{candidates}")
        return
    yield from _comment(one.reason if one.certain else f"a guess: {one.reason}")
    if isinstance(one.value, tuple | list):
        yield f"{name}:" if one.value else f"{name}: []"
        yield from (f"  - {_scalar(item)}" for item in one.value)
    else:
        yield f"{name}: {_scalar(one.value)}"


def _comment(text: str) -> list[str]:
    printable = "".join(c if c.isprintable() else " " for c in text)
    return textwrap.wrap(
        " ".join(printable.split()),
        _WIDTH - 4,
        initial_indent="# ",
        subsequent_indent="#   ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _scalar(value: object) -> str:
    """Spell a scalar so that YAML 1.1 and 1.2 readers both get this very value back."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float(value)
    text = str(value)
    if _PLAIN.fullmatch(text) and not _OTHER_TYPES.fullmatch(text) and text == text.strip():
        return text
    # JSON's strings are YAML's double-quoted ones once the unprintable is escaped
    return "".join(map(_escaped, json.dumps(text, ensure_ascii=False)))


def _escaped(char: str) -> str:
    if char.isprintable():
        return char
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"


def _float(value: float) -> str:
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    mantissa, mark, exponent = repr(value).partition("e")
    if not mark:
        return mantissa
    point = "" if "." in mantissa else ".0"
    sign = "" if exponent.startswith(("-", "+")) else "+"
    return f"{mantissa}{point}e{sign}{exponent}"


def known_keys(schema: Mapping[str, Any], prefix: str = "") -> dict[str, tuple[str, ...]]:
    """Return every key that a JSON Schema allows, dotted, with the types it may have.

    A mapping with free names gives ``env.*``.
    """
    found: dict[str, tuple[str, ...]] = {}
    for name, part in schema.get("properties", {}).items():
        kinds = part.get("type", "string")
        found[f"{prefix}{name}"] = (kinds,) if isinstance(kinds, str) else tuple(kinds)
        found.update(known_keys(part, f"{prefix}{name}."))
        if isinstance(part.get("additionalProperties"), dict):
            found[f"{prefix}{name}.*"] = ("string",)
    return found


def with_settings(
    proposal: Proposal, settings: Mapping[str, str], known: Mapping[str, tuple[str, ...]]
) -> Proposal:
    """Return the proposal with values that were given as text (``--set KEY=VALUE``).

    Numbers, booleans and lists are read as YAML 1.2; a list may also be written ``a.py,b.py``.
    Keys that hold text take it as it is, since ``{python} train.py`` is no YAML.

    Args:
        known: see `known_keys`.

    Raises:
        ConfigError: for an unknown key, or a value that is not of a type the key may have.
    """
    for key, text in settings.items():
        value = read_value(key, text, kinds_of(key, known))
        proposal = proposal.with_suggestion(Suggestion(key, value, "given by you", certain=True))
    if proposal.required == REQUIRED:
        return proposal
    return replace(  # what was inferred of a training command has no meaning
        proposal,
        suggestions=tuple(
            one
            for one in proposal.suggestions
            if one.key in settings or one.key not in TRAINING_ONLY
        ),
    )


def kinds_of(key: str, known: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the schema types that the value of a key may have.

    Args:
        known: see `known_keys`.

    Raises:
        ConfigError: if there is no such key.
    """
    kinds = known.get(key) or known.get(f"{key.rpartition('.')[0]}.*")
    if kinds is None:
        near = difflib.get_close_matches(key, known, n=1, cutoff=0.0)
        hint = f"; the nearest known key is {near[0]}" if near else ""
        raise ConfigError(f"--set {key}: not a key of loop.run.yaml{hint}")
    return kinds


_READ: dict[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "string": (str,),
    "array": (list,),
}


def read_value(key: str, text: str, kinds: tuple[str, ...]) -> object:
    """Read what a person wrote for ``key``.

    Args:
        kinds: the JSON Schema types it may have.

    Raises:
        ConfigError: if it is of none of them.
    """
    if kinds == ("string",):
        return text
    if kinds == ("object",):
        raise ConfigError(f"--set {key}: a mapping; expected one of its keys, {key}.NAME=VALUE")
    value = _yaml_value(text)
    if "array" in kinds and isinstance(value, str | int | float):
        value = [part.strip() for part in text.split(",") if part.strip()]
    for kind in kinds:
        wrong = isinstance(value, bool) and kind != "boolean"
        if not wrong and isinstance(value, _READ.get(kind, ())):
            return tuple(map(str, value)) if isinstance(value, list) else value
    raise ConfigError(f"{key} is {text!r}; expected {' or '.join(kinds)}")


def _yaml_value(text: str) -> object:
    try:
        return load_yaml(text, "value")
    except ConfigError:
        return text

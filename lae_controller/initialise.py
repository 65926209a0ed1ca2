"""``lae init``: from a project to its ``loop.run.yaml``, new or already there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lae_controller.bindings import Proposal, ask_missing, click_ask, infer, known_keys
from lae_controller.bindings.proposal import kinds_of, read_value, with_settings
from lae_controller.config import FILE_NAME, Settings, parse, read_text
from lae_controller.errors import ConfigError
from lae_controller.files import write_atomic
from lae_controller.machine.hardware import probe
from lae_controller.skill_files import load_schema
from lae_controller.yaml_text import load_yaml, set_scalar


@dataclass(frozen=True, slots=True)
class Draft:
    """What would be written, and where.

    Attributes:
        text: of ``loop.run.yaml``.
        missing: required keys without a value; it cannot be written while there are any.
        there: whether the file exists already.
    """

    path: Path
    text: str
    values: Mapping[str, Any]
    missing: tuple[str, ...]
    there: bool


def draft(directory: Path, assignments: tuple[str, ...], *, ask: bool) -> Draft:
    """Propose the bindings of a project, or change those it has.

    Args:
        assignments: ``KEY=VALUE`` texts.
        ask: whether there is a person to ask for what is missing or only guessed.

    Raises:
        ConfigError: if the directory or an assignment is not usable.
    """
    if not directory.is_dir():
        raise ConfigError(f"{directory}: no such directory; expected a training project")
    given = dict(_assignment(text) for text in assignments)
    path = directory.resolve() / FILE_NAME
    if path.exists():
        return _existing(path, given)
    known = known_keys(load_schema("run"))
    proposal = _proposed(directory.resolve(), given)
    if "scoring.mode" not in given:
        given.pop("run_cmd", None)  # it stands in the proposal, with budget and seed put in
    proposal = with_settings(proposal, given, known)
    if ask:
        proposal = ask_missing(proposal, click_ask)
    return _new(path, proposal)


def _proposed(root: Path, given: Mapping[str, str]) -> Proposal:
    return infer(root, bool(probe().accelerators), run_cmd=given.get("run_cmd"))


def _assignment(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign or not key.strip():
        raise ConfigError(f"--set {text}: expected KEY=VALUE, such as budget=10")
    return key.strip(), value


def _new(path: Path, proposal: Proposal) -> Draft:
    return Draft(path, proposal.to_yaml(), proposal.settings(), proposal.missing(), there=False)


def _existing(path: Path, given: Mapping[str, str]) -> Draft:
    """Lay assignments over a file, touching nothing but their values."""
    text = read_text(path)
    known = known_keys(load_schema("run"))
    for key, value in given.items():
        text = _with(text, key, _spelled(read_value(key, value, kinds_of(key, known))))
    parse(text, path)
    return Draft(path, text, load_yaml(text, path.name), (), there=True)


def _with(text: str, key: str, spelled: str) -> str:
    try:
        return set_scalar(text, key, spelled, FILE_NAME)
    except ConfigError:
        section, _, name = key.rpartition(".")
        values = load_yaml(text, FILE_NAME) or {}
        if section in values or key in values:
            raise ConfigError(
                f"--set {key}: {FILE_NAME} holds it in a form that cannot be changed in place; "
                "edit the file by hand"
            ) from None
        line = f"{section}:\n  {name}: {spelled}\n" if section else f"{name}: {spelled}\n"
        return text + ("" if text.endswith("\n") else "\n") + line


def _spelled(value: object) -> str:
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)


def one_line(settings: Settings) -> str:
    """Say in one line what a ``loop.run.yaml`` binds."""
    return (
        f"{settings.path.name}: {settings.direction.value} {settings.metric} of "
        f"{settings.objective}, program {' '.join(settings.editable_files)}, budget "
        f"{settings.budget:g} {settings.budget_unit}, {settings.total_budget}"
    )


def write(found: Draft) -> None:
    """Write the file, once everything required is there and it all fits together.

    Raises:
        ConfigError: naming what is missing or wrong; nothing is written then.
    """
    if found.missing:
        flags = " ".join(f"--set {key}=…" for key in found.missing)
        raise ConfigError(
            f"{FILE_NAME} was not written: {', '.join(found.missing)} "
            f"{'is' if len(found.missing) == 1 else 'are'} still unknown; expected {flags}"
        )
    parse(found.text, found.path)
    write_atomic(found.path, found.text)

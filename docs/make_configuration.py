"""Write docs/configuration.md from schemas/: ``python docs/make_configuration.py``.

The page is never edited by hand; a test compares it with what this makes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lae_controller.skill_files import load_schema

PAGE = Path(__file__).with_name("configuration.md")

_HEAD = """\
# Configuration reference

Made from `schemas/` by `docs/make_configuration.py`; change the schema, not this page.

`lae init` writes a `loop.run.yaml` with what it infers; `examples/run.example.yaml` has every key.
Unknown keys are errors that name the nearest known one, and so are keys that mean nothing under the
chosen `scoring.mode`. Numbers are YAML 1.2: `1e-3` is a number. The project is the file's folder.

"required" keys have no default; a dash means that a key is off, or derived, until it is given.
"""

_KINDS = {
    "integer": "integer",
    "number": "number",
    "string": "text",
    "boolean": "true or false",
    "array": "list",
    "object": "map",
    "null": "null",
}


_WITH_COMMAND = ("Goes with run_cmd", "without a training command")


def page() -> str:
    """Return the whole page."""
    run, serve = load_schema("run"), load_schema("serve")
    parts = [_HEAD, "## `loop.run.yaml`\n", _table(_plain(run), run), *_sections(run, "")]
    parts += ["## `serve.yaml`\n", f"{_sentence(serve['description'])}\n"]
    parts.append(_table(serve["properties"], serve))
    return "\n".join(parts)


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the keys that have no section of their own."""
    return {key: part for key, part in schema["properties"].items() if not _is_section(part)}


def _is_section(part: dict[str, Any]) -> bool:
    return bool(part.get("properties"))


def _sections(schema: dict[str, Any], prefix: str) -> Iterator[str]:
    """Yield a heading and a table for each map of known keys, the inner ones after it."""
    for key, part in schema["properties"].items():
        if not _is_section(part):
            continue
        name = f"{prefix}{key}"
        yield f"### `{name}`\n\n{_sentence(part['description'])}\n"
        plain = _plain(part)
        if plain:
            yield _table(plain, part, f"{name}.")
        yield from _sections(part, f"{name}.")


def _table(keys: dict[str, Any], schema: dict[str, Any], prefix: str = "") -> str:
    required = set(schema.get("required", ()))
    rows = [
        f"| `{prefix}{key}` | {_kind(part)} | {_default(part, key in required)} "
        f"| {_cell(part['description'])} |"
        for key, part in keys.items()
    ]
    return "\n".join(
        ["| key | type and range | default | meaning |", "|---|---|---|---|", *rows, ""]
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _sentence(text: str) -> str:
    text = text[0].upper() + text[1:]
    return text if text.endswith(".") else f"{text}."


def _default(part: dict[str, Any], required: bool) -> str:
    if required:
        return "required"
    if part["description"].endswith(_WITH_COMMAND):
        return "required with a training command"
    if "default" not in part or part["default"] == {}:
        return "-"
    value = part["default"]
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value}`"


def _kind(part: dict[str, Any]) -> str:
    """Return what a value may be, in a few words."""
    if "enum" in part:
        return ", ".join(f"`{value}`" for value in part["enum"])
    kinds = part.get("type", "string")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    words = " or ".join(_word(kind, part) for kind in kinds)
    return words + _range(part)


def _word(kind: str, part: dict[str, Any]) -> str:
    if kind == "string" and "pattern" in part:
        return "size" if "[Bb]" in part["pattern"] else "duration"
    if kind == "array":
        inner = part["items"]
        noun = {"number": "numbers", "object": "maps"}.get(inner.get("type", ""), "texts")
        exact = part.get("minItems") == part.get("maxItems") and "minItems" in part
        count = f"{part['minItems']} " if exact else ""
        return f"list of {count}{noun}" + (
            ", not empty" if not exact and "minItems" in part else ""
        )
    return _KINDS[kind]


def _range(part: dict[str, Any]) -> str:
    """Return the bounds of a number; empty if it has none."""
    bounds = [
        f"{word} {part[key]}"
        for key, word in (
            ("minimum", "at least"),
            ("exclusiveMinimum", "above"),
            ("maximum", "at most"),
            ("exclusiveMaximum", "below"),
        )
        if key in part
    ]
    return f", {' and '.join(bounds)}" if bounds else ""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

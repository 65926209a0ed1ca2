"""Values against the hand-written schemas, with errors that name the nearest known key."""

from __future__ import annotations

import difflib
from functools import cache
from typing import Any

from lae_controller.errors import ConfigError
from lae_controller.skill_files import load_schema


def validate(values: object, schema: str, where: str) -> None:
    """Check ``values`` against ``schemas/<schema>.schema.json``.

    Raises:
        ConfigError: for the first thing that is not allowed.
    """
    _check(values, _validator(schema, None), where, ())


def validate_part(value: object, schema: str, key: str, where: str) -> None:
    """Check ``value`` against what a schema says of one of its keys.

    Raises:
        ConfigError: for the first thing that is not allowed.
    """
    _check(value, _validator(schema, key), where, (key,))


@cache
def _validator(schema: str, key: str | None) -> Any:
    """Return the validator of a schema, or of one of its keys; making one takes a while."""
    import jsonschema  # not needed by Mutator processes, which read settings that were checked

    whole = load_schema(schema)
    return jsonschema.Draft202012Validator(whole if key is None else whole["properties"][key])


def _check(value: object, validator: Any, where: str, path: tuple[str, ...]) -> None:
    errors = sorted(validator.iter_errors(value), key=lambda error: list(map(str, error.path)))
    if errors:
        raise ConfigError(f"{where}: {_explain(errors[0], path)}")


def _explain(error: Any, path: tuple[str, ...]) -> str:
    dotted = ".".join(str(part) for part in (*path, *error.absolute_path))
    if error.validator == "additionalProperties":
        return _unknown_key(error, dotted)
    if error.validator == "required":
        missing = next(k for k in error.validator_value if k not in error.instance)
        about = error.schema["properties"].get(missing, {}).get("description", "")
        name = f"{dotted}.{missing}" if dotted else missing
        return f"{name} is missing; expected {about}"
    found = "empty" if error.instance in ("", [], {}) else f"{error.instance!r}"
    return f"{dotted} is {found}; expected {_expected(error.schema)}"


def _unknown_key(error: Any, dotted: str) -> str:
    known = list(error.schema["properties"])
    unknown = next(str(key) for key in error.instance if key not in known)
    name = f"{dotted}.{unknown}" if dotted else unknown
    near = difflib.get_close_matches(unknown, known, n=1, cutoff=0.0)
    hint = f"the nearest known key is {near[0]}" if near else "no key is known there"
    return f"{name} is not a known key; {hint}"


_NOUNS = {
    "integer": "an integer",
    "number": "a number",
    "string": "a text",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "null",
}


def _expected(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(str(value) for value in schema["enum"])
    if "const" in schema:
        return str(schema["const"])
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    words = " or ".join(_NOUNS[kind] for kind in kinds) or "another value"
    if "string" in kinds and "pattern" in schema:
        example = "12GiB" if "[Bb]" in schema["pattern"] else "90m or 8h"
        words += f" such as {example}"
    if "minimum" in schema:
        words += f" of at least {schema['minimum']}"
    if "maximum" in schema:
        words += f" and at most {schema['maximum']}"
    if "exclusiveMinimum" in schema:
        words += f" above {schema['exclusiveMinimum']}"
    if "exclusiveMaximum" in schema:
        words += f" and below {schema['exclusiveMaximum']}"
    if schema.get("minLength") or schema.get("minItems"):
        words += " that is not empty"
    return words

"""Where the skill's own files (schemas, roles, examples) lie: in the wheel or the checkout."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).resolve().parent


def skill_root() -> Path:
    """Return the directory that holds ``schemas/``, ``roles/`` and ``examples/``."""
    packed = _PACKAGE / "skill"
    return packed if packed.is_dir() else _PACKAGE.parent


@cache
def load_schema(name: str) -> dict[str, Any]:
    """Return ``schemas/<name>.schema.json``, parsed."""
    text = (skill_root() / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema

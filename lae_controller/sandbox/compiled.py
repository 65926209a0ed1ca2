"""What an interpreter makes of a source file, as the fingerprints that the recorder writes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from lae_controller.files import sha256_of

RECORDER = Path(__file__).resolve().with_name("recorder") / "sitecustomize.py"
"""The recorder; run as a script it answers with fingerprints."""

_PATIENCE_S = 120.0

# Fingerprints by (interpreter, optimisation level, content). A run's harness is compiled once and
# not again for each of its children; an entry is some 200 bytes.
_known: dict[tuple[Path, int, str], str] = {}


@lru_cache(maxsize=64)
def version_of(python: Path) -> str | None:
    """Return implementation and exact version of an interpreter; None if it cannot be started."""
    answer = _ask(python, [])
    return None if answer is None else str(answer["version"])


def fingerprints(python: Path, optimize: int, files: Sequence[Path]) -> dict[Path, str]:
    """Return the fingerprint of each file's code object as ``python`` compiles it.

    Args:
        python: the interpreter; started at most once, and only for what is not known yet.
        optimize: as by -O: 0, 1 or 2.
        files: a file that does not compile is left out of the answer.
    """
    keys = {path: (python, optimize, sha256_of(path)) for path in files}
    missing = [path for path, key in keys.items() if key not in _known]
    answer = _ask(python, [(optimize, str(path)) for path in missing]) if missing else None
    if answer is not None:
        for path, found in zip(missing, answer["prints"], strict=True):
            _known[keys[path]] = found
    return {path: _known[key] for path, key in keys.items() if _known.get(key)}


def _ask(python: Path, jobs: Sequence[tuple[int, str]]) -> Any | None:
    """Start the interpreter, alone and without its site-packages; None if it fails."""
    try:
        done = subprocess.run(
            [str(python), "-I", "-S", str(RECORDER)],
            input=json.dumps(jobs).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            timeout=_PATIENCE_S,
            check=True,
        )
        return json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None

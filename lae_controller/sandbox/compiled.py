"""What an interpreter makes of a source file, as the fingerprints that the recorder writes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from lae_controller.change.syntax import compile_quietly
from lae_controller.files import sha256_of
from lae_controller.sandbox.recorder.sitecustomize import fingerprint, version

RECORDER = Path(__file__).resolve().with_name("recorder") / "sitecustomize.py"
"""The recorder; run as a script it answers with fingerprints."""

_PATIENCE_S = 120.0
_LARGE = 64 << 10

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
    if missing:
        for path, found in zip(missing, _prints(python, optimize, missing), strict=False):
            _known[keys[path]] = found
    return {path: _known[key] for path, key in keys.items() if _known.get(key)}


def _prints(python: Path, optimize: int, files: Sequence[Path]) -> list[str]:
    """Return fingerprints in the order of the files; nothing if there is no way to tell.

    An interpreter of this very version compiles as this process does: starting it would take
    longer than all else that is done for a small child. Large files go to it all the same, as
    nothing else runs in this process while it compiles.
    """
    size = sum(path.stat().st_size for path in files)
    if version_of(python) == version() and size <= _LARGE:
        return [_print_here(path, optimize) for path in files]
    answer = _ask(python, [(optimize, str(path)) for path in files])
    return [] if answer is None else list(answer["prints"])


def _print_here(path: Path, optimize: int) -> str:
    """Return the fingerprint of a file; empty if it does not compile."""
    try:
        return fingerprint(compile_quietly(path.read_bytes(), str(path), optimize))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""


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

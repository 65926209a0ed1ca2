"""macOS: a profile for ``sandbox-exec``. Untested: written from its documentation alone.

Apple calls the tool deprecated, yet it is what there is. Writing is limited to the run copy and
the scratch folders, credentials cannot be read, the network is cut except for the loopback.
Nothing is mounted: absolute paths and editable installs reach the project, read-only, and only
the record of what ran can tell. Signals and the table of processes are not kept apart.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from lae_controller.sandbox.home import Home
from lae_controller.sandbox.view import View, Wrapped

TOOL = Path("/usr/bin/sandbox-exec")
_NODES = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/ptmx", "/dev/random", "/dev/urandom")


def available() -> bool:
    """Say whether this is macOS with its sandbox tool."""
    return sys.platform == "darwin" and TOOL.exists()


def wrap(home: Home, view: View, argv: Sequence[str]) -> Wrapped:
    """Return ``argv`` as it is started under a profile; writes nothing."""
    return Wrapped(
        (str(TOOL), "-p", profile(home, view), *argv),
        view.work,
        view.proof,
        home.environment(view.scratch, mounted=False, overlay=False),
    )


def profile(home: Home, view: View) -> str:
    """Return the profile: later rules win over earlier ones."""
    writable = [view.work, view.scratch, view.proof, *(root.source for root in view.extra_roots)]
    lines = [
        "(version 1)",
        "(allow default)",
        "(deny file-write*)",
        f"(allow file-write* {_subpaths(writable)} {_literals(_NODES)})",
        f"(deny file-read-data {_subpaths([*home.masked, *view.hidden])})",
        f"(allow file-read-data {_subpaths([*writable, *view.readable])})",
    ]
    if not view.network:
        lines += [
            "(deny network*)",
            '(allow network* (local ip "localhost:*") (remote ip "localhost:*"))',
            f"(allow network* {_subpaths(writable)})",
        ]
    return "\n".join(lines)


def _subpaths(paths: Iterable[Path]) -> str:
    # The kernel compares real paths, and on macOS /tmp and /var are links.
    return " ".join(f"(subpath {_quoted(str(path.resolve()))})" for path in paths)


def _literals(names: Iterable[str]) -> str:
    return " ".join(f"(literal {_quoted(name)})" for name in names)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

"""Ends a Python process in which code under test reaches for the JUnit file. Stand-alone.

Found on PYTHONPATH by every interpreter that a test command starts. ``LAE_WATCH_JUNIT`` holds the
name of the file and ``LAE_WATCH_OWN`` the candidate's files, relative to the directory in which
the command was started.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

_WATCHED = frozenset(
    "open os.rename os.link os.symlink os.truncate subprocess.Popen os.system".split()
)
_SEPARATOR = "\x1f"


def _watch(junit: str, own: frozenset[str]) -> None:
    frames, leave, say = sys._getframe, os._exit, os.write

    def hook(event: str, args: tuple[object, ...]) -> None:
        if event not in _WATCHED or junit not in repr(args[:2]):
            return
        frame: FrameType | None = frames(1)
        while frame is not None:
            if frame.f_code.co_filename in own:
                say(2, b"lae-guard: the candidate reached for the result file\n")
                leave(97)
            frame = frame.f_back

    sys.addaudithook(hook)


def _chain() -> None:
    """Run the sitecustomize that would have run without this one."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if path != here]
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None and spec.origin != __file__:
        spec.loader.exec_module(module_from_spec(spec))


if os.environ.get("LAE_WATCH_JUNIT"):
    names = os.environ["LAE_WATCH_OWN"].split(_SEPARATOR)
    root = os.environ["LAE_WATCH_ROOT"]
    _watch(os.environ["LAE_WATCH_JUNIT"], frozenset(os.path.join(root, n) for n in names))
_chain()

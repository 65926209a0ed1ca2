"""Writes down whose code a Python process executes. Python imports it by itself, as sitecustomize.

Its folder stands first on PYTHONPATH of every training run, so each interpreter that the run
starts begins with it. It adds an audit hook that appends one line per event to one file:

    pid start cache_tag implementation optimize executable argument...
    pid KIND WHOSE root path-below-root code-fingerprint source-digest

KIND is ``exec`` (a module's code ran, compiled in this process), ``cached`` (the same, its bytecode
was read from a file), ``open`` (source or settings read), ``ext`` (extension module) or ``early``
(imported before this file). WHOSE is ``own`` or ``LEAK``; what lies in neither root is left out.
A forked process writes under the pid of the interpreter it was forked from.

It stands alone (no imports of the package), runs on any interpreter a project may have, is
silent, and never raises into the process it watches. Each line is one write to a file opened for
appending, so nothing is lost to fork, threads, ``os._exit`` or a kill. Run as a script it is the
other half of the proof: it prints the fingerprints of what this interpreter makes of sources.

Environment: LAE_PROOF_OUT (the file), LAE_ROOTS (``own=PATH`` and ``foreign=PATH``), LAE_WATCH
(names of further files whose opening counts); the last two are lists separated by 0x1F.
"""

# ruff: noqa: PTH, UP037 - quick to start, and to be parsed by interpreters of the past

import _frozen_importlib
import _frozen_importlib_external
import os
import sys
from _thread import get_ident

try:
    from _blake2 import blake2b  # hashlib would load OpenSSL: 4 ms in every process
except ImportError:
    from hashlib import blake2b

_CODE = type(get_ident.__class__.__init__) and type((lambda: None).__code__)
_SEPARATOR = "\x1f"
_SOURCES = (".py", ".so", ".pyd")
_SETTINGS = (".yaml", ".yml", ".json", ".toml", ".ini", ".cfg")
_MOST_SETTINGS = 1000  # a data set may be a million JSON files
# What can go wrong below a hook without being the watched program's fault. Not KeyboardInterrupt
# or SystemExit: a signal's handler may raise them while the hook happens to run.
_ANY = (ArithmeticError, AttributeError, ImportError, LookupError, MemoryError, NameError)
_ANY += (OSError, RuntimeError, TypeError, ValueError)


def fingerprint(code):
    """Return what ``code`` does as 16 hex digits: all but names of files and numbers of lines."""
    digest = blake2b(digest_size=8)
    waiting = [code]
    while waiting:
        one = waiting.pop()
        shape = [
            (one.co_name, one.co_argcount, one.co_posonlyargcount, one.co_kwonlyargcount),
            (one.co_flags, one.co_names, one.co_varnames, one.co_freevars, one.co_cellvars),
            [_constant(value, waiting) for value in one.co_consts],
            (one.co_code, getattr(one, "co_exceptiontable", b"")),
        ]
        digest.update(repr(shape).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()

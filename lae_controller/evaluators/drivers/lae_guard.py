"""Watches over a result in a process that also runs code under test. Stand-alone, no packages.

Where a script imports the candidate, both live in one interpreter, and nothing in Python can keep
them wholly apart. What is kept:

- A result counts only with a *seal*: the digest of its content and a number that was read, and its
  file removed, before any code of the candidate ran. It is written after the script has ended. So
  ``os._exit`` after a forged result, an ``atexit`` hook and a thread that writes later give none.
- The candidate's own code must not reach for the result file: an audit hook, which nothing can take
  off again, ends the process when a call that names it has the candidate on its stack.
- What a script scores and writes with must be what it was: the modules of ``MODULES`` refuse to be
  changed, and are compared, name by name, when the result is opened and again at the end. Under
  tests, which may change much for a while, those of ``WRITING`` are compared.

What is not: code that walks through the interpreter's memory (``gc``, ``ctypes``) for the seal,
values that lie about themselves (an ``__eq__`` that is always true), and a trace function that
changes the script's variables. A scoring script does well to convert what it gets: ``float(x)``.
"""

from __future__ import annotations

import builtins
import hashlib
import io
import json
import math
import os
import random
import statistics
import sys
import time
import types
from collections.abc import Callable

TAMPERED = 97
MARK = "lae-guard:"
VARIABLES = ("LAE_RESULT", "SCIENCE_AGENT_RESULT")

WRITING = (builtins, hashlib, io, json, json.decoder, json.encoder)
MODULES = (*WRITING, math, os, os.path, random, statistics, time)
_CHANGING = frozenset(["tzname", "timezone", "altzone", "daylight"])  # time.tzset sets these
_WATCHED = frozenset(
    "open os.rename os.link os.symlink os.remove os.truncate os.chmod os.system os.exec "
    "os.posix_spawn subprocess.Popen".split()
)


def guard(result: str, own: list[str], *, sealed: bool) -> None:
    """Begin to watch, for the life of this process.

    The number is read from ``lae-nonce`` beside the result, which is removed; the seal is written
    to ``lae-seal.json`` beside it by ``sys.audit("lae.finish")``, which also ends the process.
    ``sys.audit("lae.failed", text)`` notes that the candidate could not be imported. No variable
    of a frame holds the watcher.

    Args:
        result: absolute path of the result file.
        own: absolute paths of the candidate's files.
        sealed: whether the modules refuse to be changed.
    """
    watcher = _Watcher(result, own)
    watcher.take_stock(sealed=sealed)
    sys.addaudithook(watcher.hook)


class _Watcher:
    def __init__(self, result: str, own: list[str]) -> None:
        folder = os.path.dirname(result)
        self.result = result
        self.words = (os.path.basename(result), "lae-seal.json", *VARIABLES)
        self.own = frozenset(own)
        self.leave, self.say = os._exit, os.write
        self.failed = ""
        nonce = os.path.join(folder, "lae-nonce")
        with open(nonce, encoding="ascii") as stream:
            self.nonce = stream.read()
        os.remove(nonce)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self.seal = os.open(os.path.join(folder, "lae-seal.json"), flags, 0o600)
        self.stock: list[tuple[str, types.ModuleType, dict[str, tuple[object, ...]]]] = []

    def take_stock(self, *, sealed: bool) -> None:
        """Remember what the modules hold."""
        for module in MODULES if sealed else WRITING:
            names = {n: v for n, v in vars(module).items() if not _may_change(n)}
            parts = {name: _parts(value) for name, value in names.items()}
            self.stock.append((_name_of(module), module, parts))
            if sealed:
                module.__class__ = _sealed(frozenset(names), self.tampered)

    def hook(self, event: str, args: tuple[object, ...]) -> None:
        """Hear of what the interpreter does; called by it."""
        if event in _WATCHED:
            if any(word in text for text in _texts(args[:2]) for word in self.words):
                if self.is_candidate():
                    self.tampered(f"the candidate reached for the result file ({event})")
                self.compare()
        elif event == "lae.failed" and not self.failed:
            self.failed = str(args[0])
        elif event == "lae.finish":
            self.finish()

    def is_candidate(self) -> bool:
        """Say whether code of the candidate is on the stack."""
        frame: types.FrameType | None = sys._getframe(2)
        while frame is not None:
            if frame.f_code.co_filename in self.own:
                return True
            frame = frame.f_back
        return False

    def compare(self) -> None:
        """End the process unless the modules are what they were."""
        for name, module, stock in self.stock:
            if sys.modules.get(name) is not module:
                self.tampered(f"the module {name} was replaced")
            for key, parts in stock.items():
                if not _same(parts, _parts(vars(module).get(key))):
                    self.tampered(f"{name}.{key} was replaced")

    def finish(self) -> None:
        """Seal the result and end the process, before any hook of the candidate's can run."""
        if self.is_candidate():
            self.tampered("the candidate asked for the seal")
        sys.stdout.flush()
        sys.stderr.flush()
        self.compare()
        try:
            with open(self.result, "rb") as stream:
                content = stream.read()
        except OSError:
            content = b""
        digest = hashlib.sha256(content).hexdigest()
        facts = {"nonce": self.nonce, "digest": digest, "failed": self.failed}
        self.say(self.seal, json.dumps(facts).encode())
        self.leave(0)

    def tampered(self, what: str) -> None:
        """Say what was done, and end the process."""
        self.say(2, f"{MARK} {what}\n".encode("utf-8", "replace"))
        self.leave(TAMPERED)


def _may_change(name: str) -> bool:
    return name in _CHANGING or (name.startswith("__") and name not in ("__import__",))


def _is_lazy(name: str) -> bool:
    """Say whether a class gets this attribute as a side effect of being used."""
    return name.startswith(("_abc", "__annotat", "__doc__", "__abstract"))


def _name_of(module: types.ModuleType) -> str:
    """Return the key in ``sys.modules``: ``os.path`` goes by another name of its own."""
    return "os.path" if module is os.path else module.__name__


def _parts(value: object) -> tuple[object, ...]:
    """Return what makes a value what it is: of functions and classes, their insides too."""
    if isinstance(value, types.FunctionType):
        return (value, value.__code__, value.__defaults__, value.__kwdefaults__)
    if isinstance(value, type) and value.__module__ != "builtins":
        return (value, *(v for k, v in vars(value).items() if not _is_lazy(k)))
    return (value,)


def _same(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    return len(one) == len(other) and all(map(_is, one, other))


def _is(one: object, other: object) -> bool:
    return one is other


def _texts(values: tuple[object, ...]) -> list[str]:
    found = []
    for value in values:
        items = value if isinstance(value, (list, tuple)) else (value,)
        for item in items:
            if isinstance(item, bytes):
                found.append(item.decode("utf-8", "replace"))
            elif isinstance(item, str):
                found.append(item)
            elif isinstance(item, os.PathLike):
                found.append(str(os.fspath(item)))
    return found


def _sealed(names: frozenset[str], tampered: Callable[[str], None]) -> type[types.ModuleType]:
    class Sealed(types.ModuleType):
        """A module of which the names it had may not be set or deleted."""

        def __setattr__(self, name: str, value: object) -> None:
            if name in names:
                tampered(f"{self.__name__}.{name} was set")
            super().__setattr__(name, value)

        def __delattr__(self, name: str) -> None:
            if name in names:
                tampered(f"{self.__name__}.{name} was deleted")
            super().__delattr__(name)

    return Sealed

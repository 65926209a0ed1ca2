"""Writes down whose code a Python process runs. Python imports it by itself, as sitecustomize.

Its folder stands first on PYTHONPATH of every training run, so each interpreter that the run
starts begins with it. It adds an audit hook that appends one line per event to one file:

    pid start CACHE_TAG VERSION OPTIMIZE EXECUTABLE ARGUMENT...
    pid KIND WHOSE ROOT PATH-BELOW-ROOT CODE-FINGERPRINT SOURCE-DIGEST

KIND is ``exec`` (a module ran, compiled just before), ``cached`` (it ran, not compiled: from a file
of bytecode), ``open`` (source or settings were opened for reading), ``ext`` (extension module),
``early`` (imported before this file) or ``call`` (a function was entered for the first time; its
line stands for the fingerprint). WHOSE is ``own`` or ``LEAK``; what lies below neither root is
left out. A forked process writes under the pid of the interpreter it is a copy of.

It stands alone (no imports of the package), takes any interpreter a project may have, is silent,
and never raises into the process it watches. Each line is one write to a file opened for
appending, so nothing is lost to fork, threads, ``os._exit`` or a kill. Run as a script it is the
other half of the proof: it prints the fingerprints of what this interpreter makes of sources.

Environment: LAE_PROOF_OUT (the file), LAE_ROOTS (``own=PATH`` and ``foreign=PATH``), LAE_WATCH
(names of further files whose opening counts), the last two being lists separated by 0x1F; and
LAE_CALLS (anything: note the calls, which slows interpreters before 3.12 down).
"""

# Quick to start, and to be read by interpreters older than the package's own.
# ruff: noqa: PTH100, PTH109, PTH113, PTH114, PTH120, PTH123

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any

    Place = tuple[str, str, str]

try:
    from _blake2 import blake2b  # hashlib would load OpenSSL: 4 ms in every process
except ImportError:
    from hashlib import blake2b

SEPARATOR = "\x1f"
_CODE = type((lambda: None).__code__)
_PLAIN = frozenset([str, float, bool, bytes, type(None)])
_SOURCES = (".py", ".so", ".pyd")
_SETTINGS = (".yaml", ".yml", ".json", ".toml", ".ini", ".cfg")
_MOST_SETTINGS = 1000  # a data set may be a million JSON files
_PACKAGES = ("/site-packages/", "/dist-packages/")

# What may go wrong in here without being the watched program's business. Not KeyboardInterrupt
# and SystemExit: a signal's handler may raise them while the hook happens to run.
_ANY = (
    *(ArithmeticError, AttributeError, ImportError, LookupError, MemoryError, NameError),
    *(OSError, RuntimeError, TypeError, ValueError),
)


def fingerprint(code: "CodeType") -> str:
    """Return what ``code`` does as 16 hex digits: all of it but file names and line numbers."""
    digest = blake2b(digest_size=8)
    codes = [code]
    for one in codes:  # grows on the way
        body = one.co_code
        shape = (
            (one.co_name, one.co_argcount, one.co_posonlyargcount, one.co_kwonlyargcount),
            (one.co_flags, one.co_names, one.co_varnames, one.co_freevars, one.co_cellvars),
            [item if type(item) in _PLAIN else _constant(item, codes) for item in one.co_consts],
            getattr(one, "co_exceptiontable", b""),  # from 3.11 on
            len(body),
        )
        digest.update(repr(shape).encode())
        digest.update(body)
    return digest.hexdigest()


def _constant(value: object, codes: "list[CodeType]") -> object:
    """Return what has the same repr in every process; code objects are put on ``codes``."""
    if type(value) is int:
        return value if value.bit_length() < 1000 else hex(value)  # repr refuses large ones
    if isinstance(value, _CODE):
        codes.append(value)
        return "code"
    if isinstance(value, tuple):
        if _PLAIN.issuperset(map(type, value)):
            return value
        return tuple([_constant(item, codes) for item in value])
    if isinstance(value, frozenset):
        return "frozenset", sorted([repr(_constant(item, codes)) for item in value])
    return repr(value)


def source_digest(source: bytes) -> str:
    """Return the digest by which the record knows the content of a source file."""
    return blake2b(source, digest_size=8).hexdigest()


class Recorder:
    """The hook and what it remembers."""

    def __init__(self, out: str, roots: str, watch: str) -> None:
        self.out = out
        self.pid = str(os.getpid())
        self.descriptor = -1
        self.identity = (-1, -1)
        self.roots = _ranked(out, roots)
        self.watch = frozenset(watch.split(SEPARATOR)) - {""}
        self.folders: dict[str, str] = {}
        self.written: set[tuple[str, ...]] = set()
        self.opened: set[str] = set()
        # Paths of what was compiled and has not run yet; None for a syntax tree, of which the path
        # is not told: it counts until bytecode is looked for.
        self.compiled: set[object] = set()
        self.settings = 0

    def start(self) -> None:
        """Write the line of this process, and what it had imported before."""
        argv = getattr(sys, "orig_argv", None) or getattr(sys, "argv", None) or []
        self._write(
            self.pid,
            "start",
            str(sys.implementation.cache_tag),
            version(),
            str(sys.flags.optimize),
            sys.executable or "-",
            *[argument[:300] for argument in argv[:30]],
        )
        for module in list(sys.modules.values()):
            path = vars(module).get("__file__")
            if isinstance(path, str) and path != __file__:
                self._note("early", self._place(path))

    def hook(self, event: str, args: "tuple[Any, ...]") -> None:
        """Take one audit event; never raises an error of its own."""
        try:
            if event == "open":
                self._open(*args[:3])
            elif event == "exec":
                self._exec(args[0])
            elif event == "compile":
                self.compiled.add(args[1])
            elif event == "cpython.run_file":
                self.compiled.add(args[0])
            elif event == "import" and args[1]:
                self._note("ext", self._place(os.fsdecode(args[1])))
        except _ANY:
            pass

    def called(self, code: "CodeType") -> None:
        """Note a function of the program that was entered; never raises."""
        try:
            if not code.co_filename.startswith("<") and code.co_name != "<module>":
                self._note("call", self._place(code.co_filename), str(code.co_firstlineno))
        except _ANY:
            pass

    def _open(self, path: object, _mode: object = None, flags: object = 0) -> None:
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if not isinstance(path, str):
            return
        if path.endswith(".pyc"):
            self.compiled.discard(None)
            return
        counted = path.endswith(_SOURCES) or path.rpartition("/")[2] in self.watch
        if not counted and not path.endswith(_SETTINGS):
            return
        if isinstance(flags, int) and flags & 3 == os.O_WRONLY:
            return
        if not path.startswith("/"):
            path = os.getcwd() + "/" + path
        if path in self.opened or (not counted and self.settings >= _MOST_SETTINGS):
            return
        self.settings += not counted
        self.opened.add(path)
        self._note("open", self._place(path))

    def _exec(self, code: object) -> None:
        if not isinstance(code, _CODE) or code.co_name != "<module>":
            return
        path = code.co_filename
        place = None if path.startswith("<") else self._place(path)
        if place is not None:
            made = {path, None} & self.compiled
            self.compiled -= made
            kind = "exec" if made else "cached"
            self._note(kind, place, fingerprint(code), self._source(place))

    def _source(self, place: "Place") -> str:
        whose, root, below = place
        if whose != "own":
            return "-"
        path = root + "/" + below
        self.opened.add(path)  # the next line must not count as the program's own reading
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return "-"
        try:
            parts = [os.read(descriptor, 1 << 20)]
            while parts[-1]:
                parts.append(os.read(descriptor, 1 << 20))
        finally:
            os.close(descriptor)
        return source_digest(b"".join(parts))

    def _place(self, path: str) -> "Place | None":
        """Return whose the file is, its root and the path below it; None if it is nobody's."""
        if not path.startswith("/"):
            path = os.getcwd() + "/" + path
        head, slash, tail = path.rpartition("/")
        folder = self.folders.get(head)
        if folder is None:
            folder = self.folders[head] = os.path.realpath(head or "/")
        real = folder + slash + tail
        if os.path.islink(real):
            real = os.path.realpath(real)
        place = self._ranked_place(real)
        # What is no file lies inside a zip archive, or its name was made up.
        return place if place is not None and os.path.isfile(real) else None

    def _ranked_place(self, real: str) -> "Place | None":
        for root, whose in self.roots:
            if real.startswith(root):
                below = real[len(root) :]
                installed = any(name in "/" + below for name in _PACKAGES)
                return (whose, root[:-1], below) if whose and not installed else None
        return None

    def _note(self, kind: str, place: "Place | None", code: str = "-", source: str = "-") -> None:
        if place is None:
            return
        fields = (kind, *place, code, source)
        if fields not in self.written:
            self.written.add(fields)
            self._write(self.pid, *fields)

    def _write(self, *fields: str) -> None:
        line = "\t".join([_escaped(field) for field in fields]) + "\n"
        os.write(self._output(), os.fsencode(line))

    def _output(self) -> int:
        """Return the open record; opened anew if the program closed it, or took its number."""
        try:
            found = os.fstat(self.descriptor)
            if (found.st_dev, found.st_ino) == self.identity:
                return self.descriptor
        except OSError:
            pass
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self.descriptor = os.open(self.out, flags, 0o644)
        found = os.fstat(self.descriptor)
        self.identity = (found.st_dev, found.st_ino)
        return self.descriptor


def _watch_calls(recorder: Recorder) -> None:
    """Have each function noted when it is first entered."""
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is not None:  # from 3.12 on: each function costs one callback in all

        def started(code: "CodeType", _offset: int) -> "Any":
            recorder.called(code)
            return monitoring.DISABLE

        monitoring.use_tool_id(monitoring.PROFILER_ID, "lae")
        monitoring.register_callback(monitoring.PROFILER_ID, monitoring.events.PY_START, started)
        monitoring.set_events(monitoring.PROFILER_ID, monitoring.events.PY_START)
        return
    seen: dict[int, CodeType] = {}  # the code is held: another's could take over its id

    def profile(frame: "Any", event: str, _arg: object) -> None:
        code = frame.f_code
        if event == "call" and id(code) not in seen:
            seen[id(code)] = code
            recorder.called(code)

    sys.setprofile(profile)


def version() -> str:
    """Return what decides how sources are compiled: implementation and exact version."""
    return f"{sys.implementation.name}-{sys.hexversion:x}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def _ranked(out: str, roots: str) -> "list[tuple[str, str]]":
    """Return (root, whose), the deepest first: it decides. "" means nobody's.

    Nobody's are the interpreter, what is installed in it, and scratch: they may all lie inside
    the project's folder.
    """
    found = {}
    scratch = [os.environ.get("TMPDIR", ""), os.environ.get("HOME", ""), os.path.dirname(out)]
    scratch.append(os.path.dirname(scratch[-1]))
    for path in (sys.prefix, sys.exec_prefix, sys.base_prefix, *scratch):
        if path.startswith("/"):
            found[os.path.realpath(path)] = ""
    for word, whose in (("foreign", "LEAK"), ("own", "own")):
        for entry in roots.split(SEPARATOR):
            name, _, path = entry.partition("=")
            if name == word and path.startswith("/"):
                found[os.path.realpath(path)] = whose
    ranked = sorted(found, key=len, reverse=True)
    return [(path.rstrip("/") + "/", found[path]) for path in ranked]


def _install() -> None:
    """Leave sys.path as it would be without this folder, and record, if told where."""
    try:
        here = os.path.dirname(os.path.abspath(__file__))
        sys.path[:] = [path for path in sys.path if path != here]
        out = os.environ.get("LAE_PROOF_OUT", "")
        if out:
            environ = os.environ.get
            recorder = Recorder(out, environ("LAE_ROOTS", ""), environ("LAE_WATCH", ""))
            sys.addaudithook(recorder.hook)
            recorder.start()
            if environ("LAE_CALLS"):
                _watch_calls(recorder)
    except _ANY:
        pass


def _chain() -> None:
    """Run the sitecustomize that would have run without this one; its errors are its own."""
    from _frozen_importlib import module_from_spec
    from _frozen_importlib_external import PathFinder

    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


def _answer() -> None:
    """Print, as JSON, the fingerprints of the [optimize, path] pairs on standard input."""
    import json

    prints = []
    for optimize, path in json.load(sys.stdin):
        try:
            with open(path, "rb") as stream:
                code = compile(stream.read(), path, "exec", dont_inherit=True, optimize=optimize)
            prints.append(fingerprint(code))
        except (*_ANY, SyntaxError):
            prints.append("")
    sys.stdout.write(json.dumps({"version": version(), "prints": prints}))


if __name__ == "sitecustomize":
    _install()
    _chain()
elif __name__ == "__main__":
    _answer()

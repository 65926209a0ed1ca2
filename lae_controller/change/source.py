"""The text of a source file, read and written without losing a byte.

Files travel through the program as plain ``str``. What encoding one is written back in is
read off the text itself: a Python file says so in its first two lines (PEP 263) or with a
byte order mark, which stays in the text as U+FEFF; everything else is UTF-8. Newlines are
never translated.
"""

from __future__ import annotations

import io
import re
import stat
import tokenize
from pathlib import Path, PurePath

from lae_controller.errors import ChildError, ConfigError
from lae_controller.files import cannot_write, make_folder
from lae_controller.program import Reason

BOM = "\ufeff"
PYTHON_SUFFIXES = frozenset({".py", ".pyi", ".pyw"})

# Only what every tool takes for a line end: a form feed or U+2028 may stand inside a string
# literal, where ``str.splitlines`` would tear it apart.
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")


def is_python(path: str | PurePath) -> bool:
    """Return whether the file is Python by its suffix."""
    return PurePath(path).suffix.lower() in PYTHON_SUFFIXES


def split_lines(text: str) -> list[str]:
    r"""Return the lines of ``text`` with their ends (``\n``, ``\r\n`` or ``\r``).

    Joined again they are ``text``; only the last one may lack an end.
    """
    return _LINE.findall(text)


def read_source(path: Path) -> str:
    """Return the text of a file; ``write_source`` gives the same bytes back.

    Raises:
        ConfigError: if the file is missing, binary, a notebook, or not in the encoding that
            it declares (UTF-8 if it declares none).
    """
    if path.suffix.lower() == ".ipynb":
        raise ConfigError(
            f"{path}: a notebook holds its code as JSON strings, which line edits cannot change; "
            f"export it to .py (jupyter nbconvert --to script {path.name}) and evolve that file"
        )
    try:
        data = path.read_bytes()
    except OSError as exc:
        raise ConfigError(f"{path}: {exc.strerror}; expected a readable text file") from exc
    if b"\0" in data:
        raise ConfigError(
            f"{path}: byte {data.index(0)} is NUL, so this is a binary or UTF-16 file; "
            "expected text; save it as UTF-8 or take it out of editable_files"
        )
    return _decoded(path, data)


def write_source(path: Path, text: str) -> None:
    """Write ``text`` in the encoding that it declares; directories are made as needed.

    Raises:
        ChildError: if the encoding is unknown (``syntax``) or cannot hold a character of the
            text (``bad_diff``); nothing is written then.
        PrerequisiteError: if the place cannot be written or the disk is full.
    """
    data = encode_source(path, text)
    make_folder(path.parent)
    try:
        _write_anew(path, data)
    except OSError as exc:
        raise cannot_write(path, exc) from exc


def _write_anew(path: Path, data: bytes) -> None:
    """Replace a file's content, not its mode.

    A file that is cut to nothing and written again is waited for by some file systems until it is
    on the disk; a new one in its place is not.
    """
    mode = None
    if path.exists() and not path.is_symlink():
        mode = stat.S_IMODE(path.stat().st_mode)
        path.unlink()
    path.write_bytes(data)
    if mode is not None:
        path.chmod(mode)


def encode_source(path: str | PurePath, text: str) -> bytes:
    """Return the bytes that ``write_source`` would write.

    Raises:
        ChildError: as ``write_source``.
    """
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise ChildError(Reason.BAD_DIFF, f"{path}: line {line} holds a NUL character; remove it")
    try:
        encoding = _encoding(path, text.encode("utf-8", "replace"))
    except SyntaxError as exc:
        detail = f"{path}: {exc.msg}; declare an encoding that Python knows, or none for UTF-8"
        raise ChildError(Reason.SYNTAX, detail) from exc
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as exc:
        line = text.count("\n", 0, exc.start) + 1
        detail = (
            f"{path}: line {line}: {text[exc.start]!r} cannot be written in {encoding}, "
            "the encoding of this file; keep to its characters or write an escape"
        )
        raise ChildError(Reason.BAD_DIFF, detail) from exc
    except (LookupError, UnicodeError) as exc:
        detail = f"{path}: cannot be written in its declared encoding: {exc}; declare UTF-8"
        raise ChildError(Reason.SYNTAX, detail) from exc


def _encoding(path: str | PurePath, head: bytes) -> str:
    """Return the encoding that a file starting with ``head`` declares.

    Raises:
        SyntaxError: if the declaration cannot be followed.
    """
    if not is_python(path):
        return "utf-8"
    encoding, _ = tokenize.detect_encoding(io.BytesIO(head).readline)
    # Decoded as plain UTF-8 the mark stays in the text, from where it is written back.
    return "utf-8" if encoding == "utf-8-sig" else encoding


def _decoded(path: Path, data: bytes) -> str:
    encoding = "utf-8"
    try:
        encoding = _encoding(path, data)
        text = data.decode(encoding)
    except UnicodeDecodeError as exc:
        raise _undecodable(path, data, exc) from exc
    except SyntaxError as exc:
        raise _undeclared(path, data, exc) from exc
    except (LookupError, UnicodeError) as exc:
        raise ConfigError(f"{path}: {exc}; expected a text encoding; save it as UTF-8") from exc
    if _reencoded(path, text) != data:
        raise ConfigError(
            f"{path}: reading it as {encoding} and writing it back changes its bytes; "
            "expected an encoding that keeps them; save it as UTF-8"
        )
    return text


def _reencoded(path: Path, text: str) -> bytes | None:
    try:
        return encode_source(path, text)
    except ChildError:
        return None


def _undeclared(path: Path, data: bytes, error: SyntaxError) -> ConfigError:
    """Explain a declaration that failed; most often there is none and the text is not UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as exc:
        return _undecodable(path, data, exc)
    return ConfigError(f"{path}: {error.msg}; expected an encoding that Python knows")


def _undecodable(path: Path, data: bytes, error: UnicodeDecodeError) -> ConfigError:
    cure = "save it as UTF-8"
    if is_python(path):
        cure += " or declare its encoding in line 1, such as '# -*- coding: latin-1 -*-'"
    return ConfigError(
        f"{path}: byte {error.start} (0x{data[error.start]:02x}) is not {error.encoding}; "
        f"expected {error.encoding} text; {cure}"
    )

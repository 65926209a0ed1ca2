"""Files written so that neither a crash of the program nor of the machine can tear them."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

from lae_controller.errors import LaeError, PrerequisiteError


def write_atomic(path: Path, data: bytes | str, *, durable: bool = True) -> None:
    """Replace ``path`` by ``data``: written aside, fsynced, moved, the folder fsynced.

    Args:
        durable: whether it must outlive a loss of power. Without it, it is whole for every other
            process and outlives this one, however that ends; that is enough for what is made anew
            from something durable, and spares two waits for the disk.

    Raises:
        PrerequisiteError: if the disk is full or the place cannot be written; ``path`` stays
            as it was.
    """
    raw = data.encode("utf-8") if isinstance(data, str) else data
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        _write_new(aside, raw, durable=durable)
        aside.replace(path)
        if durable:
            sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
        raise cannot_write(path, error) from error


def _write_new(path: Path, raw: bytes, *, durable: bool) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o666)
    try:
        _write_all(descriptor, raw)
        if durable:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as JSON; NaN and infinity are refused, as they would not read back."""
    write_atomic(path, json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False) + "\n")


def write_note(path: Path, value: Any) -> None:
    """Write ``value`` as JSON on one line, for another process of this run: not durable.

    A loss of power may lose it; what it is about is then done once more.
    """
    text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    write_atomic(path, text + "\n", durable=False)


def read_json(path: Path) -> Any | None:
    """Return the parsed file, or None if it is missing, torn or not JSON."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


def append(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Append ``data`` as a whole; a failed append is cut back.

    Args:
        durable: whether it is fsynced before this returns; else ``sync_file`` does it later.

    Raises:
        PrerequisiteError: if the disk is full or the file cannot be written; nothing was added.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        before = os.fstat(descriptor).st_size
        try:
            _write_all(descriptor, data)
            if durable:
                os.fsync(descriptor)
        except OSError as error:
            os.ftruncate(descriptor, before)
            raise cannot_write(path, error) from error
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def check_free(folder: Path, floor: int) -> None:
    """Check that a disk has room before more is begun on it.

    Raises:
        PrerequisiteError: if less than ``floor`` bytes are free.
    """
    free = shutil.disk_usage(folder).free
    if free < floor:
        raise PrerequisiteError(
            f"{folder}: no space left to begin more: {free >> 20} MiB are free; expected at least "
            f"{floor >> 20} MiB. Free some space and give the same command again"
        )


def is_blank(path: Path) -> bool:
    """Say whether a file is missing, empty or holds nothing but zeros."""
    try:
        with path.open("rb") as stream:
            return not any(part.strip(b"\0") for part in iter(lambda: stream.read(1 << 16), b""))
    except FileNotFoundError:
        return True


def sync_file(path: Path) -> None:
    """Make what was written to ``path``, by whomever, durable; one that is missing is passed over.

    Raises:
        PrerequisiteError: if the disk failed.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Make the names in ``folder`` durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(path: Path) -> None:
    """Create ``path`` and its parents.

    Raises:
        PrerequisiteError: if it cannot be created.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error


def cannot_write(path: Path, error: OSError) -> LaeError:
    """Turn an operating-system error on writing ``path`` into one that says what to do."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return PrerequisiteError(
            f"{path}: no space left on the device. What was written before is whole; free some "
            "space and give the same command again"
        )
    return PrerequisiteError(
        f"{path}: cannot be written ({error.strerror}); expected a place this user may write to. "
        "Mend the permissions or set sandbox_root elsewhere, then give the same command again"
    )


def copy_file(source: Path, target: Path) -> None:
    """Copy content and permission bits; shares extents where the file system can.

    Never a hard link: an append through one would change the original.
    """
    with source.open("rb") as reading, target.open("wb") as writing:
        if not _copy_range(reading.fileno(), writing.fileno()):
            shutil.copyfileobj(reading, writing)
    shutil.copymode(source, target)


def _copy_range(source: int, target: int) -> bool:
    """Copy inside the kernel; False if nothing was copied because it cannot be done so."""
    if not hasattr(os, "copy_file_range"):
        return False
    remaining = os.fstat(source).st_size
    try:
        while remaining > 0:
            copied = os.copy_file_range(source, target, remaining)
            if copied == 0:
                return True
            remaining -= copied
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
            raise
        os.lseek(source, 0, os.SEEK_SET)
        os.ftruncate(target, 0)
        os.lseek(target, 0, os.SEEK_SET)
        return False
    return os.fstat(source).st_size > 0


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's content, in hex."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def remove_tree(path: Path) -> None:
    """Remove a directory tree, also one whose folders were made read-only; missing is fine."""
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        if not path.exists():
            return
    except OSError:
        pass  # a folder without the right to write to it, or a file that came meanwhile
    else:
        return
    for folder, _, _ in os.walk(path):
        with contextlib.suppress(OSError):
            Path(folder).chmod(0o700)
    shutil.rmtree(path, ignore_errors=True)

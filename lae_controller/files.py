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


def write_atomic(path: Path, data: bytes | str) -> None:
    """Replace ``path`` by ``data``: written aside, fsynced, moved, the folder fsynced.

    Raises:
        PrerequisiteError: if the disk is full or the place cannot be written; ``path`` stays
            as it was.
    """
    raw = data.encode("utf-8") if isinstance(data, str) else data
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with aside.open("wb") as stream:
            stream.write(raw)
            stream.flush()
            os.fsync(stream.fileno())
        aside.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
        raise cannot_write(path, error) from error


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as JSON; NaN and infinity are refused, as they would not read back."""
    write_atomic(path, json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any | None:
    """Return the parsed file, or None if it is missing, torn or not JSON."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


def append_durably(path: Path, data: bytes) -> None:
    """Append ``data`` as a whole and fsync it; a failed append is cut back.

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
    if not path.exists() and not path.is_symlink():
        return
    for folder, _, _ in os.walk(path):
        with contextlib.suppress(OSError):
            Path(folder).chmod(0o700)
    shutil.rmtree(path, ignore_errors=True)

"""Files that are whole or not there, and sentences for a disk that cannot take them.

A file is written beside the one that it replaces, brought to the disk (flush, fsync) and renamed over it. A rename is
one step: whoever is killed at any moment leaves either the old file or the new one.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from core.errors import AtlasError

NEW = ".new"
"""Ends the name of what is not complete yet."""

_FULL = re.compile(r"No space left on device|Disk quota exceeded|\d+ requested and \d+ written")
"""What Rust's writers and numpy's ``tofile`` say instead of an `OSError` with its number."""


class StorageError(AtlasError):
    """A file could not be written: the disk is full, or the folder may not be written to."""


def is_full(error: BaseException) -> bool:
    """True where ``error`` says that a disk, or a user's share of it, is full."""
    known = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    return known or bool(_FULL.search(str(error)))


def _sentence(path: Path, error: BaseException) -> str:
    if is_full(error):
        return f"The disk is full: {path} could not be written, and what was begun of it is removed."
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"{path} could not be written: {why}."


@contextmanager
def room_for(path: Path) -> Iterator[None]:
    """Turns a full disk, in whatever words a library reports it, into a `StorageError` about ``path``."""
    try:
        yield
    except Exception as error:
        if isinstance(error, AtlasError) or not is_full(error):
            raise
        raise StorageError(_sentence(path, error)) from error


class _Noting:
    """Passes bytes on and keeps the error of a write: torch.save reports one of its own in its place."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.error: OSError | None = None

    def write(self, data: Any) -> int:
        try:
            return self.file.write(data)
        except OSError as error:
            self.error = error
            raise

    def flush(self) -> None:
        self.file.flush()


@contextmanager
def replacing(path: Path) -> Iterator[Any]:
    """A binary file that takes the place of ``path`` when the block ends well, and is removed otherwise.

    Raises:
        StorageError: it could not be written; what stood at ``path`` before still does.
    """
    fresh = path.with_name(path.name + NEW)
    noting: _Noting | None = None
    try:
        with fresh.open("wb") as file:
            noting = _Noting(file)
            yield noting
            to_disk(file)
        fresh.replace(path)
        folder_to_disk(path.parent)
    except BaseException as error:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
        cause = (noting.error if noting else None) or error
        if isinstance(cause, OSError):
            raise StorageError(_sentence(path, cause)) from error
        raise


def write_text(path: Path, text: str) -> None:
    """Writes a text file in one step; raises as `replacing` does."""
    with replacing(path) as out:
        out.write(text.encode())


@contextmanager
def replacing_folder(folder: Path) -> Iterator[Path]:
    """An empty folder that takes the place of ``folder`` when the block ends well, and is removed otherwise.

    Two renames: killed between them, the old folder is left beside the new one, under names that end in ``.old`` and
    ``.new``; the next call clears them away.
    """
    fresh, old = (folder.with_name(folder.name + end) for end in (NEW, ".old"))
    for rest in (fresh, old):
        shutil.rmtree(rest, ignore_errors=True)
    try:
        fresh.mkdir(parents=True)
        yield fresh
        for path in fresh.rglob("*"):
            if path.is_file():
                with path.open("rb+") as file:
                    to_disk(file)
        if folder.exists():
            folder.rename(old)
        fresh.rename(folder)
        folder_to_disk(folder.parent)
    except BaseException as error:
        shutil.rmtree(fresh, ignore_errors=True)
        if isinstance(error, OSError) or is_full(error):
            raise StorageError(_sentence(folder, error)) from error
        raise
    shutil.rmtree(old, ignore_errors=True)


def to_disk(file: Any) -> None:
    """Waits until what was written to an open file is on the disk."""
    file.flush()
    os.fsync(file.fileno())


def folder_to_disk(folder: Path) -> None:
    """Waits until the names in a folder are on the disk, where the system can be asked for that (POSIX)."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

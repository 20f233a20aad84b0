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
from typing import Any

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


def write_file(path: Path, content: str | bytes) -> None:
    """Writes a file in one step.

    Raises:
        StorageError: it could not be written; what stood at ``path`` before still does.
    """
    new = path.with_name(path.name + NEW)
    try:
        with new.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            to_disk(file)
        new.replace(path)
    except BaseException as error:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise StorageError(_sentence(path, error)) from error
        raise


@contextmanager
def replacing_folder(folder: Path) -> Iterator[Path]:
    """An empty folder that takes the place of ``folder`` when the block ends well, and is removed otherwise.

    Two renames: killed between them, the old folder is left beside the new one, under names that end in ``.old`` and
    ``.new``; the next call clears them away.
    """
    new, old = (folder.with_name(folder.name + end) for end in (NEW, ".old"))
    for rest in (new, old):
        shutil.rmtree(rest, ignore_errors=True)
    try:
        new.mkdir(parents=True)
        yield new
        for path in new.rglob("*"):
            if path.is_file():
                with path.open("rb+") as file:
                    to_disk(file)
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
    except BaseException as error:
        shutil.rmtree(new, ignore_errors=True)
        if isinstance(error, OSError) or is_full(error):
            raise StorageError(_sentence(folder, error)) from error
        raise
    shutil.rmtree(old, ignore_errors=True)


def to_disk(file: Any) -> None:
    """Waits until what was written to an open file is on the disk."""
    file.flush()
    os.fsync(file.fileno())

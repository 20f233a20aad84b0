"""Atomic writes, and messages for a full disk.

A file is written beside the one that it replaces, flushed to the disk (fsync) and renamed over it. The rename is
atomic, so a killed process leaves either the old file or the new one.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from core.errors import AtlasError

NEW = ".new"
"""The suffix of an incomplete file or folder."""

_FULL = re.compile(r"No space left on device|Disk quota exceeded|\d+ requested and \d+ written")
"""Messages of Rust's writers and numpy's ``tofile``, which raise no `OSError` with errno."""


class StorageError(AtlasError):
    """A file could not be written: the disk is full, or the folder may not be written to."""


def is_full(error: BaseException) -> bool:
    """Whether ``error`` reports a full disk or an exceeded quota."""
    full_disk = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    return full_disk or bool(_FULL.search(str(error)))


def _sentence(path: Path, error: BaseException) -> str:
    if is_full(error):
        return f"The disk is full: {path} could not be written, and what was begun of it is removed."
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"{path} could not be written: {why}."


@contextmanager
def room_for(path: Path) -> Iterator[None]:
    """Converts a library's error about a full disk into a `StorageError` about ``path``."""
    try:
        yield
    except Exception as error:
        if isinstance(error, AtlasError) or not is_full(error):
            raise
        raise StorageError(_sentence(path, error)) from error


def write_file(path: Path, content: str | bytes) -> None:
    """Writes a file atomically.

    Raises:
        StorageError: it could not be written; an old file at ``path`` is unchanged.
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
    """An empty folder that replaces ``folder`` when the block succeeds, and is removed otherwise.

    It takes two renames: a process killed between them leaves folders with the suffixes ``.old`` and ``.new``, which
    the next call removes.
    """
    new, old = (folder.with_name(folder.name + end) for end in (NEW, ".old"))
    for leftover in (new, old):
        shutil.rmtree(leftover, ignore_errors=True)
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
    """Flush an open file to the disk."""
    file.flush()
    os.fsync(file.fileno())


def append(rows: Sequence[Any], file: Path) -> None:
    """Add rows to a file, at once, so that a killed sweep leaves whole runs."""
    names = [field.name for field in fields(rows[0])]
    lines = [] if file.is_file() else [",".join(names)]
    lines += [",".join(_cell(value) for value in asdict(row).values()) for row in rows]
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as stream:
        stream.write("\n".join(lines) + "\n")


def _cell(value: object) -> str:
    if isinstance(value, str):
        return f'"{value}"' if "," in value else value
    return f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)

"""Arrays that grow on the disk, and sums over mapped ones: no more than one piece is ever in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from core.training.files import NEW, to_disk

Ints = npt.NDArray[np.int64]
PIECE = 1 << 20
"""Numbers that are looked at together."""


class ArrayWriter:
    """Appends numbers to an ``.npy`` file, which carries its name only on leaving the ``with`` block.

    A block that fails leaves nothing. numpy's header has room for a length that grows, so it is written twice.
    """

    def __init__(self, path: Path, kind: npt.DTypeLike) -> None:
        self.path = path
        self.kind = np.dtype(kind)
        self.count = 0

    def __enter__(self) -> ArrayWriter:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.with_name(self.path.name + NEW).open("wb")
        self._header()
        return self

    def _header(self) -> None:
        described = {
            "descr": np.lib.format.dtype_to_descr(self.kind),
            "fortran_order": False,
            "shape": (self.count,),
        }
        np.lib.format.write_array_header_1_0(self._file, described)

    def add(self, numbers: Any) -> None:
        """Appends numbers; raises OverflowError for one that the kind does not hold."""
        part = np.asarray(numbers, dtype=self.kind)
        part.tofile(self._file)
        self.count += len(part)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        path = Path(self._file.name)
        try:
            if kind is None:
                start = self._file.tell()
                self._file.seek(0)
                self._header()
                self._file.seek(start)
                to_disk(self._file)
                self._file.close()
                path.replace(self.path)
        finally:
            self._file.close()
            path.unlink(missing_ok=True)


def tally(numbers: npt.NDArray[Any], size: int) -> Ints:
    """How often each of 0 .. ``size`` - 1 (and above, where there is more) occurs, as ``np.bincount`` counts."""
    total = np.zeros(size, dtype=np.int64)
    for start in range(0, len(numbers), PIECE):
        found = np.bincount(numbers[start : start + PIECE], minlength=len(total))
        total = np.pad(total, (0, len(found) - len(total))) + found
    return total


def map_numbers(path: Path, kind: Any) -> Any:
    """The numbers of a raw file, mapped; an empty one cannot be mapped."""
    return np.memmap(path, kind, mode="r") if path.stat().st_size else np.zeros(0, kind)

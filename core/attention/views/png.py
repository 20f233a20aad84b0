"""A picture of few colours as a PNG file, written byte by byte: no library draws it and no browser is needed.

PNG (ISO/IEC 15948): a signature, then pieces of length, name, content and CRC-32. Here the picture is of indexed
colours, eight bits each: a palette (PLTE) and one byte a pixel, each row behind a 0 that says it is not filtered.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.uint8]  # (rows, columns)
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def palette_png(cells: Indices, colours: Sequence[str]) -> bytes:
    """The picture whose pixels are ``colours[cells]``; colours are ``#rrggbb``, at most 256."""
    rows, columns = cells.shape
    assert 0 < len(colours) <= 256
    assert cells.max(initial=0) < len(colours)
    header = struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0)
    palette = bytes.fromhex("".join(colour[1:] for colour in colours))
    lines = np.zeros((rows, columns + 1), dtype=np.uint8)
    lines[:, 1:] = cells
    pieces = ((b"IHDR", header), (b"PLTE", palette), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b""))
    return _SIGNATURE + b"".join(_piece(name, content) for name, content in pieces)


def _piece(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

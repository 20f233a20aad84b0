"""Numbers as bytes, for pages that carry their data with them.

A weight as JSON text has up to twenty characters; a screen shows 256 steps of opacity. So an array travels as whole
numbers n of 8 or 16 bits, in base64, and the page's script makes n times a step of them again:

    weights             n = round(a / s),   s = 1 / 255 or 1 / 65535           error at most 1 / 510 or 1 / 131,070
    amounts by head     n = round(a / s),   s = max a / 255 or / 65535         error at most half a step of its head
    vectors by head     n = round(v / s),   s = max |v| / 127 or / 32767       error at most half a step of its head

12 layers x 12 heads x 128² weights are 3.1 MB (10⁶ bytes) with 8 bits and 6.3 MB with 16; queries and keys of 64
numbers, together, are as much again. Base64 adds a third; nothing is compressed, so that any browser reads it at once.

numpy alone. Legend: L layers, H heads, Q query tokens, K key tokens, d width of a head.
"""

from __future__ import annotations

import base64
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.attention.trace import AttentionMap, Bools, Floats

Bits = Literal[8, 16]

_AMOUNT: dict[Bits, tuple[str, int]] = {8: ("<u1", 255), 16: ("<u2", 65535)}
_SIGNED: dict[Bits, tuple[str, int]] = {8: ("<i1", 127), 16: ("<i2", 32767)}


def text(values: NDArray[Any]) -> str:
    """The bytes of an array in base64, row by row."""
    return base64.b64encode(np.ascontiguousarray(values).data).decode("ascii")


def weights(values: Floats, bits: Bits = 8) -> NDArray[Any]:
    """Weights between 0 and 1 as whole numbers: round(255 a), or round(65535 a) with 16 bits. Same shape."""
    kind, top = _AMOUNT[bits]
    steps = values * np.float32(top)
    steps += np.float32(0.5)
    # With 16 bits a 32-bit product of 65535.5 would wrap to 0, hence the bound before the cast.
    np.clip(steps, 0, top, out=steps)
    whole: NDArray[Any] = steps.astype(kind)
    return whole


def by_head(values: Floats, bits: Bits = 8, *, signed: bool = False) -> dict[str, Any]:
    """(L, H, n, m) as ``bytes`` with a ``scale`` for each head, a list of L·H steps in the order of the heads.

    Without ``signed`` the values must not be negative.
    """
    kind, top = (_SIGNED if signed else _AMOUNT)[bits]
    largest = values.max(axis=(2, 3), initial=0.0)  # (L, H)
    if signed:
        largest = np.maximum(largest, -values.min(axis=(2, 3), initial=0.0))
    step = np.where(largest > 0, largest, 1.0).astype(np.float64) / top
    steps = values * (1 / step[:, :, None, None]).astype(np.float32)
    np.rint(steps, out=steps)
    np.clip(steps, -top if signed else 0, top, out=steps)
    return {
        "bytes": text(steps.astype(kind)),
        "shape": list(values.shape),
        "bits": bits,
        "signed": signed,
        "scale": [float(f"{one:.7g}") for one in step.ravel()],
    }


def flags(values: Bools) -> dict[str, Any]:
    """(l, h, Q, K) of true and false, eight a byte, the first in the highest bit; l and h may be 1 for "the same"."""
    return {"bytes": text(np.packbits(values)), "shape": list(values.shape)}


def computed(found: AttentionMap) -> Bools | None:
    """Where ``found`` holds a weight that was computed, as (l, h, Q, K) with l, h from 1; None for everywhere.

    A decoder that does not say so itself sees no token after the query.
    """
    queries, keys = found.weights.shape[2:]
    if found.allowed is None:
        if found.kind != "decoder" or queries != keys:
            return None
        below: Bools = np.tri(queries, dtype=np.bool_)
        return below[None, None]
    allowed = found.allowed.reshape((1,) * (4 - found.allowed.ndim) + found.allowed.shape)
    known: Bools = np.broadcast_to(allowed, (*allowed.shape[:2], queries, keys))
    return None if known.all() else known


def causal(found: AttentionMap) -> bool:
    """Whether no query of ``found`` sees a key after it."""
    known = computed(found)
    return known is not None and known.shape[2] == known.shape[3] and not bool(np.triu(known, 1).any())

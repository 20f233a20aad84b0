"""Numbers as bytes, for pages that carry their data with them.

A weight as JSON text has up to twenty characters; a screen shows 256 steps of opacity. So an array travels as whole
numbers n of 8 or 16 bits, in base64, and the page's script makes n times the step of their head again:

    amounts     n = round(a / s),   s = max a / 255 or / 65535         error at most half a step
    vectors     n = round(v / s),   s = max |v| / 127 or / 32767       error at most half a step

12 layers x 12 heads x 128² weights are 3.1 MB (10⁶ bytes) with 8 bits and 6.3 MB with 16; queries and keys of 64
numbers, together, are as much again. Base64 adds a third; nothing is compressed, so that any browser reads it at once.

Legend: L layers, H heads, Q query tokens, K key tokens, d dimension of a head.
"""

from __future__ import annotations

import base64
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.attention.trace import AttentionMap, Bools, Floats

Bits = Literal[8, 16]


def by_head(values: Floats, bits: Bits = 8, *, signed: bool = False) -> dict[str, Any]:
    """(L, H, n, m) as ``bytes`` with a ``scale`` for each head, a list of L·H steps in the order of the heads.

    Without ``signed`` the values must not be negative.
    """
    top = 2 ** (bits - 1) - 1 if signed else 2**bits - 1
    largest = np.abs(values).max(axis=(2, 3), initial=0.0).astype(np.float64)  # (L, H)
    step = np.where(largest > 0, largest, 1.0) / top
    whole = np.clip(np.rint(values / step[:, :, None, None].astype(np.float32)), -top, top)
    return {
        "bytes": _base64(whole.astype(f"<{'i' if signed else 'u'}{bits // 8}")),
        "shape": list(values.shape),
        "bits": bits,
        "signed": signed,
        "scale": step.ravel().tolist(),
    }


def flags(values: Bools) -> dict[str, Any]:
    """(l, h, Q, K) of true and false, eight a byte, the first in the highest bit; l and h may be 1 for "the same"."""
    return {"bytes": _base64(np.packbits(values)), "shape": list(values.shape)}


def _base64(values: NDArray[Any]) -> str:
    """The bytes of an array, row by row."""
    return base64.b64encode(np.ascontiguousarray(values).data).decode("ascii")


def computed(found: AttentionMap) -> Bools | None:
    """Where ``found`` holds a weight that was computed, as (l, h, Q, K) with l, h from 1; None for everywhere.

    In a decoder that does not say so itself, no token attends to a later one.
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
    """Whether no query of ``found`` attends to a key after it."""
    known = computed(found)
    return known is not None and known.shape[2] == known.shape[3] and not bool(np.triu(known, 1).any())

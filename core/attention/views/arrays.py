"""Arrays for the script of a page, quantized: a weight as JSON text has up to twenty characters, but a screen shows 256
steps of opacity. An array is sent as integers n of 8 or 16 bits in base64; the page's script multiplies n by the step s
of the head:

    weights     n = round(a / s),   s = max a / 255 or / 65535         error at most half a step
    vectors     n = round(v / s),   s = max |v| / 127 or / 32767       error at most half a step

12 layers x 12 heads x 128² weights are 3.1 MB (10⁶ bytes) with 8 bits and 6.3 MB with 16; queries and keys of 64
dimensions together take as much again. Base64 adds a third; without compression any browser can read the data at once.

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
    """(L, H, n, m) as ``bytes``, with ``scale``, the L·H quantization steps of the heads.

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
    """(l, h, Q, K) of true and false, eight per byte, the first in the highest bit; l and h may be 1 (broadcast)."""
    return {"bytes": _base64(np.packbits(values)), "shape": list(values.shape)}


def _base64(values: NDArray[Any]) -> str:
    """The bytes of an array, row by row."""
    return base64.b64encode(np.ascontiguousarray(values).data).decode("ascii")


def computed(attention_map: AttentionMap) -> Bools | None:
    """Where ``attention_map`` holds a weight that was computed, as (l, h, Q, K) with l, h from 1; None for everywhere.

    A decoder's map without ``allowed`` is causal.
    """
    queries, keys = attention_map.weights.shape[2:]
    if attention_map.allowed is None:
        if not attention_map.causal or queries != keys:
            return None
        below: Bools = np.tri(queries, dtype=np.bool_)
        return below[None, None]
    allowed = attention_map.allowed.reshape((1,) * (4 - attention_map.allowed.ndim) + attention_map.allowed.shape)
    known: Bools = np.broadcast_to(allowed, (*allowed.shape[:2], queries, keys))
    return None if known.all() else known


def is_causal(attention_map: AttentionMap) -> bool:
    """Whether no query of ``attention_map`` attends to a key after it."""
    known = computed(attention_map)
    return known is not None and known.shape[2] == known.shape[3] and not bool(np.triu(known, 1).any())

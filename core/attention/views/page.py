"""A self-contained HTML page: it makes no requests, runs only its own scripts, and its data cannot become markup.

The content security policy lists the hashes of the page's scripts and style and forbids everything else, including all
requests. Data are JSON with ``<``, ``>`` and ``&`` escaped.

Arrays are quantized: a weight as JSON text has up to twenty characters, but a screen shows 256 steps of opacity. An
array is sent as integers n of 8 or 16 bits in base64; the page's script multiplies n by the step s of the head:

    weights     n = round(a / s),   s = max a / 255 or / 65535         error at most half a step
    vectors     n = round(v / s),   s = max |v| / 127 or / 32767       error at most half a step

12 layers x 12 heads x 128² weights are 3.1 MB (10⁶ bytes) with 8 bits and 6.3 MB with 16; queries and keys of 64
dimensions together take as much again. Base64 adds a third; without compression any browser can read the data at once.

Legend: L layers, H heads, Q query tokens, K key tokens, d dimension of a head.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.attention.trace import AttentionMap, Bools, Floats
from core.settings import ASSETS
from core.theme import THEMES, Name

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


COLORS = {
    name: {"back": theme.ground, "text": theme.ink, "soft": theme.raised, "line": theme.line}
    for name, theme in THEMES.items()
}
"""The app's own colors, by theme."""


_PRESENTED = """h1, .hint, .legend, .numbers, #saving { display: none !important; }
body { padding: 0 !important; } #said { min-height: 0 !important; white-space: nowrap; overflow: hidden; }"""


def presented(page: str) -> str:
    """A :func:`page` with its picture and the controls alone."""
    allowed = page.replace("style-src ", f"style-src {_hash(_PRESENTED)} ", 1)
    return allowed.replace("</head>", f"<style>{_PRESENTED}</style>\n</head>", 1)


def page(
    *, title: str, style: str, body: str, data: Any, scripts: Sequence[str], name: str = "", pictures: bool = False
) -> str:
    """The whole page. Its scripts find ``data`` as JSON in the element with the id ``data``.

    Args:
        title: plain text.
        body: trusted markup; user text belongs in ``data``.
        name: a class of the body element.
        pictures: allow images from ``data:`` addresses, which the scripts create from their drawings.
    """
    policy = (
        f"default-src 'none'; script-src {' '.join(map(_hash, scripts))}; style-src {_hash(style)}; "
        f"{'img-src data:; ' if pictures else ''}base-uri 'none'; form-action 'none'"
    )
    running = "\n".join(f"<script>{script}</script>" for script in scripts)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body class="{name}">
{body}
<script type="application/json" id="data">{script_json(data)}</script>
{running}
</body>
</html>
"""


def data_url(page: str) -> str:
    """``page`` as a ``data:`` address. A frame of such an address has an origin of its own: it cannot touch the app."""
    return "data:text/html;charset=utf-8;base64," + base64.b64encode(page.encode()).decode("ascii")


def script_json(value: Any) -> str:
    """JSON for a script element: no character in it can end the element (ASCII only, so U+2028 is escaped as well)."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def component_asset(name: str) -> str:
    """A script or style from ``assets/components/attention``."""
    return asset_text(ASSETS / "components" / "attention" / name)


@lru_cache(maxsize=16)
def asset_text(path: Path) -> str:
    """The text of an installed file, cached."""
    return path.read_text(encoding="utf-8")


def colors(theme: Name) -> str:
    """The theme as custom properties: ``--back``, ``--text``, ``--soft``, ``--line``."""
    return f":root {{ color-scheme: {theme}; {' '.join(f'--{n}: {c};' for n, c in COLORS[theme].items())} }}\n"


@lru_cache(maxsize=32)
def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"

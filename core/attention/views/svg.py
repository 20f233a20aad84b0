"""A map of attention as an SVG picture, made of text alone: one head with its tokens, or all heads side by side.

A picture is self-contained: no script, no style sheet, no address of anything else. What stems from a text is escaped,
and characters that XML cannot hold are replaced, so a token is never markup. Cells of one head are rectangles up to
:data:`MOST_CELLS`; beyond, and for all heads at once, they are an image of their own inside
(:func:`palette_png`).

Colors are those of `core.attention.views.grid`: zero is the background, what was never computed is gray.

numpy alone. Layers and heads count from 0 here and from 1 in the picture. Legend: Q query tokens, K key tokens.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from html import escape
from unicodedata import east_asian_width

import numpy as np
from numpy.typing import NDArray

from core.attention.tokens import short
from core.attention.trace import AttentionMap, check_place
from core.attention.views.grid import scale
from core.attention.views.page import COLORS
from core.theme import THEMES, Name

Indices = NDArray[np.uint8]  # (rows, columns)
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST_CELLS = 64 * 64
"""More rectangles than these make a file that drawing programs open slowly."""
_STEPS = 255
_UNSEEN_INDEX = 255
_THUMBNAIL = 96
_LETTER, _TOKEN_CHARS = 0.61, 16
"""The width of a letter of the token's font as a part of its size, and the letters that a label has room for."""
_RAMP = 172
"""Width of the scale, which has 43 steps."""
_POOLED = 48
"""Cells of a small picture's side."""
_FONT = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def head_svg(found: AttentionMap, layer: int, head: int, *, theme: Name = "light", title: str = "Attention") -> str:
    """One head: queries down, keys across, with a scale below.

    Args:
        title: plain text; stands above the picture.

    Raises:
        OutOfRange: no such layer or head.
    """
    check_place(found, layer, head)
    rows, columns = found.weights.shape[2:]
    colors = _palette(theme, signed=_signed(found))
    cells, largest = _indices(found, layer, head)
    side, size = (22, 12) if max(rows, columns) <= 40 else (12, 9)
    letter = _LETTER * size
    left = 16 + letter * max(_columns(token) for token in found.query_tokens)
    top = 56 + 0.87 * letter * max(_columns(token) for token in found.key_tokens)
    width, height = left + max(side * columns + 60, _RAMP + 100), top + side * rows + 56
    body = [_text(12, 24, title, size=15, weight="bold"), _ground(left, top, side * columns, side * rows, theme)]
    if rows * columns <= MOST_CELLS:
        body += _rectangles(cells, left, top, side, colors)
    else:
        body.append(_image(cells, left, top, side * columns, side * rows, colors))
    body += [
        _text(left - 6, top + side * i + side / 2 + size / 3, _label(token), anchor="end", size=size)
        for i, token in enumerate(found.query_tokens)
    ]
    body += [
        _text(left + side * j + side / 2 + size / 4, top - 6, _label(token), size=size, turned=True)
        for j, token in enumerate(found.key_tokens)
    ]
    body += _legend(left, top + side * rows + 22, largest, colors, theme, signed=_signed(found))
    told = f"Layer {layer + 1}, head {head + 1}: {rows} query tokens down, {columns} key tokens across."
    return _document(max(width, _room(title)), height, title, told, body, theme)


def all_svg(found: AttentionMap, *, theme: Name = "light", title: str = "Attention") -> str:
    """All heads, layers down and heads across; each is drawn up to its own largest weight."""
    colors = _palette(theme, signed=_signed(found))
    rows, columns = found.weights.shape[2:]
    high = round(_THUMBNAIL * max(0.4, min(2.5, rows / columns)))
    left, top, gap = 36, 66, 6
    body = [
        _text(12, 24, title, size=15, weight="bold"),
        _text(left, top - 24, "heads across, layers down; each up to its own largest weight", size=12),
    ]
    for layer in range(found.layers):
        y = top + layer * (high + gap)
        body.append(_text(left - 8, y + high / 2 + 4, str(layer + 1), anchor="end"))
        for head in range(found.heads):
            x = left + head * (_THUMBNAIL + gap)
            if layer == 0:
                body.append(_text(x + _THUMBNAIL / 2, top - 7, str(head + 1), anchor="middle"))
            body.append(_ground(x, y, _THUMBNAIL, high, theme))
            body.append(_image(_pooled(_indices(found, layer, head)[0]), x, y, _THUMBNAIL, high, colors))
    width = max(left + found.heads * (_THUMBNAIL + gap) + 12, 480, _room(title))
    height = top + found.layers * (high + gap) + 12
    told = f"{found.layers} layers of {found.heads} heads over {rows} query tokens and {columns} key tokens."
    return _document(width, height, title, told, body, theme)


def _signed(found: AttentionMap) -> bool:
    return bool(found.weights.min(initial=0.0) < 0)


def _indices(found: AttentionMap, layer: int, head: int) -> tuple[Indices, float]:
    """(Q, K) of 0 to 254 for the colors, 255 where nothing was computed; and the largest size of a weight."""
    weights = found.weights[layer, head]
    largest = float(np.abs(weights).max(initial=0.0))
    share = weights / largest if largest > 0 else np.zeros_like(weights)
    if _signed(found):
        share = (share + 1) / 2
    cells = np.rint(share * (_STEPS - 1)).astype(np.uint8)
    cells[~found.computed(layer, head)] = _UNSEEN_INDEX
    return cells, largest


def _pooled(cells: Indices) -> Indices:
    """At most :data:`_POOLED` cells a side: of several the strongest, and computed before what was not."""
    ordered = np.where(cells == _UNSEEN_INDEX, -1, cells).astype(np.int16)
    for axis in (0, 1):
        size = ordered.shape[axis]
        if size > _POOLED:
            starts = np.unique(np.linspace(0, size, _POOLED, endpoint=False).astype(int))
            ordered = np.maximum.reduceat(ordered, starts, axis=axis)
    return np.where(ordered < 0, _UNSEEN_INDEX, ordered).astype(np.uint8)


def _palette(theme: Name, *, signed: bool) -> list[str]:
    """256 colors: 255 steps, and what was not computed."""
    stops = scale(theme, signed)
    places = [place for place, _ in stops]
    channels = np.array([[int(color[i : i + 2], 16) for i in (1, 3, 5)] for _, color in stops], dtype=np.float64)
    at = np.linspace(0, 1, _STEPS)
    mixed = np.rint(np.stack([np.interp(at, places, channels[:, c]) for c in range(3)], axis=1)).astype(int)
    return [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in mixed.tolist()] + [THEMES[theme].unseen]


def _rectangles(cells: Indices, left: float, top: float, side: int, colors: Sequence[str]) -> list[str]:
    return [
        f'<rect x="{left + side * j:g}" y="{top + side * i:g}" width="{side - 1}" height="{side - 1}" '
        f'fill="{colors[index]}"/>'
        for i, row in enumerate(cells.tolist())
        for j, index in enumerate(row)
        if index != _UNSEEN_INDEX
    ]


def _image(cells: Indices, x: float, y: float, width: float, height: float, colors: Sequence[str]) -> str:
    data = base64.b64encode(palette_png(cells, colors)).decode("ascii")
    return (
        f'<image x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" preserveAspectRatio="none" '
        f'style="image-rendering:pixelated" href="data:image/png;base64,{data}"/>'
    )


def _ground(x: float, y: float, width: float, height: float, theme: Name) -> str:
    """What shows where nothing was computed, and the frame."""
    return (
        f'<rect x="{x - 1:g}" y="{y - 1:g}" width="{width + 2:g}" height="{height + 2:g}" '
        f'fill="{THEMES[theme].unseen}" '
        f'stroke="{COLORS[theme]["line"]}"/>'
    )


def _legend(x: float, y: float, largest: float, colors: Sequence[str], theme: Name, *, signed: bool) -> list[str]:
    steps, wide = range(0, _STEPS, 6), _RAMP / 43
    ramp = [
        f'<rect x="{x + wide * i:g}" y="{y:g}" width="{wide:g}" height="10" fill="{colors[at]}"/>'
        for i, at in enumerate(steps)
    ]
    end = x + wide * len(steps)
    frame = f'<rect x="{x:g}" y="{y:g}" width="{end - x:g}" height="10" fill="none" stroke="{COLORS[theme]["line"]}"/>'
    low = f"−{largest:.2f}" if signed else "0"
    return [
        *ramp,
        frame,
        _text(x, y + 24, low),
        _text(end, y + 24, f"{'+' if signed else ''}{largest:.2f}", anchor="end"),
        _text(end + 10, y + 9, "difference" if signed else "weight"),
    ]


def _room(title: str) -> float:
    """The width that a title needs."""
    return 30 + 9.3 * len(title)


def _columns(token: str) -> int:
    """How wide a label is, in letters."""
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in _label(token))


def _label(token: str) -> str:
    return short(token, _TOKEN_CHARS)


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", size: int = 12, weight: str = "", turned: bool = False
) -> str:
    bold = f' font-weight="{weight}"' if weight else ""
    turn = f' transform="rotate(-60 {x:g} {y:g})"' if turned else ""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}"{bold}{turn}>{_safe(text)}</text>'


def _safe(text: str) -> str:
    """``text`` as XML can hold it: marks escaped, characters outside XML replaced, spaces kept."""
    held = "".join(c if _in_xml(ord(c)) else "\N{REPLACEMENT CHARACTER}" for c in text)
    return escape(held)


def _in_xml(code: int) -> bool:
    return (
        code in (0x9, 0xA, 0xD)
        or 0x20 <= code < 0x7F
        or 0xA0 <= code <= 0xD7FF
        or 0xE000 <= code <= 0xFFFD
        or 0x10000 <= code <= 0x10FFFF
    )


def _document(width: float, height: float, title: str, told: str, body: Sequence[str], theme: Name) -> str:
    colors = COLORS[theme]
    shown = "\n".join(body)
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"
 role="img" font-family="{_FONT}" fill="{colors["text"]}">
<title>{_safe(title)}</title>
<desc>{_safe(told)}</desc>
<rect width="100%" height="100%" fill="{colors["back"]}"/>
{shown}
</svg>
"""


def palette_png(cells: Indices, colors: Sequence[str]) -> bytes:
    """The picture whose pixels are ``colors[cells]``; colors are ``#rrggbb``, at most 256.

    PNG (ISO/IEC 15948): a signature, then pieces of length, name, content and CRC-32. Here the picture is of indexed
    colors, eight bits each: a palette (PLTE) and one byte a pixel, each row behind a 0 that says it is not filtered.
    """
    rows, columns = cells.shape
    assert 0 < len(colors) <= 256
    assert cells.max(initial=0) < len(colors)
    header = struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0)
    palette = bytes.fromhex("".join(color[1:] for color in colors))
    lines = np.zeros((rows, columns + 1), dtype=np.uint8)
    lines[:, 1:] = cells
    pieces = ((b"IHDR", header), (b"PLTE", palette), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b""))
    return _SIGNATURE + b"".join(_piece(name, content) for name, content in pieces)


def _piece(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

"""An attention map as an SVG picture: one head with its tokens, or all heads side by side.

A picture is self-contained: no script, style sheet or reference. User text is escaped, and characters that XML does not
allow are replaced, so a token is never markup. Cells of one head are rectangles up to :data:`MOST_CELLS`; beyond that,
and for all heads at once, they are an embedded PNG.

Colors are those of `core.attention.views.grid`: zero is the background, weights that were not computed are gray.

Layers and heads count from 0 here and from 1 in the picture. Legend: Q query tokens, K key tokens.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Sequence
from html import escape
from unicodedata import east_asian_width

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from core.attention.tokens import short
from core.attention.trace import AttentionMap, check_head
from core.attention.views.grid import color_scale
from core.content import content
from core.theme import THEMES, Name
from core.webpage import COLORS

Indices = NDArray[np.uint8]  # (rows, columns)
MOST_CELLS = 64 * 64
"""With more rectangles, drawing programs open the file slowly."""
_STEPS = 255
_NOT_COMPUTED = 255
_THUMBNAIL = 96
_THUMBNAIL_CELLS = 48
_LETTER = 0.61
"""The width of a letter relative to its font size."""
_RAMP = 172
_FONT = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_NOT_XML = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def head_svg(
    attention_map: AttentionMap,
    layer: int,
    head: int,
    *,
    theme: Name = "light",
    branch: str = "encoder",
    title: str = "Attention",
) -> str:
    """One head: queries down, keys across, with a scale below.

    Args:
        title: plain text above the picture.

    Raises:
        OutOfRange: no such layer or head.
    """
    check_head(attention_map, layer, head)
    rows, columns = attention_map.weights.shape[2:]
    signed = _signed(attention_map)
    palette = _palette(theme, signed, branch)
    side, size = (22, 12) if max(rows, columns) <= 40 else (12, 9)
    letter = _LETTER * size
    queries, keys = (
        [short(token, 16) for token in names] for names in (attention_map.query_tokens, attention_map.key_tokens)
    )
    left, top = 16 + letter * max(map(_letters, queries)), 56 + 0.87 * letter * max(map(_letters, keys))
    right, bottom = left + side * columns, top + side * rows
    cells = _indices(attention_map, layer, head)
    body = [_text(12, 24, title, size=15, style=' font-weight="bold"'), _frame(left, top, right, bottom, theme)]
    if rows * columns <= MOST_CELLS:
        body += [
            f'<rect x="{left + side * j:g}" y="{top + side * i:g}" width="{side - 1}" height="{side - 1}" '
            f'fill="{palette[cells[i, j]]}"/>'
            for i, j in np.argwhere(cells != _NOT_COMPUTED).tolist()
        ]
    else:
        body.append(_image(cells, left, top, right, bottom, palette))
    for i, token in enumerate(queries):
        body.append(_text(left - 6, top + side * i + side / 2 + size / 3, token, anchor="end", size=size))
    for j, token in enumerate(keys):
        x, y = left + side * j + side / 2 + size / 4, top - 6
        body.append(_text(x, y, token, size=size, style=f' transform="rotate(-60 {x:g} {y:g})"'))
    largest, end = float(np.abs(attention_map.weights[layer, head]).max(initial=0.0)), left + _RAMP
    body += [
        _frame(left, bottom + 22, end, bottom + 32, theme),
        _image(np.arange(_STEPS, dtype=np.uint8)[None], left, bottom + 22, end, bottom + 32, palette),
        _text(left, bottom + 46, f"−{largest:.2f}" if signed else "0"),
        _text(end, bottom + 46, f"{'+' if signed else ''}{largest:.2f}", anchor="end"),
        _text(end + 10, bottom + 31, "difference" if signed else "weight"),
    ]
    description = _words("Head", layer=layer + 1, head=head + 1, queries=rows, keys=columns)
    return _document(max(right + 60, end + 100), bottom + 56, title, description, body, theme)


def all_svg(
    attention_map: AttentionMap, *, theme: Name = "light", branch: str = "encoder", title: str = "Attention"
) -> str:
    """All heads, layers down and heads across; each is drawn up to its own largest weight."""
    palette = _palette(theme, _signed(attention_map), branch)
    rows, columns = attention_map.weights.shape[2:]
    high = round(_THUMBNAIL * max(0.4, min(2.5, rows / columns)))
    left, top, gap = 36, 66, 6
    body = [
        _text(12, 24, title, size=15, style=' font-weight="bold"'),
        _text(left, top - 24, _words("All heads: legend")),
        *(
            _text(left + head * (_THUMBNAIL + gap) + _THUMBNAIL / 2, top - 7, str(head + 1), anchor="middle")
            for head in range(attention_map.heads)
        ),
    ]
    for layer in range(attention_map.layers):
        y = top + layer * (high + gap)
        body.append(_text(left - 8, y + high / 2 + 4, str(layer + 1), anchor="end"))
        for head in range(attention_map.heads):
            x = left + head * (_THUMBNAIL + gap)
            cells = _pooled(_indices(attention_map, layer, head))
            body += [
                _frame(x, y, x + _THUMBNAIL, y + high, theme),
                _image(cells, x, y, x + _THUMBNAIL, y + high, palette),
            ]
    width = max(left + attention_map.heads * (_THUMBNAIL + gap) + 12, 480)
    description = _words(
        "All heads", layers=attention_map.layers, heads=attention_map.heads, queries=rows, keys=columns
    )
    return _document(width, top + attention_map.layers * (high + gap) + 12, title, description, body, theme)


def _words(part: str, /, **values: int) -> str:
    return content("figures", "alt").part(part, **values)


def _signed(attention_map: AttentionMap) -> bool:
    return bool(attention_map.weights.min(initial=0.0) < 0)


def _indices(attention_map: AttentionMap, layer: int, head: int) -> Indices:
    """(Q, K) color indices 0 to 254 up to the head's largest weight, 255 where nothing was computed."""
    weights = attention_map.weights[layer, head]
    share = weights / (float(np.abs(weights).max(initial=0.0)) or 1.0)
    if _signed(attention_map):
        share = (share + 1) / 2
    cells: Indices = np.rint(share * (_STEPS - 1)).astype(np.uint8)
    cells[~attention_map.computed(layer, head)] = _NOT_COMPUTED
    return cells


def _pooled(cells: Indices) -> Indices:
    """Max-pooled to at most 48 cells a side; computed cells take precedence."""
    ordered = np.where(cells == _NOT_COMPUTED, -1, cells).astype(np.int16)
    for axis, size in enumerate(cells.shape):
        if size > _THUMBNAIL_CELLS:
            starts = np.linspace(0, size, _THUMBNAIL_CELLS, endpoint=False).astype(int)
            ordered = np.maximum.reduceat(ordered, starts, axis=axis)
    pooled: Indices = np.where(ordered < 0, _NOT_COMPUTED, ordered).astype(np.uint8)
    return pooled


def _palette(theme: Name, signed: bool, branch: str) -> list[str]:
    """256 colors: 255 steps, and one for cells that were not computed, which is transparent."""
    stops, colors = zip(*color_scale(theme, signed, branch), strict=True)
    channels = np.array([list(bytes.fromhex(color[1:])) for color in colors])
    at = np.linspace(0, 1, _STEPS)
    mixed = np.rint(np.stack([np.interp(at, stops, channel) for channel in channels.T], axis=1)).astype(np.uint8)
    return [f"#{bytes(color).hex()}" for color in mixed] + [THEMES[theme].ground]


def _image(cells: Indices, left: float, top: float, right: float, bottom: float, palette: Sequence[str]) -> str:
    picture = Image.fromarray(cells)
    picture.putpalette(bytes.fromhex("".join(color[1:] for color in palette)))
    file = io.BytesIO()
    picture.save(file, "PNG", transparency=_NOT_COMPUTED)
    return (
        f'<image x="{left:g}" y="{top:g}" width="{right - left:g}" height="{bottom - top:g}" '
        f'preserveAspectRatio="none" style="image-rendering:pixelated" '
        f'href="data:image/png;base64,{base64.b64encode(file.getvalue()).decode("ascii")}"/>'
    )


def _frame(left: float, top: float, right: float, bottom: float, theme: Name) -> str:
    """A hatched frame, which shows where nothing was computed."""
    return (
        f'<rect x="{left - 1:g}" y="{top - 1:g}" width="{right - left + 2:g}" height="{bottom - top + 2:g}" '
        f'fill="url(#hatch)" stroke="{COLORS[theme]["line"]}"/>'
    )


def _letters(label: str) -> int:
    """The width of a label, in letters."""
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in label)


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 12, style: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}"{style}>{_safe(text)}</text>'


def _safe(text: str) -> str:
    """``text`` for XML: markup escaped, disallowed characters replaced."""
    return escape(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text))


def _document(width: float, height: float, title: str, description: str, body: Sequence[str], theme: Name) -> str:
    colors, wide = COLORS[theme], max(width, 30 + 9.3 * len(title))
    content = "\n".join(body)
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{height:.0f}" viewBox="0 0 {wide:.0f} {height:.0f}"
 role="img" font-family="{_FONT}" fill="{colors["text"]}">
<title>{_safe(title)}</title>
<desc>{_safe(description)}</desc>
<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<path d="M3 0V6" stroke="{THEMES[theme].hatch}" stroke-width="1.5"/></pattern>
<rect width="100%" height="100%" fill="{colors["back"]}"/>
{content}
</svg>
"""

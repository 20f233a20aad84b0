"""bertviz's head view and model view as one page that needs no network and runs nothing but its own scripts.

The views are the scripts of the installed bertviz package (Jesse Vig, 2019, arXiv:1906.05714), unchanged; d3 and jQuery
come from ``assets/vendor``. What differs from bertviz's own output is how they get their data:

* no script comes from a CDN;
* weights travel as bytes, round(255 a), because bertviz draws them as opacity and a screen has 256 steps of that; as
  JSON text with 17 digits the same numbers need more than ten times the space;
* tokens travel as JSON in which no ``<``, ``>`` or ``&`` is left and are drawn as text: a token cannot become markup;
* the page's content policy names the hashes of its scripts and forbids everything else, every request included.

numpy alone: neither torch nor bertviz's Python part is imported.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Sequence
from functools import lru_cache
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np

from core.attention.trace import AttentionMap, AttentionTrace, MapKind
from core.errors import NoAttentionMatrix, OutOfRange
from core.settings import ROOT

View = Literal["head", "model", "neuron"]
Theme = Literal["light", "dark"]

MAX_LINES = {"head": 50_000, "model": 80_000}
"""Lines that a browser still draws within a few seconds (slow machines included); they bound the tokens of a view."""

_VENDOR = ROOT / "assets" / "vendor"
_LIBRARIES = ("d3-5.7.0/d3.min.js", "jquery-3.7.1/jquery.min.js")
_VIEWS = {"head": "head_view.js", "model": "model_view.js"}
_COLOURS = {
    "light": {"back": "#ffffff", "text": "#1a1f24", "soft": "#e4e9ee", "line": "#c9d1d9"},
    "dark": {"back": "#12161b", "text": "#e8ecf0", "soft": "#2b333d", "line": "#3a434e"},
}
_HINTS = {
    "head": "Lines run from a token (left) to the tokens it looks at (right); the stronger, the more weight. Point at "
    "a token to see its lines alone. Each coloured square is a head: click to hide or show it, double-click to see it "
    "alone.",
    "model": "One small picture for each layer (row) and head (column). Click a picture to enlarge it.",
}
_LABEL_CHARS = {"head": 12, "model": 10}

# bertviz asks for a template value PYTHON_PARAMS and for require.js; both are given here, before its script runs.
_GLUE = """
"use strict";
const require = { config() {} };
function requirejs(names, use) {
  use(...names.map((name) => ({ jquery: window.jQuery, d3: window.d3 })[name]));
}
const PYTHON_PARAMS = JSON.parse(document.getElementById("data").textContent);
for (const map of PYTHON_PARAMS.attention) {
  const bytes = Uint8Array.from(atob(map.weights), (c) => c.charCodeAt(0));
  const [layers, heads, queries, keys] = map.shape;
  let at = 0;
  const row = () => Array.from(bytes.subarray(at, (at += keys)), (b) => b / 255);
  const times = (n, make) => Array.from({ length: n }, make);
  map.attn = times(layers, () => times(heads, () => times(queries, row)));
}
"""


def render(
    trace: AttentionTrace,
    view: View = "head",
    *,
    layer: int | None = None,
    heads: Sequence[int] | None = None,
    kind: MapKind | None = None,
    theme: Theme = "light",
    title: str = "Attention",
    controls: bool = True,
) -> str:
    """A complete HTML page that shows ``trace``.

    Layers and heads count from 0 here and from 1 on the page.

    Args:
        view: ``head`` draws one layer with all its heads, ``model`` every layer and head as a thumbnail.
        layer: the layer shown first (head view).
        heads: the heads shown first (head view); all when not given.
        kind: the map shown first; the others can be chosen on the page where they have as many layers and heads.
        theme: colours for a light or a dark page.
        title: the page's title, plain text.
        controls: with menus for the layer and the map; a page that is framed by menus of its own needs none.

    Raises:
        NoAttentionMatrix: ``trace`` is empty, has no such map, or ``neuron`` is asked for: that view needs the queries
            and keys themselves, which a trace does not keep.
        OutOfRange: no such layer or head.
    """
    if view == "neuron":
        raise NoAttentionMatrix(
            "The neuron view needs every query and key vector, which are not kept here. The head view and the model "
            "view show the same weights."
        )
    if view not in _VIEWS:
        raise ValueError(f"no view {view!r}; there are {', '.join(_VIEWS)}")
    maps = _first(trace, kind)
    layers, count = maps[0].layers, maps[0].heads
    for name, number, size in [("layer", layer, layers), *(("head", head, count) for head in heads or ())]:
        if number is not None and not 0 <= number < size:
            raise OutOfRange(f"There is no {name} {number + 1}; this model has {size} in this place.")
    labels = list(range(1, layers + 1))
    params: dict[str, Any] = {
        "attention": [_packed(found, view) for found in maps],
        "default_filter": "0",
        "root_div_id": "atlas",
        "layer": None if layer is None else layer + 1,
        "heads": None if heads is None else list(heads),
        "include_layers": labels,
        "include_heads": list(range(1, count + 1)),
        "total_heads": count,
        "display_mode": theme,
    }
    return _page(view, theme, title, _json(params), _controls(maps, view) if controls else "")


def data_url(page: str) -> str:
    """``page`` as a ``data:`` address. A frame of such an address has an origin of its own: it cannot touch the app."""
    return "data:text/html;charset=utf-8;base64," + base64.b64encode(page.encode()).decode("ascii")


def shown_tokens(found: AttentionMap, view: View = "head") -> int:
    """How many of a map's first tokens ``view`` can show."""
    pictures = found.heads * (found.layers if view == "model" else 1)
    return min(max(len(found.query_tokens), len(found.key_tokens)), max(1, math.isqrt(MAX_LINES[view] // pictures)))


def height(found: AttentionMap, view: View = "head") -> int:
    """How many pixels the page needs (as bertviz lays it out)."""
    tokens = shown_tokens(found, view)
    if view == "head":
        return math.ceil(tokens * 22.5 + 30 + 130)
    return math.ceil(max(found.layers * (tokens * 7 * 12 / found.heads + 10), tokens * 18 + 55) + 40 + 90)


def _first(trace: AttentionTrace, kind: MapKind | None) -> list[AttentionMap]:
    """The maps to offer, the wanted one first: bertviz has one list of layers and heads for all of them."""
    maps = trace.maps
    chosen = next((found for found in maps if kind in (None, found.kind)), None)
    if chosen is None:
        raise NoAttentionMatrix(
            "There is no such attention in this model: " + (f"no {kind} map." if kind else "no map.")
        )
    size = (chosen.layers, chosen.heads)
    return [chosen, *(found for found in maps if found is not chosen and (found.layers, found.heads) == size)]


def _packed(found: AttentionMap, view: View) -> dict[str, Any]:
    n = shown_tokens(found, view)
    weights = np.rint(np.clip(found.weights[:, :, :n, :n], 0.0, 1.0) * 255).astype(np.uint8)
    return {
        "name": _name(found),
        "weights": base64.b64encode(weights.tobytes()).decode("ascii"),
        "shape": weights.shape,
        "left_text": [_cut(token, view) for token in found.query_tokens[:n]],
        "right_text": [_cut(token, view) for token in found.key_tokens[:n]],
    }


def _name(found: AttentionMap) -> str:
    return found.label or found.kind.capitalize()


def _cut(token: str, view: View) -> str:
    most = _LABEL_CHARS[view]
    return token if len(token) <= most else token[: most - 1] + "…"


def _json(value: Any) -> str:
    """JSON for a script element: no character in it can end the element (ASCII only, so U+2028 is escaped as well)."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _controls(maps: Sequence[AttentionMap], view: View) -> str:
    parts = ['<label>Layer <select id="layer"></select></label>'] if view == "head" else []
    if len(maps) > 1:
        options = "".join(f'<option value="{i}">{escape(_name(found))}</option>' for i, found in enumerate(maps))
        parts.append(f'<label>Attention <select id="filter">{options}</select></label>')
    return f'<p class="row">{" ".join(parts)}</p>'


def _page(view: View, theme: Theme, title: str, data: str, controls: str) -> str:
    scripts = [_library(name) for name in _LIBRARIES] + [_GLUE, _view(_VIEWS[view])]
    style = _style(theme)
    policy = (
        f"default-src 'none'; script-src {' '.join(map(_hash, scripts))}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
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
<body class="{view}">
<div id="atlas">
{controls}
<p class="hint">{_HINTS[view]}</p>
<div id="vis"></div>
</div>
<script type="application/json" id="data">{data}</script>
{running}
</body>
</html>
"""


def _style(theme: Theme) -> str:
    colour = _COLOURS[theme]
    return f"""
:root {{ color-scheme: {theme}; }}
body {{ margin: 0; padding: 4px 2px; background: {colour["back"]}; color: {colour["text"]};
  font: 15px/1.4 system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; }}
.row {{ display: flex; gap: 1rem; margin: 0 0 .4rem; }}
.hint {{ margin: 0 0 .8rem; font-size: 13px; opacity: .85; max-width: 62em; }}
select {{ font: inherit; color: inherit; background: {colour["back"]}; border: 1px solid {colour["line"]};
  border-radius: 4px; padding: 1px 4px; }}
#vis {{ overflow-x: auto; }}
svg text {{ fill: {colour["text"]}; }}
.head svg {{ min-width: 340px; display: block; }}
.head svg text, svg .token {{ font: 13px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }}
rect.background, rect[fill="#F5F5F5"], rect[fill="#222"] {{ fill: {colour["soft"]}; }}
svg[fill], rect[fill="white"], rect[fill="black"] {{ fill: {colour["back"]}; }}
.model svg .token {{ font-size: 11px; }}
"""


@lru_cache(maxsize=8)
def _library(name: str) -> str:
    return (_VENDOR / name).read_text(encoding="utf-8")


@lru_cache(maxsize=2)
def _view(name: str) -> str:
    """A script of the installed bertviz, found without importing it (that would bring IPython and torch)."""
    found = find_spec("bertviz")
    if found is None or not found.submodule_search_locations:
        raise NoAttentionMatrix("bertviz is not installed here, so its views cannot be drawn. The heat map can.")
    return (Path(next(iter(found.submodule_search_locations))) / name).read_text(encoding="utf-8")


@lru_cache(maxsize=16)
def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"

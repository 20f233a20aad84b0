"""bertviz's head, model and neuron view, each as one offline page that runs only its own scripts.

The views are the scripts of the installed bertviz package (Jesse Vig, 2019, arXiv:1906.05714), unchanged; d3, jQuery
and require.js come from ``assets/vendor``. Differences from bertviz's own output:

* no script comes from a CDN: require.js finds both libraries in the page;
* weights are quantized to bytes and deflated (`core.attention.views.export`): bertviz draws them as opacity, of which a
  screen has 256 steps, and JSON text with 17 digits needs more than thirty times the space;
* tokens are sent as JSON and drawn as text, so a token cannot become markup (`core.webpage`);
* a text that a browser cannot draw at once is split into parts; they, layers and maps are chosen by buttons;
* colors are those of every map; a clicked token's lines stay; the picture can be downloaded as SVG or PNG.

bertviz's neuron view supports its own old copies of BERT, GPT-2, XLNet and RoBERTa; here it takes any map with queries
and keys. Neither torch nor bertviz's Python part is imported.

The browser draws a line for each pair of tokens in every head at once:

    head view     H · n²        one layer with its heads
    model view    L · H · n²    all layers and heads
    neuron view   n²            one head, but seven shapes for each pair, and three for each dimension of a vector

L layers, H heads, n tokens shown at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np

from core.arrays import Floats
from core.attention.tokens import short
from core.attention.trace import AttentionMap, AttentionTrace, MapKind, check_head
from core.attention.views.export import Bits, by_head, is_causal
from core.content import content
from core.errors import NoAttentionMatrix
from core.settings import ASSETS
from core.theme import THEMES, Name, Theme, mixed
from core.webpage import asset_text, colors, component_asset, data_url, page, stepper

__all__ = ["MAX_LINES", "Name", "View", "data_url", "height", "render", "tokens_at_once"]

View = Literal["head", "model", "neuron"]

MAX_LINES: dict[View, int] = {"head": 50_000, "model": 150_000, "neuron": 5_000}
"""Pairs of tokens that a browser still draws within a few seconds (slow machines included)."""
_LIBRARIES = ("d3-5.7.0/d3.min.js", "jquery-3.7.1/jquery.min.js", "requirejs-2.3.6/require.js")
"""require.js comes last, so that the others become globals (d3's module has no name)."""
_ABOVE: dict[View, int] = {"head": 130, "model": 130, "neuron": 150}
"""Pixels for the menus and the hint."""
_SAVING = 50
"""Pixels for the row of buttons below the picture."""
_BARE: dict[View, int] = {"head": 16, "model": 45, "neuron": 60}
"""Pixels for the menus in a presentation, which has neither hint nor buttons."""
WIDTHS: dict[View, int] = {"head": 360, "model": 1_000, "neuron": 1_030}
"""The least width in pixels at which a view is whole."""
_LABEL_CHARS: dict[View, int] = {"head": 12, "model": 10, "neuron": 12}


def render(
    trace: AttentionTrace,
    view: View = "head",
    *,
    layer: int | None = None,
    heads: Sequence[int] | None = None,
    kind: MapKind | None = None,
    theme: Name = "light",
    branch: str = "encoder",
    title: str = "Attention",
    controls: bool = True,
    include_layers: Sequence[int] | None = None,
    include_heads: Sequence[int] | None = None,
    bits: Bits = 8,
    strong: bool = False,
) -> str:
    """A complete HTML page that shows ``trace``.

    Layers, heads and tokens count from 0 here and from 1 on the page. 12 layers and 12 heads of 128 tokens make a page
    of about 1.7 MB (10⁶ bytes), of 256 tokens 4.2 MB, and with 16 bits, which deflate less, 5.2 and 17.7 MB. Queries
    and keys of 64 dimensions add up to 3.1 MB for every 128 tokens.

    Args:
        view: ``head`` draws one layer with all its heads, ``model`` every layer and head as a thumbnail, ``neuron`` one
            head with its queries and keys.
        layer: the layer shown first (head and neuron view).
        heads: the heads shown first (head view; the neuron view takes the first of them); all when not given. The model
            view enlarges the first of them where ``layer`` is given as well.
        kind: the map shown first; maps with the same numbers of layers and heads can be chosen on the page.
        theme: colors for a light or a dark page.
        branch: whose color the weights have.
        title: the page's title, plain text.
        controls: buttons for the layer, the map and the part of the text; without them the page shows as many of the
            first tokens as the view can draw at once.
        include_layers, include_heads: the layers and heads in the page, by default all (bertviz's names).
        bits: 16 steps a weight by 1/65,535 of the largest of its head and not by 1/255.
        strong: thick, dark lines for a lecture hall.

    Raises:
        NoAttentionMatrix: ``trace`` has no such map; the ``neuron`` view lacks queries and keys; the weights are signed
            differences, which these views cannot draw.
        OutOfRange: no such layer or head.
    """
    maps = _offered(trace, kind, view)
    first = maps[0]
    for number in (layer, *(include_layers or ())):
        check_head(first, layer=number)
    for number in (*(heads or ()), *(include_heads or ())):
        check_head(first, head=number)
    layers = list(range(first.layers)) if include_layers is None else sorted(set(include_layers))
    every = list(range(first.heads)) if include_heads is None else sorted(set(include_heads))
    most = max(tokens_at_once(attention_map, view, layers=len(layers), heads=len(every)) for attention_map in maps)
    shown = None if heads is None else [every.index(head) for head in heads]
    params: dict[str, Any] = {
        "attention": [
            _packed(attention_map, view, layers, every, None if controls else most, bits) for attention_map in maps
        ],
        "default_filter": "0",
        "root_div_id": "atlas",
        "layer": None if layer is None else layers.index(layer) if view == "neuron" else layer + 1,
        "heads": shown,
        "include_layers": [number + 1 for number in layers],
        "include_heads": [number + 1 for number in every],
        "total_heads": first.heads,
        "display_mode": theme,
        "colors": _colors(view, len(every), THEMES[theme], branch),
        "most": most,
    }
    if view == "model" and layer is not None and shown:
        params["open"] = [layers.index(layer), shown[0]]
    if view == "neuron":
        causal = is_causal(first)
        params["head"] = shown[0] if shown else None
        params["bidirectional"] = not causal
        params["together"] = causal  # later keys are found by their position in the part
    return page(
        title=title,
        style=_style(THEMES[theme], branch)
        + component_asset("step.css")
        + component_asset("bertviz.css")
        + component_asset("bertviz-strong.css") * strong,
        body=_body(maps, view, every, controls),
        data=params,
        scripts=[
            *(asset_text(ASSETS / "vendor" / name) for name in _LIBRARIES),
            "".join(
                component_asset(f"{name}.js")
                for name in ("unpack", "step", "bertviz", "bertviz-chosen", "bertviz-token", "bertviz-save", "framed")
            ),
            asset_text(_script(view)),
        ],
        name=view,
        pictures=True,
    )


def _line(color: str, theme: Theme) -> str:
    """A color of lines, which are thin and faint: lighter on a dark ground."""
    return mixed(color, theme.ink, 0.5 if theme.dark else 0.0)


def _colors(view: View, heads: int, theme: Theme, branch: str) -> list[str]:
    """The colors of a layer's heads (head view) or of the layers (model view), which bertviz takes in turn."""
    if view == "head" and heads > 1:
        return [_line(color, theme) for color in theme.categorical]
    return [_line(theme.accent(branch), theme)] * 10


def _style(theme: Theme, branch: str) -> str:
    """The colors that the page's style sheet gives to what bertviz draws."""
    (_, negative), *_, (_, positive) = theme.differences
    named = {
        "branch": _line(theme.accent(branch), theme),
        "query": theme.query,
        "key": theme.key,
        "negative": negative,
        "positive": positive,
    }
    return colors(theme.name) + f":root {{ {' '.join(f'--{name}: {color};' for name, color in named.items())} }}\n"


def tokens_at_once(
    attention_map: AttentionMap, view: View = "head", *, layers: int | None = None, heads: int | None = None
) -> int:
    """The most tokens that ``view`` can show at once for these numbers of layers and heads, by default all."""
    pictures = {"head": heads or attention_map.heads, "neuron": 1}.get(
        view, (layers or attention_map.layers) * (heads or attention_map.heads)
    )
    longest = max(len(attention_map.query_tokens), len(attention_map.key_tokens))
    return min(longest, max(1, math.isqrt(MAX_LINES[view] // pictures)))


def height(
    attention_map: AttentionMap,
    view: View = "head",
    *,
    layers: int | None = None,
    heads: int | None = None,
    bare: bool = False,
) -> int:
    """The height of bertviz's layout in pixels, for these numbers of layers and heads, by default all.

    ``bare``: in a presentation.
    """
    layers, heads = layers or attention_map.layers, heads or attention_map.heads
    tokens = tokens_at_once(attention_map, view, layers=layers, heads=heads)
    around = _BARE[view] if bare else _ABOVE[view] + _SAVING
    if view == "head":
        return math.ceil(tokens * 22.5 + 30) + around
    if view == "neuron":
        return tokens * 26 + 60 + around
    return math.ceil(max(layers * (tokens * 7 * 12 / heads + 10), tokens * 18 + 55)) + around


def _offered(trace: AttentionTrace, kind: MapKind | None, view: View) -> list[AttentionMap]:
    """The selectable maps, the initial one first: bertviz has one list of layers and heads for all of them.

    The neuron view has one setting for all maps that hides later keys.
    """
    chosen = next((candidate for candidate in trace.maps if kind in (None, candidate.kind)), None)
    if chosen is None:
        raise NoAttentionMatrix(f"This model has no {kind or ''} attention map.".replace("  ", " "))
    if chosen.weights.min(initial=0.0) < 0:
        raise NoAttentionMatrix(
            "bertviz draws weights between zero and one, and a difference can be negative. The grid draws differences."
        )
    if view == "neuron" and chosen.queries is None:
        raise NoAttentionMatrix(
            "The neuron view needs every query and key vector, which this map does not have. The head view and the "
            "model view show the same weights."
        )

    def layout(attention_map: AttentionMap) -> tuple[object, ...]:
        if view != "neuron":
            return attention_map.layers, attention_map.heads
        dimension = None if attention_map.queries is None else attention_map.queries.shape[-1]
        return attention_map.layers, attention_map.heads, is_causal(attention_map), dimension

    return [chosen, *(other for other in trace.maps if other is not chosen and layout(other) == layout(chosen))]


def _packed(
    attention_map: AttentionMap, view: View, layers: list[int], heads: list[int], most: int | None, bits: Bits
) -> dict[str, Any]:
    """A map as sent to the page: the chosen layers and heads, and the first ``most`` tokens of both axes."""

    def sent(values: Floats) -> Floats:
        return values if values.shape[:2] == (len(layers), len(heads)) else values[np.ix_(layers, heads)]

    queries, keys = attention_map.query_tokens[:most], attention_map.key_tokens[:most]
    out: dict[str, Any] = {
        "name": _name(attention_map),
        "weights": by_head(sent(attention_map.weights[:, :, :most, :most]), bits),
        "left_text": [short(token, _LABEL_CHARS[view]) for token in queries],
        "right_text": [short(token, _LABEL_CHARS[view]) for token in keys],
    }
    if attention_map.second is not None and len(queries) == len(keys) > attention_map.second > 0:
        out["second"] = attention_map.second
    if view == "neuron":
        assert attention_map.queries is not None
        assert attention_map.keys is not None
        out["queries"] = by_head(sent(attention_map.queries[:, :, :most]), bits, signed=True)
        out["keys"] = by_head(sent(attention_map.keys[:, :, :most]), bits, signed=True)
    return out


def _name(attention_map: AttentionMap) -> str:
    return attention_map.label or attention_map.kind.capitalize()


def _body(maps: Sequence[AttentionMap], view: View, heads: Sequence[int], controls: bool) -> str:
    words = content("attention", "bertviz")
    hint = words.part(f"Hint: {view}")
    if view == "head" and len(heads) < maps[0].heads:
        hint += " " + words.part("Hint: some heads", numbers=", ".join(str(head + 1) for head in heads))
    return f"""<div id="atlas">
{_controls(maps, view) if controls else ""}
<p class="hint">{hint}</p>
<div id="vis" role="figure" aria-label="The {view} view, drawn by bertviz"></div>
<p class="row" id="saving"><button type="button" id="save-svg">Download SVG</button>
<button type="button" id="save-png">Download PNG</button></p>
</div>"""


def _controls(maps: Sequence[AttentionMap], view: View) -> str:
    parts = [] if view == "model" else [stepper("Layer", "layer")]
    if view == "neuron":
        parts.append(stepper("Head", "att_head"))
    options = "".join(
        f'<option value="{i}">{escape(_name(attention_map))}</option>' for i, attention_map in enumerate(maps)
    )
    # bertviz redraws when this choice changes, so it exists even with a single option.
    parts.append(stepper("Attention", "filter", options, hidden=len(maps) == 1))
    left = "Part of the text" if view == "neuron" and is_causal(maps[0]) else "Left"
    parts += [stepper(name, side, hidden=True) for name, side in ((left, "rows"), ("Right", "columns"))]
    return f'<div class="row">{" ".join(parts)}</div>'


@cache
def _script(view: View) -> Path:
    """A script of the installed bertviz, located without importing it, since that imports IPython and torch."""
    spec = find_spec("bertviz")
    if spec is None or spec.origin is None:
        raise NoAttentionMatrix("bertviz is not installed here, so its views cannot be drawn. The heat map can.")
    return Path(spec.origin).with_name(f"{view}_view.js")

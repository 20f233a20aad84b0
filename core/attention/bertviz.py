"""bertviz's head, model and neuron view, each as one page that needs no network and runs nothing but its own scripts.

The views are the scripts of the installed bertviz package (Jesse Vig, 2019, arXiv:1906.05714), unchanged; d3, jQuery
and require.js come from ``assets/vendor``. What differs from bertviz's own output is how they get their data:

* no script comes from a CDN: require.js finds the two that it is asked for on the page;
* numbers travel as bytes (`core.attention.views.packed`), because bertviz draws them as opacity and a screen has 256
  steps of that; as JSON text with 17 digits the same numbers need more than ten times the space;
* tokens travel as JSON and are drawn as text: a token cannot become markup (`core.attention.views.page`);
* what a browser cannot draw at once is shown by parts of the text, which menus of the page offer;
* the picture leaves as SVG or PNG, made by the browser as it stands.

bertviz makes its neuron view from its own old copies of BERT, GPT-2, XLNet and RoBERTa; here any map will do that keeps
its queries and keys. numpy alone: neither torch nor bertviz's Python part is imported.

Each pair of tokens is a line for the browser to draw, in every head at once.

    head view     H · n²        one layer with its heads
    model view    L · H · n²    all layers and heads
    neuron view   n²            one head, but seven shapes for each pair, and three for each number of a vector

L layers, H heads, n tokens that are shown at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np

from core.attention.tokens import short
from core.attention.trace import AttentionMap, AttentionTrace, Floats, MapKind, check_place
from core.attention.views import packed
from core.attention.views.packed import Bits
from core.attention.views.page import colors, data_url, kept, own, page
from core.content import content
from core.errors import NoAttentionMatrix, OutOfRange
from core.settings import ASSETS
from core.theme import Name

__all__ = ["MAX_LINES", "Carried", "Name", "View", "carries", "data_url", "height", "render", "shown_tokens"]

_LIBRARIES = ("d3-5.7.0/d3.min.js", "jquery-3.7.1/jquery.min.js", "requirejs-2.3.6/require.js")
"""require.js comes last, so that the others offer themselves to the page and not to it (d3's module has no name)."""
_VIEWS: dict[View, str] = {"head": "head_view.js", "model": "model_view.js", "neuron": "neuron_view.js"}
_SAVING = 50
"""Pixels for the row of buttons below the picture."""
_LABEL_CHARS: dict[View, int] = {"head": 12, "model": 10, "neuron": 12}


def render(
    trace: AttentionTrace,
    view: View = "head",
    *,
    layer: int | None = None,
    heads: Sequence[int] | None = None,
    kind: MapKind | None = None,
    theme: Name = "light",
    title: str = "Attention",
    controls: bool = True,
    start: int = 0,
    count: int | None = None,
    include_layers: Sequence[int] | None = None,
    include_heads: Sequence[int] | None = None,
    bits: Bits = 8,
) -> str:
    """A complete HTML page that shows ``trace``.

    Layers, heads and tokens count from 0 here and from 1 on the page. 12 layers and 12 heads of 128 tokens make a page
    of 3.6 MB (10⁶ bytes), of 256 tokens 13 MB; queries and keys of 64 numbers add 3.1 MB for every 128 tokens. With 16
    bits the numbers take twice that.

    Args:
        view: ``head`` draws one layer with all its heads, ``model`` every layer and head as a thumbnail, ``neuron`` one
            head with its queries and keys.
        layer: the layer shown first (head and neuron view).
        heads: the heads shown first (head view; the neuron view takes the first of them); all when not given. The model
            view enlarges the first of them where ``layer`` is given as well.
        kind: the map shown first; the others can be chosen on the page where they have as many layers and heads.
        theme: colors for a light or a dark page.
        title: the page's title, plain text.
        controls: with menus for the layer, the map and the part of the text; a page that is framed by menus of its own
            needs none.
        start, count: the tokens that are sent, queries and keys alike: ``count`` from ``start`` on, by default as many
            as the view can show at once. Of more, the page shows one part at a time. A map with fewer tokens than that
            is sent whole or by its last ``count``.
        include_layers, include_heads: what is sent, all when not given (the names are bertviz's).
        bits: 16 keeps weights within 1/131,070 and not 1/510.

    Raises:
        NoAttentionMatrix: ``trace`` is empty or has no such map; ``neuron`` is asked for and queries and keys were not
            kept; the weights are differences, which have a sign that these views cannot draw.
        OutOfRange: no such layer, head or token.
    """
    if view not in _VIEWS:
        raise ValueError(f"no view {view!r}; there are {', '.join(_VIEWS)}")
    maps = _first(trace, kind, view)
    for number in (layer, *(include_layers or ())):
        check_place(maps[0], layer=number)
    for number in (*(heads or ()), *(include_heads or ())):
        check_place(maps[0], head=number)
    layers = _chosen("layer", include_layers, maps[0].layers, [] if layer is None else [layer])
    every = _chosen("head", include_heads, maps[0].heads, heads or ())
    longest = max(len(maps[0].query_tokens), len(maps[0].key_tokens))
    if not 0 <= start < longest or (count is not None and count < 1):
        raise OutOfRange(f"There is no token {start + 1}; this text has {longest}.")
    most = max(carries(found, view, layers=len(layers), heads=len(every)).tokens for found in maps)
    count = most if count is None or not controls else count
    shown = None if heads is None else [every.index(head) for head in heads]
    params: dict[str, Any] = {
        "attention": [_packed(found, view, layers, every, start, count, bits) for found in maps],
        "default_filter": "0",
        "root_div_id": "atlas",
        "layer": None if layer is None else layers.index(layer) if view == "neuron" else layer + 1,
        "heads": shown,
        "include_layers": [number + 1 for number in layers],
        "include_heads": [number + 1 for number in every],
        "total_heads": maps[0].heads,
        "display_mode": theme,
        "most": most,
    }
    if view == "model" and layer is not None and shown:
        params["open"] = [layers.index(layer), shown[0]]
    if view == "neuron":
        params["head"] = shown[0] if shown else None
        params["bidirectional"] = not packed.causal(maps[0])
        params["together"] = packed.causal(maps[0])  # what comes after the query is told by its place in the part
    return page(
        title=title,
        style=colors(theme) + own("bertviz.css"),
        body=_body(maps, view, every, controls),
        data=params,
        scripts=[
            *(kept(ASSETS / "vendor" / name) for name in _LIBRARIES),
            "".join(own(name) for name in ("unpack.js", "bertviz.js", "bertviz-chosen.js", "bertviz-save.js")),
            kept(_script(_VIEWS[view])),
        ],
        name=view,
        pictures=True,
    )


def height(
    found: AttentionMap,
    view: View = "head",
    tokens: int | None = None,
    *,
    layers: int | None = None,
    heads: int | None = None,
) -> int:
    """How many pixels the page needs (as bertviz lays it out) to show ``tokens`` at once, by default all it can.

    ``layers`` and ``heads`` are how many are shown, by default all.
    """
    layers, heads = layers or found.layers, heads or found.heads
    shown = carries(found, view, layers=layers, heads=heads).tokens
    tokens = shown if tokens is None else min(tokens, shown)
    if view == "head":
        return math.ceil(tokens * 22.5 + 30 + 130) + _SAVING
    if view == "neuron":
        return tokens * 26 + 60 + 150 + _SAVING
    return math.ceil(max(layers * (tokens * 7 * 12 / heads + 10), tokens * 18 + 55) + 40 + 90) + _SAVING


def _first(trace: AttentionTrace, kind: MapKind | None, view: View) -> list[AttentionMap]:
    """The maps to offer, the wanted one first: bertviz has one list of layers and heads for all of them.

    The neuron view has one switch for all maps that leaves out what comes after the query.
    """
    maps = trace.maps
    chosen = next((found for found in maps if kind in (None, found.kind)), None)
    if chosen is None:
        raise NoAttentionMatrix(
            "There is no such attention in this model: " + (f"no {kind} map." if kind else "no map.")
        )
    if chosen.weights.min(initial=0.0) < 0:
        raise NoAttentionMatrix(
            "bertviz draws weights between zero and one, and a difference can be negative. The grid draws differences."
        )
    size = (chosen.layers, chosen.heads)
    offered = [chosen, *(found for found in maps if found is not chosen and (found.layers, found.heads) == size)]
    if view != "neuron":
        return offered
    if chosen.queries is None or chosen.keys is None:
        raise NoAttentionMatrix(
            "The neuron view needs every query and key vector, which were not kept here. The head view and the model "
            "view show the same weights."
        )
    alike = packed.causal(chosen), chosen.queries.shape[-1]
    return [
        found
        for found in offered
        if found.queries is not None
        and found.keys is not None
        and (packed.causal(found), found.queries.shape[-1]) == alike
    ]


def _chosen(name: str, wanted: Sequence[int] | None, size: int, first: Sequence[int]) -> list[int]:
    """What is sent, in order, with what is shown first among it."""
    sent = list(range(size)) if wanted is None else sorted(set(wanted))
    if not sent:
        raise OutOfRange(f"At least one {name} must be shown.")
    for number in first:
        if number not in sent:
            raise OutOfRange(f"{name.capitalize()} {number + 1} is not among those that are shown here.")
    return sent


def _packed(
    found: AttentionMap, view: View, layers: list[int], heads: list[int], start: int, count: int, bits: Bits
) -> dict[str, Any]:
    rows, columns = _window(len(found.query_tokens), start, count), _window(len(found.key_tokens), start, count)
    weights = packed.weights(_sent(found.weights[:, :, rows, columns], layers, heads), bits)
    out: dict[str, Any] = {
        "name": _name(found),
        "weights": packed.text(weights),
        "shape": weights.shape,
        "bits": bits,
        "left_text": [short(token, _LABEL_CHARS[view]) for token in found.query_tokens[rows]],
        "right_text": [short(token, _LABEL_CHARS[view]) for token in found.key_tokens[columns]],
        "first": {"rows": rows.start, "columns": columns.start},
    }
    if found.second is not None and rows == columns and rows.start < found.second < rows.stop:
        out["second"] = found.second - rows.start
    if view == "neuron":
        assert found.queries is not None
        assert found.keys is not None
        out["queries"] = packed.by_head(_sent(found.queries[:, :, rows], layers, heads), bits, signed=True)
        out["keys"] = packed.by_head(_sent(found.keys[:, :, columns], layers, heads), bits, signed=True)
    return out


def _name(found: AttentionMap) -> str:
    return found.label or found.kind.capitalize()


def _sent(values: Floats, layers: list[int], heads: list[int]) -> Floats:
    """The chosen layers and heads of (L, H, n, m); without a copy where that is all."""
    return values if values.shape[:2] == (len(layers), len(heads)) else values[np.ix_(layers, heads)]


def _window(size: int, start: int, count: int) -> slice:
    """``count`` tokens from ``start`` on, or the last ones where there are not so many."""
    first = max(0, min(start, size - count))
    return slice(first, min(size, first + count))


def _body(maps: Sequence[AttentionMap], view: View, heads: Sequence[int], controls: bool) -> str:
    hint = content("attention", "bertviz").part(f"Hint: {view}")
    if view == "head" and len(heads) < maps[0].heads:
        numbers = ", ".join(str(head + 1) for head in heads)
        hint += f" From left to right they are head{'s' if len(heads) > 1 else ''} {numbers}."
    return f"""<div id="atlas">
{_controls(maps, view) if controls else ""}
<p class="hint">{hint}</p>
<div id="vis" role="figure" aria-label="The {view} view, drawn by bertviz"></div>
<p class="row" id="saving"><button type="button" id="save-svg">Download SVG</button>
<button type="button" id="save-png">Download PNG</button></p>
</div>"""


def _controls(maps: Sequence[AttentionMap], view: View) -> str:
    parts = [] if view == "model" else ['<label>Layer <select id="layer"></select></label>']
    if view == "neuron":
        parts.append('<label>Head <select id="att_head"></select></label>')
    options = "".join(f'<option value="{i}">{escape(_name(found))}</option>' for i, found in enumerate(maps))
    # bertviz draws anew when this menu changes, so it is there even where it leaves no choice.
    parts.append(f'<label{"" if len(maps) > 1 else " hidden"}>Attention <select id="filter">{options}</select></label>')
    left = "Part of the text" if view == "neuron" and packed.causal(maps[0]) else "Left"
    parts += [
        f'<label hidden>{name} <select id="{side}"></select></label>'
        for name, side in ((left, "rows"), ("Right", "columns"))
    ]
    return f'<p class="row">{" ".join(parts)}</p>'


def _script(name: str) -> Path:
    """A script of the installed bertviz, found without importing it (that would bring IPython and torch)."""
    found = find_spec("bertviz")
    if found is None or not found.submodule_search_locations:
        raise NoAttentionMatrix("bertviz is not installed here, so its views cannot be drawn. The heat map can.")
    return Path(next(iter(found.submodule_search_locations))) / name


View = Literal["head", "model", "neuron"]

MAX_LINES: dict[View, int] = {"head": 50_000, "model": 150_000, "neuron": 5_000}
"""Pairs of tokens that a browser still draws within a few seconds (slow machines included)."""


@dataclass(frozen=True, slots=True)
class Carried:
    """What a view can carry of one map."""

    tokens: int
    """Tokens on either side that are shown at once with these layers and heads."""
    pictures: int
    """Heads that could be drawn at once with the whole text; in the head view heads of one layer."""
    whole: bool
    """Whether the whole text is shown at once."""
    sentence: str
    """The same in words, with what to do where it is not the whole text."""


def carries(
    found: AttentionMap, view: View = "head", *, layers: int | None = None, heads: int | None = None
) -> Carried:
    """What ``view`` can carry of ``found`` where ``layers`` and ``heads`` of it are shown; all when not given."""
    at_once = found.heads if heads is None else heads
    if view == "model":
        at_once *= found.layers if layers is None else layers
    elif view == "neuron":
        at_once = 1
    longest = max(len(found.query_tokens), len(found.key_tokens))
    tokens = max(1, math.isqrt(MAX_LINES[view] // at_once))
    pictures = max(1, MAX_LINES[view] // longest**2)
    return Carried(
        min(tokens, longest),
        min(pictures, at_once),
        tokens >= longest,
        _sentence(view, at_once, longest, tokens, pictures),
    )


def shown_tokens(found: AttentionMap, view: View = "head") -> int:
    """How many of a map's tokens ``view`` can show at once, all layers and heads included."""
    return carries(found, view).tokens


def _sentence(view: View, at_once: int, longest: int, tokens: int, pictures: int) -> str:
    if tokens >= longest:
        return f"The {view} view shows all {_count(longest, 'token')} of this text."
    shapes = "seven shapes" if view == "neuron" else "a line"
    where = {"head": "in every head of a layer", "model": "in every head of every layer", "neuron": "in a head"}[view]
    ways = ["a part of the text"]
    if view != "neuron" and pictures < at_once and pictures * longest**2 <= MAX_LINES[view]:
        ways.append(f"{_count(pictures, 'head')} at a time with the whole text")
    return (
        f"The {view} view draws {shapes} for every pair of tokens {where}. For {_count(at_once, 'head')} and "
        f"{longest:,} tokens that makes {at_once * longest**2:,} pairs, too many for a browser; it shows "
        f"{_count(tokens, 'token')} at once. Choose {' or '.join(ways)}; the grid shows everything."
    )


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"

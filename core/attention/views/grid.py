"""All heads of a map as one HTML page: thumbnails to open, and the weights of a token as shading and as numbers.

The page draws on a canvas, so it handles more than bertviz's views: 12 layers x 12 heads x 256² weights within a
second. It works by keyboard, announces the position, and has a table beside every picture. Like bertviz's pages it
makes no requests and runs only its own scripts (`core.webpage`).

Colors run from the page's background (zero) through a branch's color; those of a difference from orange (negative)
through the background to blue. Weights that were not computed are hatched, unlike zeros.

numpy alone. Legend: L layers, H heads, Q query tokens, K key tokens.
"""

from __future__ import annotations

from html import escape
from typing import Any

from core.attention.tokens import short
from core.attention.trace import AttentionMap, check_head
from core.attention.views.export import Bits, by_head, computed, flags
from core.content import content
from core.theme import THEMES, Name
from core.webpage import colors, component_asset, page, stepper

_TOKEN_CHARS = 60
_KINDS = {
    "encoder": "Encoder",
    "decoder": "Decoder",
    "cross": "Cross-attention",
    "query": "Query stream",
}


def render(
    attention_map: AttentionMap,
    *,
    layer: int | None = None,
    head: int | None = None,
    theme: Name = "light",
    branch: str = "encoder",
    title: str = "Attention",
    difference: bool = False,
    bits: Bits = 8,
) -> str:
    """A complete HTML page that shows every head of ``attention_map``.

    Layers and heads count from 0 here and from 1 on the page. 12 layers and 12 heads of 128 tokens make a page of
    about 1.3 MB (10⁶ bytes), of 256 tokens 3.8 MB, and with 16 bits, which deflate less, 4.8 and 17.3 MB.

    Args:
        layer, head: the initial selection; with both, that head is open.
        theme: colors for a light or a dark page.
        branch: whose color the weights have.
        title: the page's title, plain text.
        difference: the weights have a sign (`core.attention.combine.difference`); implied by any negative weight.
        bits: weights are quantized to 255 steps up to the largest of their head, or 65,535 with 16; differences to 127
            or 32,767 steps on each side of zero. The error is at most half a step.

    Raises:
        OutOfRange: no such layer or head.
    """
    check_head(attention_map, layer, head)
    signed = difference or bool(attention_map.weights.min(initial=0.0) < 0)
    mask = computed(attention_map)
    single = attention_map.layers == attention_map.heads == 1
    data: dict[str, Any] = {
        "weights": by_head(attention_map.weights, bits, signed=signed),
        "computed": None if mask is None else flags(mask),
        "signed": signed,
        "queries": [short(token, _TOKEN_CHARS) for token in attention_map.query_tokens],
        "keys": [short(token, _TOKEN_CHARS) for token in attention_map.key_tokens],
        "specials": {"queries": attention_map.special_queries, "keys": attention_map.special_keys},
        "second": attention_map.second,
        "square": attention_map.query_tokens == attention_map.key_tokens,
        "layer": layer or 0,
        "head": head or 0,
        "open": single or (layer is not None and head is not None),
        "colors": color_scale(theme, signed, branch),
        "accent": THEMES[theme].selection,
        "hints": {view: content("attention", "all").part(f"Hint: {view}") for view in ("all", "one")},
    }
    return page(
        title=title,
        style=_style(theme),
        body=_body(attention_map, signed, bits, mask is not None),
        data=data | {"title": title, "note": attention_map.note},
        scripts=[
            "".join(map(component_asset, ("unpack.js", "step.js", "grid-map.js", "grid.js")))
            + "inflated.then(() => {\n"  # before that, there is nothing to draw or to choose
            + "".join(map(component_asset, ("grid-moves.js", "grid-save.js", "framed.js")))
            + "});\n"
        ],
        name="grid",
    )


def height(attention_map: AttentionMap) -> int:
    """How many pixels the page needs in a frame about 700 pixels wide; on a phone it scrolls."""
    cell = min(130, 600 // attention_map.heads)
    return max(710, min(1_200, 270 + attention_map.layers * (cell + 5)))


def color_scale(theme: Name, signed: bool = False, branch: str = "encoder") -> list[tuple[float, str]]:
    """The colors as (position, color) with positions from 0 to 1; with a sign, zero is at 0.5."""
    look = THEMES[theme].of(branch)
    return list(look.differences if signed else look.amounts)


def _style(theme: Name) -> str:
    look = THEMES[theme]
    return (
        colors(theme)
        + f":root {{ --accent: {look.selection}; --edge: {look.muted}; --hatch: {look.hatch}; }}\n"
        + component_asset("step.css")
        + component_asset("grid.css")
    )


def _body(attention_map: AttentionMap, signed: bool, bits: Bits, some_unknown: bool) -> str:
    """The markup, which is trusted; the script inserts user text."""
    what = "difference" if signed else "weight"
    hide = bool(attention_map.special_queries or attention_map.special_keys)
    words = content("attention", "all")
    legend = [f'<span id="low"></span> <span id="ramp"></span> <span id="high"></span> {what}']
    legend.append(f'<span class="swatch zero"></span> {escape(words.label("same" if signed else "computed"))}')
    if some_unknown:
        legend.append(f'<span class="swatch none"></span> {escape(words.label("uncomputed"))}')
    if attention_map.second is not None:
        legend.append(f'<span class="dash"></span> {escape(words.label("second"))}')
    steps = {(False, 8): "255", (False, 16): "65,535", (True, 8): "127", (True, 16): "32,767"}[signed, bits]
    return f"""<main>
<h1 id="title"></h1>
<p class="hint">{_counts(attention_map)} <span id="note"></span></p>
<p class="hint" id="how"></p>
<div class="controls">
<button type="button" id="toggle"></button>
{stepper("Layer", "layer")} {stepper("Head", "head")}
<label{"" if hide else " hidden"}><input type="checkbox" id="specials" autocomplete="off"> Hide special tokens</label>
<label><input type="checkbox" id="alike" autocomplete="off"> One scale for all heads</label>
</div>
<p class="hint" id="summed" hidden>{escape(words.part("Hint: special tokens"))}</p>
<ul class="legend">{"".join(f"<li>{item}</li>" for item in legend)}</ul>
<p id="said" role="status" aria-live="polite"></p>
<div class="sides">
<div>
<div id="overview" class="scroll"><canvas id="all" tabindex="0" role="application" aria-describedby="how said"
 aria-label="All heads, one picture for each layer and head"></canvas></div>
<div id="single" hidden><h2 id="which"></h2><div class="scroll"><canvas id="one" tabindex="0" role="application"
 aria-describedby="how said" aria-label="One head, queries down and keys across"></canvas></div></div>
<p id="saving"><button type="button" id="save-png">Download PNG</button></p>
</div>
<div class="numbers">
<section id="row" hidden>
<h2>{"Differences" if signed else "Keys"} of <span id="asked"></span></h2>
<p id="shaded" aria-hidden="true"></p>
<table><caption>{escape(words.label("keys"))}</caption>
<thead><tr><th>#</th><th>Key</th><th class="number">{what.capitalize()}</th></tr></thead>
<tbody id="keys"></tbody></table>
</section>
<table><caption>{escape(words.label("links"))}</caption>
<thead><tr><th>#</th><th>Query</th><th>Key</th><th class="number">{what.capitalize()}</th></tr></thead>
<tbody id="links"></tbody></table>
<p class="hint">{escape(words.part("Hint: numbers", steps=steps))}</p>
</div>
</div>
</main>"""


def _counts(attention_map: AttentionMap) -> str:
    def count(number: int, what: str) -> str:
        return f"{number} {what}{'' if number == 1 else 's'}"

    queries, keys = len(attention_map.query_tokens), len(attention_map.key_tokens)
    tokens = count(keys, "token")
    if attention_map.query_tokens != attention_map.key_tokens:
        tokens = f"{count(queries, 'query token')} and {count(keys, 'key token')}"
    heads = f"{count(attention_map.layers, 'layer')} of {count(attention_map.heads, 'head')}"
    return f"{_KINDS[attention_map.kind]}: {heads}, {tokens}."

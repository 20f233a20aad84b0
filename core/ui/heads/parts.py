"""What stands around the picture of a head: words that fit the kind of attention, and the tabs below.

Layers and heads count from 0 inside and from 1 in everything that is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from core.attention import bertviz
from core.attention.heads import MEANING, HeadScores
from core.attention.trace import AttentionMap, AttentionTrace, MapKind
from core.attention.views.export import MAX_TABLE_ROWS, grids_table, head_table, map_table, to_npz
from core.attention.views.packed import Bits
from core.attention.views.svg import head_svg
from core.figures import attention as figures
from core.theme import Name
from core.ui.chart import chart
from core.ui.data_table import data_table
from core.ui.export import chart_menu, download_csv, download_html, download_npz, download_svg
from core.ui.glossary import told
from core.ui.page import plain, theme

Go = Callable[[int, int], None]
"""Opens a layer and a head (from 0); to be used as a callback."""

KINDS = {"encoder": "Encoder", "decoder": "Decoder", "cross": "Decoder to encoder", "query": "Query stream"}

_PAGES: tuple[tuple[bertviz.View, str], ...] = (("head", "head view"), ("model", "model view"))

_TRY = {
    "encoder": "step through the heads of the first layers and look for lines beside the diagonal; then change a word "
    "and see which patterns stay and which follow the words.",
    "decoder": "read the rows from top to bottom as the text grew; repeat a word in the text and look for a head that "
    "finds the earlier copy.",
    "cross": "pick a produced token on the left and see which source token has the strongest weight; compare the first "
    "layer with the last.",
    "query": "hold a row against the same row of the content stream, which knows the token that stands there.",
}
_NOTICE = {
    "encoder": "Rows reach in both directions: an encoder sees the whole text at once.",
    "decoder": "The upper right is empty: a token never sees what comes after it, and the first sees itself alone.",
    "cross": "Rows are the produced tokens in their order; a band along the diagonal means that the output keeps the "
    "order of the source.",
    "query": "The diagonal is empty: a row is to find its token and cannot see it.",
}


def name(found: AttentionMap) -> str:
    """What a map is called in a menu."""
    return found.label or KINDS[found.kind]


def words(found: AttentionMap, scores: HeadScores, layer: int, head: int) -> None:
    """Two lines below the picture: what to try, what to notice; the numbers are those of this text."""
    st.markdown(f"**Try:** {_TRY[found.kind]}")
    st.markdown(f"**Notice:** {plain(found.note) or _NOTICE[found.kind]} {about(scores, layer, head)}")


def about(scores: HeadScores, layer: int, head: int) -> str:
    """A sentence on what this head does on this text, by its scores."""
    spread = float(scores.grids["spread"][layer, head])
    simple = [name for name in scores.grids if name != "spread"]
    # One repeated word is no habit: a mean over two rows is left to the tables.
    telling = [name for name in simple if scores.rows[name] > 2] or simple
    name = max(telling, key=lambda name: float(scores.grids[name][layer, head]))
    value = float(scores.grids[name][layer, head])
    if spread >= 0.95:
        sentence = "This head spreads its weight almost evenly over all that it may see."
    elif value >= 0.25:
        sentence = f"This head puts {value:.0%} of its {MEANING[name]}, on average over the rows that can see it."
    else:
        sentence = "This head has no simple place to look at: its rows differ with the words."
    best = next((n for n in ("previous", "same place") if n in scores.grids), name)
    at_layer, at_head, best_value = scores.strongest(best, 1)[0]
    if (at_layer, at_head) != (layer, head) and best_value >= 0.4:
        sentence += (
            f" Layer {at_layer + 1}, head {at_head + 1} has the most {MEANING[best].removeprefix('weight ')}: "
            f"{best_value:.0%}."
        )
    return sentence


def all_heads(found: AttentionMap, layer: int, head: int, *, key: str, accent: str, go: Go) -> None:
    """The overview; a click on a thumbnail opens that head."""

    def clicked() -> None:
        points = st.session_state[f"{key}.all"]["selection"]["point_indices"]
        if points and 0 <= points[0] < found.layers * found.heads:
            go(*divmod(int(points[0]), found.heads))

    chart(
        figures.overview(found, layer, head, accent, theme=theme()),
        key=f"{key}.all",
        on_select=clicked,
        selection_mode="points",
        alt=f"Thumbnails of {found.layers} layers with {found.heads} heads each; layer {layer + 1}, head {head + 1} is "
        "framed. The tab What the heads do has the same heads as numbers.",
    )
    few = found.weights.size <= MAX_TABLE_ROWS
    chart_menu(
        f"{key}.all",
        f"attention-{found.kind}-all-heads",
        title=f"{name(found)}: all heads",
        alt=f"{found.layers} layers down, {found.heads} heads across; each up to its own largest weight."
        + ("" if few else " Its weights are too many for a table; the tab Download has them as a file."),
        table=partial(map_table, found) if few else None,
    )
    st.caption(
        "One thumbnail for each head, queries down and keys across; each is drawn up to its own largest weight. Click "
        "one to open it, or use the menus above."
    )


def roles(scores: HeadScores, *, key: str, go: Go) -> None:
    """Head scores as a grid and as a table, with the strongest heads one click away."""
    names = list(scores.grids)
    preferred = next((n for n in ("previous", "same place") if n in names), names[0])
    name = st.segmented_control(
        "Score", names, default=preferred, required=True, key=f"{key}.score", help="Measured on this text"
    )
    grid = scores.grids[name]
    st.caption(f"{MEANING[name].capitalize()}, averaged over the rows of this text that it applies to.")
    with st.container(horizontal=True):
        for layer, head, value in scores.strongest(name):
            st.button(
                f"Layer {layer + 1}, head {head + 1}: {value:.2f}",
                key=f"{key}.go.{name}.{layer}.{head}",
                on_click=go,
                args=(layer, head),
            )
    if grid.shape[1] > 1 or grid.shape[0] > 1:
        chart(
            figures.score_grid(grid, MEANING[name], theme=theme()),
            key=f"{key}.grid",
            alt=f"Score {name} of every head; the table below has the numbers.",
        )
        chart_menu(
            f"{key}.grid",
            "attention-scores",
            title=f"Score {name} of every head",
            alt=f"{MEANING[name].capitalize()}, layers down, heads across.",
            table=partial(grids_table, scores.grids),
        )
    with st.expander("As a table"):
        data_table(
            [
                {"layer": layer + 1, "head": head + 1}
                | {other: round(float(values[layer, head]), 3) for other, values in scores.grids.items()}
                for layer in range(grid.shape[0])
                for head in range(grid.shape[1])
            ],
            "attention-scores",
            alt="All scores of all heads",
            key=f"{key}.scores",
        )
    st.caption(
        "Scores say where a head looks, not what it does with what it sees: that depends on its values as well. An "
        "even head over n tokens puts 1/n on each."
    )


def formula(found: AttentionMap) -> None:
    """The formula and its symbols."""
    mask = found.allowed is not None
    st.latex(r"A=\mathrm{softmax}\!\left(\frac{QK^{\top}}{\sqrt{d_k}}" + (r"+M" if mask else "") + r"\right)")
    where = {
        "encoder": "one row for each token of the text; queries and keys come from the same text",
        "decoder": "one row for each token read so far; queries and keys come from the same text",
        "cross": "queries come from the text being produced, keys from the source",
        "query": "queries know the place alone, keys come from what is known or was found before",
    }[found.kind]
    masked = "\n- $M$ is 0 where a query may look and −∞ elsewhere: softmax makes that 0." if mask else ""
    told(
        "- $Q$ holds the queries, $K$ the keys, both made from the layer's input by the head's own matrices: "
        f"{where}.\n"
        "- $d_k$ is the width of one head; dividing by its root keeps the scores from growing with the width."
        f"{masked}\n"
        "- softmax turns each row into weights that are not negative and sum to one: row $i$ of $A$ says how much of "
        "each key's value goes into token $i$.\n\n"
        "T5 leaves out the division and adds a learned number for the distance between query and key."
    )


def downloads(trace: AttentionTrace, found: AttentionMap, layer: int, head: int, *, key: str, look: Name) -> None:
    """This head, all heads, and bertviz's views as pages that need no network; made only when asked for."""
    stem = f"{trace.checkpoint}-{found.kind}"
    title = f"{trace.checkpoint}, {name(found).lower()}, layer {layer + 1}, head {head + 1}"
    one = f"{stem}-layer{layer + 1}-head{head + 1}"
    with st.container(horizontal=True, vertical_alignment="center"):
        download_svg(lambda: head_svg(found, layer, head, theme=look, title=title).encode(), one, f"{key}.svg")
        download_csv(partial(head_table, found, layer, head), one, f"{key}.csv")
        download_npz(lambda: to_npz(trace), f"{trace.checkpoint}-attention", f"{key}.npz", of="all heads")
        bits: Bits = 16 if st.session_state.get(f"{key}.bits") else 8
        for view, of in _PAGES:
            download_html(
                partial(_standalone, trace, view, found.kind, layer, head, look, bits),
                f"{stem}-{view}-view",
                f"{key}.{view}",
                of=of,
            )
        st.checkbox(
            "16 bits",
            key=f"{key}.bits",
            persist_state="page",
            help="Pages with each number in 65,536 steps, of twice the size",
        )
    st.caption(
        "The camera above the heat map saves it as PNG. The pages are bertviz's views; each is one file that works "
        "without a network. The NPZ file holds the weights of all layers and heads as 32-bit numbers, the pages hold "
        "them in 256 steps, or in 65,536."
    )


def _standalone(
    trace: AttentionTrace, view: bertviz.View, kind: MapKind, layer: int, head: int, look: Name, bits: Bits
) -> bytes:
    title = f"Attention of {trace.checkpoint}"
    longest = max(max(found.weights.shape[2:]) for found in trace.maps)  # parts of a long text are chosen on the page
    return bertviz.render(
        trace, view, layer=layer, heads=[head], kind=kind, theme=look, title=title, count=longest, bits=bits
    ).encode()

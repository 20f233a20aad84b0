"""One head, drawn three ways: heat map, bertviz's head view in a frame of its own origin, table. From 0 inside."""

from __future__ import annotations

import streamlit as st

from core.attention import bertviz
from core.attention.tokens import short
from core.attention.trace import AttentionMap, AttentionTrace
from core.attention.views.export import strongest_links, top_keys
from core.figures import attention as figures
from core.theme import Name
from core.ui.chart import chart
from core.ui.data_table import data_table
from core.ui.framed import framed
from core.ui.page import theme
from core.ui.text_table import TextTable, text_table

_LONGEST = 60
_FRAME_LIMIT = 720  # px: longer head views scroll inside their frame


def heat_map(found: AttentionMap, layer: int, head: int, key: str) -> None:
    weights = found.weights[layer, head]
    query, at = divmod(int(weights.argmax()), weights.shape[1])
    chart(
        figures.attention_map(found, layer, head, theme=theme()),
        key=f"{key}.heat",
        config=saved_as(f"attention-layer{layer + 1}-head{head + 1}"),
        alt=f"Heat map of layer {layer + 1}, head {head + 1}: {weights.shape[0]} query tokens by {weights.shape[1]} "
        f"key tokens. The largest weight is {weights[query, at]:.2f}, from {_cut(found.query_tokens[query])} to "
        f"{_cut(found.key_tokens[at])}. The table beside it has the strongest keys of every query.",
    )
    if not found.computed(layer, head).all():
        st.caption("Gray ground: not computed. A computed weight of zero has the color of the page.")


def saved_as(name: str) -> dict[str, object]:
    """A toolbar with one button: the browser saves the picture as PNG, in twice the pixels of the screen."""
    return {
        "displaylogo": False,
        "modeBarButtons": [["toImage"]],
        "toImageButtonOptions": {"format": "png", "scale": 2, "filename": name},
    }


def strongest(found: AttentionMap, layer: int, head: int) -> None:
    """The ten strongest links in words, as a table that is read aloud in order."""
    rows = [
        (
            f"{_cut(link.from_token)} ({link.from_place})",
            f"{_cut(link.to_token)} ({link.to_place})",
            f"{link.weight:.3f}",
        )
        for link in strongest_links(found, layer, head)
    ]
    looks, looked_at = ("written", "source") if found.kind == "cross" else ("from", "to")
    with st.expander("The ten strongest links, as a table"):
        text_table(
            TextTable(
                (f"{looks.capitalize()} token", f"{looked_at.capitalize()} token", "Weight"),
                rows,
                caption=f"The strongest links of layer {layer + 1}, head {head + 1}, the largest weight first; the "
                "number behind a token is its place in the text",
                widths=(42, 42, 16),
                numeric=(2,),
            )
        )


def head_view(trace: AttentionTrace, found: AttentionMap, layer: int, head: int, look: Name) -> None:
    alone = AttentionTrace(trace.checkpoint, **{found.kind: found})
    page = bertviz.render(alone, "head", layer=layer, heads=[head], theme=look, controls=False)
    framed(
        page,
        height=min(bertviz.height(found), _FRAME_LIMIT),
        alt=f"bertviz head view of layer {layer + 1}, head {head + 1}. The table beside it has the strongest keys.",
    )
    _cut_note(found)


def table(found: AttentionMap, layer: int, head: int, *, count: int, key: str) -> None:
    rows = [
        {name: _cut(value) if isinstance(value, str) else value for name, value in row.items()}
        for row in top_keys(found, layer, head, count)
    ]
    weight = {
        f"weight {rank}": st.column_config.ProgressColumn(format="%.2f", min_value=0.0, max_value=1.0, width=90)
        for rank in range(1, count + 1)
    }
    st.markdown("Where each token looks" if found.kind != "cross" else "Where each produced token looks")
    data_table(
        rows,
        "strongest-keys",
        alt=f"The {count} strongest keys of every query in layer {layer + 1}, head {head + 1}",
        key=key,
        height=min(38 + 35 * len(rows), 560),
        column_config={"#": st.column_config.NumberColumn(width=40), **weight},
    )


def _cut(token: str) -> str:
    """A token of any length as a table, or a sentence read aloud, has room for it."""
    return short(token, _LONGEST)


def _cut_note(found: AttentionMap) -> None:
    """Say that the head view shows the beginning only, where it does."""
    shown, there = bertviz.shown_tokens(found), max(len(found.query_tokens), len(found.key_tokens))
    if shown < there:
        st.caption(
            "The head view draws a line for every pair of tokens in every head, so it shows the first "
            f"{shown} of {there} tokens. The heat map shows them all."
        )

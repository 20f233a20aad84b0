"""What a view of bertviz's shows, as tables over the whole text; made when somebody asks for them.

The head view gives the heads that are on in its layer, the model view every head that is sent, the neuron view one head
with its queries and keys.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from core.attention.bertviz import View
from core.attention.trace import AttentionMap, AttentionTrace
from core.attention.views.export import MAX_TABLE_ROWS, map_table, scores_table, to_npz, vectors_table
from core.ui.attention.bertviz_chosen import First
from core.ui.export import download_csv, download_npz

if TYPE_CHECKING:
    from core.ui.links import PageState


def numbers(
    found: AttentionMap,
    view: View,
    stem: str,
    layers: list[int] | None,
    heads: list[int] | None,
    now: First,
    state: PageState,
) -> None:
    """Draw the buttons.

    Args:
        stem: how the files' names begin.
        layers, heads: those that the view was sent, from 0; None for all.
        now: what is chosen in it.
    """
    sent = list(range(found.layers)) if layers is None else layers
    able = list(range(found.heads)) if heads is None else heads
    layer = sent[0] if now.layer is None else now.layer
    if view == "neuron":
        _one_head(found, layer, now.heads[0] if now.heads else able[0], stem, state)
        return
    if view == "head":
        sent, able, stem = [layer], able if now.heads is None else list(now.heads), f"{stem}-layer{layer + 1}"
    if len(sent) * len(able) * found.weights[0, 0].size <= MAX_TABLE_ROWS:
        download_csv(
            partial(map_table, found, sent, able),
            stem,
            state.key("bertviz.csv"),
            tip="The weights of the heads that are shown, over the whole text",
        )
        return
    download_npz(
        lambda: to_npz(AttentionTrace(stem, **{found.kind: found})),
        stem,
        state.key("bertviz.npz"),
        tip=f"The weights of every layer and head as a numpy archive: those that are shown are more than "
        f"{MAX_TABLE_ROWS:,}, too many for a table",
    )


def _one_head(found: AttentionMap, layer: int, head: int, stem: str, state: PageState) -> None:
    where, stem = f"Of layer {layer + 1}, head {head + 1}", f"{stem}-layer{layer + 1}-head{head + 1}"
    download_csv(
        partial(scores_table, found, layer, head),
        stem,
        state.key("bertviz.scores"),
        of="weights and q·k",
        tip=f"{where}: for each pair of tokens the query times the key, divided by the root of the width, and the "
        "weight",
    )
    download_csv(
        partial(vectors_table, found, layer, head),
        f"{stem}-vectors",
        state.key("bertviz.vectors"),
        of="queries and keys",
        tip=f"{where}: the query and the key of every token",
    )

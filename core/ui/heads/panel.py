"""One head of a live model as a heat map or as a table, with its controls.

The selected query is the same in both. Layers and heads count from 1 in links and in what is shown, from 0 inside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.attention.heads import LABELS, HeadScores, meaning, scores
from core.attention.roles import relations, rolefiles
from core.attention.tokens import short
from core.attention.trace import AttentionMap, AttentionTrace
from core.attention.views.export import grids_table, head_table, strongest_links, top_keys
from core.content import content
from core.errors import NoAttentionMatrix
from core.figures import attention as figures
from core.figures.heatmap import MOST_CLICKS
from core.figures.labels import percent
from core.ui.export import download_csv
from core.ui.heads.text import Opening
from core.ui.links import PageState
from core.ui.page import NEWS, bare, plain, theme
from core.ui.panel import Panel
from core.ui.param import Choice, Integer
from core.ui.section import View
from core.ui.selection import TOKEN, Selection, clicks
from core.ui.tables import TextTable, data_table, text_table

KINDS = {"encoder": "Encoder", "decoder": "Decoder", "cross": "Cross-attention", "query": "Query stream"}
MAP = Choice(name="map", label="Attention", options=KINDS, style="row", hide_label=True, resets=(TOKEN.name,))
LAYER = Integer(name="layer", label="Layer", low=1, high=200, style="menu", width=96)
HEAD = Integer(name="head", label="Head", low=1, high=256, style="menu", width=96)
VIEW = Choice(name="view", label="View", options={"heat": "Heat map and table", "table": "Table"}, style="row")
Go = Callable[[int, int], None]
"""Opens a layer and a head (from 0); a callback."""
_LINKS = 50
"""The least number of dependencies of a relation for which a head's accuracy is reported."""


def map_name(attention_map: AttentionMap) -> str:
    """The name of a map in a menu."""
    return attention_map.label or KINDS[attention_map.kind]


def chosen_map(trace: AttentionTrace, state: PageState, *, first: str = "") -> AttentionMap:
    """The map to show, from a menu if there are several.

    Args:
        first: the default kind, if the trace has it.

    Raises:
        NoAttentionMatrix: the trace is empty.
    """
    if not trace.maps:
        raise NoAttentionMatrix("This model returns no attention weights. Choose another live model.")
    maps = {str(candidate.kind): candidate for candidate in trace.maps}
    if len(maps) == 1:
        state.set(map=None)
        return trace.maps[0]
    kinds = MAP.with_(options={kind: map_name(candidate) for kind, candidate in maps.items()}, default=first)
    kind = kinds.draw(state, tag=trace.checkpoint)
    state.set(map=kind)  # spelled out: another section may begin with another
    return maps[kind]


def heads_panel(
    trace: AttentionTrace,
    state: PageState,
    branch: str,
    row: DeltaGenerator,
    menu: DeltaGenerator | None = None,
    opens: Opening | None = None,
) -> None:
    """Draw controls, figure, text, scores and formula for ``trace``; reads and writes layer, head, map, token and view.

    Args:
        row: a container for the menus of layer and head.
        menu: the section's settings, for those of the panel.
        opens: of the page, if ``trace`` is of its text.

    Raises:
        NoAttentionMatrix: the trace is empty.
    """
    view = View(state, content("attention", "heads"))
    with menu or row:
        shown = VIEW.draw(state)
    with row:
        attention_map = chosen_map(trace, state, first="cross")
        measured = scores(attention_map)
        tag = f"{trace.checkpoint}.{attention_map.kind}"
        followed = _followed(trace, attention_map)
        usual = _striking_head(measured)
        if followed:
            usual = max(followed, key=lambda head: _margin(head) * _distant_weight(attention_map, *head.best)).best
        if opens is not None:
            usual = opens.layer - 1, opens.head - 1
        layers = LAYER.with_(high=attention_map.layers, default=usual[0] + 1)
        heads = HEAD.with_(high=attention_map.heads, default=usual[1] + 1)
        layer, head = layers.draw(state, tag=tag) - 1, heads.draw(state, tag=tag) - 1
    state.set(layer=layer + 1, head=head + 1)  # spelled out: the usual head depends on the text
    selection = Selection(state, attention_map.query_tokens, special=attention_map.special_queries, tag=tag)
    picture = st.container()
    selection.chips(view.words.label("queries"), accent=branch)  # before the picture, which shows what is clicked
    with picture:
        _drawn(attention_map, (layer, head), f"{trace.checkpoint}-{attention_map.kind}", selection, branch, view, shown)
    about = _about(measured, followed, layer, head, view)
    if opens is not None and (layer, head) == usual:
        weight = attention_map.weights[layer, head][
            attention_map.query_tokens.index(opens.pronoun), attention_map.key_tokens.index(opens.noun)
        ]
        about = view.words.part("About: opening", share=percent(float(weight)))
    view.try_and_notice(attention_map.kind, about=about)
    if attention_map.note:
        st.caption(plain(attention_map.note))
    stem = f"{trace.checkpoint}-{attention_map.kind}-layer{layer + 1}-head{head + 1}-weights"
    download_csv(partial(head_table, attention_map, layer, head), stem, state.key("heads.csv"), of="weights")
    _strongest(attention_map, layer, head, view)

    def go(to_layer: int, to_head: int) -> None:
        layers.put(state.key(layers.slot(tag)), to_layer + 1)
        heads.put(state.key(heads.slot(tag)), to_head + 1)

    roles = st.expander(view.words.label("scores"), key=state.key("heads.scores"), on_change="rerun")
    if roles.open:  # closed, its picture is not made
        with roles:
            _roles(measured, (layer, head), branch, view, go)
    where = view.words.part(f"Where: {attention_map.kind}")
    view.how_it_works(where=where)


def _drawn(
    attention_map: AttentionMap,
    at: tuple[int, int],
    name: str,
    selection: Selection,
    branch: str,
    view: View,
    shown: str,
) -> None:
    """Draw a layer's head (from 0) as a heat map, a table, or both."""
    if shown == "table":
        _keys(attention_map, *at, 4, selection, view)
    elif bare():  # narrower than a page, and a question beside it may be what the table says
        _heat_map(attention_map, *at, name, selection, branch, view)
    else:
        left, right = st.columns([3, 2], gap="medium")
        with left:
            _heat_map(attention_map, *at, name, selection, branch, view)
        with right:
            _keys(attention_map, *at, 1, selection, view)


def _followed(trace: AttentionTrace, attention_map: AttentionMap) -> list[relations.RelationCounts]:
    """Relations whose best head is more often right than the fixed distance, the clearest first.

    They were counted in the first map, that of the input.
    """
    if attention_map is not trace.maps[0]:
        return []
    grid = attention_map.weights.shape[:2]
    fitting = [
        counted
        for name, counted in rolefiles.best_relations(trace.checkpoint).items()
        if name != "any" and counted.n >= _LINKS and _margin(counted) > 0 and counted.right.shape == grid
    ]
    return sorted(fitting, key=_margin, reverse=True)


def _margin(counted: relations.RelationCounts) -> float:
    return counted.interval[0] - counted.baseline


def _distant_weight(attention_map: AttentionMap, layer: int, head: int) -> float:
    """The mean weight between words that are not neighbors: neither diagonal nor attention sink."""
    rows, columns = (
        np.setdiff1d(np.arange(1, count), special)
        for count, special in zip(
            attention_map.weights.shape[2:], (attention_map.special_queries, attention_map.special_keys), strict=True
        )
    )
    weights = attention_map.weights[layer, head][np.ix_(rows, columns)]
    return float((weights * (abs(rows[:, None] - columns[None, :]) > 1)).sum() / max(1, len(rows)))


def _striking_head(measured: HeadScores) -> tuple[int, int]:
    """A head with a striking pattern: the strongest on the previous token, or the one of lowest entropy."""
    if "previous" in measured.grids:
        return measured.strongest("previous", 1)[0][:2]
    grid = measured.grids["spread"]
    layer, head = divmod(int(grid.argmin()), grid.shape[1])
    return layer, head


def _short(token: str) -> str:
    """A token, shortened for a table or a sentence."""
    return short(token, 60)


def _selected(attention_map: AttentionMap, layer: int, head: int, query: int, view: View) -> str:
    """A sentence on the selected row, for screen readers."""
    weights = attention_map.weights[layer, head, query]
    key, tokens = int(weights.argmax()), (attention_map.query_tokens[query], attention_map.key_tokens)
    sentence = view.words.part("Selected", query=query + 1, weight=f"{weights[key]:.2f}")
    return f"{sentence} {_short(tokens[0])} → {_short(tokens[1][key])}."


def _heat_map(
    attention_map: AttentionMap, layer: int, head: int, stem: str, selection: Selection, branch: str, view: View
) -> None:
    weights = attention_map.weights[layer, head]
    query, key = divmod(int(weights.argmax()), weights.shape[1])
    notes = [] if attention_map.computed(layer, head).all() else [view.words.part("Not computed")]
    if weights.size > MOST_CLICKS:
        notes.append(view.words.part("Too many cells", cells=f"{weights.size:,}", most=f"{MOST_CLICKS:,}"))
    panel = Panel(
        "heat",
        f"Layer {layer + 1}, head {head + 1}",
        figures.attention_map(attention_map, layer, head, selection.at, theme=theme(branch)),
        f"{_selected(attention_map, layer, head, selection.at, view)} "
        + view.words.part(
            "Alt: heat map",
            layer=layer + 1,
            head=head + 1,
            queries=weights.shape[0],
            keys=weights.shape[1],
            largest=f"{weights[query, key]:.2f}",
        )
        + f" {_short(attention_map.query_tokens[query])} → {_short(attention_map.key_tokens[key])}",
        partial(head_table, attention_map, layer, head),
        note=" ".join(notes),
        file=f"{stem}-layer{layer + 1}-head{head + 1}",
    )
    panel.draw(view.state, **selection.on_map(panel.key(view.state), weights.shape[1]))


def _keys(attention_map: AttentionMap, layer: int, head: int, count: int, selection: Selection, view: View) -> None:
    """The keys with the largest weights for every query."""
    rows = [
        {name: _short(value) if isinstance(value, str) else value for name, value in row.items()}
        for row in top_keys(attention_map, layer, head, count)
    ]
    weight = st.column_config.ProgressColumn(format="%.2f", min_value=0.0, max_value=1.0, width=90)
    key = view.state.key(f"heads.keys.{attention_map.kind}")
    st.session_state.setdefault(NEWS, _selected(attention_map, layer, head, selection.at, view))
    st.markdown("Strongest keys of each " + ("generated token" if attention_map.crosses else "token"))
    data_table(
        rows,
        "strongest-keys",
        alt=view.words.part("Alt: keys", count=count, layer=layer + 1, head=head + 1),
        key=key,
        height=min(38 + 35 * len(rows), 560),
        column_config={
            "#": st.column_config.NumberColumn(width=40),
            **{f"weight {rank}": weight for rank in range(1, count + 1)},
        },
        **selection.on_rows(key),
    )


def _strongest(attention_map: AttentionMap, layer: int, head: int, view: View) -> None:
    """Draw the ten largest weights as a table."""
    rows = [
        (
            f"{_short(attention_map.query_tokens[i])} ({i + 1})",
            f"{_short(attention_map.key_tokens[j])} ({j + 1})",
            f"{weight:.3f}",
        )
        for i, j, weight in strongest_links(attention_map, layer, head)
    ]
    query, key = ("Generated", "Source") if attention_map.crosses else ("Query", "Key")
    caption = view.words.part("Largest weights", layer=layer + 1, head=head + 1)
    with st.expander(view.words.label("largest")):
        text_table(TextTable((f"{query} token", f"{key} token", "Weight"), rows, caption, (42, 42, 16), (2,)))


def _about(
    measured: HeadScores, followed: Sequence[relations.RelationCounts], layer: int, head: int, view: View
) -> str:
    """A sentence on the head: over the treebank if it is the best of a relation, otherwise on this text."""
    words, grids = view.words, measured.grids
    for counted in followed:
        if counted.best == (layer, head):
            return words.part(
                "About: relation",
                meaning=relations.meaning(counted.relation),
                right=percent(counted.accuracy),
                links=counted.n,
                baseline=percent(counted.baseline),
            )
    simple = [name for name in grids if name != "spread"]
    # One repeated word is no habit: a mean over two rows is left to the tables.
    telling = [name for name in simple if measured.rows[name] > 2] or simple
    name = max(telling, key=lambda name: float(grids[name][layer, head]))
    value = float(grids[name][layer, head])
    if float(grids["spread"][layer, head]) >= 0.95:
        sentence = words.part("About: even")
    elif value >= 0.25:
        sentence = words.part("About: pattern", share=percent(value), what=meaning(name).removeprefix("weight "))
    else:
        sentence = words.part("About: words")
    best = next((n for n in ("previous", "same place") if n in grids), name)
    at_layer, at_head, most = measured.strongest(best, 1)[0]
    if (at_layer, at_head) != (layer, head) and most >= 0.4:
        what = meaning(best)
        sentence += " " + words.part(
            "About: best", layer=at_layer + 1, head=at_head + 1, what=what, share=percent(most)
        )
    return sentence


def _roles(measured: HeadScores, selected: tuple[int, int], branch: str, view: View, go: Go) -> None:
    """Draw head scores as a grid, whose cells open a head, with buttons that open the strongest heads."""
    names = list(measured.grids)
    preferred = next((n for n in ("previous", "same place") if n in names), names[0])
    key = view.state.key("heads.score")
    name = st.segmented_control(
        "Score",
        names,
        default=preferred,
        required=True,
        key=key,
        help="Measured on this text",
        format_func=LABELS.__getitem__,
    )
    with st.container(horizontal=True):
        for layer, head, value in measured.strongest(name):
            st.button(
                f"Layer {layer + 1}, head {head + 1}: {value:.2f}",
                key=view.state.key(f"heads.go.{name}.{layer}.{head}"),
                on_click=go,
                args=(layer, head),
            )
    grid = measured.grids[name]
    heads = grid.shape[1]
    panel = Panel(
        "attention-scores",
        f"Score {LABELS[name]} of every head",
        figures.score_grid(grid, meaning(name), selected, theme=theme(branch)),
        view.words.part("Alt: scores", score=LABELS[name]),
        partial(grids_table, {LABELS[score]: grid for score, grid in measured.grids.items()}),
        note=view.words.part("Scores", score=meaning(name).capitalize()),
    )
    panel.draw(view.state, **clicks(panel.key(view.state), grid.size, lambda at: go(*divmod(at, heads))))

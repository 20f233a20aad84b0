"""Attention maps: one head, all heads at once, combinations over heads and layers, and differences.

All heads are an HTML page in a frame. It reports its selection by message, and the URL stores it. A selection does not
reload the frame: it opens with the selection of the moment when its page was made, and with the current one when it has
to be made again, for another text or after a visit to another section.

A message is ``{atlas: <frame>, open: [numbers]}``. Any other message, or one from elsewhere, is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import fields
from functools import partial
from hashlib import blake2b
from typing import cast

import numpy as np
import streamlit as st

from core import session
from core.attention import combine
from core.attention.heads import reach
from core.attention.trace import AttentionMap
from core.attention.views import grid
from core.attention.views.export import Bits
from core.links import parameters as link
from core.run.model import Config
from core.theme import Name
from core.ui.attention.compared import COMPARED_PARAMS, numbered, other_model, other_text
from core.ui.attention.setup import download_pages, download_weights, draw_model
from core.ui.component import FRAMED, framed
from core.ui.glossary import warning
from core.ui.heads.panel import HEAD, LAYER, MAP, VIEW, chosen_map, heads_panel
from core.ui.heads.text import TEXT_PARAMS, Chosen, chosen_text, opening
from core.ui.links import PageState
from core.ui.page import plain, theme
from core.ui.panel import offer_drawing
from core.ui.param import Carried, Choice, differing
from core.ui.section import Section, View
from core.ui.selection import FRAME, TOKEN, Selection
from core.ui.tables import data_table

Numbers = tuple[int, ...]


def chosen_inside(
    frame: str,
    name: str,
    state: PageState,
    *,
    linked: Numbers,
    about: object,
    fits: Callable[[Numbers], bool],
    missing: str,
) -> tuple[Numbers, Numbers]:
    """The selection that the frame opens with, and the current one.

    Args:
        frame: its name in messages, ``grid`` or ``bertviz``.
        name: of this selection, unique on the page.
        linked: the selection that the state holds, from a link, another section or the run before.
        about: what else the frame's page shows; if it changes, the page is made again.
        fits: whether a selection exists here; also called with an empty one.
        missing: the warning for a link whose selection does not exist; nothing is selected then.
    """
    key = state.key(f"{name}.watch")
    opens, sent = key not in st.session_state, FRAME.sent(key)  # it opens if the previous run has not drawn it
    now = linked if fits(linked) else ()
    if opens and now != linked:
        warning(missing, icon=":material/link_off:")
    if sent is not None and fits(tuple(sent.open)):
        now = tuple(sent.open)
    page = None if opens else cast(tuple[str, Numbers] | None, state.memory.get(key))
    if page is None or page[0] != repr(about):
        page = state.memory[key] = (repr(about), now)
    FRAME.draw(key, {"frame": frame, "now": list(now)}, height=1)
    return page[1], now


TOGETHER = Choice(
    name="together",
    label="Shown",
    options={
        "all": "All heads",
        "mean": "Mean over the heads",
        "maximum": "Largest of the heads",
        "rollout": "Rollout over the layers",
        "flow": "Flow over the layers",
        "heads": "Difference of two heads",
        "layers": "Difference of two layers",
        "texts": "Difference of two texts",
        "models": "Difference of two models",
    },
    width=260,
)
OPEN = Carried(name="open", label="Open head", as_=link.Integers(high=256, most=2))
_SIGNED = ("heads", "layers", "texts", "models")
"""Differences, whose weights have a sign."""


def one_head(view: View) -> None:
    state, spec = view.state, draw_model(view)
    chosen = chosen_text(spec, state, also=differing(state, VIEW))
    trace = chosen.trace()
    opens = opening(spec)
    if opens is not None and (chosen.text, chosen.second) != (opens.text, ""):
        opens = None
    heads_panel(trace, state, spec.branch, chosen.row or st.container(), chosen.menu, opens)
    config = session.checkpoint(spec.slug).model.config
    _shared_keys(config, view)
    if (kinds := getattr(config, "attention_layers", None)) and trace.decoder is not None:
        _local(trace.decoder, tuple(kinds), int(config.window_size), view)


def _shared_keys(config: Config, view: View) -> None:
    """Say which heads of queries read the same keys and values as the chosen one, if any do.

    An encoder-decoder of two models has a configuration for each; cross-attention is the decoder's.
    """
    half = getattr(config, "encoder" if view.state.text("map") == "encoder" else "decoder", config)
    heads, keys = (getattr(half, name, None) for name in ("num_attention_heads", "num_key_value_heads"))
    if not heads or not keys or heads == keys:
        return
    shared = heads // keys
    first = (view.state.number("head", 1) - 1) // shared * shared + 1
    view.note("Shared keys", first=first, last=first + shared - 1, heads=heads, keys=keys)


def _local(attention_map: AttentionMap, kinds: tuple[str, ...], window: int, view: View) -> None:
    """Draw how far back each layer of a model with local layers attends, counted in the map above."""
    view.say("Local layers", before=window - 1)
    data_table(
        [
            {"layer": i, "kind": kind, "attends back at most (tokens)": far}
            for i, (kind, far) in enumerate(zip(kinds, reach(attention_map.weights), strict=True), start=1)
        ],
        "local-layers",
        alt=view.words.label("local"),
    )
    if len(attention_map.key_tokens) <= window:
        view.note("Within one window", count=len(attention_map.key_tokens), window=window)
    view.note("Local layers: source")


def all_maps(view: View) -> None:
    state = view.state
    spec = draw_model(view)
    # The menu is beside the text; its value in this run is known before it is drawn.
    flowing = TOGETHER.standing(state) == "flow"
    chosen = chosen_text(spec, state, most=combine.MOST_FOR_FLOW if flowing else None)
    trace = chosen.trace()
    with chosen.row or st.container():
        attention_map = chosen_map(trace, state)
        together = TOGETHER.draw(state)
        shown = _shown(together, attention_map, chosen, view)
    if shown is None:
        return
    appearance, title = theme().name, f"{spec.name}: {TOGETHER.options[together]}"
    signed, single = together in _SIGNED, shown.layers == shown.heads == 1
    about = (spec.slug, appearance, chosen.text, chosen.second, chosen.task)
    layer, head = (0, 0) if single else _opened(shown, about, view)

    def page(name: Name, layer: int | None, head: int | None, bits: Bits = 8) -> str:
        look = partial(grid.render, shown, theme=name, branch=spec.branch, title=title, difference=signed)
        return look(layer=layer, head=head, bits=bits)

    tokens = len(shown.query_tokens)
    tag = f"{spec.slug}.{attention_map.kind}.{together}"
    selection = Selection(state, shown.query_tokens, special=shown.special_queries, tag=tag)
    framed(
        page(appearance, layer, head),
        height=grid.height(shown),
        alt=view.words.part(
            "Alt", shown=TOGETHER.options[together], layers=shown.layers, heads=shown.heads, tokens=tokens
        ),
    )
    selection.chips(view.words.label("queries"), accent=spec.branch)
    selection.frame()
    view.try_and_notice(together)
    if shown.note:
        st.caption(plain(shown.note))
    stem = f"{spec.slug}-{together}"
    offer_drawing(state, FRAMED, view.words.title, "png")
    download_pages(lambda bits: page("light", None, None, bits), stem, state)
    download_weights(shown, stem, state)
    view.note("Files")


def _shown(together: str, attention_map: AttentionMap, chosen: Chosen, view: View) -> AttentionMap | None:
    """The map to draw; None while a selection is missing."""
    state = view.state
    simple = {"mean": combine.mean, "maximum": combine.maximum, "rollout": combine.rollout}
    if together == "all":
        return attention_map
    if together in simple:
        return simple[together](attention_map)
    if together == "flow":
        with st.spinner(view.words.label("flow")):
            return session.results.get_or_compute(
                ("flow", *_by_value(attention_map)), lambda: combine.flow(attention_map)
            )
    if together == "texts":
        return other_text(attention_map, chosen, view)
    if together == "models":
        return other_model(attention_map, chosen, view)
    parts = []
    for number in (1, 2):
        layer = numbered(state, f"layer{number}", attention_map.layers, 1 if together == "heads" else number)
        head = numbered(state, f"head{number}", attention_map.heads, number) if together == "heads" else None
        parts.append(combine.part(attention_map, layer=layer, head=head))
    return combine.difference(*parts)


def _by_value(attention_map: AttentionMap) -> tuple[Hashable, ...]:
    """A cache key: the map's fields, its arrays as digests."""
    values = (getattr(attention_map, field.name) for field in fields(attention_map))
    return tuple(blake2b(v.tobytes()).digest() if isinstance(v, np.ndarray) else v for v in values)


def _opened(shown: AttentionMap, about: object, view: View) -> tuple[int | None, int | None]:
    """Layer and head, from 0, that the grid of ``shown`` opens with; the page in the frame reports its selection.

    Args:
        about: what the map depends on besides the page's parameters.
    """
    state, layers, heads = view.state, shown.layers, shown.heads
    linked = state.integers(OPEN.name)
    drawn, now = chosen_inside(
        "grid",
        "maps",
        state,
        linked=linked,
        about=(about, [state.values.get(param.name) for param in ALL.params if param not in (OPEN, TOKEN)]),
        fits=lambda n: not n or (len(n) == 2 and 1 <= n[0] <= layers and 1 <= n[1] <= heads),
        missing=view.words.part("No such head", open=", ".join(map(str, linked)), layers=layers, heads=heads),
    )
    state.set(open=now or None)
    if now and now != linked:
        state.set(layer=now[0], head=now[1])  # the other sections open with this head, too
    return (drawn[0] - 1, drawn[1] - 1) if drawn else (None, None)


ONE_HEAD = Section("heads", one_head, (*TEXT_PARAMS, LAYER, HEAD, MAP, TOKEN, VIEW))
ALL = Section("all", all_maps, (*TEXT_PARAMS, MAP, TOGETHER, *COMPARED_PARAMS, OPEN, TOKEN))

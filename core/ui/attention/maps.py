"""All heads at once, what they come to together, and the difference of two of them; drawn as a page of our own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from core.attention import combine
from core.attention.trace import AttentionMap, AttentionTrace
from core.attention.views import grid
from core.attention.views.export import MAX_TABLE_ROWS, map_table, to_npz
from core.attention.views.packed import Bits
from core.attention.views.svg import all_svg, head_svg
from core.checkpoints.spec import CheckpointSpec
from core.theme import Name
from core.ui.attention.against import other_model, other_text
from core.ui.attention.opened_head import opened_head
from core.ui.attention.two_models import difference, numbered, two_models, two_rewriters
from core.ui.export import download_csv, download_html, download_npz, download_svg
from core.ui.framed import framed
from core.ui.glossary import told
from core.ui.heads.parts import name
from core.ui.heads.text import Chosen, chosen_text
from core.ui.page import plain, theme

if TYPE_CHECKING:
    from core.ui.links import PageState

TOGETHER = {
    "all": "All heads",
    "mean": "Mean over the heads",
    "maximum": "Largest of the heads",
    "rollout": "Rollout over the layers",
    "flow": "Flow over the layers",
    "heads": "Difference of two heads",
    "layers": "Difference of two layers",
    "texts": "Difference of two texts",
    "models": "Difference of two models",
}
_NOTICE = {
    "all": "how the first layers keep to places (lines along the diagonal) and later ones to few tokens (columns).",
    "mean": "what the mean hides: a head that looks at one word disappears among many that look at none.",
    "maximum": "that a link is there as soon as one head has it, however little the others care.",
    "rollout": "how every row spreads from layer to layer: what arrives at the top comes from everywhere. Abnar & "
    "Zuidema 2020 multiply the layers, each mixed half and half with its residual connection.",
    "flow": "that tokens keep apart better than in the rollout: flow asks for the widest way from a token above to a "
    "token below, as in a net of pipes (Abnar & Zuidema 2020).",
    "heads": "where the first looks more, and where the second does. Two heads of a layer often share their work.",
    "layers": "which heads change their places from one layer to the other; heads are numbered, not named, so that "
    "head 1 of one layer has nothing to do with head 1 of another.",
    "texts": "which rows change when one word does: often those of words that hang on it, and often those of special "
    "tokens.",
    "models": "what training changed, and that heads are numbered, not named: head 1 of one model has nothing to do "
    "with head 1 of another, unless one was made from the other.",
}


def all_maps(spec: CheckpointSpec, state: PageState) -> None:
    """Draw the whole section; reads and writes text, second, task, map, together, with, layer, head and their likes.

    Raises:
        AtlasError: what the text or the model does not allow, as a sentence.
    """
    # The menu stands below the text, and its answer of this run is known before.
    flowing = st.session_state.get(state.key("maps.together"), state.text("together")) == "flow"
    read = chosen_text(spec, state, pairs=True, most=combine.MOST_FOR_FLOW if flowing else None)
    trace = read.trace()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        found = _map(trace, state, spec)
        wanted = state.text("together", "all")
        together = st.selectbox(
            "Shown",
            list(TOGETHER),
            index=list(TOGETHER).index(wanted) if wanted in TOGETHER else 0,
            format_func=TOGETHER.__getitem__,
            key=state.key("maps.together"),
            width=260,
        )
        state.set(together=None if together == "all" else together)
        shown = _shown(str(together), found, read, state)
    if shown is None:
        return
    look = theme().name
    title = f"{spec.name}: {TOGETHER[str(together)]}"
    alone = shown.layers == shown.heads == 1
    layer, head = (
        (0, 0) if alone else opened_head(shown, (spec.slug, look, read.text, read.second, read.adapters), state)
    )
    page = grid.render(
        shown,
        theme=look,
        title=title,
        difference=_signed(str(together)),
        layer=layer,
        head=head,
    )
    framed(
        page,
        height=grid.height(shown),
        alt=f"{TOGETHER[str(together)]}: {shown.layers} layers of {shown.heads} heads over "
        f"{len(shown.query_tokens)} tokens. The page inside can be walked with the arrow keys and has a table.",
    )
    told(
        "**Try** a head with a click or with arrow keys and Enter, then go through its rows. Hide the special tokens "
        "and see how much weight is left."
    )
    st.markdown(f"**Notice** {_NOTICE[str(together)]}" + (f" {plain(shown.note)}" if shown.note else ""))
    _files(shown, f"{spec.slug}-{together}", title, look, state, signed=_signed(str(together)))


def _files(shown: AttentionMap, stem: str, title: str, look: Name, state: PageState, *, signed: bool) -> None:
    """What is drawn as a page, as a picture and as numbers; made only when asked for."""
    alone = shown.layers == shown.heads == 1

    def page(bits: Bits = 8) -> bytes:
        return grid.render(shown, theme="light", title=title, difference=signed, bits=bits).encode()

    def picture() -> bytes:
        drawn = head_svg(shown, 0, 0, theme=look, title=title) if alone else all_svg(shown, theme=look, title=title)
        return drawn.encode()

    with st.container(horizontal=True, vertical_alignment="center"):
        download_html(page, stem, state.key("maps.page"))
        download_html(
            lambda: page(16),
            f"{stem}-16",
            state.key("maps.page16"),
            of="16 bits",
            tip="Each number in 65,536 steps instead of 256, in a page of twice the size",
        )
        download_svg(picture, stem, state.key("maps.svg"))
        if shown.weights.size <= MAX_TABLE_ROWS:
            download_csv(partial(map_table, shown), stem, state.key("maps.numbers.csv"))
        else:
            archive = partial(to_npz, AttentionTrace(stem, **{shown.kind: shown}))
            download_npz(archive, stem, state.key("maps.numbers.npz"))
    st.caption(
        "All of them work without a network. The page holds every weight in 256 steps, or in 65,536, and "
        "saves what it shows as PNG."
    )


def _map(trace: AttentionTrace, state: PageState, spec: CheckpointSpec) -> AttentionMap:
    maps = {found.kind: found for found in trace.maps}
    wanted = state.text("map")
    first = wanted if wanted in maps else next(iter(maps))
    if len(maps) > 1:
        first = st.segmented_control(
            "Attention",
            list(maps),
            format_func={kind: name(one) for kind, one in maps.items()}.__getitem__,
            default=first,
            required=True,
            key=state.key(f"maps.kind.{spec.slug}"),
        )
        state.set(map=first)
    return maps[first]  # type: ignore[index]


def _shown(together: str, found: AttentionMap, read: Chosen, state: PageState) -> AttentionMap | None:
    """The map to draw; None while something is still to be chosen."""
    simple: dict[str, Callable[[AttentionMap], AttentionMap]] = {
        "all": lambda one: one,
        "mean": combine.mean,
        "maximum": combine.maximum,
        "rollout": combine.rollout,
    }
    if together in simple:
        return simple[together](found)
    if together == "flow":
        with st.spinner("Computing the flow of every pair of tokens"):
            return combine.flow(found)
    if together == "heads":
        one, other = (_head(found, state, number) for number in (1, 2))
        return combine.difference(
            combine.part(found, layer=one[0], head=one[1]), combine.part(found, layer=other[0], head=other[1])
        )
    if together == "layers":
        first, second = (numbered(state, f"Layer {n}", f"layer{n}", found.layers, n) for n in (1, 2))
        return combine.difference(combine.part(found, layer=first), combine.part(found, layer=second))
    if together == "models" and read.spec.offers("two texts"):
        return two_models(found, read, state)
    if together == "models" and read.spec.offers("rewrites"):
        return two_rewriters(found, read, state)
    if together == "models":
        models = other_model(found, read, state)
        return None if models is None else difference(*models, state)
    texts = other_text(found, read, state)
    return None if texts is None else combine.difference(*texts)


def _head(found: AttentionMap, state: PageState, number: int) -> tuple[int, int]:
    return (
        numbered(state, f"Layer {number}", f"layer{number}", found.layers, 1),
        numbered(state, f"Head {number}", f"head{number}", found.heads, number),
    )


def _signed(together: str) -> bool:
    return together in ("heads", "layers", "texts", "models")
